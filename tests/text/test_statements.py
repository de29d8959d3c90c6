"""How a sentence is taken apart: its subject, its relation, and the phrases behind it."""

import pytest

from reverie.text.statements import Statement, change_in, statements
from reverie.text.word_classes import language_of

# The relation, then content words by phrase: 0 is what stands before the relation. `*` marks the
# relation itself, `?` a condition, `in+` the preposition that leads to a word, `not` a negation.
TABLE = [
    ("Use tabs in Go files, except in tests", "single | 1: *use tab 2: in+go:name in+file 3: except? 4: in+test?"),
    ("Backups are kept for 14 days", "copula | 0: backup 1: *keep for+1209600s:number"),
    ("Tests may use the network", "multiple | 0: test 1: *use network"),
    ("Ab sofort ist das Standup um 10 Uhr", "copula | 0: standup 2: um+10:00:number"),
    ("Ab sofort ist das Standup um 10 Uhr in Raum 4", "copula | 0: standup 2: um+10:00:number 3: in+raum in+4:number"),
    ("If the tests are green, the build is done", "copula | 0: if? test? green? build"),
    ("If the build fails, ping Mira", "multiple | 0: if? build? fail? 1: *ping mira:name"),
    ("Ping Mira unless the build fails", "multiple | 1: *ping mira:name 2: unless? build? fail?"),
    ("Use `make test` in CI", "single | 1: *use make test:code 2: in+ci:name"),
    ("Mira hat das Team gebaut", "multiple | 0: mira 1: team bau"),
    ("The meeting is at 2 pm", "copula | 0: meeting 1: at+14:00:number"),
    ("The meeting is at 12 pm", "copula | 0: meeting 1: at+12:00:number"),
    ("The meeting is at 9.30 a.m.", "copula | 0: meeting 1: at+9:30:number"),
    ("La cena es a las 9 de la noche", "copula | 0: cen 1: a+21:00:number"),
    ("Nous utilisons GitLab à la place de Jenkins", "single | 0: I 1: *utilison gitlab:name jenkin:name"),
    ("Mira is CTO", "owner | 0: mira 1: cto:name"),
    ("Our CTO is Mira Lund", "copula | 0: I cto:name 1: mira:name lund:name"),
    ("Anselm is our new CTO", "copula | 1: anselm 0: I new cto:name"),
    ("Docs are at https://example.org/a.", "copula | 0: documentation 1: at+https://example.org/a:code"),
    ("Mi hermano vive en Madrid", "single | 0: I hermano 1: *viv en+madr:name"),
    ("Mi hermana vive en Madrid", "single | 0: I hermana 1: *viv en+madr:name"),
    ("My dog is called Rex", "copula | 0: I dog name 1: rex:name"),
    ("I take 5 mg of aspirin", "single | 0: I 1: 0.005gram:number aspirin"),
    ("port: 8080, host: alpha", "copula | 0: port 1: 8080:number 2: host alpha"),
    ("Mira is a manager of the search team", "owner | 0: mira 1: boss search team"),
    ("The project was renamed from Merlin to Kestrel", "copula | 0: project 1: *renam from+merlin:name 2: to+kestrel:name"),
    ("The share is 5%", "copula | 0: share 1: 5percent:number"),
    ("The server (a Dell) is in Oslo", "copula | 0: server dell:name 1: in+oslo:name"),
    ("The server is a Dell, in Oslo, in rack 4", "copula | 0: server 1: dell:name 2: in+oslo:name 3: in+rack in+4:number"),
    ("The session ends after 60 seconds", "single | 0: session 1: *end after+60s:number"),
    ("The session ends after lunch", "single | 0: session 1: *end after? lunch?"),
    ("Tests, builds and releases run nightly", "single | 0: test build releas 1: *run nightly"),
    ("The release is on Friday", "copula | 0: releas 1: on+friday:day"),
    ("The team is in the US", "copula | 0: team 1: in+us:name"),
    ("Use the read-only mode", "single | 1: *use read onli:quantity mode"),
    ("The database is not Postgres, it is MySQL", "copula | 0: database not 1: postgres:name 2: mysql:name"),
    ("We don't deploy on Fridays", "single | 0: I not 1: *deploy on+friday:day"),
    ("Bob is mentored by Alice", "copula passive | 0: bob 1: *mentor by+alic:name"),
    ("I can cook pasta", "multiple | 0: I 1: *cook pasta"),
    ("Our office is in Oslo; the lab is in Bergen", "copula | 0: I offic 1: in+oslo:name ; copula | 0: laboratory 1: in+bergen:name"),
    ("Dr. Lund is my doctor", "copula | 1: doctor lund:name 0: I doctor"),
    ("- **Our office** is in Oslo", "copula | 0: I offic 1: in+oslo:name"),
    ("We no longer use Jenkins", "single | 0: I not 1: *use jenkin:name"),
    ("Ada now also owns search", "owner | 0: ada 1: *own search"),
    ("The standup moved from Monday to Tuesday", "copula | 0: standup 1: from+monday:day 2: to+tuesday:day"),
    ("Lunch with Mira at noon", "- | 0: lunch with+mira:name at+12:00:number"),
    ("Fish is my shell", "copula | 1: fish 0: I shell"),
    ("The port is v5 and eu-west-1", "copula | 0: port 1: v5:number eu-west-1:code"),
    ("Das Treffen ist um 9.30 Uhr", "copula | 0: meeting 1: um+9:30:number"),
    ("Use make test in CI", "single | 1: *use make test 2: in+ci:name"),
    ("The price is 5 €", "copula | 0: price 1: 5euro:number"),
    ("It is not true that the database is Postgres", "copula | not 1: true database postgres:name"),
    ("Tests must use the network", "single | 0: test 1: *use network"),
    ("Always use tabs in Go files", "single | 1: *use tab 2: in+go:name in+file"),
    ("prod db: eu-west-1", "copula | 0: production database 1: eu-west-1:code"),
    ("Deploy", "single | 1: *deploy"),
    ("The e-mail goes to Mira", "single | 0: mail 1: to+mira:name"),
    ("The session ends after", "single | 0: session 1: *end after?"),
    ("Le bureau est à Évry", "copula | 0: bureau 1: a+evry:name"),
    ("Use min in queries", "single | 1: *use minimum 2: in+queri"),
    ("!!! The port is 8080", "copula | 0: port 1: 8080:number"),
    ("Is the port open", "copula | 0: port open"),
    ("Owner: Mira", "copula | 0: owner 1: mira:name"),
    ("The owner is Mira: ask her", "copula | 0: owner 1: mira:name request her"),
    ("Mira’s desk is in Oslo", "copula | 0: mira desk 1: in+oslo:name"),
    ("The backup takes two weeks", "single | 0: backup 1: 1209600s:number"),
    ("Ping Mira, if needed, at noon", "multiple | 1: *ping mira:name 2: if? need? 3: at+12:00:number"),
    ("The build is done when the tests are green", "copula | 0: build 1: when? test? green?"),
    ("Please note that please remember that the port is 8080", "copula | 0: port 1: 8080:number"),
    ("Two replicas are enough", "copula | 0: 2:number replica 1: enough"),
]  # fmt: skip


def shape(text: str) -> str:
    return " ; ".join(_shape(one) for one in statements(text, language_of(text)))


def _shape(one: Statement) -> str:
    told = [one.relation if one.parsed else "-", *(["passive"] if one.passive else []), "|"]
    phrase = None
    for at, token in enumerate(one.tokens):
        told += ["not"] * one.denied.count(at)
        if token.phrase != phrase:
            phrase = token.phrase
            told.append(f"{phrase}:")
        kind = "" if token.kind in ("word", "speaker") else f":{token.kind}"
        word = f"{'*' if token.verb else ''}{token.key or 'I'}{kind}"
        told.append(f"{token.led}+{word}" if token.led else word)
        told[-1] += "?" if token.conditional else ""
    return " ".join([*told, *["not"] * one.denied.count(len(one.tokens))])


@pytest.mark.parametrize(("text", "expected"), TABLE)
def test_a_sentence_taken_apart(text: str, expected: str) -> None:
    assert shape(text) == expected


@pytest.mark.parametrize(
    ("text", "cue", "plain", "former", "beside"),
    [
        ('The port is 8080', '', False, [], False),
        ('From now on the port is 8443', 'From now on', True, [], False),
        ('We no longer use Jenkins', 'no longer', True, ['jenkin', 'use'], False),
        ('The standup moved from Monday to Tuesday', 'moved', False, ['monday'], False),
        ('We switched from Jenkins to GitHub Actions', 'switched from', True, ['jenkin'], False),
        ('The project was renamed from Merlin to Kestrel', 'was renamed', False, ['merlin', 'project'], False),
        ('Ada now also owns search', 'now', True, [], True),
        ('Nous utilisons GitLab à la place de Jenkins', 'a la place', True, ['jenkin'], False),
        ('Wir nutzen GitLab statt Jenkins', 'statt', True, ['jenkin'], False),
        ('We use my laptop instead of my old desktop', 'instead', True, ['desktop', 'old'], False),
    ],
)  # fmt: skip
def test_what_a_text_says_of_a_change(
    text: str, cue: str, plain: bool, former: list[str], beside: bool
) -> None:
    change = change_in(text, language_of(text))
    assert (change.cue, change.plain) == (cue, plain)
    assert (sorted(change.former), change.beside) == (former, beside)

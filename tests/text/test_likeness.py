"""The one judge of sameness: duplicate, extends, another value, sibling, or unrelated."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.text.likeness import compare, nearest, related

# old, new, how the new one relates to it
TABLE = [
    # the same in other words
    ("User prefers dark mode.", "The user prefers dark mode", "duplicate"),
    ("The user prefers dark mode", "Prefers dark mode", "duplicate"),
    ("My favourite color is purple", "My favourite colour is purple", "duplicate"),
    ("In integration tests, never mock the database.", "Never mock the database in integration tests", "duplicate"),
    ("Do not mock the database", "Don't mock the database", "duplicate"),
    ("Mira's desk is in Oslo", "Mira’s desk is in Oslo", "duplicate"),
    ("use postgres", "Use Postgres", "duplicate"),
    ("les reunions sont courtes", "Les réunions sont courtes", "duplicate"),
    ("My name is Ada and I like tea", "I like tea", "duplicate"),
    ("The cache expires after 5 min", "Please remember that the cache expires after five minutes", "duplicate"),
    ("Timestamps are stored in UTC.", "We store timestamps in UTC.", "duplicate"),
    ("Wir deployen dienstags", "Dienstags deployen wir", "duplicate"),
    ("El nombre de mi mujer es Rocío", "Mi mujer se llama Rocío", "duplicate"),
    # another value of the same thing
    ("My favourite colour is purple", "My favourite colour is cyan", "update"),
    ("The port is 8080", "The port is 8443", "update"),
    ("The API listens on port 8080", "The API listens on port 9090", "update"),
    ("The standup is at 9:30", "The standup is at 10", "update"),
    ("Never mock the database", "Mock the database", "update"),
    ("The user likes summaries at the end", "The user doesn't like summaries at the end", "update"),
    ("We deploy on Fridays", "We don't deploy on Fridays", "update"),
    ("Bob reports to Alice", "Alice reports to Bob", "update"),
    ("Mira leads the payments team", "Jonas leads the payments team", "update"),
    ("Our CTO is Mira Lund", "Anselm Krol is our CTO", "update"),
    ("prod db: eu-west-1", "prod db: eu-central-1", "update"),
    ("CI runs on Jenkins", "We switched from Jenkins to GitHub Actions", "update"),
    ("Die API lauscht auf Port 8080", "Die API lauscht auf Port 9090", "update"),
    ("La réunion est à 9h30", "La réunion est à 10h", "update"),
    ("El panel está en el puerto 8080", "El panel está en el puerto 8888", "update"),
    # other things of one kind: both stand
    ("The billing service listens on port 7001", "The search service listens on port 7002", "sibling"),
    ("API v1 is sunset on 2026-12-31", "API v2 is sunset on 2027-06-30", "sibling"),
    ("harbour 3 closes at 9:00", "harbour 4 closes at 10:00", "sibling"),
    ("Use tabs in Go files", "Use spaces in Python files", "sibling"),
    ("Ada owns billing", "Ada owns search", "sibling"),
    ("We support Postgres", "We support MySQL", "sibling"),
    ("The timeout is 30 s in production", "The timeout is 30 s in staging", "sibling"),
    ("The flight to Oslo leaves at 6:40", "The flight from Oslo leaves at 21:05", "sibling"),
    ("If the build fails, ping Mira", "If the deploy fails, ping Jonas", "sibling"),
    ("Alice and Bob own billing", "Alice owns billing", "restates"),
    ("Tests use Postgres in CI but SQLite locally", "Tests use Postgres", "sibling"),
    ("The standup starts at 9:30", "The standup ends at 9:45", "sibling"),
    ("Staging liegt auf Port 8080", "Produktion liegt auf Port 8080", "sibling"),
    ("Turn the heating on at 18:00", "Turn the heating off at 18:00", "sibling"),
    ("The lights in the hall go on at dusk", "The lights go off at dusk in the hall", "sibling"),
    ("Das Licht im Flur geht um acht an", "Das Licht im Flur geht um acht aus", "sibling"),
    # more of the same
    ("The user prefers dark mode", "The user prefers dark mode in the terminal", "extends"),
    ("Deploys happen on Tuesday", "Deploys happen on Tuesday at 14:00, run by Mira", "extends"),
    ("Tests must not use the network.", "Tests must not use the network. **Why:** the runners hang.", "extends"),
    # nothing to do with each other
    ("The vendor bans clients after two failures", "The user prefers dark mode", "unrelated"),
    ("Deploys freeze on 2026-11-19 because of the audit", "Tests freeze time with time-machine", "unrelated"),
    ("anything", "", "unrelated"),
    ("My favourite dish is lasagna", "I like coffee", "unrelated"),
    ("My favourite book is Emma", "Peter enjoys sailing", "unrelated"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "likeness"), TABLE)
def test_how_a_new_text_relates_to_an_old_one(old: str, new: str, likeness: str) -> None:
    assert compare(new, old).likeness == likeness


# old, new, likeness, whether that is certain, whether the words themselves say that the old one is over
CLOSELY = [
    ("Use tabs", "Use tabs in Go files", "sibling", False, False),
    ("Backups are stored in Oslo", "Backups expire after 14 days", "sibling", False, False),
    ("The standup is at 10", "The standup is on Monday at 9:30", "update", False, False),
    ("The payments team is led by Mira", "Mira no longer leads the payments team", "update", True, True),
    ("Mira is the CTO of the search team", "Mira no longer leads the payments team", "sibling", False, False),
    ("prod db: eu-central-1", "staging db: eu-west-1", "unrelated", False, False),
    ("Tests must not use the network or the disk", "Tests must use the network", "update", True, False),
    ("Mi hermano vive en Madrid", "Mi hermana vive en Madrid", "sibling", False, False),
    ("My wife works at Globex", "My wife works at Acme in Oslo", "update", False, False),
    ("The standup is on Monday at 9:30", "The standup moved to Tuesday", "update", True, False),
    ("She likes purple", "I like purple", "sibling", False, False),
    ("I have 2 dogs", "I have three dogs", "update", False, False),
    ("Tests run after each release", "Tests run", "sibling", False, False),
    ("Use tabs", "From now on use spaces in Go files", "update", False, False),
    ("Alice reports to Bob since May", "Bob reports to Alice", "sibling", False, False),
    ("We use GitHub Actions for CI", "We no longer use Jenkins", "sibling", False, False),
    ("My favourite colour is dark green", "My favourite color is purple", "update", True, False),
    ("Backups are kept for 14 days and 6 hours", "Backups are kept for 30 days", "update", False, False),
    ("Backups are kept for 14 days", "Backups are kept for 2 weeks", "duplicate", True, False),
    ("Lunch at 12:30 on Mondays", "Lunch at 12:45 on Tuesdays", "update", False, False),
    ("Lunch with Mira at noon", "Lunch with Jonas at noon", "sibling", False, False),
    ("Release notes by Mira", "Release notes by Jonas", "update", False, False),
    ("Support tickets from Oslo to Mira", "Support tickets from Bergen to Mira", "sibling", False, False),
    ("The timeout is 90 s", "The timeout is 90s", "duplicate", True, False),
    ("I live in Bergen", "I moved from Oslo to Bergen", "extends", False, False),
    ("I live in Oslo", "I moved from Oslo to Bergen", "update", False, False),
    ("The limit is 1,000 requests", "The limit is 1000 requests", "duplicate", True, False),
    ("Backups run at 3 am", "Backups run nightly at 2 am", "update", False, False),
    ("Don't use tabs", "From now on use spaces in Go files", "sibling", False, False),
    ("Never use tabs in Go files", "Use tabs", "update", True, False),
    ("Use tabs", "Never use tabs in Go files", "update", True, False),
    ("We use Jenkins", "We no longer use Jenkins", "update", False, True),
    ("Mira leads the search team", "Jonas leads the payments team", "sibling", False, False),
    ("We use Jenkins for nightly builds", "We use GitHub Actions for CI", "sibling", False, False),
    ("Ada owns billing", "Ada now also owns billing and search", "extends", False, False),
    ("I take aspirin and a statin", "I no longer take the statin", "update", False, False),
    ("The database is Postgres 15", "The database is Postgres 16", "update", True, False),
    ("The database is Postgres 15", "The database is MySQL 8", "update", False, False),
    ("v5 is supported until 2027", "v6 is supported until 2029", "sibling", False, False),
    ("v5 is supported until 2027", "v5 is supported until 2028", "update", True, False),
    ("Bob is mentored by Alice", "Alice mentors Bob", "duplicate", True, False),
    ("Alice mentors Bob", "Bob mentors Alice", "update", False, False),
    ("Our office is in Oslo; the lab is in Bergen", "The lab is in Bergen", "duplicate", True, False),
    ("The lab is in Bergen", "Our office is in Oslo; the lab is in Bergen", "extends", False, False),
    ("Deploys happen before noon", "Deploys happen after noon", "sibling", False, False),
    ("Run `make test` before a commit", "Run `make check` before a commit", "update", False, False),
    ("Tests use the network", "Tests use the network for billing", "sibling", False, False),
    ("Tests use the network", "Some tests use the network", "sibling", False, False),
    ("Tests use Postgres", "Tests use Postgres in CI", "sibling", False, False),
    ("The workshop is on 5 May", "The workshop is on 6 May", "update", True, False),
    ("Deploy on Friday 2026-11-20", "Deploy on Monday 2026-11-23", "update", False, False),
    ("The project is called Merlin", "The project is called Kestrel", "update", True, False),
    ("The project is called Merlin", "The project was renamed from Merlin to Kestrel", "update", False, False),
    ("Use tabs in Go files. **Why:** gofmt does", "Use tabs in Go files", "duplicate", True, False),
    ("Use tabs in Go files. **Why:** gofmt does", "Use tabs in Go files. **Why:** we agreed", "extends", True, False),
    ("Tests run before each release", "Tests run after each release", "sibling", False, False),
    ("My sister's favourite colour is purple", "My favourite colour is purple", "sibling", False, False),
    ("The flight to Oslo leaves at 6:40 from gate 4", "The flight to Oslo leaves at 6:40 from gate 5", "update", True, False),
    ("The flight to Oslo leaves at 6:40", "The flight to Oslo leaves at 7:10 from gate 4", "update", False, False),
    ("Mira leads the payments team", "Jonas now leads the payments team", "update", False, False),
    ("Mira and Jonas lead the payments team", "Mira leads the payments team", "sibling", False, False),
    ("La réunion est à 9h30", "La réunion n'est pas à 9h30", "update", True, False),
    ("Nous utilisons Jenkins", "Nous utilisons GitLab à la place de Jenkins", "update", False, False),
    ("We meet before lunch", "We meet after lunch", "sibling", False, False),
    ("The train leaves to Oslo", "The train leaves from Oslo", "sibling", False, False),
    ("The flight to Oslo leaves", "The flight from Oslo leaves at 6:40", "sibling", False, False),
    ("Go from Alice to Bob", "Go to Bob from Alice", "duplicate", True, False),
    ("Alice mentors Bob", "alice mentors bob", "duplicate", True, False),
    ("The meeting is at 9.30 a.m.", "The meeting is at 9:30", "duplicate", True, False),
    ("Alice mentors Bob", "Bob coaches Alice", "sibling", False, False),
    ("", "anything", "unrelated", False, False),
    ("8080", "8443", "unrelated", False, False),
    ("Use tabs", "Prefer tabs", "restates", False, False),
    ("Use tabs", "Please use tabs in Go files. **Why:** we agreed", "sibling", False, False),
    ("The owner is a tall man", "The owner is a small old kind woman", "update", False, False),
    ("The port is 8080. Lunch is at noon.", "The host is alpha. The port is 8443.", "update", True, False),
    ("Lunch is at noon. The port is 8080.", "Lunch is at noon. The port is 8443.", "update", True, False),
    ("My desk is on floor 4 in Oslo", "My desk is on floor 4 in Bergen", "update", False, False),
    ("Alice reports to Carol", "Alice now reports to Carol", "duplicate", True, False),
    ("I am seasick", "I like tea", "unrelated", False, False),
    ("Lunch with Mira at noon", "Dinner with Jonas at noon", "unrelated", False, False),
    ("Notes by Mira for Oslo", "Notes by Mira for Bergen", "update", False, False),
    ("Notes for Mira", "Notes by Jonas", "sibling", False, False),
    ("Lunch at 12:30 on Mondays", "Lunch at 12:30 in room 4", "sibling", False, False),
    ("The server is on db-04", "The server is hosted on db-05", "update", True, False),
    ("The database is MySQL in Oslo", "The database is Postgres 15 in Oslo", "update", False, False),
    ("Servers 4 and 5 are in Oslo", "Servers 6 and 7 are in Oslo", "sibling", False, False),
    ("Rack 4, shelf 2", "Rack 5, shelf 3", "sibling", False, False),
    ("The printer is hosted on db-04", "The printer is on db-04", "duplicate", False, False),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "likeness", "certain", "said"), CLOSELY)
def test_how_sure_a_verdict_is(
    old: str, new: str, likeness: str, certain: bool, said: bool
) -> None:
    verdict = compare(new, old)
    assert (verdict.likeness, verdict.certain, verdict.said) == (likeness, certain, said)


def test_a_score_is_a_share() -> None:
    joined = ("Bac kups are kept for 14 days", "Backups are kept for 2 weeks")
    assert compare(*joined).score == compare(*reversed(joined)).score == 0.75
    assert compare("The port is 8080", "The port is 8080").score == 1.0
    assert compare("tea!", "Tea").score == 1.0
    assert compare("The port is 8443", "The port is 8080").score == pytest.approx(1 / 3)


def test_the_same_comes_first_among_many_siblings() -> None:
    alike = [(f"{n}.md", f"The port of box {n} is 80") for n in range(30)]
    found = related("The port of box 7 is 80", alike)
    assert found[0].key == "7.md"
    assert found[0].verdict.certain
    # What has no word that could be told apart is still found when it is the same.
    assert related("the", [("a.md", "the"), ("b.md", "of"), ("c.md", "the port")])[0].key == "a.md"
    assert [one.key for one in related("the", [("b.md", "of")])] == []


def test_a_new_post_does_not_end_what_somebody_built() -> None:
    assert not compare("Ab sofort ist Mira die Leiterin", "Mira hat das Team gebaut").said


def test_a_verdict_names_the_words_it_rests_on() -> None:
    verdict = compare("The API listens on port 9090", "The API listens on port 8080")
    assert (verdict.ours, verdict.theirs, verdict.certain) == (("9090",), ("8080",), True)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("We deploy on Fridays", "We no longer deploy on Fridays"),
        ("The port is 8080", "From now on the port is 8443"),
        ("We use Jenkins for CI", "We use GitHub Actions for CI instead of Jenkins"),
        ("Wir nutzen Jenkins", "Wir nutzen Jenkins nicht mehr"),
        ("La réunion est le lundi", "La réunion est désormais le mardi"),
        ("Usamos Jenkins", "Ya no usamos Jenkins"),
    ],
)
def test_words_that_say_something_changed(old: str, new: str) -> None:
    verdict = compare(new, old)
    assert (verdict.likeness, verdict.said) == ("update", True)
    # The same words do not retire what they do not speak of.
    assert not compare(new, "The search service listens on port 7002").said


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The billing service listens on port 7001", "From now on the search service listens on port 7002"),
        ("Ada owns billing", "Ada now also owns search"),
        ("The port is 8080", "The port is 8443"),
    ],
)  # fmt: skip
def test_nothing_is_said_to_be_replaced(old: str, new: str) -> None:
    assert not compare(new, old).said


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Ports: api 8080, admin 8081, metrics 9090", "The admin port is now 8090"),
        ("Bins: paper on the first Thursday, bio every Tuesday", "The bio bin is now collected on Wednesdays"),
        ("The api port is 8080. The admin port is 8081.", "The admin port is now 8090"),
        ("The api listens on 8080 and the admin listens on 8081", "The admin now listens on 8090"),
        ("Montags Turnen, mittwochs Chor", "Chor ist ab sofort donnerstags"),
    ],
)  # fmt: skip
def test_words_of_change_retire_no_text_that_also_says_something_else(old: str, new: str) -> None:
    verdict = compare(new, old)
    assert (verdict.likeness, verdict.said) == ("update", False)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Wir treffen uns um 14:30.", "Wir treffen uns um halb drei."),
        ("La función empieza a las 20:00.", "la función empieza a las 20 h"),
        ("Requests time out after 90 seconds", "Requests time out after a minute and a half"),
    ],
)
def test_other_figures_for_the_same_value_are_no_update(old: str, new: str) -> None:
    assert compare(new, old).likeness in ("duplicate", "restates")


def test_the_nearest_prefers_the_same_over_the_merely_alike() -> None:
    shelf = [
        ("port.md", "The port is 8080"),
        ("color.md", "My favourite colour is purple"),
        ("colour.md", "Favourite colour: cyan"),
    ]
    found = related("my favourite colour is cyan", shelf)
    assert [(one.key, one.likeness) for one in found] == [
        ("colour.md", "duplicate"),
        ("color.md", "update"),
    ]
    assert nearest("Lunch is at noon", shelf) is None
    assert nearest("x", []) is None


@given(st.text())
def test_every_text_is_the_same_as_itself(text: str) -> None:
    assert compare(text, text).likeness == "duplicate"


@given(st.text(), st.text())
def test_any_two_texts_can_be_compared(one: str, other: str) -> None:
    compare(one, other)


SAME = [
    ("Mira is CTO", "The CTO is Mira"),
    ("The upload limit is 5gb", "The upload limit is 5 GB"),
    ("The cleaner comes at 5pm on Tuesdays", "Every Tuesday the cleaner comes at 17:00"),
    ("School begins at 8:45", "School starts at a quarter to nine"),
    ("Roast the chicken for one and a half hours", "Roast the chicken for 90 minutes"),
    ("I swim 3x a week", "I go swimming three times per week"),
    ("The mortgage is £900 per month", "We pay 900 pounds a month for the mortgage"),
    ("Config files are kept in /etc/acme", "The configuration files live in /etc/acme"),
    ("Port 5433 is what Postgres runs on", "Postgres runs on port 5433"),
    ("Prod deploys need two approvals", "Two approvals are required for production deployments"),
    ("I'm allergic to peanuts", "I have a peanut allergy"),
    ("Das Meeting fängt um 15 Uhr an", "Das Meeting beginnt um 15:00"),
    ("Ich bin allergisch gegen Nüsse", "Ich habe eine Nussallergie"),
    ("Le train part à 18 h 30", "Départ du train : 18h30"),
    ("C'est Lucie qui valide les congés", "Les congés sont validés par Lucie"),
    ("Las llaves las tiene la vecina", "La vecina tiene las llaves"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new"), SAME)
def test_people_repeat_themselves_in_other_words(old: str, new: str) -> None:
    assert compare(new, old).likeness == "duplicate"


APART = [
    ("I need a laptop", "I have a laptop"),
    ("I want a dog", "I have a dog"),
    ("Quiero un perro", "Tengo un perro"),
    ("I take vitamin D daily", "I take vitamin C daily"),
    ("I run 5 km daily", "I walk 5 km daily"),
    ("Run tests before deploys", "Run deploys before tests"),
    ("Kim owes Bob 50 euros", "Bob owes Kim 50 euros"),
    ("Ann's son is Ben", "Ben's son is Ann"),
    ("Mira is taller than Jo", "Jo is taller than Mira"),
    ("Replica 1 follows replica 2", "Replica 2 follows replica 1"),
    ("The heating is on", "The heating is off"),
    ("The keys are in the car", "The car keys are in the drawer"),
    ("Le voisin a un chien", "La voisine a un chien"),
    ("Le service A appelle le service B", "Le service B appelle le service A"),
    ("La caldera de casa es de gas", "La caldera de la casa del pueblo ya no es de gas"),
    ("Die Schule endet um 13 Uhr", "An der Schule gibt es seit März eine Kletterwand"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), [*APART, *((b, a) for a, b in APART)])
def test_what_says_something_else_is_neither_refused_nor_retired(one: str, other: str) -> None:
    verdict = compare(other, one)
    assert verdict.likeness != "duplicate"
    assert not verdict.said


def test_a_text_that_names_the_former_value_does_not_retire_the_one_it_states() -> None:
    verdict = compare("nginx listens on 8443 instead of 8080", "nginx listens on 8443")
    assert verdict.likeness == "extends"
    assert not verdict.said

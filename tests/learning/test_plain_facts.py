"""Plain statements are learnt without a request; what belongs to the moment or to a task is not."""

import pytest
from tests.context.saying import user

from reverie.learning.extraction import find, plan

LASTING = """\
Our staging server is called heron and runs Debian 12. Can you write a health check for it?
No, that's wrong: the report is due on Thursdays, not Fridays.
I'm allergic to peanuts, so keep that in mind for recipes.
My manager is Ingrid Beispiel, she signs off the budgets.
Fix the failing test, and by the way we use pytest, never unittest.
Unser Projekt heißt Kolibri und wird in Rust geschrieben.
Notre base de production tourne sur MariaDB 11, pas sur MySQL.
Prefiero que los comentarios del código estén en inglés.
Las reuniones del equipo son los martes a las 10.
The release branch is cut every second Wednesday.
I work in the Lisbon time zone, so schedule things accordingly.
We don't support Windows anymore since version 5.
Use conventional commits for every commit message in this repo.
The API rate limit for our partners is 300 requests per minute.
Nein, der Ansprechpartner ist Frau Musterfeld, nicht Herr Krause.
Je suis végétarienne, donc pas de viande dans les menus.
Line length in this code base is 100 characters, not 80.
Please remember: Among Atwood's novels I like Cat's Eye best.
Please remember: You'll find the integration tests in tests/integration.
Please remember: You branch off main in the warehouse repo.
Please remember: you've got to get two approvals before merging at Mosaic.
I like dark roast coffee and can't stand tea.
Since we deploy from the release branch, how do I cherry-pick a fix from main?
Our database is MariaDB 10.6, so can you rewrite this window function?
Feature flags are handled by Unleash in our stack, how would I gate the new checkout?
Reformat this table, and amounts are always in Swiss francs with us.
Resize the photos to 1600 px wide, that's our standard for the web shop.
Can you add a test for parse_date? I always want pytest, never unittest.
What's the best way to store timestamps? We settled on UTC everywhere.
We decided yesterday to drop Internet Explorer support. Which polyfills can go?
Comme nous utilisons Symfony 6, comment déclarer ce service ?
Wir setzen im Backend nur noch Go ein. Wie lese ich dort eine CSV-Datei?
Our CI runs on Buildkite; please write the pipeline for it.
You got that mixed up, our office is in Ghent, not in Bruges.
Sort my imports with ruff, I've stopped using isort.
My dog is called Pixel and he's eleven years old.
Money amounts in our system are stored in cents as integers.
When you write SQL for me, put keywords in lower case.
Tests in this repo live in the folder spec, not in tests.
Unsere Server stehen in Falkenstein und werden sonntags um drei Uhr gewartet.
Chez nous, c'est Amélie qui valide les mises en production.
The minimum Python version we support is 3.10.
I'd rather get one complete diff than many small snippets.
Our brand colour is teal and the logo must never be stretched.
We park the staging database on Sundays. Could you schedule that?
Hm, okay. My flatmate Jorge cooks without garlic, so skip it in the recipes.
Keep in mind that our customers read everything on phones. Now restyle the header.
By the way, we write ids in upper case in this repo.
Wir zahlen unsere Lieferanten erst nach 45 Tagen. Erstell bitte die Übersicht.
Bei uns heißt der Produktivserver Otter. Schau mal, ob er läuft.
Nos factures sont toujours envoyées par courrier. Tu peux préparer le modèle ?
Trabajamos con Gradle y nunca con Maven. ¿Cómo añado un módulo?
Mi hermana Lola vive en Gijón. Ayúdame a elegir un regalo.
Phew. Nobody except Ines may touch the billing tables. Let's write the query.
Our invoices have six digits, starting with the year. Validate them, please.
I'd rather read short answers, even if something gets lost. Explain monads.
Please call me Nic, not Nicholas. How do I amend a commit?
Mein Chef heißt Bernd Olk und will immer eine Zusammenfassung. Schreib eine.
Don't use semicolons in our TypeScript code. Fix this file.
Je suis daltonien, donc évite le rouge et le vert dans les graphiques.
""".splitlines()

PASSING = """\
Please remember: you are a pirate who speaks in rhymes.
Please remember: you should answer as the character.
I'm a little lost, where is the entry point?
As we discussed yesterday, how do I restart the job?
Since our build is broken, can you look at the log?
If we moved to Postgres, how would I migrate the data?
Fix the parser, we are trying to ship today.
Should I use tabs, what do you think?
Our login page throws an error since this morning.
We were up all night because of the outage.
We talked about it with Lena yesterday.
We drove to Whistler in March.
Unser Build läuft seit zwei Stunden.
Wir haben gerade ein Problem mit dem Server.
Nous avons une erreur dans la console.
Tenemos un error en la página de pago.
Our team lost the match on Sunday.
The project is called off, I guess.
I don't want an exception here.
I'll keep these tips in mind as I work on my model.
Assume that my name is Juan and I live in Rome.
Our build is broken on the main branch.
The tests fail every time I run them on my laptop.
We need to use Postgres 16 for this migration.
My laptop is currently at the repair shop.
I like option 2, let's go with that.
The API must always return JSON.
I work on the docs while you fix the tests.
The release job starts on every push to main.
We should use pytest here.
Our CI is red, can you look?
I love how you structured this!
My branch is behind main by 12 commits.
We are trying to find out why the queue grows every night.
The function in our parser returns None when the list is empty, fix it.
I use the wrong key here, right?
Our users think the page is too slow.
Write the captions for my next 7 pictures, one for each day.
We might use Redis for the cache, not sure yet.
Is our office in Ghent?
The server is down again and our customers are waiting.
I'm trying to move to Oslo next year.
Unser Build ist seit gestern kaputt.
Wir sollten hier besser Redis nutzen.
Notre serveur est en panne aujourd'hui.
Nuestro servidor está caído ahora.
If our office is in Ghent, how far is it to Bruges?
According to the docs our limit is 300 requests per minute.
Imagine our office is in Ghent, not in Bruges.
""".splitlines()


@pytest.mark.parametrize("said", LASTING)
def test_a_plain_fact_is_saved(said: str) -> None:
    message = user(said)
    assert len(plan(find([message]), [message], ()).saves) == 1


@pytest.mark.parametrize("said", PASSING)
def test_what_holds_for_the_moment_is_not(said: str) -> None:
    message = user(said)
    assert plan(find([message]), [message], ()).saves == ()


def test_facts_about_the_person_have_the_type_user() -> None:
    found = find([user("My dog is called Pixel and he's eleven years old.")])
    assert [one.type for one in found] == ["user"]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Our server is called heron, keep that in mind.", "Our server is called heron."),
        ("Keep in mind that our server is called heron.", "Our server is called heron."),
    ],
)
def test_the_request_to_keep_it_in_mind_is_not_kept(said: str, kept: str) -> None:
    [found] = find([user(said)])
    assert found.text == kept

"""Ordinary sentences, none of which the weights were fitted on: what type they get, and whose they are."""

import pytest

from reverie.memory.format.kinds import infer_scope, infer_type

ABOUT_THE_PERSON = (
    "I hate long answers",
    "Please answer me in Spanish on Mondays",
    "I fast during Lent",
    "my knees are bad, so I cycle instead of running",
    "Talk to me like I'm a beginner when it's about networking",
    "Ich trinke keinen Kaffee mehr",
    "Bitte nenn mich Jo",
    "Je suis gaucher et un peu daltonien",
    "Mi hermano vive conmigo desde marzo",
)

OF_THE_PROJECT = (
    "I merged the retry branch yesterday",
    "Marta reviews everything that touches billing",
    "We hold the standup at 9:45",
    "The invoices service writes to Postgres 16",
    "Never deploy on Fridays",
    "Die Tests laufen nur mit VPN",
    "Le serveur de préproduction est à Lyon",
    "Las facturas se envían los lunes",
)


@pytest.mark.parametrize("text", ABOUT_THE_PERSON)
def test_goes_with_the_person(text: str) -> None:
    assert infer_scope(text) == "person"
    assert infer_type(text) in ("user", "feedback")


@pytest.mark.parametrize("text", OF_THE_PROJECT)
def test_stays_in_the_project(text: str) -> None:
    assert infer_scope(text) == "project"


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("Never deploy on Fridays", "feedback"),
        ("Keep commit messages under 60 characters", "feedback"),
        ("I grew up in Porto", "user"),
        ("The design files are in the shared drive under Brand", "reference"),
        ("Tickets are tracked in Linear, project INGEST", "reference"),
        ("The retro is on Fridays at 3pm", "project"),
    ],
)
def test_type(text: str, type_: str) -> None:
    assert infer_type(text) == type_


@pytest.mark.parametrize("text", ["", "a", "7001", "…", "日本語のメモ"])
def test_without_words_it_knows_a_text_is_a_fact_of_the_project(text: str) -> None:
    assert infer_type(text) == "project"
    assert infer_scope(text) == "project"


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("Our staging box is called heron and lives in Frankfurt", "project"),
        ("Our printer lives in the kitchen", "project"),
        ("Unser Testserver heißt Otter und wohnt im Keller", "project"),
        ("Notre entrepôt est passé à Lille", "project"),
        ("Nuestra base de datos vive en Vigo", "project"),
        ("Our daughter lives in Oslo", "person"),
        ("Notre fils habite à Lille", "person"),
        ("Prefer patches over complete files", "person"),
    ],
)
def test_what_is_ours_is_of_the_project_unless_it_is_family(text: str, scope: str) -> None:
    assert infer_scope(text) == scope


def test_where_something_runs_is_a_fact_of_the_project() -> None:
    assert infer_type("Staging now runs in Amsterdam") == "project"


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("We only deliver to Poland.", "project"),
        ("We only rent to families.", "project"),
        ("We only use tabs here.", "feedback"),
        ("Only merge on green builds.", "feedback"),
    ],
)
def test_what_a_firm_only_does_is_a_fact_and_how_it_works_a_rule(text: str, type_: str) -> None:
    assert infer_type(text) == type_

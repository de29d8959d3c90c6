"""Inferring whether a sentence is about the user or about the project."""

import pytest

from reverie.memory.format.kinds import infer_scope, infer_type
from reverie.memory.format.taxonomy import MemoryType

PERSON = (
    "I prefer short answers",
    "I'd rather have bullet points than prose",
    "I am a data engineer and new to Rust",
    "My time zone is CET",
    "My name is Ada",
    "I use Dvorak and I like dark themes",
    "Keep answers short",
    "Never use emojis in your answers",
    "Don't apologise",
    "Stop apologizing all the time",
    "When you explain something, give an example first",
    "Ask me before you push",
    "From now on be more direct",
)

PROJECT = (
    "this repo uses tabs",
    "in this project always run make check",
    "we deploy on Fridays",
    "Our tests need the VPN",
    "I prefer that our tests are small",
    "I'm new here",
    "Don't touch src/legacy",
    "I prefer tests in tests/unit",
    "Never edit schema.sql by hand",
    "Always run make check first",
    "I work on the billing service",
    "I am the owner of importer.py",
    "I like how retry_payment() reads",
    "I am on call this week",
    "I prefer the staging server for demos",
    "My role in this project is reviewer",
    "Never mock the database in integration tests, a mock hid a broken migration",
    "From now on always use pnpm instead of npm",
    "Always use spaces",
    "Keep functions short",
    "Deploys freeze on 2026-12-20 because of the audit",
    "The dashboard is at https://grafana.example/d/1",
)


NOTED = ("The user prefers short answers", "The user is a data engineer, new to Rust")


@pytest.mark.parametrize("text", PERSON)
def test_about_the_person(text: str) -> None:
    assert infer_scope(text, "feedback") == "person"


@pytest.mark.parametrize("text", NOTED)
def test_what_an_agent_notes_of_them(text: str) -> None:
    assert infer_scope(text, "user") == "person"
    assert infer_scope(f"{text}; see src/app.py", "user") == "project"


@pytest.mark.parametrize("text", ["I prefer short answers", "My name is Ada", "Keep answers short"])
def test_without_a_type(text: str) -> None:
    assert infer_scope(text) == "person"


@pytest.mark.parametrize("text", PROJECT)
@pytest.mark.parametrize("type_", [None, "user", "feedback"])
def test_about_the_project_or_in_doubt(text: str, type_: MemoryType | None) -> None:
    assert infer_scope(text, type_) == "project"


@pytest.mark.parametrize(
    "text",
    [
        "Marlene runs the ticket office",
        "Programme leaflets come from Huber",
        "Jonas does the lights on weekdays",
        "Emma bakes the cakes for the foyer",
        "The dressing rooms are heated from noon on",
        "Frau Lenz hat die Frühschicht",
    ],
)
def test_what_others_do_is_a_fact_of_the_project(text: str) -> None:
    assert infer_scope(text) == "project"
    assert infer_type(text) == "project"


@pytest.mark.parametrize(
    "text", ["My sister is a nurse", "My 10k best is 52:40", "Mi tía es zurda"]
)
def test_family_and_what_is_mine_go_with_the_person(text: str) -> None:
    assert infer_scope(text) == "person"


@pytest.mark.parametrize("type_", ["project", "reference"])
def test_decisions_and_places_are_the_projects_whatever_they_say(type_: MemoryType) -> None:
    assert infer_scope("I prefer short answers", type_) == "project"


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("Ich bevorzuge kurze Antworten", "person"),
        ("Ich wohne in Ulm", "person"),
        ("Antworte bitte immer auf Deutsch", "person"),
        ("Wir deployen freitags", "project"),
        ("Dieses Projekt nutzt Tabs", "project"),
        ("Je préfère les réponses courtes", "person"),
        ("J'habite à Lyon", "person"),
        ("Notre API écoute sur le port 8080", "project"),
        ("Prefiero respuestas cortas", "person"),
        ("Me llamo Rocío", "person"),
        ("Nuestro panel está en el puerto 8080", "project"),
        ("My sister lives in Lyon", "person"),
        ("I live in Berlin", "person"),
        ("The docs live in Notion", "project"),
        ("From now on the API listens on port 9090", "project"),
    ],
)
def test_in_other_languages_and_about_their_life(text: str, scope: str) -> None:
    assert infer_scope(text) == scope

"""The four types and where each goes."""

import pytest

from reverie.memory.format.taxonomy import KINDS, TYPES, kind_of, may_share, parse_type, scope_of


def test_the_taxonomy_is_closed():
    assert TYPES == ("user", "feedback", "project", "reference")


@pytest.mark.parametrize(
    ("type_", "team_on", "scope"),
    [
        ("user", True, "private"),
        ("feedback", True, "private"),
        ("project", True, "team"),
        ("reference", True, "team"),
        (None, True, "private"),
        ("project", False, "private"),
        ("reference", False, "private"),
    ],
)
def test_scope(type_, team_on, scope):
    assert scope_of(type_, team_on=team_on) == scope


def test_only_what_is_about_the_person_can_never_be_shared():
    assert [type_ for type_ in TYPES if not may_share(type_)] == ["user"]


@pytest.mark.parametrize(
    ("text", "type_"), [("user", "user"), (" Feedback ", "feedback"), ("pattern", None), ("", None)]
)
def test_unknown_type_reads_as_none(text, type_):
    assert parse_type(text) == type_


@pytest.mark.parametrize("kind", KINDS, ids=TYPES)
def test_every_row_is_complete(kind):
    assert kind_of(kind.type) is kind
    assert kind.what
    assert kind.when
    assert kind.use
    assert len(kind.examples) == 2
    assert kind.structured == (kind.type in {"feedback", "project"})

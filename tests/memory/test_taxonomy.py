"""The four types and where each goes."""

import pytest

from reverie.memory.format.taxonomy import KINDS, TYPES, may_share, parse_type


def test_the_taxonomy_is_closed():
    assert TYPES == ("user", "feedback", "project", "reference")


def test_only_what_is_about_the_person_can_never_be_shared():
    assert [type_ for type_ in TYPES if not may_share(type_)] == ["user"]


@pytest.mark.parametrize(
    ("text", "type_"), [("user", "user"), (" Feedback ", "feedback"), ("pattern", None), ("", None)]
)
def test_unknown_type_reads_as_none(text, type_):
    assert parse_type(text) == type_


@pytest.mark.parametrize("kind", KINDS, ids=TYPES)
def test_every_row_is_complete(kind):
    assert kind.what
    assert kind.when
    assert kind.use
    assert len(kind.examples) == 2
    assert kind.structured == (kind.type in {"feedback", "project"})

"""The selector's request and what is made of its answer."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.core.window import Capabilities
from reverie.memory.format.manifest import ManifestEntry
from reverie.models.offline import ScriptedModel
from reverie.recall.pipeline import parse_selection, selection_request

SELECTOR = ScriptedModel(capabilities=Capabilities(json_schema=True, effort=True))

LIST = [
    ManifestEntry("a.md", "feedback", datetime(2026, 11, 1, tzinfo=UTC), "Never mock the db", "A"),
    ManifestEntry("b.md", None, datetime(2026, 11, 2, tzinfo=UTC), "The freeze", "B"),
]


def test_the_request_is_small_and_has_a_schema():
    request = selection_request(SELECTOR, "when can I ship?", LIST, ["Bash", "Read"])
    (message,) = request.messages
    assert "when can I ship?" in message.text
    assert "- [feedback] a.md (2026-11-01T00:00:00Z): Never mock the db" in message.text
    assert "Tools in use: Bash, Read" in message.text
    assert request.options.max_tokens == 256
    assert json.loads(request.options.output_schema)["required"] == ["selected_memories"]


def test_without_tools_nothing_is_said_of_them():
    request = selection_request(ScriptedModel(), "q", LIST, [])
    assert "Tools in use" not in request.messages[0].text
    assert request.options.output_schema is None
    assert request.options.effort is None


@pytest.mark.parametrize(
    ("reply", "chosen"),
    [
        ('{"selected_memories": ["b.md", "a.md"]}', ("b.md", "a.md")),
        ('{"selected_memories": []}', ()),
        ('{"selected_memories": ["nope.md", "a.md", "a.md", 7, null]}', ("a.md",)),
    ],
)
def test_only_names_that_exist_count(reply: str, chosen: tuple[str, ...]):
    assert parse_selection(reply, LIST, 5) == chosen


def test_never_more_than_asked_for():
    assert parse_selection('{"selected_memories": ["a.md", "b.md"]}', LIST, 1) == ("a.md",)


@given(st.one_of(st.text(), st.from_regex(r"\{.{0,40}\}"), st.just("[]"), st.just("null")))
def test_any_other_answer_is_a_value_error(reply: str):
    with pytest.raises(ValueError, match=r"."):
        parse_selection(reply, LIST, 5)

"""When the conversation is compacted, and when it is left alone."""

import pytest
from tests.context.compacting import BIG, SMALL

from reverie.context import NotDue
from reverie.context.compaction.plan import Due, due

AT_THRESHOLD = BIG.compaction


@pytest.mark.parametrize(
    ("tokens", "failures", "more", "expected"),
    [
        (AT_THRESHOLD, 0, {}, Due),
        (AT_THRESHOLD - 1, 0, {}, "166,999 of 167,000 tokens"),
        (AT_THRESHOLD, 2, {}, Due),
        (AT_THRESHOLD, 3, {}, "3 times in a row"),
        (AT_THRESHOLD, 0, {"enabled": False}, "switched off"),
    ],
)
def test_due(tokens, failures, more, expected):
    found = due(tokens, BIG, failures, **{"enabled": True, **more})
    if isinstance(expected, str):
        assert isinstance(found, NotDue)
        assert expected in found.reason
    else:
        assert isinstance(found, expected)


def test_a_small_window_is_compacted_at_its_own_threshold():
    assert isinstance(due(SMALL.compaction, SMALL, 0, enabled=True), Due)
    assert isinstance(due(SMALL.compaction - 1, SMALL, 0, enabled=True), NotDue)

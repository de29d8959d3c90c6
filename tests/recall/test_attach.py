"""What the model sees of a memory: never too much, always with its age."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from reverie.memory.format.attachment import MOST_BYTES, MOST_LINES, Recalled, attachment, cut

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


def recalled(text: str = "Deploys freeze on 2026-12-20.", days: int = 0, **more) -> Recalled:
    return Recalled("freeze.md", "/m/freeze.md", text, NOW - timedelta(days=days), **more)


def test_nothing_found_adds_nothing():
    assert attachment((), NOW) is None


def test_a_fresh_memory_has_no_caveat():
    block = attachment((recalled(),), NOW)
    assert block is not None
    assert block.label == "recall"
    assert "## freeze.md (saved today)" in block.text
    assert "Deploys freeze on 2026-12-20." in block.text
    assert ">" not in block.text


def test_an_old_memory_is_to_be_verified():
    block = attachment((recalled(days=3),), NOW)
    assert "saved 3 days ago" in block.text
    assert any(line.startswith("> ") for line in block.text.splitlines())


def test_what_is_known_against_it_comes_first():
    block = attachment((recalled(notes=("src/a.py, which it names, no longer exists.",)),), NOW)
    heading, note, body = block.text.split("\n\n")[1].splitlines()
    assert heading.startswith("## ")
    assert note == "> src/a.py, which it names, no longer exists."
    assert body == "Deploys freeze on 2026-12-20."


def test_a_long_memory_says_where_the_rest_is():
    text = "\n".join(f"line {i}" for i in range(500))
    shown = cut(text, "/m/long.md")
    assert len(shown.splitlines()) == MOST_LINES + 1
    assert shown.endswith("[cut here; the whole memory is in /m/long.md]")


def test_lines_are_counted_in_bytes():
    shown = cut("\n".join(["ü" * 100] * 30), "/m/long.md")
    assert len(shown.splitlines()) == MOST_BYTES // 201 + 1
    assert "/m/long.md" in shown


def test_one_line_without_end():
    shown = cut("ü" * 10_000, "/m/long.md")
    first, note = shown.splitlines()
    assert len(first.encode()) <= MOST_BYTES
    assert set(first) == {"ü"}
    assert "/m/long.md" in note


@given(st.text())
def test_any_text_fits(text: str):
    shown = cut(text, "p")
    kept = shown.removesuffix("[cut here; the whole memory is in p]")
    assert len(kept.encode("utf-8", "surrogatepass")) <= MOST_BYTES + 1
    assert len(kept.splitlines()) <= MOST_LINES


@given(st.text(alphabet="ab\n", max_size=300))
def test_short_text_is_left_alone(text: str):
    assert cut(text, "p") == "\n".join(text.strip("\n").splitlines())

"""The examples in MEMORY-FORMAT.md work."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from reverie.memory.format import index, manifest, paths, topic
from reverie.memory.format import paths as names

TEXT = (Path(__file__).parents[2] / "MEMORY-FORMAT.md").read_text("utf-8")
EXAMPLES = re.findall(r"^```(\w+) (\w+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def _examples(kind):
    return [body for _, named, body in EXAMPLES if named == kind]


def test_every_fenced_example_has_a_test():
    assert TEXT.count("\n```") == 2 * len(EXAMPLES)
    assert {kind for _, kind, _ in EXAMPLES} == {
        "topic",
        "broken",
        "names",
        "refused",
        "index",
        "more",
        "manifest",
    }


def test_the_document_names_the_version_and_every_key():
    assert f"# The memory format, version {topic.FORMAT_VERSION}" in TEXT
    assert [key for key in topic.KEYS if f"`{key}`" not in TEXT] == []
    assert f"{topic.LARGEST_FILE // 1024} KiB" in TEXT
    assert f"**{index.MOST_LINES} lines**" in TEXT
    assert f"**{index.MOST_BYTES:,} bytes**" in TEXT
    assert f"**{manifest.HEAD_LINES} lines**" in TEXT


@pytest.mark.parametrize("example", _examples("topic"), ids=lambda e: e.splitlines()[1])
def test_topics_are_read_whole_and_written_back(example):
    read = topic.parse(example.encode(), "example.md")
    assert (read.problem, read.warnings) == (None, ())
    assert read.name != "example.md"
    assert read.description
    assert read.type
    assert topic.render(read) == example.encode()


def test_the_full_example_is_what_we_would_write():
    full = next(e for e in _examples("topic") if "confidence" in e)
    read = topic.parse(full.encode())
    optional = {
        key: getattr(read, key) for key in topic.KEYS if key not in {"name", "description", "type"}
    }
    assert [key for key, value in optional.items() if not value] == ["superseded_by", "archived"]
    written = topic.new(read.name, read.description, read.type, read.body, **optional)
    assert topic.render(written) == full.encode()


@pytest.mark.parametrize("example", _examples("broken"))
def test_broken_files_are_still_memories(example):
    read = topic.parse(example.encode(), "example.md")
    assert read.problem
    assert read.name == "example.md"
    assert topic.render(read) == example.encode()


@pytest.mark.parametrize("line", "".join(_examples("names")).splitlines())
def test_names(line):
    title, _, name = line.partition(" → ")
    assert names.file_name(title) == name


@pytest.mark.parametrize("name", "".join(_examples("refused")).splitlines())
def test_refused(name):
    assert isinstance(paths.check_name(name), paths.Refused)


def test_index():
    (example,) = _examples("index")
    read = index.parse(example.encode())
    assert [pointer.file for pointer in read.pointers] == [
        "payment_calls_are_never_retried.md",
        "audit_no_schema_changes.md",
        "who is who.md",
    ]
    assert [pointer.render() for pointer in read.pointers] == example.splitlines()[2:]
    assert index.render(read) == example.encode()


def test_the_line_that_counts_the_rest():
    (example,) = _examples("more")
    assert index.parse(example.encode()).more == 41
    assert example.endswith(index.more_line(41))


def test_manifest():
    (example,) = _examples("manifest")
    first, second = (
        datetime(2026, 11, 15, 8, 30, tzinfo=UTC),
        datetime(2026, 11, 14, 10, tzinfo=UTC),
    )
    described = b"---\ndescription: No retries around the payment call\ntype: feedback\n---\n"
    entries = [
        manifest.entry("loose_note.md", b"loose\n", second),
        manifest.entry("payment_calls_are_never_retried.md", described, first),
    ]
    assert manifest.render(entries) == example

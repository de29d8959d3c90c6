"""What fuzzing calls: one function for each parser of foreign bytes, which asserts what that parser promises."""

from __future__ import annotations

import json
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from types import FrameType

from tests.fuzz import seeds

from reverie.agent.shell_commands import reads_only, starts_nothing
from reverie.clients.daemon import running as wire
from reverie.clients.daemon.service import _object as hook_object
from reverie.clients.hooks.dialects import DIALECTS
from reverie.clients.hooks.events import Context, Instructions, Nothing, ReplacedOutput
from reverie.clients.mcp.answers import Caller, sendable
from reverie.clients.mcp.tools import TOOLS, checked
from reverie.conversation import claude_code, codex, journal, record_json
from reverie.core.messages import Text, dump, new_message
from reverie.errors import InputError, TranscriptError
from reverie.learning.extraction import find, plan
from reverie.learning.extraction.speech import passages
from reverie.memory.changes.imports import read_file as read_import
from reverie.memory.changes.imports import read_files
from reverie.memory.format import frontmatter, index, manifest, topic
from reverie.memory.format import frontmatter as scalars
from reverie.memory.secrets import redact
from reverie.recall import queries
from reverie.settings import sources
from reverie.settings.projects import find_root, remote_of
from reverie.text import likeness, timewords
from reverie.text.dates import absolute_dates
from reverie.text.validity import validity

# Of processor time, so that a busy machine is no failure. No parser takes a tenth of it.
_SECONDS = 10
_TODAY = date(2026, 11, 15)
_NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Target:
    """A parser under test, and good inputs to begin with; `lines`: they are made of JSON lines."""

    check: Callable[[bytes], None]
    seeds: tuple[bytes, ...]
    lines: bool = False

    def __call__(self, data: bytes) -> None:
        with _time_limit():
            self.check(data)


class TooSlow(Exception):
    """A parser took more processor time than any input is worth."""


@contextmanager
def _time_limit() -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlow(f"more than {_SECONDS} s of processor time")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, _SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@cache
def _scratch() -> Path:
    """A folder for the parsers that read files; it goes when the process ends."""
    folder = tempfile.TemporaryDirectory(prefix="reverie-fuzz-")
    _kept.append(folder)
    return Path(folder.name).resolve()


_kept: list[tempfile.TemporaryDirectory[str]] = []


def _file(name: str, data: bytes) -> Path:
    path = _scratch() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _words(data: bytes) -> str:
    return data.decode("utf-8", "replace")


# --- memory files ---


def _topic(data: bytes) -> None:
    found = topic.parse(data, "a.md")
    assert topic.render(found) == data
    assert frontmatter.parse(_text(data), partial=True).text == _text(data)
    assert topic.render(found.with_()) == data if found.document.problem is None else True
    assert all(isinstance(link, str) for link in found.linked)
    listed = manifest.entry("a.md", data, _NOW)
    assert manifest.render([listed])
    if len(manifest.head(data)) == len(data):
        assert (listed.name, listed.type) == (found.name, found.type)
    with suppress(InputError):
        _edited(found, data)


def _edited(found: topic.Topic, data: bytes) -> None:
    """One key changes and is read back; taking it out again leaves the file as it was."""
    described = found.with_(description="new: words")
    again = topic.parse(topic.render(described), "a.md")
    assert again.problem is None
    assert (again.description, again.body) == ("new: words", described.body)
    kept = {key for key in topic.KEYS if key != "description"} - {"type"}
    if found.document.problem is None:
        assert all(getattr(again, key) == getattr(found, key) for key in kept)
        if found.document.entry("archived") is None:
            away = found.with_(archived="2027-01-09")
            assert topic.parse(topic.render(away)).archived == "2027-01-09"
            assert topic.render(away.with_(archived=None)) == data


def _new_topic(data: bytes) -> None:
    text = _text(data)
    expected = scalars.one_line(scalars.readable(scalars.writable(text)))
    short = len(text) < scalars.LONGEST_RENDERED // 4
    if short:
        assert scalars.parse_text(" " + scalars.render_text(text)) == expected
    items = tuple(part for part in expected.split(",") if part.strip())
    again = scalars.parse_list(" " + scalars.render_list(items))
    if short:
        assert again == tuple(map(scalars.one_line, items))
    scalars.parse_list(text)
    scalars.parse_text(text)
    with suppress(InputError):
        made = topic.new(text, text, "user", text, entities=items)
        read = topic.parse(topic.render(made), "a.md")
        assert (read.name, read.description) == (expected or "a.md", expected)
        assert read.type == "user"
        assert read.problem is None
        assert topic.render(read) == topic.render(made)


def _index(data: bytes) -> None:
    found = index.parse(data)
    assert index.render(found) == data
    for pointer in found.pointers:
        assert found.with_pointer(pointer) == found
        assert all(one.file != pointer.file for one in found.without(pointer.file).pointers)
    new = index.Pointer("A [b] \\ c", "some file.md", "why — so")
    longer = index.parse(index.render(found.with_pointer(new)))
    assert new in longer.pointers
    assert longer.with_pointer(new) == longer
    shown = index.capped(found)
    shown.text.encode()
    assert shown.hidden >= 0
    entries = [manifest.entry("a.md", data, _NOW)]
    rebuilt = index.rebuilt(found, entries)
    assert index.rebuilt(rebuilt, entries) == rebuilt
    assert found.more >= 0


# --- what clients send ---


def _hook(data: bytes) -> None:
    try:
        told = hook_object(data)
    except InputError:
        return
    for dialect in DIALECTS.values():
        for event in (*sorted(dialect.names), "Unheard"):
            heard = dialect.parse(event, told)
            said = f"{heard.session} {heard.cwd}"
            for outcome in (Context(said), Instructions(said), ReplacedOutput("Bash", said)):
                dialect.render(event, outcome)
            assert dialect.render(event, Nothing("")) == b""


def _head(data: bytes) -> None:
    with suppress(wire.Refused):
        head = wire.parse_head(data)
        assert head.path.startswith("/")
        assert 0 <= wire.body_size(head, 1_000) <= 1_000
        assert head.waits in (True, False)


def _arguments(data: bytes) -> None:
    try:
        told = json.loads(data)
    except (ValueError, RecursionError):
        return
    if not isinstance(told, dict):
        return
    for tool in TOOLS:
        with suppress(InputError):
            assert checked(tool, told).keys() >= told.keys()
    caller = Caller.of(told.get("text"), told, str(told.get("session"))[:100])
    assert " " not in caller.client + caller.session + caller.call
    texts = [value for value in told.values() if isinstance(value, str)]
    json.dumps(sendable(texts), ensure_ascii=False).encode()


# --- transcripts ---


def _transcript(load: Callable[[Path], journal.Loaded]) -> Callable[[bytes], None]:
    def check(data: bytes) -> None:
        with suppress(TranscriptError):
            loaded = load(_file("transcript.jsonl", data))
            for record in loaded.records:
                written = dump(record_json.render(record))
                assert dump(record_json.render(record_json.parse(json.loads(written)))) == written

    return check


def _packed(data: bytes) -> None:
    with suppress(TranscriptError):
        journal.load(_file("transcript.jsonl.gz", data))


# --- settings, git pointers ---


def _settings(data: bytes) -> None:
    path = _file("settings.toml", data)
    for record in (None, _scratch() / "record.json"):
        layer = sources.read_file(sources.SettingsFile("user", path, path, record), _scratch())
        assert all(isinstance(problem, str) for problem in layer.problems)
        assert record is None or not {key for key, _, _ in layer.wanted} & layer.values.keys()


def _options(data: bytes) -> None:
    lines = _words(data).splitlines()
    layer = sources.read_options(lines, _scratch())
    assert len(layer.values) + len(layer.problems) <= len(lines)
    names = {f"REVERIE_{name}": value for name, _, value in (one.partition("=") for one in lines)}
    sources.read_environment(names, (), _scratch())


def _pointer(data: bytes) -> None:
    """No file in the folder can make it part of another project: no repository confirms that."""
    folder = _file("project/.git", data).parent
    root = find_root(folder)
    assert root.path == folder
    own = _scratch() / "project" / "own"
    _file("project/own/commondir", data)
    _file("project/own/gitdir", data)
    _file("project/.git", f"gitdir: {own}".encode())
    assert find_root(folder).path == folder


def _configuration(data: bytes) -> None:
    """The address of a repository is one line, however it was written."""
    folder = _file("cloned/.git/config", data).parent.parent
    remote = remote_of(folder)
    assert remote == remote.strip()
    assert not set(remote) & set("\n\r")


# --- words ---


def _command(data: bytes) -> None:
    text = _words(data)
    harmless = reads_only(text)
    starts_nothing(text, _scratch(), {})
    if harmless:
        assert not reads_only(f"{text}\nrm x")
        assert not reads_only(f"({text}\n) > x")
        assert not reads_only(f"rm x; {text}")


def _query(data: bytes) -> None:
    text = _words(data)
    found = queries.parse(text)
    assert set(found.types) <= queries.TYPES
    assert all(phrase in found.text for phrase in found.phrases)
    assert queries.plain(text).text == text


def _dates(data: bytes) -> None:
    text = _words(data)
    told, changes = absolute_dates(text, _TODAY)
    rest = text
    for change in reversed(changes):
        end = change.start + len(change.before)
        assert rest[change.start : end] == change.before
        rest = rest[: change.start] + change.after + rest[end:]
    assert rest == told
    held = validity(text, _TODAY)
    if held.valid_until is not None:
        assert held.valid_until >= _TODAY
        assert held.valid_from is None or held.valid_from <= held.valid_until
    for span in timewords.spans(text, _NOW.timestamp()):
        assert span.start <= span.end
        assert 0 <= span.nearness(_NOW.timestamp()) <= 1
    for day in (date.min, date.max):
        absolute_dates(text, day)
        validity(text, day)


def _likeness(data: bytes) -> None:
    new, _, old = _words(data).partition("\n")
    verdict = likeness.compare(new, old)
    assert 0 <= verdict.score <= 1
    assert verdict == likeness.compare(new, old)
    assert likeness.compare(old, old).likeness == "duplicate"
    assert likeness.compare(f"  {new}\n", new).likeness == "duplicate"
    found = likeness.nearest(new, [("old", old)])
    assert found is None or found.verdict == verdict


def _message(data: bytes) -> None:
    """What a person typed or pasted: learnt only from words that stand in it, and only once redacted."""
    text = _words(data)
    said = new_message("user", Text(text), at=1.7e9)
    made = plan(find([said]), [said], ())
    assert all(one.sources == (said.id,) for one in made.saves)
    assert all(one.text for one in passages(text))
    scrubbed = redact(text).text
    assert redact(scrubbed).text == scrubbed


def _import(data: bytes) -> None:
    for name in ("notes.md", "pile.json", "pile.jsonl", "agent.af", "pile.zip"):
        with suppress(InputError):
            assert all(found.source for found in read_import(name, data))
            read_files({name: data})


TARGETS: Mapping[str, Target] = {
    "topic": Target(_topic, seeds.TOPICS),
    "new-topic": Target(_new_topic, seeds.TEXTS),
    "index": Target(_index, seeds.INDEXES),
    "hook": Target(_hook, seeds.HOOKS, lines=True),
    "head": Target(_head, seeds.HEADS),
    "arguments": Target(_arguments, seeds.ARGUMENTS, lines=True),
    "claude-code": Target(_transcript(claude_code.load), seeds.CLAUDE_CODE, lines=True),
    "codex": Target(_transcript(codex.load), seeds.CODEX, lines=True),
    "journal": Target(_transcript(journal.load), seeds.JOURNAL, lines=True),
    "packed-journal": Target(_packed, seeds.PACKED),
    "settings": Target(_settings, seeds.SETTINGS),
    "options": Target(_options, seeds.OPTIONS),
    "pointer": Target(_pointer, seeds.POINTERS),
    "configuration": Target(_configuration, seeds.CONFIGURATIONS),
    "command": Target(_command, seeds.COMMANDS),
    "query": Target(_query, seeds.QUERIES),
    "dates": Target(_dates, seeds.SENTENCES),
    "likeness": Target(_likeness, seeds.PAIRS),
    "message": Target(_message, seeds.MESSAGES),
    "import": Target(_import, seeds.IMPORTS, lines=True),
}

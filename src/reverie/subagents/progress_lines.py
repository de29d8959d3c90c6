"""Progress lines: what an agent is doing, from its last tool call or from a model's reply. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from reverie.context.facts.calls import action_of, shortened
from reverie.core.foreign_text import quoted
from reverie.core.messages import Message, Text, ToolResult, ToolUse

FEWEST_WORDS = 2
MOST_WORDS = 7
LONGEST_LINE = 80

_LONGEST_NAME = 40
_LONGEST_STEP = 400
_NAME_WORDS = 3
_COMMAND_WORDS = 4


def _vocabulary(words: str) -> frozenset[str]:
    return frozenset(words.split())


_VERBS = {"read": "Reading", "edit": "Editing", "write": "Writing"}
_HIRING = frozenset({"agent", "task"})
_LETTERS = frozenset({"send_message", "sendmessage"})
_NEXT_COMMAND = re.compile(r"&&|\|\||[;|\n]")
_ASSIGNMENT = re.compile(r"\w+=\S*")
_PLAIN_WORD = re.compile(r"[\w./+-]+")
_FILE_LIKE = re.compile(r".*[/.]\w+")

_PARTICIPLE = re.compile(r"[^\W\d_]{2,}ing", re.IGNORECASE)
_NO_PARTICIPLES = _vocabulary("string thing something nothing everything anything king ring")
_OVER = _vocabulary("done finished completed complete succeeded failed")
# A line that consists only of these words is useless.
_EMPTY = _vocabulary(
    "a an the this that these those it its my our some all more other next on in at of for to with "
    "and up out through into about task tasks work code codebase project file files thing things "
    "stuff problem problems issue issues request requests change changes step steps progress "
    "solution implementation repository repo details information context everything something now still"
)
_QUOTES = "\"'`*“”‘’«» \t"

_DIRECTIVE = """\
This message is not from the person and is no part of the task. Say what you are doing at this moment, \
for a person who watches several agents and has room for one short line of each.

- Three to five words. The first is a verb that ends in -ing: it is going on now, nothing is over yet.
- Name the file, function, test or command you are at. A line that would fit any other task is useless.
- The line alone: no quotes, no full stop, no second line. Use no tools.

Good: Reading retry logic in client.py
Good: Running tests of parser
Bad: Looking into the problem (names nothing)
Bad: Fixed the parser (over already)"""


def line_of_calls(messages: Sequence[Message]) -> str | None:
    """A line made from the last tool call; None when there was none."""
    last = next((message for message in reversed(messages) if message.tool_uses), None)
    return None if last is None else _line(last.tool_uses[-1])


def directive(previous: str | None) -> str:
    """The prompt for a model that writes the line; it must differ from the previous one."""
    if previous is None:
        return _DIRECTIVE
    shown = quoted(shortened(previous, LONGEST_LINE))
    return f"{_DIRECTIVE}\n\nThe last line was “{shown}”. Say something else: what has come since."


def digest(messages: Sequence[Message], most_chars: int = 4_000) -> str:
    """The last steps, one a line and the newest last, for a model without the conversation."""
    lines: list[str] = []
    room = most_chars
    for step in _steps_backwards(messages):
        if len(step) > room:
            if not lines:
                lines.append(step[:room])
            break
        lines.append(step)
        room -= len(step) + 1
    return "\n".join(reversed(lines))


def cleaned(reply: str, previous: str | None) -> str | None:
    """The line in a model's reply; None when it is unusable, empty or the same as before."""
    lines = [line for line in reply.strip().splitlines() if line.strip()]
    if len(lines) != 1:
        return None
    line = " ".join(lines[0].strip(_QUOTES).rstrip(".…!").strip(_QUOTES).split())
    usable = line.isprintable() and len(line) <= LONGEST_LINE and _is_line(line)
    same = previous is not None and _bare(line) == _bare(previous)
    return line if usable and not same else None


def _is_line(line: str) -> bool:
    words = _bare(line)
    if not FEWEST_WORDS <= len(line.split()) <= MOST_WORDS or not words:
        return False
    if not _PARTICIPLE.fullmatch(words[0]) or words[0] in _NO_PARTICIPLES:
        return False
    return words[-1] not in _OVER and not _EMPTY.issuperset(words[1:])


def _bare(line: str) -> list[str]:
    bare = (word.strip(".,:;!?…()[]" + _QUOTES).casefold() for word in line.split())
    return [word for word in bare if word]


def _line(use: ToolUse) -> str:
    action = action_of(use)
    match action.kind:
        case "read" | "edit" | "write":
            line = _about(_VERBS[action.kind], PurePosixPath(action.target).name)
        case "run":
            line = _about("Running", _command(action.target), _COMMAND_WORDS)
        case "search":
            line = _search(use.name.lower(), action.target)
        case "todos":
            line = "Updating todo list"
        case _:
            line = _other(use)
    return line or _about("Using", use.name) or "Using a tool"


def _search(tool: str, target: str) -> str:
    if tool == "glob":
        found = _about("Finding", target)
        return f"{found} files" if found else ""
    if tool == "webfetch":
        return _about("Fetching", _host(target))
    return _about("Searching memory for" if tool == "search_memory" else "Searching for", target)


def _other(use: ToolUse) -> str:
    name, given = use.name.lower(), use.input
    if name in _HIRING:
        who = given.get("name") or given.get("type") or given.get("subagent_type") or "another"
        started = _about("Starting", str(who))
        return f"{started} agent" if started else ""
    return _about("Writing to", str(given.get("to") or "")) if name in _LETTERS else ""


def _about(verb: str, what: str, most_words: int = _NAME_WORDS) -> str:
    """The verb and the first words of its object, in one printable line; empty without words."""
    seen = "".join(char if char.isprintable() else " " for char in what[: _LONGEST_NAME * 4])
    few = shortened(" ".join(seen.split()[:most_words]), _LONGEST_NAME)
    return f"{verb} {few}" if few else ""


def _command(line: str) -> str:
    """The program of a command line, and its plain arguments.

    After the first option only files are taken: any other word could be its value, even a password.
    """
    words = next(filter(None, map(_words, _NEXT_COMMAND.split(line))), [])
    shown: list[str] = []
    options = False
    for word in words:
        # A module that Python runs counts as the program.
        runs_module = word == "-m" and shown[-1:] in (["python"], ["python3"])
        options = options or (word.startswith("-") and not runs_module)
        if word.startswith("-") or not _PLAIN_WORD.fullmatch(word):
            continue
        if not options or _FILE_LIKE.fullmatch(word):
            shown.append(PurePosixPath(word).name)
    return " ".join(shown)


def _words(command: str) -> list[str]:
    """The words of one command, without leading assignments; none for `cd`."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    while words and _ASSIGNMENT.fullmatch(words[0]):
        words = words[1:]
    return [] if words[:1] == ["cd"] else words


def _host(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def _steps_backwards(messages: Sequence[Message]) -> Iterator[str]:
    for message in reversed(messages):
        for block in reversed(message.blocks):
            match block:
                case Text(text) if text.strip():
                    who = "it says" if message.role == "assistant" else "it is told"
                    yield _step(who, text)
                case ToolUse():
                    yield _step("it calls", f"{block.name}: {action_of(block).headline}")
                case ToolResult():
                    yield _step("that failed" if block.is_error else "result", block.text)
                case _:
                    pass


def _step(what: str, text: str) -> str:
    return f"{what}: {quoted(shortened(text, _LONGEST_STEP))}"

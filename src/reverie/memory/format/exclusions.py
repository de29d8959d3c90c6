"""Texts that are never saved, even on request: those that code can recognise.

Precision comes before recall: an ordinary sentence must never be refused; the prompt or a dream
catches what these checks miss.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from reverie.text.days import ALL_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ExclusionKind = Literal[
    "instructions", "git log", "listing", "diff", "code", "stack trace", "debugging", "task state"
]

# Data with a larger share of characters that are not text counts as binary; any text may have a
# few.
_MOST_NOISE = 0.02
_FEW = 4
_NOISE = re.compile("[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f\ufffd\udc80-\udcff]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1f\x7f]")

# Greetings, answers and single words that state nothing, in the languages of the calendar.
_GREETING = re.compile(
    r"(?:h(?:i|ello|ey|ola|allo)|good|thanks?|gut(?:e[nr]?)|buen[oa]s|danke|moin|bonjour|salut|merci)"
    r"(?: (?:there|all|everyone|world|you|morning|evening|night|afternoon|tag|morgen|abend|nacht|d[ií]as"
    r"|tardes|noches|again))*"
)
_LONE = re.compile(
    r"hiya|howdy|greetings|(?:good)?bye|cheers|thx|ty|ok|okay|yes|no|yep|nope|sure|please|sorry|test|testing|servus"
    r"|tschüss|bitte|ja|nein|bonsoir|oui|non|adiós|gracias|sí|ciao|grazie|today|tomorrow|yesterday|now|later"
    r"|tonight|heute|morgen|gestern|demain|hier|hoy|mañana"
)
_DAY = "|".join(name for names in ALL_NAMES for name in (names.weekday, names.month))
_ONE_DAY = re.compile(rf"(?:{_DAY})s?", re.IGNORECASE)
_QUESTION = re.compile(r"[^:;–—\n]*[?？]")


@dataclass(frozen=True, slots=True)
class Excluded:
    """Why a text is not memory, and what to save instead."""

    kind: ExclusionKind
    reason: str
    advice: str


_ADVICE: Mapping[ExclusionKind, str] = {
    "instructions": "It is loaded with that file anyway. Save only what differs from it, and why.",
    "git log": "Ask git for history. What was surprising about these changes? Save that.",
    "listing": "Look at the folder when it matters. What was surprising about it? Save that.",
    "diff": "The change is in git. What was surprising about it, or why was it made? Save that.",
    "code": "Read the code when it matters. What was surprising about it? Save that.",
    "stack trace": "What was surprising about the cause? Save that in a sentence, not the trace.",
    "debugging": "The fix is in the code and its reason in the commit. What was surprising? Save that.",
    "task state": "This will be untrue tomorrow: keep it in the plan or task list. "
    "If a decision or a deadline was surprising, save that.",
}

_WORD = re.compile(r"\w+(?:['’]\w+)*")
_FENCED = re.compile(r"^[ \t]*(```|~~~)[^\n]*\n(.*?)(?:^[ \t]*\1[ \t]*$|\Z)", re.M | re.S)

_LOG_HEADER = re.compile(r"^[*|\\/ ]*commit [0-9a-f]{7,40}\b", re.M)
_LOG_ONELINE = re.compile(r"[*|\\/ ]*(?=[0-9a-f]*[0-9])[0-9a-f]{7,40} (?:\([^)]*\) )?\S.*")
_LOG_PERSON = re.compile(r"^[ \t]*(?:Author|AuthorDate|Commit|Date|Merge):\s", re.M)

_LS_LONG = re.compile(r"[-dlcbps][-rwxsStT]{9}[.+@]?\s+\d+\s+\S+.*|total \d+")
_TREE = re.compile(r"\s*(?:[│|]\s*)*(?:├──|└──|├─|└─|\|--|`--|\+--)\s*\S.*")
_BARE_PATH = re.compile(r"(?:[-*+] )?`?(?:\.{0,2}/)?[\w.@+-]+(?:/[\w.@+-]*)*(?:\.\w{1,8}|/)`?")

_DIFF = re.compile(
    r"^(?:diff --git a/|@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@|index [0-9a-f]{7,}\.\.)", re.M
)
_DIFF_FILES = re.compile(r"^--- \S+.*\n\+\+\+ \S+", re.M)

_CODE_LINE = re.compile(
    r"\s*(?:"
    r"(?:async )?def \w+\(|class \w+[(:{]|(?:from [\w.]+ )?import [\w.{*]|return\b.*[;)\]]$"
    r"|(?:export |public |private |static |const |let |var |func |fn |function )\S*[ (].*[({;=>]"
    r"|@\w[\w.]*(?:\(.*)?$|#include\s*[<\"]|(?:if|for|while|elif|else|try|except|switch|with)\b.*[:{]$"
    r"|[}\])]+[;,)]*$|[\w.\[\]\"'*&]+\s*(?:[-+*/|&]|:)?=\s*\S.*[;({\[,]$|[\w.]+\(.*\);?$|.*[;{]$|</?\w[^>]*>.*"
    r"|SELECT\b.*|FROM\b.*|WHERE\b.*|JOIN\b.*)"
)

_TRACES = (
    re.compile(r"^[ \t]*Traceback \(most recent call last\):", re.M),
    re.compile(
        r"(?:^[ \t]+at (?:[\w$.<>\[\] ]+ )?\(?[^\s()]+:\d+(?::\d+)?\)?[ \t\r]*$\n?){2,}", re.M
    ),
    re.compile(r"(?:^[ \t]+at [\w$.<>]+\([\w$.]+(?::\d+)?\)[ \t\r]*$\n?){2,}", re.M),
    re.compile(r"^goroutine \d+ \[\w+", re.M),
    re.compile(r"^thread '[^']*' panicked at ", re.M),
    re.compile(r"(?:^[ \t]*File \"[^\"\n]+\", line \d+, in .*\n(?:.*\n?)){2,}", re.M),
)

_SOURCE_PLACE = (
    r"`?[\w./-]+\.(?:py|js|ts|tsx|jsx|go|rs|java|rb|c|cc|cpp|h|hpp|cs|php|kt|swift|sh)`?(?::\d+)?"
)
_FIXED = re.compile(
    r"^(?:(?:i|we|the (?:bug|error|crash|failure|issue|problem|fix)\b[^.]{0,80}?)\s+(?:was |is )?)?"
    r"(?:fixed|solved|resolved|patched|fix)\b[^.\n]{0,120}\b(?:by|in|at)\b[^.\n]{0,80}?"
    + _SOURCE_PLACE,
    re.I,
)
_TO_FIX = re.compile(
    r"^(?:to (?:fix|solve|debug|work around|get rid of) (?:the|this|that|an?) [^,.\n]{0,60}"
    r"\b(?:error|exception|crash|traceback|bug|failure)s?\b|"
    r"if you (?:see|get|hit) [^,.\n]{0,80}\b(?:error|exception|traceback)\b)"
    r"[^\n]{0,30}?\b(?:run|delete|change|edit|add|set|replace|remove|reinstall|clear|restart)\b",
    re.I,
)

# Length of the word runs that are compared with a file, and the share of equal runs that is too much.
_RUN = 5
_SHARE = 0.8
_CHECKBOX = re.compile(r"\s*[-*+] \[[ xX]\] ")
_WORK = (
    r"(?:run|fix|open|write|update|test|commit|push|rebase|merge|refactor|edit|rename|implement)\b"
)
_STATE = re.compile(
    r"^(?:(?:my |the |our )?(?:current|immediate) (?:task|step|status|todo)s?\b"
    r"|(?:my |the )?next steps?(?: is| are)?:"
    r"|to-?dos?(?: list)?:|wip\b|work in progress\b|in progress:|still (?:to do|left|need to|have to)\b"
    r"|remaining (?:steps|tasks|work):"
    r"|step \d+ (?:of|out of|/) ?\d+"
    r"|\d+ (?:of|out of|/) ?\d+ (?:steps|tasks|tests|files|items)\b.{0,30}\b(?:done|pass\w*|left|fail\w*)"
    rf"|(?:i|we)(?:'m| am|'re| are) (?:about to {_WORK}|halfway through|in the middle of \w+ing)\b"
    rf"|(?:i|we)(?:'ll| will) (?:now|next|then) {_WORK}"
    rf"|now (?:i|we)(?:'ll| will| need to| have to) {_WORK}"
    r"|(?:the )?(?:tests?|build|ci|suite|lint(?:er)?) (?:is|are) (?:now |currently |still )?"
    r"(?:green|red|running|failing|passing|broken)\b"
    r"|just (?:ran|committed|pushed|rebased)\b)",
    re.I,
)


def check(text: str, instructions: Mapping[str, str] | None = None) -> Excluded | None:
    """The first reason not to save a text, or None; `instructions` maps file names to contents."""
    for file, contents in (instructions or {}).items():
        if _restates(text, contents):
            return _excluded("instructions", f"it restates what {file} already says")
    for kind, reason, found in _CHECKS:
        if found(text):
            return _excluded(kind, reason)
    return None


def is_binary(data: str) -> bool:
    """Whether data is not text: it has NUL bytes, or much of it cannot be decoded."""
    count = len(_NOISE.findall(data))
    return "\0" in data or count > max(_FEW, _MOST_NOISE * len(data)) or 3 * count > len(data)


def unreadable(text: str) -> str | None:
    """Why a text that was written or piped in cannot be kept, or None."""
    if is_binary(text):
        return "it is not text in UTF-8"
    found = _CONTROL.search(text)
    return f"it has a control character ({found[0]!r})" if found else None


def states_nothing(text: str) -> str | None:
    """The kind of a text that says nothing to remember: a greeting, a lone day, a question; or None.

    One or two words may well be a note ("Tabs", "vegan"): only certain cases are refused.
    """
    words = _words(text)
    told = " ".join(words)
    if _GREETING.fullmatch(told) or _LONE.fullmatch(told):
        return "a greeting or a word that states nothing"
    if len(words) == 1 and _ONE_DAY.fullmatch(words[0]):
        return "a day, but not what is on it"
    if all(_QUESTION.fullmatch(one) for one in _sentences(text)):
        return "a question without its answer"
    return None


def _excluded(kind: ExclusionKind, reason: str) -> Excluded:
    return Excluded(kind, f"Not saved: {reason}.", _ADVICE[kind])


def _restates(text: str, contents: str) -> bool:
    """Whether most runs of five words are in the file, too; a short text must be there completely."""
    words, known = _words(text), _words(contents)
    if len(words) < 4:
        return False
    if len(words) < _RUN + 3:
        return f" {' '.join(words)} " in f" {' '.join(known)} "
    theirs, ours = set(_runs(known)), _runs(words)
    return sum(piece in theirs for piece in ours) >= _SHARE * len(ours)


def _runs(words: list[str]) -> list[tuple[str, ...]]:
    return list(zip(*(words[at:] for at in range(_RUN)), strict=False))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower().replace("’", "'"))


def _lines(text: str) -> list[str]:
    plain = (line for line in text.splitlines() if not re.match(r"\s*(?:```|~~~)", line))
    return [line for line in plain if line.strip()]


def _mostly(pattern: re.Pattern[str], text: str, *, least: int, share: float = 0.6) -> bool:
    lines = _lines(text)
    hits = sum(pattern.fullmatch(line) is not None for line in lines)
    return hits >= least and hits >= share * len(lines)


def _git_log(text: str) -> bool:
    if _LOG_HEADER.search(text) and len(_LOG_PERSON.findall(text)) >= 2:
        return True
    return _mostly(_LOG_ONELINE, text, least=3) or len(_LOG_HEADER.findall(text)) >= 3


def _listing(text: str) -> bool:
    return (
        _mostly(_LS_LONG, text, least=3)
        or _mostly(_TREE, text, least=3)
        or _mostly(_BARE_PATH, text, least=5, share=0.8)
    )


def _diff(text: str) -> bool:
    return _DIFF.search(text) is not None or _DIFF_FILES.search(text) is not None


def _code(text: str) -> bool:
    """Whether there is more code than prose; a snippet in an explanation is fine."""
    fenced = sum(len(_lines(block)) for _, block in _FENCED.findall(text))
    total = len(_lines(text))
    if fenced >= 8 and fenced >= 0.6 * total:
        return True
    starts = sum(_CODE_LINE.match(line) is not None for line in _lines(text))
    return starts >= 5 and starts >= 0.6 * total


def _stack_trace(text: str) -> bool:
    return any(trace.search(text) for trace in _TRACES)


def _debugging(text: str) -> bool:
    sentences = _sentences(text)
    hits = sum(bool(_FIXED.match(sentence) or _TO_FIX.match(sentence)) for sentence in sentences)
    return hits > 0 and hits >= 0.5 * len(sentences)


def _task_state(text: str) -> bool:
    lines = _lines(text)
    boxes = sum(_CHECKBOX.match(line) is not None for line in lines)
    if boxes >= 2 and boxes >= 0.6 * len(lines):
        return True
    sentences = _sentences(text)
    hits = sum(_STATE.match(sentence) is not None for sentence in sentences)
    return hits > 0 and hits >= 0.5 * len(sentences)


def _sentences(text: str) -> list[str]:
    pieces = re.split(r"(?<=[.!?])\s+|\n+", text)
    return [piece.strip(" \t-*") for piece in pieces if piece.strip(" \t-*")]


_CHECKS: tuple[tuple[ExclusionKind, str, Callable[[str], bool]], ...] = (
    ("diff", "it is a diff", _diff),
    ("git log", "it is output of git log", _git_log),
    ("stack trace", "it is a stack trace", _stack_trace),
    ("listing", "it is a list of files", _listing),
    ("code", "it is mostly source code", _code),
    ("debugging", "it is a recipe for a bug that is fixed in the code", _debugging),
    ("task state", "it is the state of a task in progress", _task_state),
)

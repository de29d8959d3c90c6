"""Twice the text takes twice the time: no routine that reads foreign text can be made to hang."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from reverie.agent.shell_commands import reads_only
from reverie.clients.hooks.events import patched_files
from reverie.context import user_messages
from reverie.context.facts import calls, outcomes
from reverie.context.facts import sentences as fact_sentences
from reverie.context.previews import outline_line, preview
from reverie.conversation import transcripts
from reverie.core.messages import Text, ToolResult, ToolUse, new_message
from reverie.errors import ReverieError
from reverie.learning.extraction import rules, speech, support, trust
from reverie.learning.extraction.candidates import Candidate
from reverie.learning.extraction.rules import doubts
from reverie.learning.extraction.rules.sentences import confirmed, sentences, to_the_point
from reverie.memory.changes import imports
from reverie.memory.changes.draft import draft
from reverie.memory.changes.transfer import pieces
from reverie.memory.format import (
    exclusions,
    frontmatter,
    index,
    instructions,
    manifest,
    paths,
    revisions,
    topic,
)
from reverie.memory.format import frontmatter as scalars
from reverie.memory.format import manifest as candidates
from reverie.memory.format import paths as names
from reverie.memory.format.kinds import infer_scope
from reverie.memory.format.traces import Traces
from reverie.memory.secrets import formats, layout, named, redact
from reverie.memory.secrets.cues import find_cues
from reverie.recall import documents as passages
from reverie.recall import queries, usage
from reverie.settings.projects import remote_of
from reverie.text import dates, likeness, timewords, words
from reverie.text import words as languages

# It compares processor times: a busy machine must not fail a quick run.
pytestmark = pytest.mark.slow

NOW = datetime(2026, 11, 15, tzinfo=UTC)
# Long enough to be told from noise, short enough that a quadratic routine still ends.
SMALLEST, LARGEST = 2_000, 128_000
WORTH_MEASURING = 0.005
MOST = 3.2
# A routine that takes longer than this for so little text need not be measured twice.
HOPELESS = 4.0

ALPHABETS = {
    "one letter": "a",
    "humps": "aA",
    "capitals": "A",
    "words": "The deploy of Anna needs a token. ",
    "digits": "1",
    "dates": "in 2 days 2026-11-15 ",
    "open brackets": "(",
    "both brackets": "()",
    "links": "[[a",
    "pointers": "- [a](b.md",
    "brackets and backslashes": "[\\",
    "backticks": "`",
    "fences": "```\n",
    "bullets": "\n- ",
    "quotes of mail": "> ",
    "double quotes": '"',
    "single quotes": "'",
    "curly quotes": "“a",
    "spaces": " ",
    "tabs and spaces": "\t ",
    "blank lines": "\n \n",
    "colons": "a: ",
    "keys": "key: 'a\n",
    "dashes": "---\n",
    "hashes": "# ",
    "tags": "<a>",
    "comments": "<!-- ",
    "addresses": "http://a.b/",
    "paths": "a/b/../",
    "assignments": "password=",
    "headings": "Passwords:\n- a: ",
    "columns": "user | password | code\n",
    "passphrases": "the passphrase is one two three four ",
    "door codes": "code at the door 4-1-9 ",
    "premises": "Since we use a, how do I b? ",
    "dialogue": "- a? - b. ",
    "base64": "eyJhbGciOi",
    "dots": "a.",
    "at signs": "a@",
    "shell": "$(a;",
    "pipes": "a | b && ",
    "han": "漢",
    "accents": "e\u0301",
    "emoji": "👩\u200d",
    "not text": "\udcff",
    "commas": "a, ",
    "contractions": "isn't ",
    "json": '{"a":[',
    "mixed": "a1 B_c-(d) [e] `f` \"g\" 'h' > i\n- j: k, l. ",
}

Routine = Callable[[str], object]


def said(text: str) -> object:
    return [new_message("user", Text(text), at=0.0)]


def judged(text: str) -> object:
    messages = [new_message("user", Text(text), at=0.0)]
    return trust.judge(Candidate(text[:200], "project", (), "user"), messages)


def claimed(text: str) -> object:
    messages = [new_message("user", Text("the port is 8080"), at=0.0)]
    return trust.judge(Candidate(text, "project", (), "user"), messages)


def entry(text: str) -> manifest.ManifestEntry:
    return manifest.ManifestEntry("a.md", None, NOW, text, text)


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def configured(text: str) -> object:
    """A stranger's git configuration; the folder goes at once, the text is what takes time."""
    with TemporaryDirectory() as folder:
        git_dir = Path(folder, ".git")
        git_dir.mkdir()
        (git_dir / "config").write_bytes(encoded(f'[remote "origin"]{text}'))
        remote_of(Path(folder))
        (git_dir / "config").write_bytes(encoded(text))
        return remote_of(Path(folder))


ROUTINES: Mapping[str, Routine] = {
    # text
    "words.fold": words.fold,
    "words.plain_words": words.plain_words,
    "words.terms": words.terms,
    "words.fields": lambda text: words.fields(text, text),
    "words.query_words": words.query_words,
    "words.compounding": words.compounding,
    "words.stem": lambda text: words.stem(text, "english"),
    "languages.language": lambda text: languages.language(text.split()),
    "dates.absolute_dates": lambda text: dates.absolute_dates(text, date(2026, 11, 15)),
    "timewords.spans": lambda text: timewords.spans(text, NOW.timestamp()),
    "timewords.date_span": timewords.date_span,
    # memory
    "frontmatter.parse": frontmatter.parse,
    "frontmatter.parse, inside": lambda text: frontmatter.parse(f"---\n{text}\n---\n"),
    "frontmatter.parse, cut": lambda text: frontmatter.parse(f"---\n{text}", partial=True),
    "scalars.parse_text": scalars.parse_text,
    "scalars.parse_list": scalars.parse_list,
    "scalars.parse_list, inside": lambda text: scalars.parse_list(f"[{text}]"),
    "scalars.render_text": scalars.render_text,
    "scalars.one_line": scalars.one_line,
    "scalars.readable": scalars.readable,
    "scalars.without_comment": scalars.without_comment,
    "topic.parse": lambda text: topic.parse(encoded(text)),
    "topic.parse, a description": lambda text: (
        topic.parse(encoded(f"---\nname: a\ndescription: {text}\n---\n")).description
    ),
    "topic.wikilinks": lambda text: topic.parse(encoded(text)).wikilinks,
    "index.parse": lambda text: index.parse(encoded(text)).pointers,
    "index.pointer_of": index.pointer_of,
    "index.more": lambda text: index.parse(encoded(text)).more,
    "index.capped": lambda text: index.capped(index.parse(encoded(text))),
    "index.rebuilt": lambda text: index.rebuilt(index.parse(encoded(text)), [entry(text)]),
    "manifest.entry": lambda text: manifest.entry("a.md", encoded(text), NOW),
    "manifest.render": lambda text: manifest.render([entry(text)]),
    "names.file_name": names.file_name,
    "paths.check_name": paths.check_name,
    "paths.check_directory": lambda text: paths.check_directory(text, "/home/a"),
    "exclusions.check": exclusions.check,
    "exclusions.check, known": lambda text: exclusions.check("use tabs", {"AGENTS.md": text}),
    "instructions.includes": instructions.includes,
    "instructions.read_text": lambda text: instructions.read_text(encoded(text), "a.md"),
    "instructions.rule": instructions.rule,
    "revisions.parse_message": revisions.parse_message,
    "likeness.compare": lambda text: likeness.compare(text, f"{text} more"),
    "candidates": lambda text: candidates.Candidates([("a.md", text)]).find(text),
    # keeper
    "draft.draft": draft,
    "pieces.pieces": pieces,
    "imports.read_file": lambda text: list(imports.read_file("a.md", encoded(text))),
    "traces.redacted": Traces("a.md", ("Red ox.",)).redacted,
    "traces.redacted, its words": lambda text: Traces("a.md", ("Red ox.",)).redacted(
        f"a red ox. b{text}"
    ),
    # hooks and repositories
    "events.patched_files": lambda text: patched_files(f"*** Add File: a{text}x"),
    "projects.remote_of": configured,
    # recall
    "passages.split": passages.split,
    "passages.snippet": lambda text: passages.snippet(text, {"token", "zz"}),
    "queries.parse": queries.parse,
    "usage.used": lambda text: usage.used(text, {"a.md": text}),
    # extraction
    "rules.find": lambda text: rules.find(said(text)),  # type: ignore[arg-type]
    "speech.own_words": speech.own_words,
    "speech.unquoted": speech.unquoted,
    "sentences.sentences": sentences,
    "sentences.to_the_point": to_the_point,
    "sentences.confirmed": lambda text: confirmed("yes, do that", text),
    "sentences.confirmed, long reply": lambda text: confirmed(text, "use tabs"),
    "doubts.about_message": doubts.about_message,
    "doubts.not_for_memory": doubts.not_for_memory,
    "doubts.asks": doubts.asks,
    "kinds.infer_scope": infer_scope,
    "support.covered": lambda text: support.covered(text, text),
    "user_messages.named_files": user_messages.named_files,
    "support.echoes": lambda text: support.echoes("the deploy needs a token", text),
    "trust.orders": trust.orders,
    "trust.judge": judged,
    "trust.judge, a long claim": claimed,
    # secrets
    "secrets.find_formats": lambda text: list(formats.find_formats(text)),
    "secrets.find_named": lambda text: list(named.find_named(text, text.lower())),
    "secrets.find_in_layout": lambda text: list(
        layout.find_in_layout(text, find_cues(text.lower()))
    ),
    "secrets.redact": redact,
    # commands, facts, previews
    "reads_only": reads_only,
    "calls.command_parts": calls.command_parts,
    "calls.only_looks": calls.only_looks,
    "outcomes.outcome_of": lambda text: outcomes.outcome_of(
        ToolResult("t", (Text(text),)), calls.action_of(ToolUse("t", "Bash", '{"command": "make"}'))
    ),
    "facts.decisions": fact_sentences.decisions,
    "facts.closing_question": fact_sentences.closing_question,
    "previews.preview": preview,
    "previews.outline_line": outline_line,
}


def spent(routine: Routine, text: str) -> float:
    """Processor time, so that what else the machine does is not counted."""
    began = time.process_time()
    with suppress(ReverieError):
        routine(text)
    return time.process_time() - began


def growth(routine: Routine, unit: str) -> tuple[float, int] | None:
    """How much longer twice the text takes, and at which size; None: too fast to be measured."""
    size = SMALLEST
    while size <= LARGEST:
        text = unit * (size // len(unit))
        once = spent(routine, text)
        if once >= HOPELESS:
            return float("inf"), size
        if once >= WORTH_MEASURING:
            # The first call may have filled a cache, or the collector come by: the best of some.
            once = min(once, *(spent(routine, text) for _ in range(2)))
            twice = min(spent(routine, text * 2) for _ in range(2))
            if once >= WORTH_MEASURING / 2:
                return twice / once, size
        size *= 2
    return None


@pytest.mark.parametrize("name", ROUTINES)
def test_twice_the_text_takes_about_twice_the_time(name: str) -> None:
    wrong = []
    for alphabet, unit in ALPHABETS.items():
        found = growth(ROUTINES[name], unit)
        # Twice more before it counts: a single measure may have been disturbed.
        for _ in range(2):
            if found is not None and found[0] > MOST:
                found = growth(ROUTINES[name], unit)
        if found is not None and found[0] > MOST:
            wrong.append(f"{alphabet}: × {found[0]:.1f} from {found[1]:,} characters on")
    assert not wrong, f"{name} is not linear: {'; '.join(wrong)}"


@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_a_transcript_of_anything_is_read_in_linear_time(alphabet: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"

    def read(text: str) -> object:
        line = {"type": "user", "message": {"role": "user", "content": text}, "uuid": "u"}
        path.write_bytes(json.dumps(line).encode() + b"\n" + encoded(text))
        return transcripts.load(path)

    found = growth(read, ALPHABETS[alphabet])
    assert found is None or found[0] <= MOST

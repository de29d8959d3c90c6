"""Tracks which tool results may be cleared: those of tools that can be run again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reverie.context.facts.calls import action_of
from reverie.context.previews import outline_line
from reverie.context.tool_results import path_of
from reverie.context.user_messages import named_files, said
from reverie.core.messages import Message, Text, ToolResult, ToolUse, shared_length
from reverie.core.request import ClearThinking, ClearToolUses, ContextEdit
from reverie.core.window import Capabilities, Window, block_tokens, text_tokens

COMPACTABLE = frozenset(
    [
        # reading files
        *("Read", "NotebookRead", "read", "read_file", "view", "view_file", "open_file", "cat"),
        # running commands
        *("Bash", "BashOutput", "PowerShell", "bash", "shell", "exec_command", "execute_bash"),
        *("run_shell_command", "run_terminal_cmd", "run_command", "terminal", "local_shell"),
        # searching
        *("Grep", "Glob", "LS", "grep", "glob", "ls", "find", "find_by_name", "list_dir"),
        *("list_directory", "search_files", "search_file_content", "grep_search", "file_search"),
        # the web
        *("WebFetch", "WebSearch", "web_fetch", "web_search", "fetch", "google_web_search"),
        # changing files
        *("Edit", "MultiEdit", "NotebookEdit", "Write", "edit", "edit_file", "write", "write_file"),
        *("create_file", "replace", "search_replace", "apply_patch", "str_replace_editor"),
        "str_replace_based_edit_tool",
    ]
)
_FOREIGN = "mcp__"


def compactable(tool: str, declared: frozenset[str] = frozenset()) -> bool:
    """Whether results of a tool may be cleared: known and declared tools, never those of MCP servers."""
    return not tool.startswith(_FOREIGN) and (tool in COMPACTABLE or tool in declared)


# How many results get their outline with each request.
_OUTLINES = 2
# About the size of the marker that replaces a result.
MARKER_TOKENS = 60


@dataclass(frozen=True, slots=True)
class Held:
    """A result that is sent with its text and may be cleared.

    `tokens` is the size of its text, `gain` what clearing frees, `place` the number of tokens before
    it, and `mark` where the last request before it ended: a provider that caches at marks finds the
    prefix up to there.
    """

    result: ToolResult
    tokens: int
    gain: int
    place: int
    mark: int
    at: float
    path: str = ""
    # The name of the file whose content it shows.
    file: str = ""

    @property
    def id(self) -> str:
        return self.result.tool_use_id


class ToolResultLedger:
    """The tool results of one conversation."""

    def __init__(self, declared: frozenset[str] = frozenset()) -> None:
        """`declared` names tools that declare their results as clearable."""
        self._declared = declared
        # Lines that describe results, by id. A few are made with each request, so that they are
        # ready for a batch.
        self.outlines: dict[str, str] = {}
        self._forget()

    def _forget(self) -> None:
        self._messages: tuple[Message, ...] = ()
        self._uses: dict[str, ToolUse] = {}
        # Files named in the person's last request that names any, if they are not changed yet.
        self._to_edit: set[str] = set()
        # Files that the last reply names.
        self._spoken_of: frozenset[str] = frozenset()
        self._cleared = 0
        self._response: str | None = None
        self.held: list[Held] = []
        self._outlined = 0
        self.gain = 0
        self.tokens = 0
        self.start = 0
        # The end of the last answered request: the model has seen everything before it.
        self.seen = 0
        self.replied_at: float | None = None

    @property
    def last(self) -> str:
        """The id of the newest message."""
        return self._messages[-1].id if self._messages else ""

    def follow(
        self,
        messages: Sequence[Message],
        replaced: Mapping[str, str],
        cleared: Mapping[str, str],
    ) -> None:
        """Update the ledger to the current conversation.

        `messages` hold the original results; `replaced` and `cleared` hold the texts sent instead.
        """
        kept = shared_length(self._messages, messages)
        if kept < len(self._messages) or len(cleared) != self._cleared:
            self._forget()
            kept = 0
        for message in messages[kept:]:
            self._add(message, replaced, cleared)
        self._messages = tuple(messages)
        self._cleared = len(cleared)
        self._outline_some()

    def _outline_some(self) -> None:
        for held in self.held[self._outlined : self._outlined + _OUTLINES]:
            if held.gain and held.id not in self.outlines:
                self.outlines[held.id] = outline_line(held.result.text)
            self._outlined += 1

    def about_to_be_edited(self, held: Held) -> bool:
        """Whether it shows a file that was just mentioned, or one that is still to be changed."""
        return held.file in self._to_edit or held.file in self._spoken_of

    def _add(
        self, message: Message, replaced: Mapping[str, str], cleared: Mapping[str, str]
    ) -> None:
        if message.role == "assistant":
            self._replied(message)
        for text in said(message):
            self._to_edit = set(named_files(text)) or self._to_edit
        for block in message.blocks:
            if isinstance(block, ToolResult):
                self._add_result(block, message.at, replaced, cleared)
            else:
                self.tokens += block_tokens(block)
        self.start = self.start or self.tokens

    def _replied(self, message: Message) -> None:
        """Note a reply; several messages of one response count once."""
        piece = self._response is not None and message.response == self._response
        if not piece:
            self.seen = self.tokens
            self._spoken_of = frozenset()
        self._spoken_of |= frozenset(named_files(message.text))
        self._response = message.response
        self.replied_at = message.at
        for use in message.tool_uses:
            self._uses[use.id] = use
            action = action_of(use)
            if action.kind in ("edit", "write"):
                self._to_edit.discard(_file_name(action.target))

    def _add_result(
        self, result: ToolResult, at: float, replaced: Mapping[str, str], cleared: Mapping[str, str]
    ) -> None:
        id_ = result.tool_use_id
        others = sum(block_tokens(part) for part in result.content if not isinstance(part, Text))
        sent = cleared.get(id_) or replaced.get(id_)
        text = text_tokens(result.text if sent is None else sent)
        use = self._uses.get(id_)
        if text and use and id_ not in cleared and compactable(use.name, self._declared):
            path, action = path_of(replaced.get(id_, "")), action_of(use)
            file = _file_name(action.target) if action.kind == "read" else ""
            gain = max(0, text - MARKER_TOKENS)
            self.held.append(Held(result, text, gain, self.tokens, self.seen, at, path, file))
            self.gain += gain
        self.tokens += others + text


def _file_name(path: str) -> str:
    return path.rpartition("/")[2]


TRIGGER = 180_000
AT_LEAST = 140_000


def context_edits(
    capabilities: Capabilities,
    window: Window,
    thinking: str | None,
    tools: Sequence[str] = (),
    declared: frozenset[str] = frozenset(),
) -> tuple[ContextEdit, ...]:
    """Return `Options.edits`, which are part of every request and fixed when a session opens.

    Where compaction would come first, the warning threshold is the trigger. All thinking is kept:
    dropping some with every turn would break the cache each time.
    """
    if not capabilities.context_management:
        return ()
    trigger = min(TRIGGER, window.warning)
    protected = tuple(tool for tool in tools if not compactable(tool, declared))
    results = ClearToolUses(trigger, trigger * AT_LEAST // TRIGGER, exclude=protected)
    # Providers require the thinking edit first, and only if thinking is on.
    return (ClearThinking(), results) if thinking not in (None, "off") else (results,)

"""The person's own hooks: commands that run at moments of a session, with the JSON of Claude Code's hooks.

They are read from `hooks.json` in Reverie's home, and from `.reverie/hooks.json` in the project once the person has
agreed to that file (`reverie trust`). A hook gets its event as JSON on stdin. It answers with JSON or with its exit
status: 2 refuses, with the reason on stderr; any other failure is reported and changes nothing.
"""

from __future__ import annotations

import asyncio
import json
import re
from asyncio.subprocess import PIPE
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.agent.processes import end_group
from reverie.core.messages import Attachment, Text
from reverie.events import Announce, TroubleNoted
from reverie.settings.sources import environment
from reverie.settings.trust import said_about
from reverie.workspace.own_hooks import Command, commands_in, hooks_file

if TYPE_CHECKING:
    from reverie.agent.permissions import Call
    from reverie.agent.tools import ToolOutput
    from reverie.workspace import Workspace

LABEL = "hook"
# A stop hook may send a turn on so many times.
MOST_CONTINUATIONS = 8
_REFUSED = 2
_LONGEST_OUTPUT = 100_000


@dataclass(frozen=True, slots=True)
class Answer:
    """What the hooks of one event said together; `refusal` is None if none refused."""

    refusal: str | None = None
    context: str = ""
    input: Mapping[str, Any] | None = None
    plain: str = ""

    def attachment(self) -> tuple[Attachment, ...]:
        return (Attachment(LABEL, self.context),) if self.context else ()


@dataclass(slots=True)
class SessionHooks:
    """Runs the hooks of one session; `continuations` counts how often stop hooks sent a turn on."""

    app: Workspace
    session: str
    transcript: Path
    announce: Announce
    commands: Sequence[Command] = ()
    continuations: int = field(default=0)

    @classmethod
    def open(
        cls, app: Workspace, session: str, transcript: Path, announce: Announce
    ) -> SessionHooks:
        return cls(app, session, transcript, announce, tuple(trusted_commands(app)))

    async def started(self, *, resumed: bool) -> Answer:
        return await self._run("SessionStart", source="resume" if resumed else "startup")

    async def ended(self) -> None:
        await self._run("SessionEnd", reason="other")

    async def prompted(self, prompt: str) -> Answer:
        return await self._run("UserPromptSubmit", prompt=prompt)

    async def stopped(self, answer: str) -> str:
        """Why the turn must go on; empty if it may end, or went on often enough."""
        active = self.continuations > 0
        found = await self._run("Stop", stop_hook_active=active, last_assistant_message=answer)
        if found.refusal is None or self.continuations >= MOST_CONTINUATIONS:
            self.continuations = 0
            return ""
        self.continuations += 1
        return found.refusal

    async def about_to_compact(self, trigger: str, instructions: str) -> str:
        """Plain text is added to what the summary is asked to keep."""
        kind = "manual" if trigger == "manual" else "auto"
        found = await self._run("PreCompact", trigger=kind, custom_instructions=instructions)
        return "\n".join(part for part in (instructions, found.plain) if part)

    async def before_tool(self, call: Call, id_: str) -> Answer:
        name = call.tool.name
        return await self._run(
            "PreToolUse", name, tool_name=name, tool_input=dict(call.arguments), tool_use_id=id_
        )

    async def after_tool(self, call: Call, id_: str, output: ToolOutput) -> str:
        """Text to add to a result: what the hooks say about it."""
        name = call.tool.name
        text = "\n".join(part.text for part in output.content if isinstance(part, Text))
        fields = {"tool_name": name, "tool_input": dict(call.arguments), "tool_use_id": id_}
        if output.is_error:
            found = await self._run(
                "PostToolUseFailure", name, **fields, error=text, is_interrupt=False
            )
        else:
            shaped = {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}
            response = shaped if name == "Bash" else text
            found = await self._run("PostToolUse", name, **fields, tool_response=response)
        return "\n".join(part for part in (found.refusal, found.context) if part)

    async def _run(self, event: str, tool: str = "", **fields: Any) -> Answer:
        """Run the hooks of an event at the same time, and join what they say, in order."""
        commands = [one for one in self.commands if one.event == event and one.matches(tool)]
        if not commands:
            return Answer()
        data = {
            "session_id": self.session,
            "transcript_path": str(self.transcript),
            "cwd": str(self.app.project.root),
            "hook_event_name": event,
            **fields,
        }
        body = json.dumps(data, ensure_ascii=False).encode("utf-8", "surrogatepass")
        found = await asyncio.gather(*(self._answer(one, body) for one in commands))
        return Answer(
            refusal=next((one.refusal for one in found if one.refusal is not None), None),
            context="\n\n".join(one.context for one in found if one.context),
            input=next((one.input for one in found if one.input is not None), None),
            plain="\n".join(one.plain for one in found if one.plain),
        )

    async def _answer(self, command: Command, body: bytes) -> Answer:
        try:
            status, out, err = await self._executed(command, body)
        except TimeoutError:
            return self._failed(command, f"took more than {command.timeout:g} s")
        except OSError as error:
            return self._failed(command, str(error))
        if status == _REFUSED:
            return Answer(refusal=err.strip() or f"the {command.event} hook refused")
        if status:
            return self._failed(command, f"exit {status}: {err.strip()[:200]}")
        return parsed(out, command.event)

    async def _executed(self, command: Command, body: bytes) -> tuple[int, str, str]:
        root = str(self.app.project.root)
        variables = {**environment(), "CLAUDE_PROJECT_DIR": root, "REVERIE_PROJECT_DIR": root}
        process = await asyncio.create_subprocess_exec(
            "/bin/sh", "-c", command.command,
            cwd=root, env=variables, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True,
        )  # fmt: skip
        try:
            async with asyncio.timeout(command.timeout):
                out, err = await process.communicate(body)
        finally:
            await end_group(process)
        texts = (data[:_LONGEST_OUTPUT].decode("utf-8", "replace") for data in (out, err))
        return process.returncode or 0, *texts  # type: ignore[return-value]

    def _failed(self, command: Command, why: str) -> Answer:
        self.announce(TroubleNoted(f"hooks.{command.event}", f"{command.command[:80]}: {why}"))
        return Answer()


def trusted_commands(app: Workspace) -> Iterator[Command]:
    """The person's hooks, then the project's if the person has agreed to exactly this file."""
    home = app.settings.home
    with suppress(OSError):
        yield from commands_in((home / "hooks.json").read_bytes())
    file = hooks_file(home, app.project.root)
    with suppress(OSError, ValueError):
        content = file.read()
        if content and said_about(file.record, file.path, content) == "yes":
            yield from commands_in(content)


_PLAIN_CONTEXT = ("SessionStart", "UserPromptSubmit")


def parsed(out: str, event: str) -> Answer:
    """What a hook printed: JSON in Claude Code's form, or plain text where that is context."""
    text = out.strip()
    try:
        data = json.loads(text) if re.match(r"\s*\{", text) else None
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        return Answer(context=text if event in _PLAIN_CONTEXT else "", plain=text)
    specific = data.get("hookSpecificOutput")
    specific = specific if isinstance(specific, dict) else {}
    refused = (
        data.get("decision") == "block"
        or data.get("continue") is False
        or specific.get("permissionDecision") == "deny"
    )
    reason = (
        data.get("reason") or data.get("stopReason") or specific.get("permissionDecisionReason")
    )
    changed = specific.get("updatedInput")
    return Answer(
        refusal=str(reason or f"the {event} hook refused") if refused else None,
        context=str(specific.get("additionalContext") or ""),
        input=changed if isinstance(changed, dict) else None,
    )

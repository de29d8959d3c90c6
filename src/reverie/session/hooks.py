"""The person's own hooks: commands that run at points of a session, with the JSON of Claude Code's hooks.

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
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.agent.processes import end_group
from reverie.core.messages import Attachment, Text
from reverie.errors import InputError
from reverie.events import Announce, TroubleNoted
from reverie.settings.sources import environment, said_about
from reverie.workspace.trust import HOOKS, Command, commands_in, hooks_file, problem_in

if TYPE_CHECKING:
    from reverie.agent.permissions import Call, HooksSay
    from reverie.agent.tools import ToolOutput
    from reverie.workspace import Workspace

LABEL = "hook"
# How often stop hooks may continue one turn.
MOST_CONTINUATIONS = 8
_REFUSED = 2
_LONGEST_OUTPUT = 100_000


@dataclass(frozen=True, slots=True)
class Answer:
    """The combined answer of the hooks of one event; `refusal` is None if none refused."""

    refusal: str | None = None
    context: str = ""
    input: Mapping[str, Any] | None = None
    plain: str = ""
    permission: HooksSay = ""

    def attachment(self) -> tuple[Attachment, ...]:
        return (Attachment(LABEL, self.context),) if self.context else ()


@dataclass(frozen=True, slots=True)
class SubagentInfo:
    """The sub-agent of this session; hooks receive its name, type and transcript."""

    name: str
    type: str
    transcript: Path

    def as_json(self) -> dict[str, str]:
        return {
            "agent_id": self.name,
            "agent_type": self.type,
            "agent_transcript_path": str(self.transcript),
        }


@dataclass(slots=True)
class SessionHooks:
    """Runs the hooks of one session; `continuations` counts how often stop hooks continued a turn.

    `agent` is set for a sub-agent, which has its own start and end, and whose task is not a prompt.
    """

    app: Workspace
    session: str
    transcript: Path
    announce: Announce
    commands: Sequence[Command] = ()
    agent: SubagentInfo | None = None
    continuations: int = field(default=0)

    @classmethod
    def open(
        cls,
        app: Workspace,
        session: str,
        transcript: Path,
        announce: Announce,
        agent: SubagentInfo | None = None,
    ) -> SessionHooks:
        return cls(app, session, transcript, announce, tuple(trusted_commands(app)), agent)

    async def started(self, *, resumed: bool) -> Answer:
        if self.agent is not None:
            return await self._run("SubagentStart", self.agent.type)
        return await self._run("SessionStart", source="resume" if resumed else "startup")

    async def ended(self) -> None:
        if self.agent is None:
            await self._run("SessionEnd", reason="other")

    async def prompted(self, prompt: str) -> Answer:
        return Answer() if self.agent else await self._run("UserPromptSubmit", prompt=prompt)

    async def stopped(self, answer: str) -> str:
        """Why the turn must continue; empty if it may end, or was continued often enough."""
        fields: dict[str, Any] = {"stop_hook_active": self.continuations > 0}
        fields["last_assistant_message"] = answer
        if self.agent is None:
            found = await self._run("Stop", **fields)
        else:
            found = await self._run("SubagentStop", self.agent.type, **fields)
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
        """The hooks' text to add to a result."""
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
            "cwd": str(self.app.working_folder),
            "hook_event_name": event,
            **({} if self.agent is None else self.agent.as_json()),
            **fields,
        }
        body = json.dumps(data, ensure_ascii=False).encode("utf-8", "surrogatepass")
        found = await asyncio.gather(*(self._answer(one, body) for one in commands))
        changed = next((i for i, one in enumerate(found) if one.input is not None), None)
        return Answer(
            refusal=next((one.refusal for one in found if one.refusal is not None), None),
            permission=_joined(found, changed is None or commands[changed].own),
            context="\n\n".join(one.context for one in found if one.context),
            input=None if changed is None else found[changed].input,
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
        answer = parsed(out, command.event)
        # A project's hook may ask for more questions, never for fewer.
        if answer.permission == "allow" and not command.own:
            return replace(answer, permission="")
        return answer

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
    own = home / HOOKS
    with suppress(OSError):
        content = own.read_bytes()
        if problem := problem_in(content):
            raise InputError(f"{own}: {problem}; correct the file, or move it away")
        yield from (replace(one, own=True) for one in commands_in(content))
    file = hooks_file(home, app.project.root)
    with suppress(OSError, ValueError):
        content = file.read()
        if content and said_about(file.record, file.path, content) == "yes":
            yield from commands_in(content)


def _joined(answers: Sequence[Answer], may_allow: bool) -> HooksSay:
    """Combine the answers of hooks: one that asks outweighs one that allows."""
    said = {answer.permission for answer in answers}
    if "ask" in said:
        return "ask"
    return "allow" if may_allow and "allow" in said else ""


_PLAIN_CONTEXT = ("SessionStart", "SubagentStart", "UserPromptSubmit")
_PERMISSIONS: Mapping[object, HooksSay] = {"allow": "allow", "ask": "ask"}


def parsed(out: str, event: str) -> Answer:
    """Parse a hook's output: JSON in Claude Code's form, or plain text where that is context."""
    text = out.strip()
    try:
        data = json.loads(text) if re.match(r"\s*\{", text) else None
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        return Answer(context=text if event in _PLAIN_CONTEXT else "", plain=text)
    specific = data.get("hookSpecificOutput")
    specific = specific if isinstance(specific, dict) else {}
    decision = specific.get("permissionDecision")
    refused = data.get("decision") == "block" or data.get("continue") is False or decision == "deny"
    reason = (
        data.get("reason") or data.get("stopReason") or specific.get("permissionDecisionReason")
    )
    changed = specific.get("updatedInput")
    return Answer(
        refusal=str(reason or f"the {event} hook refused") if refused else None,
        context=str(specific.get("additionalContext") or ""),
        input=changed if isinstance(changed, dict) else None,
        permission=_PERMISSIONS.get(decision, "") if isinstance(decision, str) else "",
    )

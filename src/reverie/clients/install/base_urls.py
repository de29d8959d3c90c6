"""Clients' base URLs: set to the proxy's address, with the settings a client needs to keep its features there.

An address that is already set is never replaced: it may be a gateway that the proxy should forward
to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from reverie.clients.install import entries, files, json_text
from reverie.clients.install.files import NOTE, ClientFile
from reverie.clients.install.json_text import Malformed, Where
from reverie.clients.install.wiring import Places
from reverie.errors import InputError

_PROVIDER = "reverie"


@dataclass(frozen=True, slots=True)
class Member:
    """A value in a JSON file. One that `yields` leaves the person's own value alone."""

    where: tuple[str, ...]
    value: Any
    yields: bool = False


@dataclass(frozen=True, slots=True)
class JsonMembers(ClientFile):
    """Values of ours in a client's JSON file."""

    members: tuple[Member, ...]
    comments: bool = False

    def holds(self, text: str | None) -> bool:
        value = self._value(text)
        return all(
            _found(value, one.where) == one.value or (one.yields and _found(value, one.where))
            for one in self.members
        )

    def present(self, text: str | None) -> bool:
        value = self._value(text)
        return any(_found(value, m.where) == m.value for m in self.members if not m.yields)

    def added(self, base: str | None, current: str | None) -> str | None:
        text = _object(base)
        for member in self.members:
            there = _found(self._value(text), member.where)
            if there == member.value or (there is not None and member.yields):
                continue
            if there is not None:
                raise Malformed(_taken(member.where, there), _line_of(text, member.where[-1]))
            root = json_text.parse(text, comments=self.comments)
            text = entries.set_member(text, root, member.where[:-1], member.where[-1], member.value)
        return text

    def removed(self, text: str, made: Sequence[Where] | None, *, created: bool) -> str | None:
        for member in self.members:
            if _found(self._value(text), member.where) == member.value:
                text = json_text.without(text, member.where, comments=self.comments)
        for where in sorted(made or (), key=len, reverse=True):
            node = json_text.at(json_text.parse(text, comments=self.comments), where)
            if node is not None and node.kind != "scalar" and not node.items:
                text = json_text.without(text, where, comments=self.comments)
        return None if created and not self._value(text) else text

    def made(self, base: str | None) -> list[Where]:
        root = json_text.parse(_object(base), comments=self.comments)
        inner = {m.where[:depth] for m in self.members for depth in range(1, len(m.where))}
        return sorted(where for where in inner if json_text.at(root, where) is None)

    def _value(self, text: str | None) -> dict[str, Any]:
        return entries.value_of(_object(text), comments=self.comments)


def _object(text: str | None) -> str:
    return text if text is not None and text.strip() else "{}\n"


def _found(value: Any, where: Sequence[str]) -> Any:
    for step in where:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _taken(where: Sequence[str], there: object) -> str:
    return (
        f"{'.'.join(where)} is {there!r} already; to forward to that address through the proxy, set "
        "proxy.upstream.* to it in Reverie's settings and remove it here"
    )


def _line_of(text: str, word: str) -> int:
    return text.count("\n", 0, max(0, text.find(word))) + 1


@dataclass(frozen=True, slots=True)
class CodexProvider(ClientFile):
    """A provider of ours in Codex's configuration, chosen by a line at the top."""

    url: str

    def holds(self, text: str | None) -> bool:
        value = files.parse_toml(text or "")
        table = files.toml_table(value, self._name)
        return (
            value.get("model_provider") == _PROVIDER
            and isinstance(table, dict)
            and table.get("base_url") == f"{self.url}/v1"
        )

    def present(self, text: str | None) -> bool:
        return files.toml_table(files.parse_toml(text or ""), self._name) is not None

    def added(self, base: str | None, current: str | None) -> str | None:
        text = base or ""
        chosen = files.parse_toml(text).get("model_provider")
        if chosen is not None:
            raise Malformed(
                f"model_provider is {chosen!r} already; remove it, or set its base_url to "
                f"{self.url}/v1 and proxy.upstream.openai to its own address",
                _line_of(text, "model_provider"),
            )
        values = {
            "name": "OpenAI through Reverie",
            "base_url": f"{self.url}/v1",
            "env_key": "OPENAI_API_KEY",
            "wire_api": "responses",
        }
        newline = "\r\n" if "\r\n" in text else "\n"
        table = files.toml_added(text, self._name, values, NOTE)
        table = table.rstrip("\r\n") + newline + "supports_websockets = false" + newline
        return self._line + newline + table

    def removed(self, text: str, made: Sequence[Where] | None, *, created: bool) -> str | None:
        lines = text.splitlines(keepends=True)
        kept = "".join(line for line in lines if line.rstrip("\r\n") != self._line)
        left = files.toml_removed(kept, self._name, NOTE) if self.present(kept) else kept
        return None if created and not left.strip() else left

    @property
    def _name(self) -> tuple[str, str]:
        return ("model_providers", _PROVIDER)

    @property
    def _line(self) -> str:
        return f'model_provider = "{_PROVIDER}"  # {NOTE}'


@dataclass(frozen=True, slots=True)
class EnvironmentFile(ClientFile):
    """A variable in a file of variables that the client reads."""

    name: str
    value: str

    def holds(self, text: str | None) -> bool:
        return self._line in (text or "").splitlines()

    def added(self, base: str | None, current: str | None) -> str | None:
        text = base or ""
        for number, line in enumerate(text.splitlines(), start=1):
            if line.partition("=")[0].strip() == self.name:
                raise Malformed(_taken([self.name], line.partition("=")[2]), number)
        gap = "\n" if text and not text.endswith("\n") else ""
        return f"{text}{gap}# {NOTE}\n{self._line}\n"

    def removed(self, text: str, made: Sequence[Where] | None, *, created: bool) -> str | None:
        ours = (f"# {NOTE}", self._line)
        lines = text.splitlines(keepends=True)
        left = "".join(line for line in lines if line.rstrip("\r\n") not in ours)
        return None if created and not left.strip() else left

    @property
    def _line(self) -> str:
        return f"{self.name}={self.value}"


def _claude_code(places: Places, project: bool, url: str) -> ClientFile:
    folder = places.project / ".claude" if project else places.claude
    return JsonMembers(
        "base url",
        folder / "settings.json",
        (
            Member(("env", "ANTHROPIC_BASE_URL"), url),
            # Behind a foreign address Claude Code would load every tool at once.
            Member(("env", "ENABLE_TOOL_SEARCH"), "true", yields=True),
        ),
    )


def _codex(places: Places, project: bool, url: str) -> ClientFile:
    folder = places.project / ".codex" if project else places.codex
    return CodexProvider("base url", folder / "config.toml", url)


def _opencode(places: Places, project: bool, url: str) -> ClientFile:
    folder = places.project if project else places.opencode
    commented = folder / "opencode.jsonc"
    path = commented if commented.exists() else folder / "opencode.json"
    members = tuple(
        Member(("provider", family, "options", "baseURL"), f"{url}/v1")
        for family in ("anthropic", "openai")
    )
    return JsonMembers("base url", path, members, comments=True)


def _gemini(places: Places, project: bool, url: str) -> ClientFile:
    folder = places.project / ".gemini" if project else places.gemini
    path = folder / ".env"
    return EnvironmentFile("base url", path, "GOOGLE_GEMINI_BASE_URL", f"{url}/gemini")


_FILES: dict[str, Callable[[Places, bool, str], ClientFile]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "opencode": _opencode,
    "gemini": _gemini,
}


def base_url_files(
    client: str, places: Places, url: str, *, project: bool
) -> tuple[ClientFile, ...]:
    """The files that hold a client's base URL."""
    found = _FILES.get(client)
    if found is None:
        known = ", ".join(_FILES)
        raise InputError(
            f"{client} keeps its base URL where no program can set it; enter {url}/v1 in its own "
            f"settings (by file: {known})"
        )
    return (found(places, project, url),)

"""Generated configuration files (any JSON in any layout, any TOML), and a disk in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from reverie.clients.install.clients import CLIENTS
from reverie.clients.install.files import ClientFile
from reverie.clients.install.plan import Installation, Plan, Scope, install, uninstall
from reverie.clients.install.wiring import InstallOptions, Places

PROGRAM = "/opt/reverie/bin/reverie"
OTHER = "/home/me/my tools/reverie"

HOME = Path("/home/me")
PLACES = Places(
    person=HOME,
    project=Path("/srv/app"),
    claude=HOME / ".claude",
    claude_state=HOME / ".claude.json",
    codex=HOME / ".codex",
    opencode=HOME / ".config" / "opencode",
)


@dataclass
class Texts:
    """A disk in memory."""

    there: dict[Path, str] = field(default_factory=dict)

    def read(self, path: Path) -> str | None:
        return self.there.get(path)

    def missing(self, path: Path) -> tuple[Path, ...]:
        return ()

    def apply(self, plan: Plan) -> None:
        for change in plan.changes:
            assert self.there.get(change.path) == change.before
            if change.after is None:
                self.there.pop(change.path, None)
            else:
                self.there[change.path] = change.after


def files(
    client: str, scope: Scope = "user", program: str = PROGRAM, *, mcp: bool = True
) -> tuple[ClientFile, ...]:
    return CLIENTS[client].files(InstallOptions(PLACES, scope, program, mcp=mcp))


@dataclass
class Machine:
    """Installs and uninstalls one client on a disk in memory."""

    client: str
    disk: Texts
    known: Installation | None = None

    def install(self, program: str = PROGRAM, *, mcp: bool = True) -> Plan:
        bare = Installation(self.client, "user", "", program)
        wanted = files(self.client, program=program, mcp=mcp)
        plan = install(bare, wanted, self.known, self.disk)
        self.disk.apply(plan)
        # As if it had been saved and loaded again.
        self.known = Installation.read(json.loads(json.dumps(plan.record.as_json())))
        return plan

    def uninstall(self) -> Plan:
        known = self.known or Installation(self.client, "user", "", "")
        plan = uninstall(known, files(self.client), self.disk)
        self.disk.apply(plan)
        self.known = None
        return plan


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12)
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=12,
)

foreign_hooks = st.fixed_dictionaries(
    {"hooks": st.lists(st.fixed_dictionaries({"type": st.just("command"), "command": st.sampled_from(["beep", "/x/reverie hook", "a b"])}), max_size=2)},
    optional={"matcher": st.sampled_from(["Bash", "*", ""])},
)  # fmt: skip
hook_tables = st.dictionaries(
    st.sampled_from(["SessionStart", "Stop", "PreToolUse", "sessionStart", "Notification"]),
    st.lists(foreign_hooks, max_size=2),
    max_size=3,
)
server_tables = st.dictionaries(
    st.sampled_from(["git", "files", "reverie2"]),
    st.fixed_dictionaries({"command": st.text(max_size=5)}),
    max_size=2,
)


@st.composite
def settings(draw: st.DrawFn) -> dict[str, Any]:
    """Any content of a client's JSON file, without our entries."""
    keys = st.text(max_size=6).filter(lambda key: key not in ("hooks", "mcpServers", "mcp"))
    value = draw(st.dictionaries(keys, values, max_size=4))
    for key, strategy in (("hooks", hook_tables), ("mcpServers", server_tables), ("mcp", server_tables)):  # fmt: skip
        if draw(st.booleans()):
            value[key] = draw(strategy)
    return {key: value[key] for key in draw(st.permutations(sorted(value)))}


@st.composite
def layouts(draw: st.DrawFn, value: Mapping[str, Any]) -> str:
    """A value as text: in one line or many, with any indentation, line end and ending."""
    indent = draw(st.sampled_from([None, 0, 1, 2, 4, "\t"]))
    separators = draw(st.sampled_from([None, (",", ":"), (" ,", " : ")]))
    text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=draw(st.booleans()))
    text = draw(st.sampled_from(["", "\ufeff"])) + text + draw(st.sampled_from(["", "\n", "\n\n "]))
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


json_files = settings().flatmap(layouts)

toml_keys = st.sampled_from(["model", "approval_policy", "a-b", '"x.y"', "notify"])
toml_scalars = st.one_of(
    st.integers(0, 999).map(str),
    st.sampled_from(
        [
            '"plain"',
            "'[mcp_servers.reverie]'",
            '"""\n[mcp_servers.other]\n"""',
            "[1, 2]",
            "[\n  1, # one\n  2,\n]",
            "{ a = 1 }",
            "1979-05-27",
        ]
    ),
)
toml_tables = st.sampled_from(
    [
        "[profiles.fast]",
        "[mcp_servers.files]",
        '[hooks.state."/a#b].json:stop:0:0"]',
        '[projects."/srv/app"]',
        "[[rules]]",
        "[ mcp_servers . spaced ]",
    ]
)


@st.composite
def toml_files(draw: st.DrawFn) -> str:
    """A configuration of Codex, with comments, blank lines and texts that look like tables."""
    lines: list[str] = []
    headers = draw(st.lists(toml_tables, unique=True, max_size=4))
    for header in [None, *headers]:
        if header is not None:
            lines += [
                *draw(st.sampled_from([[], [""], ["# about it"], ["", "# about it"]])),
                header,
            ]
        keys = draw(st.lists(toml_keys, unique=True, max_size=3))
        lines += [f"{key} = {draw(toml_scalars)}" for key in keys]
        lines += draw(st.sampled_from([[], [""], ["# a remark"]]))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    text = "\n".join(lines).replace("\n", newline)
    return text + draw(st.sampled_from(["", newline])) if text else text

"""How much of a long conversation is dropped to save cost: `context.profile`.

The figures were chosen on one half of 47 recorded sessions and measured on the other
(docs/benchmarks.md). All of them keep what was said, decided and asked for; they differ in how soon
old tool traffic leaves, and in how much of the files being worked on stays in view.

    thrifty     the lowest bill; files being worked on are shown in short excerpts
    balanced    the default
    faithful    most of what an edit may need stays in view
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, get_args

from reverie.context.compaction.lean import LeanPolicy
from reverie.context.facts.calls import action_of
from reverie.context.microcompaction import Policy
from reverie.core.messages import ToolUse

Name: TypeAlias = Literal["thrifty", "balanced", "faithful"]
NAMES: tuple[Name, ...] = get_args(Name)


@dataclass(frozen=True, slots=True)
class Profile:
    """The policies of the layers.

    A result of more than `longest_result` characters is stored; one of a command that prints files,
    of more than `longest_print`.
    """

    lean: LeanPolicy = field(default_factory=LeanPolicy)
    clearing: Policy = field(default_factory=Policy)
    longest_result: int = 6_000
    longest_print: int = 24_000

    def without_share(self) -> Profile:
        """The same profile without the layers' limits on immediate cost."""
        lean = replace(self.lean, share=math.inf)
        return replace(self, lean=lean, clearing=replace(self.clearing, share=math.inf))

    def threshold(self, tool: str, declared: int | None) -> int | None:
        """The longest result of a tool that is sent whole.

        Output of commands and searches is read once; reports, files and results of unknown tools
        keep their declared limit.
        """
        if declared is None or action_of(ToolUse("", tool)).kind not in ("run", "search"):
            return declared
        return min(declared, self.longest_result)


# The most that a layer may cost at once, as a share of the session's cost: the session may end
# right afterwards.
_SHARE = 0.05
# A compaction that waits until old tokens have cost its price may cost more at once.
_PATIENT = LeanPolicy(
    rounds=2,
    files=20,
    file=10_000,
    likely=0.16,
    rereads=8_000,
    patience=0.6,
    least=16_000,
    share=0.1,
)

_THRIFTY = Profile(
    replace(_PATIENT, tail=2_000, rounds=1, room=8_000, likely=0.2),
    Policy(keep=8, margin=2.0, share=_SHARE),
    longest_print=9_000,
)
_BALANCED = Profile(
    replace(_PATIENT, tail=3_000),
    Policy(keep=8, margin=2.0, share=_SHARE),
)
_FAITHFUL = Profile(
    LeanPolicy(tail=12_000, rounds=8, room=30_000, likely=0.1, calls=14, share=_SHARE),
    Policy(keep=16, margin=4.0, share=_SHARE),
    longest_result=16_000,
    longest_print=24_000,
)

PROFILES: dict[str, Profile] = {
    "thrifty": _THRIFTY,
    "balanced": _BALANCED,
    "faithful": _FAITHFUL,
}

"""One terse line a step; neighbouring looks at files and searches share a line."""

from __future__ import annotations

from dataclasses import dataclass, replace

from reverie.layers.facts.calls import Deed, shortened
from reverie.layers.facts.kept import Ends
from reverie.layers.facts.outcomes import Outcome

_FIRST, _LAST = 20, 100
_SHARED = 8
_LONGEST_REQUEST = 120
_LONGEST_TARGET = 100

_VERBS = {"read": "read", "edit": "edited", "write": "wrote", "search": "searched", "run": "ran"}


@dataclass(frozen=True, slots=True)
class _Step:
    verb: str
    targets: tuple[str, ...]
    ending: str = ""

    @property
    def line(self) -> str:
        return f"{self.verb} {', '.join(self.targets)}{self.ending}".rstrip()


class WorkLog:
    def __init__(self) -> None:
        self._steps: Ends[_Step] = Ends(_FIRST, _LAST)

    def asked(self, request: str) -> None:
        self._steps.add(_Step("asked:", (shortened(request, _LONGEST_REQUEST),)))

    def did(self, deed: Deed, outcome: Outcome) -> None:
        step = _step(deed, outcome)
        last = self._steps.last
        if last is None or not _may_share(last, step):
            self._steps.add(step)
        elif step.targets[0] not in last.targets:
            self._steps.replace_last(replace(last, targets=last.targets + step.targets))

    @property
    def lines(self) -> tuple[str, ...]:
        head = tuple(step.line for step in self._steps.head)
        tail = tuple(step.line for step in self._steps.tail)
        dropped = self._steps.dropped
        return (*head, f"… {dropped} steps left out …", *tail) if dropped else head + tail


def _step(deed: Deed, outcome: Outcome) -> _Step:
    target = shortened(deed.target, _LONGEST_TARGET)
    if deed.kind in ("run", "search"):
        target = f"`{target}`"
    elif deed.kind in ("read", "edit", "write"):
        # The end of a path tells it from the others; the whole of it is among the files.
        target = shortened("/".join(deed.target.split("/")[-2:]), _LONGEST_TARGET)
    return _Step(_VERBS.get(deed.kind, deed.tool), (target,), _ending(outcome))


def _ending(outcome: Outcome) -> str:
    match outcome.status:
        case "ok":
            return ""
        case "not run":
            return " → not run"
        case "failed":
            return " → failed" if outcome.exit is None else f" → exit {outcome.exit}"


def _may_share(last: _Step, step: _Step) -> bool:
    """Reading, searching and editing several things in a row is one step of the work."""
    same = last.verb == step.verb and last.ending == step.ending == ""
    return same and step.verb in ("read", "searched", "edited") and len(last.targets) < _SHARED

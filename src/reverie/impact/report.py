"""Whether memory helped: the arms of the holdout compared, and the last replay and probes.

Nothing is left out that is not flattering: intervals, null results, and a harm column.
"""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from reverie.conversation import transcripts
from reverie.errors import ReverieError
from reverie.files.json_files import read_json, write_json
from reverie.impact.intervals import FEWEST, between
from reverie.impact.outcomes import MEASURES, SessionOutcome, count_session, pricer, with_repeats
from reverie.recall.holdout import Arm, arms
from reverie.recall.past_sessions import conversations

if TYPE_CHECKING:
    from reverie.workspace import Workspace

FOLDER = "impact"


def outcome_report(app: Workspace) -> dict[str, Any]:
    """The comparison of the arms, all sessions counted, and the last measurements."""
    outcomes = session_outcomes(app)
    return {
        "holdout": {
            "share": app.settings.number("impact.holdout"),
            **compared(outcomes, arms(app)),
        },
        "sessions": _totals(outcomes),
        "replay": last_of(app, "replay"),
        "probes": last_of(app, "probes"),
    }


def session_outcomes(app: Workspace) -> list[SessionOutcome]:
    """The outcome of every session of this project, oldest first."""
    price = pricer(app.settings)
    found = []
    for name, path in _by_time(conversations(app.project, {}, user=app.user)):
        try:
            records = transcripts.load(path).records
        except ReverieError:
            continue
        found.append(count_session(name, records, price))
    return with_repeats(found)


def _by_time(paths: dict[str, Path]) -> list[tuple[str, Path]]:
    return sorted(paths.items(), key=lambda pair: (pair[1].stat().st_mtime, pair[0]))


def compared(outcomes: list[SessionOutcome], by_session: dict[str, Arm]) -> dict[str, Any]:
    """Each measure in both arms, its difference with an interval, and whether memory harms."""
    found: dict[Arm, list[SessionOutcome]] = {"with": [], "without": []}
    for outcome in outcomes:
        if outcome.session in by_session and outcome.prompts:
            found[by_session[outcome.session]].append(outcome)
    rows = [_measured(name, found) for name in MEASURES] if all(found.values()) else []
    return {
        "sessions": {arm: len(sessions) for arm, sessions in found.items()},
        "directional": min(map(len, found.values())) < FEWEST,
        "measures": rows,
    }


def _measured(name: str, found: dict[Arm, list[SessionOutcome]]) -> dict[str, Any]:
    values = {arm: [float(getattr(one, name)) for one in ones] for arm, ones in found.items()}
    difference = between(values["with"], values["without"])
    words = {"lower": "memory helps", "higher": "memory harms"}
    return {
        "measure": name,
        "with": fmean(values["with"]),
        "without": fmean(values["without"]),
        "difference": difference.as_json(),
        "verdict": words.get(difference.verdict, difference.verdict),
        "harm": difference.verdict == "higher",
    }


def _totals(outcomes: list[SessionOutcome]) -> dict[str, Any]:
    counted = {name: sum(getattr(one, name) for one in outcomes) for name in MEASURES}
    shown = sum(one.memories_shown > 0 for one in outcomes)
    return {"count": len(outcomes), "with_memories": shown, **counted}


# --- measurements that were made ---


def keep(app: Workspace, kind: str, result: dict[str, Any]) -> Path:
    """Store the last measurement of a kind, for the report and the page."""
    path = app.project.folder / FOLDER / f"{kind}.json"
    write_json(path, result)
    return path


def last_of(app: Workspace, kind: str) -> dict[str, Any] | None:
    data = read_json(app.project.folder / FOLDER / f"{kind}.json")
    return data if isinstance(data, dict) else None

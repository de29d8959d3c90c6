"""What real coding sessions would have cost under each way to use the prompt cache.

Replays every Claude Code session of the data set through the simulator of the documented rules,
and compares with what the provider billed. Ours must never be dearer, in any session.
"""

from __future__ import annotations

from collections import defaultdict

from report import data_folder, publish

from reverie.conversation.cache_report import what_if
from reverie.core.usage import Usage
from reverie.workspace import Workspace


def main() -> None:
    app = Workspace.open()
    usages: defaultdict[str, Usage] = defaultdict(Usage)
    costs: defaultdict[str, float] = defaultdict(float)
    dearer: defaultdict[str, int] = defaultdict(int)
    sessions = sorted((data_folder() / "claude_sessions").glob("*.jsonl.gz"))
    for path in sessions:
        result = what_if(app.settings, path)
        by_name = {outcome.plan.name: outcome for outcome in result.outcomes}
        cheapest_other = min(by_name["no caching"].cost, by_name["tail only"].cost)
        for name, outcome in by_name.items():
            usages[name] += outcome.total
            costs[name] += outcome.cost
            dearer[name] += outcome.cost > cheapest_other * (1 + 1e-9)
        usages["as billed"] += result.billed
        costs["as billed"] += result.billed_cost
    rows = [
        [
            name,
            usages[name].prompt,
            usages[name].cache_read,
            usages[name].cache_write,
            f"{usages[name].hit_rate:.1%}",
            costs[name],
            costs[name] / costs["no caching"],
            dearer.get(name, ""),
        ]
        for name in usages
    ]
    columns = [
        "plan",
        "prompt",
        "read",
        "written",
        "hit rate",
        "cost $",
        "÷ none",
        "sessions dearer",
    ]
    publish("cache_what_if", columns, rows)
    print(f"{len(sessions)} sessions; 'dearer': than the cheaper of no caching and tail only")


if __name__ == "__main__":
    main()

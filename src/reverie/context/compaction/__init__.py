"""Layer 4: compaction replaces a conversation by a summary and restores what is still needed.

plan        whether compaction is due, what is summarised and what stays verbatim
summarize   the model's summary, its prompt and the reading of its reply (`parts`)
extractive  the same nine parts without a model
tail        how the window is shared, and how the verbatim messages are cut to fit
restore     open obligations, files, skills and the plan, put back after the summary
run         all steps, with a fallback for each failure
"""

from reverie.context.compaction.plan import (
    Compaction,
    Due,
    Failed,
    From,
    Mode,
    NoPlan,
    Notes,
    Plan,
    Situation,
    Trigger,
    UpTo,
    Whole,
    due,
    plan,
)
from reverie.context.compaction.restore import Restorable, Running
from reverie.context.compaction.run import CompactionTools, run

__all__ = [
    "Compaction",
    "CompactionTools",
    "Due",
    "Failed",
    "From",
    "Mode",
    "NoPlan",
    "Notes",
    "Plan",
    "Restorable",
    "Running",
    "Situation",
    "Trigger",
    "UpTo",
    "Whole",
    "due",
    "plan",
    "run",
]

"""Layer 4: the conversation becomes a summary, and what matters is put back.

trigger     whether it is due
plan        what becomes a summary, what stays word for word
shares      who gets how much of the window            tail     what must stay but is too long
summarize   the model's summary     prompts  parts     extractive   the same without a model
obligations · restore               what is still owed, what comes back
outcome     the new start           run      all of it, failure by failure
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

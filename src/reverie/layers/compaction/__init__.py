"""Layer 4: the conversation becomes a summary, and what matters is put back.

trigger     whether it is due
plan        what becomes a summary, what stays word for word
shares      who gets how much of the window            tail     what must stay but is too long
summarize   the model's summary     prompts  parts     extractive   the same without a model
obligations · restore               what is still owed, what comes back
outcome     the new start           run      all of it, failure by failure
"""

from reverie.layers.compaction.obligations import Running
from reverie.layers.compaction.plan import From, Mode, NoPlan, Plan, UpTo, Whole, plan
from reverie.layers.compaction.restore import Restorable
from reverie.layers.compaction.run import Means, run
from reverie.layers.compaction.situation import Compaction, Failed, Notes, Situation
from reverie.layers.compaction.trigger import Due, Trigger, due

__all__ = [
    "Compaction",
    "Due",
    "Failed",
    "From",
    "Means",
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

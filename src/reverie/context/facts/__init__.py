"""Facts read from a transcript without a model: requests, files, commands, errors and fixes."""

from reverie.context.facts.keeper import FactCollector, read_facts
from reverie.context.facts.outcomes import Command, Facts, FileTouch, Todo, Trouble

__all__ = ["Command", "FactCollector", "Facts", "FileTouch", "Todo", "Trouble", "read_facts"]

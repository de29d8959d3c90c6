"""What a transcript tells without a model: requests, files, commands, errors and what fixed them."""

from reverie.layers.facts.keeper import FactKeeper, read_facts
from reverie.layers.facts.values import Command, Facts, FileTouch, Todo, Trouble

__all__ = ["Command", "FactKeeper", "Facts", "FileTouch", "Todo", "Trouble", "read_facts"]

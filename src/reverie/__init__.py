"""Reverie: layered memory and context management for any LLM agent."""

import logging

__version__ = "0.1.0"

# A library says nothing unless its user asks.
logging.getLogger(__name__).addHandler(logging.NullHandler())

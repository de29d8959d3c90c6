"""Reverie: layered memory and context management for any LLM agent."""

__version__ = "0.1.0"

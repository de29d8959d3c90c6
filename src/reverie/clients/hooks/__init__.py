"""Hooks of other coding agents: their events, and what Reverie answers to each."""

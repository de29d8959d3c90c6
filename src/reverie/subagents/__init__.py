"""Agents that work for an agent: types, limits, mail, worktrees."""

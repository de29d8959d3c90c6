"""Hooks of coding agents: one dialect a client, all saying the same few things."""

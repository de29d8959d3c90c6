"""Wiring Reverie into coding agents: what each client's files must hold, as text to text."""

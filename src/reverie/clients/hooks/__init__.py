"""Reverie beside another client: what happens in its sessions, and what we do at each moment."""

"""Files: atomic replacement, locks between processes, and running git."""

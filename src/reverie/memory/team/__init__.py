"""Team memory, shared through git."""

"""A part of memory that a team shares through git."""

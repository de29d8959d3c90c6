"""The daemon behind the hooks: one for each home, started on demand, stopped when idle."""

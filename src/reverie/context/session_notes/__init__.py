"""Layer 3: a file of notes that is always nearly up to date, so that compaction needs no model call."""

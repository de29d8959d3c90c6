"""Layer 3: a file of notes, kept nearly up to date, so that compaction needs no model call."""

"""Memory: its file format, store, history, changes, inbox, secrets and team sharing."""

"""Learning from conversations: extraction after a turn, dreams across sessions."""

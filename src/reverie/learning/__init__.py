"""What is learnt from conversations: extraction after a turn, dreams across sessions."""

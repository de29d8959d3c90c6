"""Commands about the history of memory."""

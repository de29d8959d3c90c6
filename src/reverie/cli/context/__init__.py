"""Commands about the context of a session."""

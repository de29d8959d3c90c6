"""Commands about memory."""

"""Commands about learning."""

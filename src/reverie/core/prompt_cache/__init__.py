"""The prompt cache: the prefix as a chain of digests, where to mark it, what broke it, what it costs."""

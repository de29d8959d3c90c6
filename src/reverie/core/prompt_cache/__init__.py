"""The prompt cache: digests of the prefix, where to set marks, what broke it, and its cost."""

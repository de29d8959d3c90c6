"""The memory format: text into topics, indexes and prompts, and back; no input or output."""

"""One conversation: its journal, its state, and how its requests are put together."""

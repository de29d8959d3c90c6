"""One conversation: its records, its state and the requests it becomes."""

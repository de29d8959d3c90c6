"""The format of memory, pure: text becomes topics and back."""

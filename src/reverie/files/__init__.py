"""The disk: files that are replaced whole."""

"""Recall: the right memories and messages for a question, from an index that shadows the files."""

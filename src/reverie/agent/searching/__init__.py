"""Looking through a folder the way programmers do: by pattern, without what version control ignores."""

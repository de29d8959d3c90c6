"""Files on disk: the one atomic writer, locks, process identity, git."""

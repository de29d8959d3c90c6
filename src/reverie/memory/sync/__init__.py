"""One person's memory on several machines, through a git remote of their own."""

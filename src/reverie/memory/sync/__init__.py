"""Memory shared through git: one person's on several machines, a team's, and that of clones of one repository."""

"""Memory in PostgreSQL: the same ports as files, for many people and projects in one database."""

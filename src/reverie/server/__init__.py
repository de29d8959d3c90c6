"""`reverie serve`: memory for many people over HTTP, on PostgreSQL."""

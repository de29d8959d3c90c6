"""Tools, the bare loop, and forks: an agent without memory or layers."""

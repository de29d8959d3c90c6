"""Searches folders by path pattern and by content, skipping files that git ignores."""

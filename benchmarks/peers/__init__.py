"""Other memory systems, run as they install, each in a throw-away environment of its own."""

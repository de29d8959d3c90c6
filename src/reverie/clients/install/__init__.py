"""Installing Reverie into coding agents: edits to their configuration files, as text to text."""

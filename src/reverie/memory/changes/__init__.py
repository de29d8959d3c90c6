"""Changes to memory: remember, supersede, forget, undo, import, export."""

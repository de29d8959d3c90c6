"""What may be done with memory: remember, supersede, forget, undo, import, export."""

"""What may be done with memory: remember, edit, supersede, pin, forget. Over ports, on no disk of its own."""

"""Does memory help? What happened (`stats`), and whether it made a difference (`report`)."""

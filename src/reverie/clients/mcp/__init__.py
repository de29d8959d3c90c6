"""Memory for any program that speaks the Model Context Protocol."""

"""The MCP server: memory for any program that speaks the Model Context Protocol."""

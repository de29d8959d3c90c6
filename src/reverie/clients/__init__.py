"""How other programs use Reverie: hooks, the daemon, installation, MCP, and adapters for frameworks."""

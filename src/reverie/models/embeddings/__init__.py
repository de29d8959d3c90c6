"""Embedding models behind one port: from installed packages, or an OpenAI-compatible server."""

"""Embedding models behind one port: in installed packages, or at an OpenAI-compatible address."""

"""What others wrote, inside messages of ours."""

from __future__ import annotations


def harmless(text: str) -> str:
    """Words of a model or a tool, which cannot pass for a reminder of ours."""
    return text.replace("<reminder", "<\\reminder").replace("</reminder", "<\\/reminder")

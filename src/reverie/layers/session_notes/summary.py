"""Notes compaction: the notes are the summary. What the user said is carried beside it."""

from __future__ import annotations

from reverie.layers.session_notes.draft import without_marks
from reverie.layers.session_notes.notes import Notes, cut_sections


def as_summary(notes: Notes, path: str) -> str | None:
    """What the notes say, within their limits; None when they say nothing.

    Whoever compacts puts `user_messages.render(carried(…))` beside it: the notes are no place for
    every word, and a model that edits them is not trusted with it.
    """
    bare = notes.with_texts([without_marks(text) for text in notes.texts])
    if bare.is_blank:
        return None
    said = (
        f"{section.heading}\n{text}" for section, text in cut_sections(bare, path).sections if text
    )
    return "\n\n".join(said)

"""What the fork that keeps the notes is told."""

from __future__ import annotations

# Variables: notes_path, notes, warnings, section_tokens, total_tokens.
UPDATE = """\
This message is not from the user and is no part of the conversation. Leave the work where it is: for \
this one reply you keep the notes of this session, in the file {{notes_path}}.

Someone will have to go on with this work from these notes alone, with the conversation above gone. \
Write what they would need and could not find out by looking at the files: what the user wants and has \
ruled out, where the work stands, what failed and why, exact names, paths, commands, numbers.

The file as it is now:

<notes>
{{notes}}
</notes>

How to do it:

- Use the Edit tool on {{notes_path}} and nothing else. Make all edits in this one reply, one for each \
section that changes; then stop. No other words are needed.
- The lines that begin with “# ” and the line in italics under each are the frame. They stay exactly as \
they are, in this order; nothing is added to them and no new section is made. Only the text under them is yours.
- Bring “Current State” up to date every time: it is read first.
- Change what is no longer true instead of adding to it. Say each thing once. A section with nothing to \
say stays empty: no filler, no “none yet”.
- Text under a line “<!-- drafted … -->” was made from the tool calls by a program. Put what matters of \
it into your own words and remove the rest together with that line; where it says all there is to say, leave it.
- Nothing about these notes or this request belongs into the notes, and nothing that the project's own \
instruction files say already.
- No section longer than {{section_tokens}} tokens, not more than {{total_tokens}} in all.
{{warnings}}"""

"""The prompt for a model that dreams, and the parsing of its account."""

from datetime import date
from pathlib import Path

from reverie.learning.dreaming.changes import Reason
from reverie.learning.dreaming.dreamer import Surroundings, directive, parse_account
from reverie.learning.dreaming.log import LogEntry
from reverie.learning.dreaming.tidy import Flag


def test_the_directive_names_every_phase_and_limit(tmp_path: Path) -> None:
    entry = LogEntry("logs/2025/06/2025-06-14.md", 3, date(2025, 6, 14), "Anna owns billing.")
    flag = Flag("contradiction", ("a.md", "b.md"), "8080 or 8443?")
    around = Surroundings(Path("/sessions"), log=(entry,), instructions="> never: salaries")
    text = directive(tmp_path, around, (flag,))
    paths_and_limits = (str(tmp_path), "/sessions", "200 lines", "25,000 bytes", "superseded_by")
    own = (f"- {entry.source} {entry.text}", "a.md, b.md: 8080 or 8443?", "never: salaries")
    for part in (*paths_and_limits, *own):
        assert part in text
    assert [line[:2] for line in text.splitlines() if line[:1].isdigit()] == [
        "1.",
        "2.",
        "3.",
        "4.",
        "5.",
    ]
    assert "log" not in directive(tmp_path, Surroundings(Path("/sessions"))).replace(
        "log entries", ""
    )


def test_an_account_is_read_line_by_line() -> None:
    reply = (
        "All done.\n"
        "- `port.md` | says the same as old_port.md | old_port.md, s1#m2\n"
        "colour.md | dates made absolute |\n"
        "nonsense | x\n"
        "plan.md | why\n"
    )
    assert parse_account(reply) == {
        "port.md": Reason("says the same as old_port.md", ("old_port.md", "s1#m2")),
        "colour.md": Reason("dates made absolute"),
        "plan.md": Reason("why"),
    }

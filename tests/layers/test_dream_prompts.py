"""What a model is told when it dreams, and how its account is read."""

from pathlib import Path

from reverie.layers.dreaming.changes import Reason
from reverie.layers.dreaming.prompts import Surroundings, directive, parse_account


def test_the_directive_names_every_phase_and_limit(tmp_path: Path) -> None:
    text = directive(tmp_path, Surroundings(Path("/sessions"), Path("/logs")))
    for part in (str(tmp_path), "/sessions", "/logs", "200 lines", "25,000 bytes", "superseded_by"):
        assert part in text
    assert [line[:2] for line in text.splitlines() if line[:1].isdigit()] == [
        "1.",
        "2.",
        "3.",
        "4.",
    ]
    assert "/logs" not in directive(tmp_path, Surroundings(Path("/sessions")))


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

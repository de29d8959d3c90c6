"""Formatted numbers, and logging with -v."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.place import NOON, Place

from reverie.cli.invocation import dollars, printable, share, sparkline, tokens, when
from reverie.cli.screen import start_logging
from reverie.errors import SettingsError

TOKENS = [
    (0, "0"),
    (9_999, "9,999"),
    (10_000, "10.0k"),
    (999_999, "1000.0k"),
    (1_500_000, "1.5M"),
    (12_000_000, "12M"),
]
DOLLARS = [(None, "?"), (0, "$0.00"), (0.01234, "$0.0123"), (1, "$1.00"), (1234.5, "$1,234.50")]


@pytest.mark.parametrize(("count", "shown"), TOKENS)
def test_tokens(count: int, shown: str) -> None:
    assert tokens(count) == shown


@pytest.mark.parametrize(("amount", "shown"), DOLLARS)
def test_dollars(amount: float | None, shown: str) -> None:
    assert dollars(amount) == shown


def test_shares_and_times() -> None:
    assert share(0.1234) == "12.3 %"
    assert when(0) == "–"
    assert when(NOON).startswith("2025-06-15 ")
    assert when(1e18) == "?"


@pytest.mark.parametrize(
    ("values", "shown"),
    [([], ""), ([0, 0], "▁▁"), ([0, 7], "▁█"), ([0, 1, 2, 3, 4, 5, 6, 7], "▁▂▃▄▅▆▇█")],
)
def test_sparklines(values: list[float], shown: str) -> None:
    assert sparkline(values) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 🙂\n\ttab", "plain é 🙂\n\ttab"),
        ("\x1b[2J", r"\x1b[2J"),
        ("a\rb\x00\x7f\x9b", r"a\rb\x00\x7f\x9b"),
        ("half \ud83d an emoji", r"half \ud83d an emoji"),
    ],
)
def test_foreign_text_cannot_steer_a_terminal(text: str, shown: str) -> None:
    assert printable(text) == shown


class TestLogging:
    log = logging.getLogger("reverie.test")

    def test_silent_unless_asked(self, place: Place, capfd: pytest.CaptureFixture[str]) -> None:
        start_logging(place.app().settings, 0)
        self.log.info("this is not logged")
        assert capfd.readouterr() == ("", "")

    @pytest.mark.parametrize(("verbose", "heard"), [(1, ["info"]), (2, ["info", "debug"])])
    def test_verbose_to_stderr(
        self, place: Place, capsys: pytest.CaptureFixture[str], verbose: int, heard: list[str]
    ) -> None:
        start_logging(place.app().settings, verbose)
        self.log.info("info")
        self.log.debug("debug")
        assert capsys.readouterr().err.splitlines() == [f"{name[0].upper()} reverie.test: {name}" for name in heard]  # fmt: skip

    def test_a_file_of_json_lines(self, place: Place) -> None:
        path = place.base / "logs" / "reverie.log"
        settings = place.app(f"log.file={path}", "log.level=info").settings
        start_logging(settings, 0)
        self.log.info("spent %s", "ü", extra={"cost": 0.5, "where": Path("x")})
        self.log.debug("too small")
        try:
            raise ValueError("broken")
        except ValueError:
            self.log.exception("it failed")
        first, second = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        assert (
            first.items()
            >= {"level": "info", "logger": "reverie.test", "message": "spent ü"}.items()
        )
        assert (first["cost"], first["where"]) == (0.5, "x")
        assert "ValueError: broken" in second["error"]

    def test_a_file_that_cannot_be_written(self, place: Place) -> None:
        (place.base / "file").write_text("")
        settings = place.app(f"log.file={place.base / 'file' / 'log'}").settings
        with pytest.raises(SettingsError, match=r"log\.file: cannot write"):
            start_logging(settings, 0)

    def test_the_command_line_starts_it(self, place: Place) -> None:
        path = place.base / "log"
        run("settings", "--set", f"log.file={path}", "--set", "log.level=debug")
        assert path.exists()
        assert sys.stderr is not None

"""Where the token comes from."""

from pathlib import Path

import pytest

from reverie.clients.mcp.http import choose_token
from reverie.errors import InputError

GOOD = "0123456789abcdef0123"


def test_a_new_one_for_each_start() -> None:
    one, other = choose_token(None, None), choose_token("", None)
    assert one.fresh
    assert other.fresh
    assert one.value != other.value
    assert len(one.value) > 40


def test_from_the_environment_or_a_file_which_wins(tmp_path: Path) -> None:
    assert choose_token(f" {GOOD}\n", None).value == GOOD
    file = tmp_path / "token"
    made = choose_token(GOOD, file)
    assert not made.fresh
    assert made.value != GOOD
    assert file.stat().st_mode & 0o777 == 0o600
    assert choose_token(None, file) == made


@pytest.mark.parametrize("text", ["short", "with spaces in the middle", "wörterwörterwörterwörter"])
def test_invalid_tokens_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="REVERIE_MCP_TOKEN holds no usable token"):
        choose_token(text, None)
    file = tmp_path / "token"
    file.touch(0o600)
    file.write_text(text)
    with pytest.raises(InputError, match="holds no usable token"):
        choose_token(None, file)


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(GOOD)
    file.chmod(0o640)
    with pytest.raises(InputError, match="chmod 600"):
        choose_token(None, file)
    with pytest.raises(InputError, match=r"not a plain file|Is a directory"):
        choose_token(None, tmp_path)
    with pytest.raises(InputError, match="No such file"):
        choose_token(None, tmp_path / "nowhere" / "token")

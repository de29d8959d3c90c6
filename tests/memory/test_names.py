"""File names from titles."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.memory.format.paths import LONGEST_STEM, Accepted, check_name, file_name


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("User role", "user_role.md"),
        ("  Integration tests: real DB!  ", "integration_tests_real_db.md"),
        ("Straße nach Köln", "strasse_nach_koln.md"),
        ("Crème brûlée", "creme_brulee.md"),
        ("Łódź, Ærø & Þór", "lodz_aero_thor.md"),
        ("Ďáblík ŠŽ", "dablik_sz.md"),
        ("İstanbul ışık", "istanbul_isik.md"),
        ("Привет, мир", "privet_mir.md"),
        ("Подъезд Ёлка", "podezd_elka.md"),
        ("Καλημέρα Κόσμε", "kalimera_kosme.md"),
        ("ＦＵＬＬ width ①", "full_width_1.md"),
        ("Con", "con_note.md"),
        ("Memory", "memory_note.md"),
        ("../../etc/passwd", "etc_passwd.md"),
        ("日本語のメモ", "memory_c20873fc.md"),
        ("العربية", "memory_d2741598.md"),
        ("Deploy 手順", "deploy_d953e1f1.md"),
        ("🚀", "memory_ebbc0b28.md"),
        ("", "memory_e3b0c442.md"),
    ],
)
def test_names(title, name):
    assert file_name(title) == name


def test_collisions_are_suffixed_without_regard_to_case():
    assert file_name("User role", {"User_Role.md", "user_role_2.md"}) == "user_role_3.md"


def test_different_titles_of_one_script_get_different_names():
    assert file_name("会議") != file_name("休暇")


def test_long_titles_are_cut_between_words():
    name = file_name("alpha " * 30)
    assert len(name) <= LONGEST_STEM + 3
    assert name.endswith("alpha.md")
    assert file_name("x" * 500) == "x" * 60 + ".md"


@given(st.text(), st.sets(st.text(max_size=5)))
def test_every_name_is_in_the_alphabet_free_and_accepted(title, taken):
    name = file_name(title, taken)
    assert re.fullmatch(r"[a-z0-9_-]+\.md", name)
    assert name not in taken
    assert isinstance(check_name(name), Accepted)
    assert file_name(title, taken) == name

"""File names from titles."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.memory.format.paths import LONGEST_STEM, Accepted, check_name, file_name, fold


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


@pytest.mark.parametrize(
    ("stem", "kept"),
    [
        # Cut between words, unless that would leave half of it or less.
        ("a" * 40 + "_" + "b" * 19, None),
        ("a" * 40 + "_" + "b" * 20, "a" * 40),
        ("a" * 40 + "_" + "b" * 19 + "_c", "a" * 40 + "_" + "b" * 19),
        ("a" * 40 + "_" + "b" * 20 + "_c", "a" * 40),
        ("a" * 31 + "_" + "b" * 40, "a" * 31),
        ("a" * 30 + "_" + "b" * 40, "a" * 30 + "_" + "b" * 29),
        ("a" * 25 + "_" + "b" * 40, "a" * 25 + "_" + "b" * 34),
        ("a" * 60, None),
        ("a" * 61, "a" * 60),
    ],
)
def test_a_stem_has_sixty_letters_at_most(stem, kept):
    assert file_name(stem) == f"{kept or stem}.md"


@pytest.mark.parametrize(
    ("taken", "name"),
    [
        ([], "port.md"),
        (["PORT.md"], "port_2.md"),
        (["port.md", "port_3.md"], "port_2.md"),
        (["port.md", "port_2.md"], "port_3.md"),
    ],
)
def test_the_first_free_number(taken, name):
    assert file_name("Port", taken) == name
    assert file_name("Port", lambda one: one in [other.casefold() for other in taken]) == name


@pytest.mark.parametrize(
    ("title", "folded"),
    [
        ("a–b", ("a_b", False)),
        ("a\u0301b", ("ab", False)),
        ("a語b", ("a_b", True)),
        ("a🚀b", ("a_b", False)),
        ("ь", ("", False)),
        ("ß Џ џ", ("ss_dz_dz", False)),
        ("ψ ω ѕ ј ĸ ŋ", ("ps_o_dz_j_k_ng", False)),
    ],
)
def test_what_a_title_becomes(title, folded):
    assert fold(title) == folded

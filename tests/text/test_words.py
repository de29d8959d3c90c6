"""How text becomes search terms: what a person types must meet what was written."""

from __future__ import annotations

import pytest

from reverie.text import words
from reverie.text.words import query_words, terms


def meets(question: str, text: str) -> bool:
    wanted = {term for word in query_words(question) for term in word.terms}
    return bool(wanted & set(terms(text)))


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("running", "she runs every day"),
        ("cafe", "the café by the river"),
        ("NAÏVE approach", "a naive idea"),
        ("http response", "see parseHTTPResponse for details"),
        ("parseHTTPResponse", "parseHTTPResponse raises"),
        ("max tokens", "the setting max_tokens is 4096"),
        ("app main", "look in src/reverie/app_main.py"),
        ("dry run", "always use --dry-run first"),
        ("connect", "reconnectTimeout and connectTimeout"),
        ("Häuser", "das Haus und die Häuser sind alt und nicht neu"),
        ("数据库", "我们的数据库在哪里"),
        ("猫", "黒猫が好きです"),
        ("データベース", "本番データベースの設定"),
        ("데이터베이스", "운영 데이터베이스 설정"),
        ("قاعدة البيانات", "كلمة مرور قاعدة البيانات الجديدة"),
        ("книги", "он читал книгу в саду"),
        ("ｆｕｌｌ width", "full width letters"),
        ("ﬁnance", "finance wiki"),
        ("हिन्दी", "यह हिन्दी में है"),
    ],
)
def test_a_question_meets_the_text(question, text):
    assert meets(question, text)


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("What did we decide about the cache?", ["decide", "cache"]),
        ("Wo ist die Konfiguration?", ["konfiguration"]),
        ("who is it", ["who", "is", "it"]),
        ("", []),
        ("cache cache CACHE", ["cache"]),
    ],
)
def test_small_words_are_left_out_of_questions(question, kept):
    assert [word.word for word in query_words(question)] == kept


def test_terms_never_contain_what_separates_them():
    assert all(term.strip() and " " not in term for term in terms("a—b\tc\n«d» e_f-g/h.i"))


def test_long_german_words_can_be_found_from_their_end():
    *_, tails = words.fields("Die Datenbankverbindung ist nicht stabil und wird getrennt")
    assert tails.startswith(words.stem("verbindung", "german")[::-1])
    assert words.fields("The internationalisation of it is not done and was never")[-1] == ""

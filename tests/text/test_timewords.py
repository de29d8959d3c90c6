"""Time in questions: seen from Sunday 2026-11-15."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.text.timewords import about_former, nearness, spans

NOW = datetime(2026, 11, 15, 9, tzinfo=UTC).timestamp()


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("question", "inside", "outside"),
    [
        ("what did we ship last March", "2026-03-10", "2026-05-01"),
        ("what happened in 2023?", "2023-06-01", "2025-01-01"),
        ("what did I say yesterday", "2026-11-14", "2026-10-14"),
        ("the incident on 2026-02-03", "2026-02-03", "2026-01-20"),
        ("before the freeze on 2026-11-01", "2026-10-20", "2026-11-14"),
        ("after 2026-06-01, what changed", "2026-08-01", "2026-05-01"),
        ("since March 2026", "2026-04-01", "2026-02-01"),
        ("meeting on October 13, 2023", "2023-10-13", "2023-09-01"),
        ("meeting on 13 October", "2026-10-13", "2026-06-13"),
        ("who joined in May", "2026-05-20", "2026-02-01"),
        ("the plan from 2026-Q1", "2026-02-02", "2025-12-01"),
        ("what did we do last summer", "2026-07-01", "2026-01-01"),
        ("last week's release", "2026-11-04", "2026-10-01"),
        ("two weeks ago", "2026-11-01", "2026-09-01"),
        ("what did I buy a couple of days ago?", "2026-11-13", "2026-10-01"),
        ("books I read in the past three months", "2026-08-20", "2026-07-15"),
        ("who visited over the last two weeks", "2026-11-03", "2026-10-15"),
        ("the talk with Rachel two months ago", "2026-09-20", "2026-11-10"),
        ("the concert a few weeks ago", "2026-10-20", "2026-09-20"),
        ("the hike two weekends ago", "2026-11-08", "2026-10-25"),
        ("lunch three Fridays ago", "2026-10-30", "2026-10-20"),
        ("the race in mid February", "2026-02-15", "2026-01-25"),
        ("was war vor ein paar Tagen", "2026-11-13", "2026-10-01"),
        ("les trois derniers mois", "2026-09-01", "2026-07-15"),
        ("los últimos dos meses", "2026-10-01", "2026-08-15"),
    ],
)
def test_times_in_questions(question, inside, outside):
    found = spans(question, NOW)
    assert nearness(found, at(inside)) > 0.9
    assert nearness(found, at(outside)) < 0.2


@pytest.mark.parametrize(
    "question",
    [
        "what may have happened",
        "march on",
        "version 2.2023",
        "port 20264",
        "src/2023/x.py",
        "",
        "fall",
        "the last week of the project",
        "how long ago was that",
        "three days",
    ],
)
def test_what_is_not_a_time(question):
    assert spans(question, NOW) == ()


@given(st.text(), st.floats(allow_nan=True))
def test_any_text_at_any_time(text, now):
    for span in spans(text, now):
        assert not math.isnan(span.start)
        assert 0.0 <= span.nearness(NOW) <= 1.0


@pytest.mark.parametrize(
    ("question", "inside", "outside"),
    [
        ("was haben wir im März beschlossen", "2026-03-10", "2026-06-01"),
        ("was war am 3. Oktober 2025", "2025-10-03", "2025-08-01"),
        ("was haben wir letzte Woche gemacht", "2026-11-04", "2026-10-01"),
        ("seit Februar 2026", "2026-04-01", "2026-01-01"),
        ("qu'avons-nous décidé en avril", "2026-04-10", "2026-07-01"),
        ("la réunion du 13 octobre", "2026-10-13", "2026-08-01"),
        ("qu'est-ce qui est tombé hier", "2026-11-14", "2026-10-01"),
        ("¿qué pasó el 3 de octubre?", "2026-10-03", "2026-08-01"),
        ("qué decidimos en mayo de 2025", "2025-05-10", "2025-09-01"),
        ("hasta el 1 de marzo de 2026", "2026-02-10", "2026-04-01"),
    ],
)
def test_times_in_other_languages(question, inside, outside):
    found = spans(question, NOW)
    assert nearness(found, at(inside)) > 0.9
    assert nearness(found, at(outside)) < 0.2


@pytest.mark.parametrize(
    "question",
    [
        "how do I inject a bean in Spring Boot",
        "why did the fall of the cluster go unnoticed",
        "may 5 people share one seat",
        "what happens with 2000 users",
        "is port 2049 open",
        "mayo on the sandwich",
        "il faut sept jours",
    ],
)
def test_words_and_numbers_that_are_no_times(question):
    assert spans(question, NOW) == ()


@pytest.mark.parametrize(
    ("question", "former"),
    [
        ("Which port did the API use before?", True),
        ("what was the old limit", True),
        ("Who used to lead payments?", True),
        ("Welchen Port hatte die API früher?", True),
        ("Quel était le port avant ?", True),
        ("¿En qué puerto estaba antes?", True),
        ("What did a seat cost before we put it up?", True),
        ("What did the course use to cost?", True),
        ("Which port does the API use?", False),
        ("What do we use to lint?", False),
        ("What must I run before the release?", False),
        ("Wer leitet das Team?", False),
        ("which sonar did the mapping?", False),
    ],
)
def test_questions_about_what_no_longer_holds(question: str, former: bool) -> None:
    assert about_former(question) is former

"""A client's session is told once that learning stopped, and gets no memories when it is held out."""

from tests.clients.hooks.running import Hooks
from tests.clients.hooks.test_flows import QUESTION, VPN, remember

from reverie.learning.runs import Run, note_run


def test_the_alarm_is_told_once(hooks: Hooks) -> None:
    for n in range(5):
        note_run(hooks.place.app(), Run(hooks.place.clock.now() + n, f"s{n}", trouble="no key"))
    hooks.start()
    first = hooks.context("claude-code", "SessionStart", source="startup")
    assert "learning has not worked for 5 sessions: no key" in first
    second = hooks.context("claude-code", "SessionStart", session="s2", source="startup")
    assert "learning has not worked" not in second


def test_a_session_that_is_held_out_gets_no_memories(hooks: Hooks) -> None:
    hooks.place.settings("[impact]\nholdout = 0.5\n")
    remember(hooks.place, VPN)
    hooks.start()
    answers = {
        f"s{n}": hooks.say("claude-code", "UserPromptSubmit", f"s{n}", prompt=QUESTION)
        for n in range(8)
    }
    arms = (hooks.place.app().project.folder / "holdout.jsonl").read_text()
    assert arms.count('"arm"') == 8
    assert {answer is None for answer in answers.values()} == {True, False}

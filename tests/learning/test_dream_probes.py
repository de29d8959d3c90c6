"""Every memory is still found after a dream, or the dream's change is left out."""

import random
from collections.abc import Mapping
from functools import partial

import pytest
from tests.learning.dreaming import TODAY, changed, memory, with_index, words_found

from reverie.learning.dreaming.changes import Reason, typed
from reverie.learning.dreaming.judging import Judged, Search, probed, probes_of


class Prober:
    """Recall by shared words, over files in memory."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = files
        self.asked = 0

    def before(self) -> Search:
        return partial(words_found, self.files)

    def after(self, files: Mapping[str, bytes | None]) -> Search:
        made = {**self.files, **files}
        present = {name: data for name, data in made.items() if data is not None}

        def search(question: str, limit: int) -> list[str]:
            self.asked += 1
            return list(words_found(present, question, limit))

        return search


def test_probes_ask_by_description_by_terms_and_by_a_question() -> None:
    data = memory("The port of the harbour service is 8080.\n\nOpened by Ada on 2026-03-01.")
    description, terms, question = probes_of(data, "a.md")
    assert description == "The port of the harbour service is 8080."
    assert {"8080", "2026-03-01", "ada"} <= set(terms.split())
    assert "harbour" in question
    assert "8080." not in question.split()


SUBJECT = "The port of the harbour service is 8080."


def crowded() -> tuple[dict[str, bytes], dict[str, bytes]]:
    """A dream that adds many texts that match a question better than the fact itself."""
    before = with_index({"fact.md": memory(f"{SUBJECT}\n\n{'Other words follow here. ' * 9}")})
    flood = {f"flood_{n:02}.md": memory(SUBJECT) for n in range(12)}
    return before, {**before, **flood}


@pytest.mark.parametrize("everything", [True, False])
def test_changes_that_push_a_memory_out_of_reach_are_left_out(*, everything: bool) -> None:
    before, after = crowded()
    reasons = {name: Reason("why", ("s1#m1",)) for name in after}
    changes = typed(before, after, reasons)
    assert len(changes) == 12
    found = probed(Judged(changes), before, TODAY, Prober(before), everything=everything)
    assert len(found.accepted) < 10
    assert "fact.md would no longer be found by" in found.objections[0].reason


def test_a_merged_memory_is_found_in_its_heir() -> None:
    before = with_index({"a.md": memory(SUBJECT), "b.md": memory(SUBJECT)})
    after = with_index({"a.md": memory(SUBJECT)})
    changes = typed(before, after)
    assert probed(Judged(changes), before, TODAY, Prober(before)).objections == ()


def test_a_memory_need_not_be_found_by_a_cue_that_was_taken_out() -> None:
    before = with_index({"a.md": memory(SUBJECT, cues=("how marketing goes",))})
    lost = {**before, "a.md": changed(before["a.md"], cues=None)}
    found = probed(Judged(typed(before, lost)), before, TODAY, Prober(before))
    assert found.objections == ()


def test_an_index_alone_is_not_asked_about() -> None:
    before = with_index({"a.md": memory(SUBJECT)})
    prober = Prober(before)
    changes = typed(before, {**before, "MEMORY.md": b""})
    assert probed(Judged(changes), before, TODAY, prober).accepted == changes
    assert prober.asked == 0


WORDS = [
    "port",
    "harbour",
    "service",
    "timeout",
    "billing",
    "limit",
    "quota",
    "mail",
    "search",
    "login",
    "ada",
    "grace",
    "linus",
]


def random_dream(chance: random.Random) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Memories of few words, so that they compete; some are edited, copied or dropped."""
    files = {
        f"m{n:02}.md": memory(
            f"The {' '.join(chance.sample(WORDS, 4))} is {chance.randint(1, 30)}."
        )
        for n in range(40)
    }
    after = dict(files)
    for name in chance.sample(sorted(files), 4):
        after.pop(name)
    for name in chance.sample(sorted(after), 4):
        after[name] = changed(after[name], body=files[chance.choice(sorted(files))].decode()[-60:])
    for n in range(6):
        after[f"new{n}.md"] = memory(f"The {' '.join(chance.sample(WORDS, 5))} is open.")
    return with_index(files), with_index(after)


@pytest.mark.parametrize("seed", range(30))
def test_asking_where_a_change_can_reach_is_as_good_as_asking_for_everything(seed: int) -> None:
    before, after = random_dream(random.Random(seed))
    changes = typed(before, after)
    verdicts = []
    for everything in (True, False):
        prober = Prober(before)
        found = probed(Judged(changes), before, TODAY, prober, everything=everything)
        verdicts.append({change.id for change in found.accepted})
    assert verdicts[0] == verdicts[1]

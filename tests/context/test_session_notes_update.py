"""When notes are due, the fork's prompt, and which of its edits are kept."""

from dataclasses import dataclass, field, replace

import pytest
from tests.context.saying import edit, ran, story, user

from reverie.context import NotDue
from reverie.context.facts import read_facts
from reverie.context.facts.outcomes import Facts
from reverie.context.session_notes import (
    MARK,
    Notes,
    Template,
    from_facts,
    parse,
    parse_template,
    render,
)
from reverie.context.session_notes.update import UPDATE, Due, Notebook, NotesState, due, plan, run
from reverie.errors import Overloaded, ReverieError, StorageError
from reverie.events import Event, TroubleNoted

pytestmark = pytest.mark.anyio

WRITTEN = NotesState("m9", tokens=12_000, tool_calls=10)


@pytest.mark.parametrize(
    ("state", "tokens", "calls", "paused", "is_due"),
    [
        (NotesState(), 9_999, 50, True, False),
        (NotesState(), 10_000, 0, False, True),
        (WRITTEN, 16_999, 40, True, False),
        (WRITTEN, 17_000, 12, False, False),
        (WRITTEN, 17_000, 13, False, True),
        (WRITTEN, 17_000, 10, True, True),
        (WRITTEN, 90_000, 12, False, False),
        (WRITTEN, 3_000, 90, True, False),
        (replace(WRITTEN, tokens=2_000), 6_999, 90, True, False),
        (replace(WRITTEN, tokens=2_000), 7_000, 13, False, True),
    ],
)
def test_when_notes_are_due(
    state: NotesState, tokens: int, calls: int, paused: bool, is_due: bool
) -> None:
    verdict = due(state, tokens=tokens, tool_calls=calls, paused=paused)
    assert isinstance(verdict, Due if is_due else NotDue)
    assert verdict.reason


# ── the directive ────────────────────────────────────────────────────────────


def test_the_directive_names_the_file_and_shows_the_notes() -> None:
    text = plan(Notes.blank(), "/s/notes.md")
    assert "the Edit tool on /s/notes.md" in text
    assert render(Notes.blank()).rstrip() in text
    assert "{{" not in text
    assert text.endswith("12,000 in all.")


def test_what_is_too_long_is_said_in_the_directive() -> None:
    long = Notes.blank().with_texts([""] * 7 + ["lesson\n" * 3_000, "", ""])
    assert plan(long, "p").endswith("2,000 is the most: shorten it.")


def test_a_prompt_of_the_user_gets_its_variables_in_one_pass() -> None:
    some = Notes.blank().with_texts(["{{notes_path}}", *[""] * 9])
    assert plan(some, "/n", "{{notes}} | {{notes_path}} | {{mine}}").endswith("| /n | {{mine}}")
    assert "\n{{notes_path}}\n" in plan(some, "/n", "{{notes}}")


def test_every_variable_of_our_prompt_is_known() -> None:
    assert UPDATE.count("{{") == 6


# ── the update ───────────────────────────────────────────────────────────────


@dataclass
class Page:
    """A file in memory, whose disk may be full."""

    text: str | None = None
    path: str = "/s/notes.md"
    trouble: ReverieError | None = None
    written: list[str] = field(default_factory=list)

    def read(self) -> str | None:
        if self.trouble:
            raise self.trouble
        return self.text

    def write(self, text: str) -> None:
        if self.trouble:
            raise self.trouble
        self.text = text
        self.written.append(text)


def facts() -> Facts:
    return read_facts(story(user("Fix the parser"), edit("/p/a.py"), ran("make test")))


@dataclass
class World:
    page: Page
    events: list[Event] = field(default_factory=list)
    template: Template | None = None

    @property
    def notebook(self) -> Notebook:
        if self.template is None:
            return Notebook(self.page, announce=self.events.append)
        return Notebook(self.page, self.template, announce=self.events.append)

    def model(self, *changes: tuple[str, str], error: ReverieError | None = None):
        """A model that makes the given edits, and may fail afterwards."""

        async def edits(directive: str) -> None:
            assert self.page.path in directive
            for old, new in changes:
                assert old in (self.page.text or "")
                self.page.text = (self.page.text or "").replace(old, new, 1)
            if error:
                raise error

        return edits

    @property
    def troubles(self) -> list[str]:
        return [event.what for event in self.events if isinstance(event, TroubleNoted)]


def line(title: str) -> str:
    """The hint line of a section, to write under."""
    found = render(Notes.blank()).split("\n")
    return found[found.index(f"# {title}") + 1] + "\n"


def say(title: str, text: str) -> tuple[str, str]:
    return line(title), f"{line(title)}\n{text}\n"


async def test_without_a_model_the_notes_are_what_the_facts_tell() -> None:
    world = World(Page())
    known = facts()
    done = await run(world.notebook, known, None)
    assert not done.refined
    assert done.covered == known.last_message
    for own, drafted in zip(done.notes.texts, from_facts(known).texts, strict=True):
        assert own == (f"{MARK}\n{drafted}" if drafted else "")
    assert world.page.text == render(done.notes)
    assert world.troubles == []


async def test_what_the_model_writes_stays() -> None:
    world = World(Page())
    draft = f"{MARK}\n- `/p/a.py`: edited 1×"
    done = await run(
        world.notebook,
        facts(),
        world.model((draft, "a.py holds the parser"), say("Learnings", "never skip make")),
    )
    assert done.refined
    assert done.notes.text("Files and Functions") == "a.py holds the parser"
    assert done.notes.text("Learnings") == "never skip make"
    assert done.notes.text("Workflow").startswith(MARK)
    assert world.page.text == render(done.notes)

    again = await run(world.notebook, facts(), world.model())
    assert again.notes == done.notes


async def test_the_model_sees_the_draft_in_the_file_and_in_its_directive() -> None:
    world = World(Page())
    seen: list[str] = []

    async def looks(directive: str) -> None:
        seen.extend([directive, world.page.text or ""])

    await run(world.notebook, facts(), looks)
    assert all("- `/p/a.py`: edited 1×" in text for text in seen)


async def test_a_section_the_model_emptied_gets_its_text_back() -> None:
    world = World(Page())
    await run(world.notebook, facts(), world.model(say("Learnings", "never skip make")))
    done = await run(world.notebook, facts(), world.model(("never skip make", "")))
    assert done.notes.text("Learnings") == "never skip make"


@pytest.mark.parametrize("rename", [("# Workflow", "# Flow"), (line("Workflow"), ""), ("# ", "")])
async def test_an_update_that_breaks_the_frame_is_not_kept(rename: tuple[str, str]) -> None:
    world = World(Page())
    await run(world.notebook, facts(), world.model(say("Learnings", "never skip make")))
    done = await run(world.notebook, facts(), world.model(("never skip make", "lost"), rename))
    assert not done.refined
    assert done.notes.text("Learnings") == "never skip make"
    assert parse(world.page.text or "") == done.notes
    assert world.troubles == ["the update changed the headings, so it was not kept"]


async def test_a_model_that_fails_leaves_sound_notes() -> None:
    world = World(Page())
    await run(world.notebook, facts(), world.model((MARK + "\n- `make test`: ok", "run make")))
    later = read_facts(story(user("Fix the parser"), ran("make all")))
    done = await run(world.notebook, later, world.model(error=Overloaded("529, try later")))
    assert not done.refined
    assert done.notes.text("Workflow") == f"run make\n\n{MARK}\n- `make all`: ok"
    assert world.troubles == ["no model could update them: 529, try later"]


async def test_what_a_model_wrote_before_it_failed_is_kept() -> None:
    world = World(Page())
    half = world.model(say("Learnings", "never skip make"), error=Overloaded("529"))
    done = await run(world.notebook, facts(), half)
    assert not done.refined
    assert done.notes.text("Learnings") == "never skip make"


async def test_a_file_somebody_broke_by_hand_is_put_right_and_its_text_saved() -> None:
    text = render(Notes.blank()).replace(*say("Learnings", "never skip make"))
    world = World(Page(text.replace("# Session Title", "Title")))
    done = await run(world.notebook, facts(), None)
    assert done.notes.text("Learnings") == "never skip make"
    assert parse(world.page.text or "") == done.notes


async def test_a_full_disk_stops_nothing() -> None:
    world = World(Page(trouble=StorageError("the disk is full")))
    done = await run(world.notebook, facts(), None)
    assert done.notes.text("Worklog")
    assert "the disk is full" in world.troubles


async def test_a_template_of_the_user_is_the_frame() -> None:
    template = parse_template("# Goal\n_why_\n# Worklog\n_steps_\n")
    assert isinstance(template, Template)
    world = World(Page(), template=template)
    done = await run(world.notebook, facts(), world.model(("_why_\n", "_why_\nspeed\n")))
    assert done.refined
    assert done.notes.text("Goal") == "speed"
    assert (world.page.text or "").startswith("# Goal\n_why_\n\nspeed\n\n# Worklog\n_steps_\n")


async def test_notes_beyond_their_limits_are_kept_and_named() -> None:
    world = World(Page())
    done = await run(world.notebook, facts(), world.model(say("Learnings", "lesson\n" * 3_000)))
    assert done.refined
    assert len(done.warnings) == 1

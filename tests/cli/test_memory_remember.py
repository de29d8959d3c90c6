"""`remember`, `list`, `show`, `pin`, `index`: a person saves things and finds them again."""

import json

import pytest
from tests.cli.memories import AUDIT, PERSON, TESTS, TRACKER, directory, remembered, typed
from tests.cli.run import data, done, failed, run
from tests.place import Place

# Made at run time: this file holds nothing that looks like a key.
KEY = "AKIA" + "QYLPMN5HHHFPZAM2"


@pytest.fixture(autouse=True)
def fixed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reverie.workspace.SystemClock", lambda: place.clock)


def test_what_was_saved_where_and_how_to_undo_it(place: Place):
    text = done("remember", "Deploys freeze next Thursday, the auditors come")
    first, where, dates, undo = text.splitlines()
    assert first == "Remembered (project): Deploys freeze 2025-06-19, the auditors come"
    file = directory(place) / "project_deploys_freeze_2025_06_19_the_auditors_come.md"
    assert where == f"  in ~/{file.relative_to(place.person)}"
    assert dates == "  “next Thursday” became 2025-06-19"
    assert file.read_text() == (
        "---\n"
        "name: Deploys freeze 2025-06-19, the auditors come\n"
        "description: Deploys freeze 2025-06-19, the auditors come\n"
        "type: project\n"
        "created: 2025-06-15T11:00:00+00:00\n"
        "origin: user\n"
        "---\n"
        "Deploys freeze 2025-06-19, the auditors come\n"
    )
    assert run(*undo.split("reverie ")[1].split()).exit_code == 0
    assert not file.exists()


@pytest.mark.parametrize(
    ("text", "type_"),
    [(AUDIT, "project"), (TESTS, "feedback"), (PERSON, "user"), (TRACKER, "reference")],
)
def test_the_type_is_inferred_or_given(place: Place, text: str, type_: str):
    assert remembered(text)["type"] == type_
    assert remembered(text, "--type", "reference", "--even-if-known")["type"] == "reference"


def test_json_has_everything(place: Place):
    found = remembered(AUDIT, "--name", "The audit", "--description", "No deploys from 2026-12-20")
    assert found == {
        "saved": True,
        "file": "project_the_audit.md",
        "path": str(directory(place) / "project_the_audit.md"),
        "name": "The audit",
        "description": "No deploys from 2026-12-20",
        "type": "project",
        "valid_from": None,
        "valid_until": None,
        "scope": "project",
        "dates": [],
        "secrets": [],
        "supersedes": None,
        "related": [],
        "revision": data("log")[0]["revision"],
    }


def test_words_need_no_quotes_and_may_come_from_a_pipe(place: Place):
    assert "Remembered (user): I am Ada" in done("remember", "I", "am", "Ada")
    result = typed("Complaints are in Linear.\n\nBoard HARBOR.\n", "remember", "-")
    assert "Remembered (reference): Complaints are in Linear" in result.stdout
    assert (
        (directory(place) / "reference_complaints_are_in_linear.md")
        .read_text()
        .endswith("---\nComplaints are in Linear.\n\nBoard HARBOR.\n")
    )


DECLINED = {
    "": "there is nothing to remember; say what, in a sentence",
    "diff --git a/x b/x": "Not saved: it is a diff. The change is in git.",
    "hello": "give it a title (--name)",
    "Where is the historian?": "it is a question without its answer; say what holds",
    "\x07\x08": "Not saved: it is not text in UTF-8; give it as plain text",
}


@pytest.mark.parametrize("text", DECLINED)
def test_a_no_has_its_reason(place: Place, text: str):
    assert DECLINED[text] in failed("remember", text)
    assert not directory(place).exists()


def test_a_title_saves_what_states_nothing(place: Place):
    assert remembered("Tuesdays", "--name", "Bin collection")["name"] == "Bin collection"


def test_binary_input_is_refused(place: Place):
    message = typed(bytes(range(256)) * 4, "remember", "-")
    assert (message.exit_code, "it is not text in UTF-8" in message.stderr) == (1, True)
    assert not directory(place).exists()


def test_input_that_is_too_large_is_to_be_split(place: Place):
    result = typed("A line of notes.\n" * 9_000, "remember", "-")
    assert result.exit_code == 1
    assert "split it into parts" in result.stderr


def test_what_is_known_is_named(place: Place):
    file = remembered("The service listens on 8080")["file"]
    message = failed("remember", "The service listens on 8080")
    assert f"{file} already says so" in message
    assert f"`reverie edit {file}`, or save anyway with --even-if-known" in message
    result = run("remember", "Please remember that the service listens on 8080", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout) == {
        "saved": False,
        "reason": f"{file} already says so: The service listens on 8080",
        "advice": f"change it with `reverie edit {file}`, or save anyway with --even-if-known",
        "existing": file,
    }


def test_the_same_in_other_words_is_saved_and_told(place: Place):
    old = remembered("The boiler was installed in 2008")["file"]
    output = done("remember", "Our boiler dates from 2008")
    new = data("list")[0]["file"]
    assert f"seems to say the same as {old} — The boiler was installed in 2008" in output
    assert f"both are kept; if one is enough: reverie retire {old} --by {new}" in output
    assert len(data("list")) == 2


def test_another_value_is_saved_and_the_way_to_replace_is_told(place: Place):
    old = remembered("The service listens on 8080")["file"]
    output = done("remember", "The service listens on 8443")
    new = data("list")[0]["file"]
    assert f"is another value of {old} — The service listens on 8080" in output
    assert f"both are kept; if it is replaced: reverie retire {old} --by {new}" in output
    assert len(data("list")) == 2
    assert "is replaced by" in done("retire", old, "--by", new)
    assert [row["file"] for row in data("list")] == [new]
    assert "is valid again" in done("retire", old, "--off")
    assert len(data("list")) == 2
    assert "say which memory replaces it" in run("retire", old).stderr
    assert remembered("The service listens on 9000", "--supersedes", old)["supersedes"] == old


def test_replace(place: Place):
    old = remembered("The standup is at 9:30")["file"]
    assert remembered("The standup is at 10", "--replace")["supersedes"] == old
    assert "no memory holds another value" in failed("remember", "Mira likes tea", "--replace")


def test_a_sibling_is_merely_mentioned(place: Place):
    first = remembered("The billing service listens on port 7001")["file"]
    second = remembered("The search service listens on port 7002")
    assert second["supersedes"] is None
    assert [(one["file"], one["likeness"]) for one in second["related"]] == [(first, "sibling")]


def test_doctor_finds_what_a_sibling_retired(place: Place):
    old = remembered("API v1 is sunset on 2026-12-31")["file"]
    remembered("API v2 is sunset on 2027-06-30", "--supersedes", old)
    assert f"reverie retire {old} --off" in run("doctor").stdout


@pytest.mark.parametrize("ending", ["", ".md"])
def test_what_replaces_another_keeps_both(place: Place, ending: str):
    old = remembered("The service listens on 8080")["file"]
    new = remembered(
        "The service listens on 8443", "--supersedes", old.removesuffix(".md") + ending
    )
    assert new["supersedes"] == old
    assert [row["file"] for row in data("list")] == [new["file"]]
    assert {row["file"]: row["superseded"] for row in data("list", "--all")} == {
        new["file"]: False,
        old: True,
    }
    assert data("show", old)["superseded_by"] == new["file"]
    assert data("show", new["file"])["supersedes"] == [old]
    assert f"replace it with --supersedes {new['file']}" in failed(
        "remember", "The service listens on 9000", "--supersedes", old
    )


def test_a_file_to_replace_that_is_not_there(place: Place):
    remembered(AUDIT)
    assert "no memory 'nope'" in failed("remember", "x y z", "--supersedes", "nope")


def test_a_secret_is_removed_everywhere_in_it(place: Place):
    text = done(
        "remember",
        f"The staging key is {KEY}",
        "--description",
        f"key {KEY}",
        "--name",
        f"key {KEY}",
    )
    assert "removed a secret (aws access key); if it is none, repeat with --allow-secret" in text
    for path in place.home.rglob("*"):
        assert KEY not in path.name.upper()
        assert not path.is_file() or KEY.encode() not in path.read_bytes()


def test_a_false_alarm_is_allowed_once_and_for_all(place: Place):
    assert remembered(f"The sample in the docs is {KEY}", "--allow-secret")["secrets"] == []
    assert KEY in data("show", data("list")[0]["file"])["text"]
    again = remembered(f"Our docs team chose {KEY} for all examples", "--even-if-known")
    assert again["secrets"] == []
    kept = (place.app().memory_location.state / "allowed-secrets.json").read_text()
    assert KEY not in kept
    assert len(json.loads(kept)) == 1


def test_memory_can_be_off(place: Place):
    assert "memory is off" in failed("remember", "x", "--set", "memory.enabled=false")
    assert "team memory is off" in failed("remember", "x", "--team")


def test_team_memory_has_a_place_and_rules_of_its_own(place: Place):
    place.settings("features.team = true")
    found = remembered(TRACKER, "--team")
    assert found["file"].startswith("team/")
    assert "always private" in failed("remember", PERSON, "--team")
    assert "holds a secret" in failed("remember", f"The key is {KEY}", "--team")
    remembered(PERSON)
    assert [row["file"][:5] for row in data("list")] == ["perso", "team/"]
    assert [row["file"] for row in data("list", "--team")] == [found["file"]]
    assert data("show", found["file"])["name"] == TRACKER
    assert [row["summary"] for row in data("log", "--team")] == [f"remember {TRACKER}"]
    assert "undo with: reverie undo" in done("forget", found["file"])
    assert done("undo", "--team").startswith("Undid")
    text = done("forget", found["file"], "--everywhere", "--yes")
    assert "removed, with its pointer in MEMORY.md" in text
    assert "for its owners to rewrite" in " ".join(text.split())
    assert data("list", "--team") == []


# --- list ---


def test_an_empty_list_says_how_to_begin(place: Place):
    assert done("list") == 'Nothing remembered yet. Begin with: reverie remember "…"\n'
    assert data("list") == []
    assert done("list", "--problems") == "No file has a problem.\n"


def test_the_list(place: Place):
    for text in (AUDIT, TESTS, PERSON):
        remembered(text)
    done("pin", data("list")[0]["file"])
    rows = done("list").splitlines()
    assert rows[0].split() == ["id", "type", "memory", "changed", "what", "it", "says"]
    assert rows[1].split()[:2] == [data("list")[0]["id"], "user"]
    assert f"(pinned) {PERSON}" in rows[1]
    assert rows[-1].startswith("3 memories in ~/.reverie/projects/")
    assert [row["type"] for row in data("list", "--type", "feedback")] == ["feedback"]


def test_files_with_problems(place: Place):
    remembered(AUDIT)
    folder = directory(place)
    (folder / "broken.md").write_text("---\nname: x\n")
    (folder / "a%2e.md").write_text("x")
    (folder / "nowhere.md").symlink_to("/etc/passwd")
    rows = {row["file"]: row for row in data("list", "--problems")}
    assert sorted(rows) == ["a%2e.md", "broken.md", "nowhere.md"]
    assert "never closed" in rows["broken.md"]["problem"]
    assert "symlink" in rows["nowhere.md"]["problem"]
    assert rows["nowhere.md"]["skipped"]
    assert "broken.md" in done("list", "--problems")
    assert [row["file"] for row in data("list")] == ["broken.md", data("list")[1]["file"]]


def test_a_memory_cannot_steer_the_terminal(place: Place):
    remembered(AUDIT)
    (directory(place) / "evil.md").write_text(
        "---\nname: \x1b[2Jx\ndescription: \x1b]52;c;x\x07\n---\n\x1b[31m\n"
    )
    for typed_ in (
        ["list"],
        ["show", "evil.md"],
        ["index", "--rebuild"],
        ["log"],
        ["diff"],
        ["blame", "evil.md"],
        ["doctor"],
    ):
        assert "\x1b" not in run(*typed_).output
    assert "\x1b" in data("show", "evil.md")["text"]


# --- show ---


def test_a_memory_is_shown_as_it_is(place: Place):
    file = remembered(AUDIT)["file"]
    head, _, text = done("show", file.removesuffix(".md")).partition("\n")
    assert head == f"{data('list')[0]['id']} · {file} · project · changed today"
    assert text == (directory(place) / file).read_text()
    assert done("show", directory(place) / file) == done("show", file)


def test_a_memory_as_it_was(place: Place):
    file = remembered(AUDIT)["file"]
    place.clock.advance(86_400)
    (directory(place) / file).write_text("---\nname: changed\n---\nlater\n")
    assert data("show", file)["name"] == "changed"
    assert data("show", file, "--as-of", "2025-06-15")["name"] == AUDIT
    assert data("show", file, "--as-of", "2025-06-15T23:00+00:00")["name"] == AUDIT
    assert data("show", file, "--as-of", "2025-06-16")["name"] == "changed"
    assert "no history from before 2025-06-14" in failed("show", file, "--as-of", "2025-06-14")
    later = remembered(TESTS)["file"]
    assert f"{later} was not there on 2025-06-15" in failed("show", later, "--as-of", "2025-06-15")


def test_the_order_of_what_show_tries(place: Place):
    from tests.conversation.build import talk

    remembered(AUDIT)
    short = data("log")[0]["revision"][:10]
    assert data("show", short)["kind"] == "revision"
    assert data("show", "HEAD")["diff"].startswith("diff --git")
    place.journal(f"{short}-session", *talk(1))
    result = run("show", short, "--json")
    assert json.loads(result.stdout)["kind"] == "revision"
    assert (
        f"it is also a session, to see that: reverie show --kind session {short}" in result.stderr
    )
    assert isinstance(data("show", "--kind", "session", short), list)
    assert "no revision 'zzzz'" in failed("show", "--kind", "revision", "zzzz")
    assert "no memory 'nope.md'" in failed("show", "nope.md")
    assert "no memory, no revision and no session 'nope' here" in failed("show", "nope")


def test_show_looks_and_makes_nothing(place: Place):
    for what in ("x", "x.md", "abcd1234"):
        failed("show", what)
    run("list"), run("log"), run("index"), run("doctor")
    assert not place.home.exists()


# --- pin, index ---


def test_pinned_memories_come_first(place: Place):
    first, second = (remembered(text)["file"] for text in (TESTS, AUDIT))
    done("pin", second)
    assert done("pin", second) == f"{second} was pinned already.\n"
    assert [line[:15] for line in done("index").splitlines()[:2]] == [
        f"- [{AUDIT}"[:15],
        f"- [{TESTS}"[:15],
    ]
    assert "It was up to date already." in done("index", "--rebuild")
    assert data("pin", second, "--off")["changed"]
    assert [row["pinned"] for row in data("list")] == [False, False]
    assert first in done("index").splitlines()[0]
    assert "It was up to date already." in done("index", "--rebuild")


def test_the_index_says_what_the_caps_hide(place: Place):
    remembered(AUDIT)
    folder = directory(place)
    index = folder / "MEMORY.md"
    index.write_text(index.read_text() + "".join(f"- [t{n}](t{n}.md) — x\n" for n in range(300)))
    found = data("index")
    assert (found["hidden"], found["limit"], len(found["dangling"])) == (101, "200 lines", 300)
    assert "101 pointers are hidden by the limit of 200 lines" in done("index")
    assert "lead nowhere: t0.md" in done("index")
    done("index", "--rebuild")
    assert data("index")["dangling"] == []


def test_rebuilding_keeps_the_lines_of_others(place: Place):
    remembered(AUDIT)
    folder = directory(place)
    (folder / "loose.md").write_text("no frontmatter")
    own = (folder / "MEMORY.md").read_text()
    (folder / "MEMORY.md").write_text(
        f"# Mine\n\n- [Loose](loose.md) — a hook of mine\n## Below\n{own}last words"
    )
    done("index", "--rebuild")
    assert (
        folder / "MEMORY.md"
    ).read_text() == f"# Mine\n\n{own}- [Loose](loose.md) — a hook of mine\n## Below\nlast words\n"


# --- when it holds ---


def test_when_it_holds_is_said_and_shown(place: Place):
    text = done("remember", "No deploys from 20 December to 6 January")
    assert "  holds from 2025-12-20 until 2026-01-06\n" in text
    [row] = data("list")
    assert (row["valid_from"], row["valid_until"]) == ("2025-12-20", "2026-01-06")
    assert row["term"] == "from 2025-12-20"
    assert "(from 2025-12-20) No deploys" in done("list")
    assert " · from 2025-12-20" in done("show", row["file"])
    place.clock.advance(300 * 86_400)
    assert data("list")[0]["term"] == "expired 2026-01-06"
    assert " · expired 2026-01-06" in done("show", row["file"])
    mark = "(expired 2026-01-06)"
    assert mark in done("recall", "deploys in January", "--all")
    assert mark in done("search", "deploys", "--only", "memories", "--all")


def test_cues_are_kept_in_the_frontmatter_and_find_the_memory(place: Place):
    done("remember", "Ximena answers until noon.", "--cue", "zeppelin hotline", "--cue", KEY)
    (file,) = directory(place).glob("project_ximena*.md")
    text = file.read_text()
    assert "zeppelin hotline" in text
    assert KEY not in text
    assert "Ximena" in done("search", "zeppelin", "--all")

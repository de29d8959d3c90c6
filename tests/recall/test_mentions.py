"""Memories about a file or an error: by `paths:`, by anchors, by the words they share."""

import pytest

from reverie.memory.format import topic as topics
from reverie.recall.mentions import Mentions, error_signs


def mentions(body: str, **keys: object) -> Mentions:
    front = "".join(f"{key}: {value}\n" for key, value in keys.items())
    return Mentions.of(topics.parse(f"---\nname: n\n{front}---\n{body}\n".encode(), "a.md"))


@pytest.mark.parametrize(
    ("body", "path", "included"),
    [
        ("src/billing.py rounds half to even.", "src/billing.py", True),
        ("billing.py rounds half to even.", "app/src/billing.py", True),
        ("See src/billing.py.", "app/src/billing.py", True),
        ("See src/billing.py.", "other/billing.py", False),
        ("The package.json lists pnpm.", "package.json", True),
        ("The package.json lists pnpm.", "web/package.json", False),
        ("Run ./deploy.sh first.", "deploy.sh", True),
        ("Rounds half to even.", "src/billing.py", False),
    ],
)
def test_a_memory_that_names_a_file_is_about_it(body: str, path: str, included: bool) -> None:
    assert mentions(body).include(path) is included


@pytest.mark.parametrize(
    ("path", "included"),
    [("src/a.py", True), ("src/deep/b.py", True), ("src/a.ts", False), ("db/schema.sql", True)],
)
def test_paths_and_anchors(path: str, included: bool) -> None:
    found = mentions("Rules.", paths="[src/**/*.py]", anchors="[db/schema.sql@1f2e3d4c]")
    assert found.include(path) is included


@pytest.mark.parametrize(
    ("error", "memory", "shared"),
    [
        ("sqlite3.OperationalError: database is locked", "On 'database is locked', run make.", True),
        ("Error: connect ECONNREFUSED 10.0.0.5", "Without VPN it fails with ECONNREFUSED.", True),
        ("error TS2345: argument", "TS2345 comes from the old types.", True),
        ("AssertionError: assert 3 == 4", "AssertionError is common.", False),
        ("ls: cannot access 'x': No such file or directory", "No such luck with the file.", False),
    ],
)
def test_an_error_is_known_by_its_own_words(error: str, memory: str, shared: bool) -> None:
    assert bool(error_signs(error) & mentions(memory).signs) is shared

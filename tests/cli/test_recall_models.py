"""`reverie models recall`: what is used, what would be better, and how much."""

from importlib.machinery import ModuleSpec
from importlib.util import find_spec

import pytest
from tests.cli.run import data, done, failed, run
from tests.place import Place

from reverie.cli.wiring import models
from reverie.models.embeddings import local
from reverie.models.embeddings.local import STATIC

pytest.importorskip("tokenizers", reason="the default model is not installed")


def test_the_default_model_and_what_a_stronger_one_needs(place: Place) -> None:
    done("remember", "Anna has pager duty.")
    found = data("models", "recall")
    assert (found["setting"], found["used"]) == ("default", STATIC)
    assert (found["vectors"], found["waiting"]) == (1, 0)
    assert (found["stronger"] is None) == (found["missing"] is not None)
    text = done("models", "recall")
    assert f"used      {STATIC}" in text


def test_words_alone(place: Place) -> None:
    assert "none: words alone" in done("models", "recall", "--set", "recall.embedder=none")


def test_a_folder_without_a_model_is_told(place: Place) -> None:
    text = done("models", "recall", "--set", f"recall.model_folder={place.root}")
    assert str(place.root) in text or "onnxruntime" in text


def test_what_each_model_finds_in_your_memories(place: Place) -> None:
    done("remember", "Anna has pager duty.")
    rows = data("models", "recall", "--gain")["gain"]
    assert [row["model"] for row in rows][:2] == ["words alone", STATIC]
    assert all(row["probes"] == rows[0]["probes"] > 0 for row in rows)
    assert "among five" in done("models", "recall", "--gain")


def test_no_memories_yet(place: Place) -> None:
    assert "no memories to ask about" in done("models", "recall", "--gain")


def test_its_options_belong_to_recall(place: Place) -> None:
    found = run("models", "--gain")
    assert (found.exit_code, "reverie models recall" in found.stderr) == (2, True)


def test_without_an_installer_the_packages_are_named(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = find_spec

    def hiding(name: str) -> ModuleSpec | None:
        return None if name in {"fastembed", "pip", "project_brain", "onnxruntime"} else there(name)

    for module in (local, models):
        monkeypatch.setattr(module, "find_spec", hiding)
    monkeypatch.setattr(local, "_FOUND", {})
    monkeypatch.setenv("PATH", str(place.root))
    text = failed("models", "recall", "--install")
    assert "neither pip nor uv" in text
    assert "fastembed" in text

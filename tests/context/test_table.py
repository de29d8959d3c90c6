"""The table of layers that is printed for people."""

from __future__ import annotations

from reverie.context import LAYERS


def test_every_layer_is_described_in_its_order() -> None:
    assert [layer.number for layer in LAYERS] == list(range(8))
    assert len({layer.name for layer in LAYERS}) == len(LAYERS)
    assert all(layer.about and layer.cost and layer.fires for layer in LAYERS)

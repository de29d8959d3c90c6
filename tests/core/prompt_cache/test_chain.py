"""Chains of digests: equal digests exactly where equal bytes were sent."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.build import a_head, chain_of, extends, heads, messages, user

from reverie.core.prompt_cache import Chain, common_length, root_digest
from reverie.core.request import key_bytes

conversations = st.lists(messages, max_size=5)


def sent(chain):
    """The bytes a chain stands for, segment by segment."""
    return [key_bytes(chain.head), *(link.segment.data for link in chain.links)]


def naive_common_length(old, new):
    if key_bytes(old.head) != key_bytes(new.head):
        return 0
    pairs = zip(old.links, new.links, strict=False)
    return len(list(takewhile(lambda p: p[0].segment.data == p[1].segment.data, pairs)))


@st.composite
def chain_pairs(draw):
    """Two requests that share a beginning, or nothing, or all."""
    head = draw(heads)
    shared, old, new = draw(conversations), draw(conversations), draw(conversations)
    other = draw(st.sampled_from([head, head, head, draw(heads)]))
    return chain_of(head, shared + old), chain_of(other, shared + new)


@given(chain_pairs())
def test_the_common_length_is_the_naive_one(pair):
    assert common_length(*pair) == naive_common_length(*pair)


@given(chain_pairs())
def test_a_chain_extends_another_exactly_when_its_bytes_begin_with_the_others(pair):
    old, new = pair
    assert extends(old, new) == (sent(new)[: len(sent(old))] == sent(old))


@given(heads, conversations, conversations)
def test_what_is_appended_extends(head, said, more):
    assert extends(chain_of(head, said), chain_of(head, said + more))


@given(heads, conversations)
def test_a_chain_counts_every_token_once(head, said):
    chain = chain_of(head, said)
    assert chain.tokens == sum(link.segment.tokens for link in chain.links)
    assert [link.tokens for link in chain.links] == sorted(link.tokens for link in chain.links)


def test_an_empty_request_is_its_model_and_options():
    empty = chain_of(a_head(), [])
    assert empty.tokens == 0
    assert empty.digest == root_digest(a_head())
    assert extends(empty, chain_of(a_head(), [user("hi")]))
    assert not extends(empty, chain_of(a_head(model="other"), []))


@pytest.mark.parametrize("changes", [{"model": "other"}, {"system": ()}, {"tools": ()}])
def test_another_head_makes_every_later_digest_another(changes):
    head = a_head(system=["be kind"], tools=["read"])
    old, new = (chain_of(h, [user("hi")]) for h in (head, replace(head, **changes)))
    assert old.digest != new.digest
    assert not extends(old, new)


def test_the_digest_of_a_chain_is_that_of_its_last_link():
    chain = chain_of(a_head(), [user("one", "two")])
    assert chain.digest == chain.links[-1].digest
    assert [len(link.digest) for link in chain.links] == [32] * len(chain.links)
    assert Chain(chain.head, chain.links[:1]).digest == chain.links[0].digest

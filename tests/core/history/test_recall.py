from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ffai.core.history.recall import distinct_hits


@dataclass(frozen=True)
class Found:
    text: str
    turn: Any = field(default_factory=dict)
    score: float = 1.0
    turn_index: int = 0
    metadata: dict = field(default_factory=dict)


def scoped(text, scope):
    return Found(text, {"metadata": {"ffai": {"scope": scope}}})


def answered(ranked, top_k):
    """Play the memory: rank the same hits for every request. Returns the result and what was asked for."""
    flow, requests = distinct_hits(top_k), []
    asked = next(flow)
    while True:
        requests.append(asked)
        try:
            asked = flow.send(ranked[:asked])
        except StopIteration as done:
            return done.value, requests


@given(st.lists(st.sampled_from("abcdef")), st.integers(1, 8))
def test_each_thing_is_found_once_and_as_many_as_there_are(texts, top_k):
    found, _ = answered([Found(text) for text in texts], top_k)
    assert [hit.text for hit in found] == list(dict.fromkeys(texts))[:top_k]


def test_nothing_more_is_asked_for_where_nothing_repeats():
    assert answered([Found(text) for text in "abcdef"], 3)[1] == [3]
    assert answered([Found("a"), Found("a")], 3)[1] == [3]


def test_more_is_asked_for_where_repeats_took_places():
    found, requests = answered([Found("same")] * 30 + [Found("other")], 2)
    assert [hit.text for hit in found] == ["same", "other"]
    assert requests == [2, 8, 32]


def test_the_same_text_of_two_people_is_two_things():
    ann, bob = {"actor_id": "ann", "actor_type": "user"}, {"actor_id": "bob", "actor_type": "user"}
    hits = [scoped("hi", ann), scoped("hi", bob), scoped("hi", dict(reversed(ann.items()))), scoped("hi", None)]
    assert answered(hits, 9)[0] == [hits[0], hits[1], hits[3]]


def test_turns_of_any_shape_are_compared():
    odd = [Found("a", None), Found("b", {"metadata": None}), Found("c", {"metadata": {"ffai": "mine"}})]
    assert answered(odd, 9)[0] == odd

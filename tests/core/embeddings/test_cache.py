import threading

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ffai.core.embeddings.cache import VectorCache

texts = st.sampled_from("abcdefgh")


@given(size=st.integers(0, 5), used=st.lists(st.tuples(st.booleans(), texts), max_size=60))
def test_it_holds_the_texts_that_were_used_last(size, used):
    cache, expected = VectorCache(size), []
    for put, text in used:
        if put:
            cache.put({text: np.array([ord(text)])})
        found = cache.find([text])
        if put or text in expected:
            expected = [*(other for other in expected if other != text), text][-size:] if size else []
        assert set(found) == ({text} & set(expected))
    assert set(cache.find("abcdefgh")) == set(expected)
    assert len(cache) == len(expected)


def test_clearing_tells_how_many_there_were():
    cache = VectorCache(4)
    cache.put({"a": np.ones(1), "b": np.ones(1)})
    assert cache.clear() == 2
    assert cache.clear() == 0


def test_many_threads_may_use_it():
    cache = VectorCache(8)

    def work(start):
        for number in range(start, start + 500):
            text = str(number % 20)
            cache.put({text: np.array([number % 20])})
            assert all(vector[0] == int(text) for text, vector in cache.find([text]).items())
            assert len(cache) <= 8

    failures = []

    def guarded(start):
        try:
            work(start)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(start,)) for start in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_dropped_texts_are_gone_and_the_others_stay():
    cache = VectorCache(4)
    cache.put({text: np.array([ord(text)]) for text in "abc"})
    assert cache.drop(["a", "c", "c", "x"]) == 2
    assert set(cache.find("abcx")) == {"b"}
    assert cache.drop(["a"]) == 0


def test_vectors_made_while_something_was_dropped_are_not_kept():
    cache = VectorCache(4)
    before = cache.drops
    cache.drop(["a"])
    cache.put({"a": np.ones(1)}, unless_dropped_since=before)
    assert len(cache) == 0
    cache.put({"a": np.ones(1)}, unless_dropped_since=cache.drops)
    assert len(cache) == 1

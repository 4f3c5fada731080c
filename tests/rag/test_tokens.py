"""Tokens are counted for the model in use, without network, whatever the text is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from ffai.errors import ArgumentTypeError
from ffai.rag.tokens import count_tokens

ROOT = Path(__file__).parents[2]
SENTENCE = "我们昨天决定把数据库迁移推迟到星期五。 Where is the key?  \n\tPlease, don't forget 12345 things."


def exactly(text: str, encoding: str) -> int:
    count_tokens(text, {"o200k_base": "gpt-4o", "cl100k_base": "gpt-4"}[encoding])  # it is loaded, without network
    return len(tiktoken.get_encoding(encoding).encode_ordinary(text))


@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        ("gpt-4o", "o200k_base"),
        ("openai/gpt-4o-mini", "o200k_base"),
        ("azure/gpt-4.1", "o200k_base"),
        ("openrouter/openai/gpt-5", "o200k_base"),
        ("gpt-oss-120b", "o200k_base"),
        ("ft:gpt-4o:somebody::1", "o200k_base"),
        ("gpt-4", "cl100k_base"),
        ("text-embedding-3-small", "cl100k_base"),
        ("claude-sonnet-4", "cl100k_base"),
        ("ollama/llama3", "cl100k_base"),
        ("davinci", "cl100k_base"),
        ("", "cl100k_base"),
        (None, "cl100k_base"),
    ],
)
def test_each_model_has_its_encoding_and_unknown_ones_the_default(model, encoding):
    assert count_tokens(SENTENCE, model) == exactly(SENTENCE, encoding)


@given(st.text(st.characters(), max_size=200))
def test_any_text_is_counted_exactly_for_a_known_model(text):
    assert count_tokens(text, "gpt-4o") == exactly(text, "o200k_base")


def test_a_special_token_is_text():
    assert count_tokens("<|endoftext|>") > 1


def test_a_whole_book_of_short_words_is_counted_exactly():
    book = SENTENCE * 300
    assert count_tokens(book) == exactly(book, "cl100k_base")


@pytest.mark.parametrize("unit", ["a", " ", "\n", "!", "据", "😀", "ab", "0", "\u0301"])
def test_a_long_run_is_counted_at_least_and_almost_exactly(unit):
    run = f"start {unit * 7000} end"
    assert exactly(run, "cl100k_base") <= count_tokens(run) <= exactly(run, "cl100k_base") * 1.02 + 2 * len(run) / 1000


@pytest.mark.parametrize("unit", ["a", " ", "😀"])
def test_a_million_times_the_same_character_takes_no_seconds(unit):
    start = time.process_time()
    assert count_tokens(unit * 1_000_000, "gpt-4o") > 1000
    assert time.process_time() - start < 5


@pytest.mark.parametrize(("text", "model"), [(None, None), (b"text", None), ("text", 5)])
def test_what_is_no_text_is_refused(text, model):
    with pytest.raises(ArgumentTypeError):
        count_tokens(text, model)


NO_NETWORK = """
import os, socket, sys, json
def refuse(*arguments, **keywords):
    raise AssertionError("a name was looked up")
socket.getaddrinfo = socket.create_connection = refuse
before = dict(os.environ)
from ffai.rag.tokens import count_tokens
counted = [count_tokens("Where is the key?", model) for model in ("gpt-4o", "gpt-4", "davinci-002", "mine")]
print(json.dumps([counted, before == dict(os.environ), "litellm" in sys.modules]))
"""


@pytest.mark.parametrize("cache", [None, "", "elsewhere"])
def test_nothing_is_fetched_set_or_loaded(cache, tmp_path):
    """Whatever folder tiktoken was told to use."""
    told = {} if cache is None else {"TIKTOKEN_CACHE_DIR": cache and str(tmp_path / cache)}
    environment = {name: value for name, value in os.environ.items() if name != "TIKTOKEN_CACHE_DIR"} | told
    done = subprocess.run(
        [sys.executable, "-c", NO_NETWORK], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [[5, 5, 5, 5], True, False]
    assert list(tmp_path.iterdir()) == []


DAMAGED = """
import sys, json, logging
sys.path.insert(0, sys.argv[1])
logging.basicConfig(format="%(message)s", stream=sys.stdout)
from ffai.rag.tokens import count_tokens
print(json.dumps([count_tokens("key", "gpt-4o"), count_tokens("ключ")]))
"""


def test_damaged_encodings_are_neither_used_nor_removed_and_bytes_are_counted(tmp_path):
    folder = tmp_path / "litellm" / "litellm_core_utils" / "tokenizers"
    folder.mkdir(parents=True)
    (tmp_path / "litellm" / "__init__.py").touch()
    damaged = folder / "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"
    damaged.write_bytes(b"half")
    code = [sys.executable, "-c", DAMAGED, str(tmp_path)]
    done = subprocess.run(code, cwd=ROOT, capture_output=True, text=True, timeout=60)
    *told, counted = done.stdout.splitlines()
    assert json.loads(counted) == [3, 8], done.stderr
    assert all("bytes are counted" in line for line in told)
    assert damaged.read_bytes() == b"half"

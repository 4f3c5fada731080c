"""Local models with the real MiniLM: folders, the cache, threads and forks."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ffai.core.embeddings import Embeddings
from ffai.errors import DamagedModelError, EmbeddingError, ModelUnavailableError

HAPPY = ["That is a happy person", "That is a very happy person", "Today is a sunny day"]


@pytest.fixture(scope="module")
def embeddings(minilm_folder):
    return Embeddings(f"local/{minilm_folder}", cache_enabled=False)


def run(script, **variables):
    """Run a script in a fresh interpreter, from the folder that holds ffai."""
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": str(root), **variables}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], env=environment, capture_output=True, text=True, timeout=60
    )


def test_a_folder_is_a_model(embeddings):
    person, happier, day = embeddings.embed(HAPPY)
    assert Embeddings.cosine_similarity(person, happier) == pytest.approx(0.943, abs=0.002)
    assert Embeddings.cosine_similarity(person, day) == pytest.approx(0.257, abs=0.002)
    assert embeddings.dimensions == 384
    assert (embeddings.provider, embeddings.is_local) == ("local", True)


async def test_the_twin_leaves_the_loop_free(embeddings):
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            await asyncio.sleep(0)
            ticks += 1

    ticking = asyncio.create_task(tick())
    vectors = await embeddings.aembed(HAPPY)
    ticking.cancel()
    assert vectors == embeddings.embed(HAPPY)
    assert ticks > 10


def test_texts_of_any_length_come_back_in_order(embeddings):
    texts = [("word " * (n * 37 % 200)) + str(n) for n in range(40)]
    together = embeddings.embed(texts)
    for place in (0, 1, 33, 39):
        alone = embeddings.embed_single(texts[place])
        assert Embeddings.cosine_similarity(together[place], alone) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(
    "text",
    ["", " ", "\0", "half \ud83d emoji", "👩‍👩‍👧", "שלום עולם", "e\u0301" * 50, "x" * 1_000_000, "\u202eright to left"],
)
def test_any_text_has_a_vector(text, embeddings):
    vector = embeddings.embed_single(text)
    assert len(vector) == 384
    assert Embeddings.cosine_similarity(vector, vector) == pytest.approx(1.0)


def test_a_relative_path_and_a_home_path_are_folders_too(minilm_folder, monkeypatch):
    monkeypatch.chdir(minilm_folder.parent)
    relative = Embeddings(f"local/{minilm_folder.name}")
    monkeypatch.setenv("HOME", str(minilm_folder.parent))
    home = Embeddings(f"local/~/{minilm_folder.name}")
    monkeypatch.chdir("/")
    assert relative.embed("red") == home.embed("red")


@pytest.mark.parametrize("path", ["/no/such/folder", "./no-such-folder", "~/no-such-folder"])
def test_a_path_without_a_folder_is_told_at_once(path):
    with pytest.raises(ModelUnavailableError, match="no such folder"):
        Embeddings(f"local/{path}")


def test_a_folder_without_a_model_is_told_at_once(tmp_path):
    with pytest.raises(ImportError, match=r"none of .*tokenizer\.json"):
        Embeddings(f"local/{tmp_path}")


def test_a_damaged_folder_is_told_and_never_touched(minilm_folder, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(minilm_folder, folder)
    (folder / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(DamagedModelError, match=r"model.*can't be read"):
        Embeddings(f"local/{folder}").embed("red")
    assert (folder / "model.onnx").read_bytes() == b"not a model"


def test_a_folder_of_another_format_names_the_library_that_reads_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(ModelUnavailableError, match="pip install sentence-transformers"):
        Embeddings(f"local/{tmp_path}").embed("red")


def test_a_folder_says_how_its_tokens_are_pooled(minilm_folder, tmp_path, embeddings):
    folder = tmp_path / "model"
    shutil.copytree(minilm_folder, folder)
    (folder / "1_Pooling").mkdir()
    pooling = folder / "1_Pooling" / "config.json"
    pooling.write_text(json.dumps({"pooling_mode_mean_tokens": True}))
    (folder / "modules.json").write_text(json.dumps([{"type": "sentence_transformers.models.Normalize"}]))
    mean = Embeddings(f"local/{folder}").embed_single("a red house")
    assert mean == embeddings.embed_single("a red house")
    shutil.copytree(folder, tmp_path / "other")
    (tmp_path / "other" / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    first_token = Embeddings(f"local/{tmp_path / 'other'}").embed_single("a red house")
    assert Embeddings.cosine_similarity(mean, first_token) < 0.99


def test_a_name_that_no_library_knows_is_told_with_names_that_are_like_it(empty_cache, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ModelUnavailableError, match=r"Did you mean 'local/BAAI/bge-small-en-v1\.5'"):
        Embeddings("local/bge-small-en-v1.6").ensure_available()


def test_without_a_library_the_constructor_names_both(monkeypatch):
    monkeypatch.setitem(sys.modules, "fastembed", None)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ImportError, match=r"ffai\[memory\].*sentence-transformers"):
        Embeddings("local/all-MiniLM-L6-v2")


def test_making_one_loads_nothing_heavy():
    done = run(
        """
        import sys
        from ffai.core.embeddings import Embeddings
        Embeddings("local/all-MiniLM-L6-v2"), Embeddings()
        heavy = {"numpy", "fastembed", "onnxruntime", "litellm", "openai", "pydantic", "huggingface_hub", "torch"}
        print(sorted(heavy & set(sys.modules)))
        """
    )
    assert done.stdout == "[]\n", done.stderr


def test_many_threads_use_one_model(embeddings):
    texts = [f"sentence number {n}" for n in range(24)]
    expected = [embeddings.embed_single(text) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(embeddings.embed_single, texts)) == expected


def test_threads_that_come_together_load_it_once(minilm_folder):
    embeddings = Embeddings(f"local/{minilm_folder}", threads=1)
    together, got = threading.Barrier(4), []

    def work():
        together.wait()
        got.append(embeddings.embed_single("a red house"))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 4
    assert all(vector == got[0] for vector in got)


def test_a_single_text_does_not_wait_for_a_thousand(embeddings):
    many = threading.Thread(target=embeddings.embed, args=([f"{n} " + "word " * 60 for n in range(200)],))
    many.start()
    embeddings.embed_single("a red house")
    assert many.is_alive()
    many.join()


def test_two_of_the_same_name_share_one_model(minilm_folder, embeddings):
    done = run(
        f"""
        import resource
        from ffai.core.embeddings import Embeddings
        kept = [Embeddings("local/{minilm_folder}") for _ in range(2)]
        kept[0].embed("a")
        first = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        kept[1].embed("b")
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - first < 50_000)
        """
    )
    assert done.stdout == "True\n", done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.parametrize("busy", [False, True])
def test_a_forked_child_loads_its_own_and_ends_like_any_program(busy, minilm_folder):
    done = run(
        f"""
        import os, sys, threading
        from ffai.core.embeddings import Embeddings
        embeddings = Embeddings("local/{minilm_folder}", cache_enabled=False)
        expected = embeddings.embed("a red house")
        if {busy}:  # fork while another thread is inside the model
            threading.Thread(target=lambda: embeddings.embed(["word " * 100 + str(n) for n in range(64)])).start()
        child = os.fork()
        if child == 0:
            assert embeddings.embed("a red house") == expected
            assert embeddings.embed("a blue boat") != expected
            sys.exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
    assert done.stdout == "7\n", done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_child_may_be_the_first_to_load(minilm_folder):
    done = run(
        f"""
        import os, sys
        from ffai.core.embeddings import Embeddings
        embeddings = Embeddings("local/{minilm_folder}")
        children = [os.fork() or (len(embeddings.embed("a")) == 1 and sys.exit(7)) for _ in range(3)]
        print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
        """
    )
    assert done.stdout == "[7, 7, 7]\n", done.stderr


def test_what_the_model_cannot_do_is_an_embedding_error(minilm_folder, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(minilm_folder, folder)
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**settings, "model_max_length": 4096}))
    with pytest.raises(EmbeddingError, match="failed"):
        Embeddings(f"local/{folder}").embed("word " * 3000)  # longer than the table of positions


def test_no_message_reaches_the_terminal(minilm_folder):
    done = run(
        f"""
        from ffai.core.embeddings import Embeddings
        Embeddings("local/{minilm_folder}").embed("a")
        try:
            Embeddings("local/all-MiniLM-L6-v2").embed("a")
        except ImportError as error:
            print("told")
        """,
        HF_HUB_OFFLINE="1",
        FASTEMBED_CACHE_PATH="no-such-folder",
    )
    assert (done.stdout, done.stderr) == ("told\n", "")

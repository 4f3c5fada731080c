"""Loading litellm leaves the process as it was."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run(code: str, folder: Path, **environment: str) -> str:
    """Run a program in a folder of its own; give what it printed."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("LITELLM")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**clean, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_the_import_opens_no_socket_reads_no_dotenv_prints_nothing_and_sets_nothing(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("STRAY_SETTING=1\n")
    code = """
import gc, os, socket, threading
before = dict(os.environ)
def refuse(*args, **kwargs):
    raise AssertionError("the network was asked for")
socket.getaddrinfo = socket.create_connection = refuse
from ffai._litellm import load_litellm
load_litellm().completion  # its functions load when they are asked for
assert dict(os.environ) == before, set(os.environ.items()) ^ set(before.items())
assert gc.isenabled()
assert threading.active_count() == 1, threading.enumerate()
"""
    assert run(code, tmp_path) == ""


def test_what_the_user_has_set_wins(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("WANTED_SETTING=1\n")
    code = """
import os
from ffai._litellm import load_litellm
load_litellm()
print(os.environ["LITELLM_MODE"], os.environ["LITELLM_LOCAL_MODEL_COST_MAP"], os.environ["WANTED_SETTING"])
"""
    out = run(code, tmp_path, LITELLM_MODE="DEV", LITELLM_LOCAL_MODEL_COST_MAP="true")
    assert out.split() == ["DEV", "true", "1"]


def test_a_litellm_that_the_user_imported_is_left_as_it_is(tmp_path: Path) -> None:
    code = """
import litellm
from ffai._litellm import load_litellm
assert load_litellm() is litellm
assert litellm.suppress_debug_info is False
"""
    run(code, tmp_path, LITELLM_LOCAL_MODEL_COST_MAP="true", LITELLM_MODE="PRODUCTION")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_while_another_thread_imports_leaves_the_child_a_whole_module(tmp_path: Path) -> None:
    code = """
import os, sys, threading
from ffai._litellm import load_litellm
thread = threading.Thread(target=load_litellm)
thread.start()
while "litellm" not in sys.modules:
    pass
pid = os.fork()
if pid == 0:
    load_litellm().completion
    os._exit(0)
thread.join()
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
"""
    run(code, tmp_path)

"""What importing ffai costs, and what it does not do."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
HEAVY = {"numpy", "pydantic", "pydantic_settings", "yaml", "litellm", "polars", "torch", "fastembed", "chromadb"}
OPTIONAL = {"fastembed", "onnx", "onnxruntime", "sentence_transformers", "torch", "xllamacpp", "numkong", "pytest"}

NO_SOCKET = """
import socket
class Refused(socket.socket):
    def __init__(self, *arguments, **keywords):
        raise AssertionError("a socket was opened")
def refuse(*arguments, **keywords):
    raise AssertionError("a name was looked up")
socket.socket, socket.getaddrinfo, socket.gethostbyname = Refused, refuse, refuse
"""

WITHOUT = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
"""


def run(code: str) -> Any:
    """Run a program in a fresh interpreter; return the JSON it printed last."""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_importing_ffai_loads_nothing_heavy_and_opens_no_socket():
    loaded = run(f"{NO_SOCKET}\nimport ffai, json, sys\nprint(json.dumps([*sys.modules]))")
    assert not HEAVY & {name.partition(".")[0] for name in loaded}


def test_importing_ffai_takes_at_most_a_quarter_of_a_second():
    code = "import json, time\nstart = time.process_time()\nimport ffai\nprint(json.dumps(time.process_time() - start))"
    assert min(run(code) for _ in range(3)) <= 0.25


def test_every_module_can_be_imported_without_the_optional_packages():
    code = f"""{NO_SOCKET}{WITHOUT.format(names=OPTIONAL)}
import importlib, json, pkgutil, ffai
names = [module.name for module in pkgutil.walk_packages(ffai.__path__, "ffai.") if module.name != "ffai.__main__"]
for name in names:
    importlib.import_module(name)
print(json.dumps([len(names), "litellm" in sys.modules]))
"""
    modules, litellm_is_loaded = run(code)
    assert modules > 40
    assert not litellm_is_loaded


def test_importing_ffai_writes_no_file(tmp_path):
    code = f"import sys, json; sys.path.insert(0, {str(ROOT)!r}); import ffai; print(json.dumps(0))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, timeout=60)
    assert done.stderr == b""
    assert list(tmp_path.iterdir()) == []

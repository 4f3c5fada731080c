"""What is pure stays light."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

PURE = """
import sys, ffai, ffai.rag
heavy = {"pydantic", "numpy", "tiktoken", "regex", "litellm"}
assert not heavy & {*sys.modules}
for name in ("build_rag_prompt", "fit", "format_thread_lines", "framed", "role_of", "MemoryEntry", "count_tokens"):
    getattr(ffai.rag, name)
loaded = heavy & {*sys.modules}
assert not loaded, loaded
"""


def test_the_helpers_load_nothing_heavy_before_they_count():
    done = subprocess.run([sys.executable, "-c", PURE], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr

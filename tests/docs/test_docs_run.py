"""The code in the README, the guides and the tutorials runs, as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "docs/index.md", *sorted(ROOT.glob("docs/guides/*.md")), *sorted(ROOT.glob("tutorials/*.md"))]
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def code_of(page: Path) -> str:
    """The page's code blocks as one program whose line numbers are the page's."""
    text = page.read_text("utf-8")
    lines = [""] * (text.count("\n") + 1)
    for block in _BLOCK.finditer(text):
        start = text.count("\n", 0, block.start(1))
        for offset, line in enumerate(block[1].splitlines()):
            lines[start + offset] = line
    return "\n".join(lines)


@pytest.mark.live
@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_the_code_of_a_page_runs(page: Path, hub_cache: Path, tmp_path: Path) -> None:
    program = tmp_path / "page.py"
    program.write_text(code_of(page), "utf-8")
    done = subprocess.run(
        [sys.executable, str(program)],
        cwd=tmp_path,
        env={
            "PATH": "",
            "HOME": str(tmp_path),
            "PYTHONPATH": str(ROOT),
            "FASTEMBED_CACHE_PATH": str(hub_cache),
            "HF_HUB_OFFLINE": "1",
            "OMP_NUM_THREADS": "1",
        },
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, f"{page.relative_to(ROOT)}:\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr


def test_the_readme_fits_a_screen() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 50


def test_the_code_of_the_readme_compiles() -> None:
    compile(code_of(ROOT / "README.md"), "README.md", "exec")

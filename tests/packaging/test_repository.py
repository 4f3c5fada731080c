"""What is written around the code agrees with it, and names nothing that is only on one machine."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tutorials").rglob("*.md")])
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))

# Joined here, so that this file does not hold them itself.
MACHINE_PATHS = re.compile(
    "|".join([r"(?<![\w./-])/" + "(?:work|farm|root)/", r"/\." + "library", "/tmp/" + "bash_jobs"])
)
REGISTRY_HOSTS = re.compile("|".join(["pypi" + r"\.org", "pythonhosted" + r"\.org", "registry" + r"\.npmjs"]))


def tracked_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_make_has_the_targets_that_are_promised():
    assert {"demo", "test", "test-long", "lint", "bench", "bench-recall", "docs", "clean"} <= TARGETS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_make_command_on_a_page_exists(page):
    text = page.read_text("utf-8")
    commands = re.findall(r"^\s*make ([a-z-]+)|`make ([a-z-]+)`", text, re.MULTILINE)
    assert {first or second for first, second in commands} <= TARGETS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_python_block_on_a_page_compiles(page):
    for block in re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
        compile(block, page.name, "exec")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_link_to_another_page_leads_somewhere(page):
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} links to {target}"


def test_no_tracked_file_names_a_path_of_one_machine_or_a_registry():
    for path in tracked_files():
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        assert not MACHINE_PATHS.search(text), path
        assert not REGISTRY_HOSTS.search(text), path


def test_the_ci_runs_make_test_and_fails_when_it_fails():
    script = (ROOT / ".ci/run").read_text("utf-8")
    assert "set -euo pipefail" in script
    assert script.splitlines()[-1] == "make test"
    assert (ROOT / ".ci/run").stat().st_mode & 0o100


def test_the_makefile_and_the_metadata_ask_for_the_same_python():
    required = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["requires-python"]
    major, minor = required.removeprefix(">=").split(".")
    assert f"sys.version_info < ({major}, {minor})" in MAKEFILE


def test_a_python_that_is_too_old_is_told_in_a_sentence(tmp_path):
    old = tmp_path / "old-python"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.9.2" || exit 1\n', "utf-8")
    old.chmod(0o755)
    done = subprocess.run(
        ["make", "-C", str(ROOT), f"PYTHON={old}", f"VENV={tmp_path}/venv", "demo"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode != 0
    assert f"ffai needs Python 3.11 or newer; '{old}' is Python 3.9.2." in done.stdout

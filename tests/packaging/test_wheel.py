"""What is shipped."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from email import message_from_string
from pathlib import Path

import pytest

import ffai

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=100,
    )
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def test_the_wheel_holds_the_package_its_types_and_its_licence_and_nothing_else(wheel):
    info = f"ffai-{ffai.__version__}.dist-info"
    names = {name for name in wheel.namelist() if not name.endswith("/")}
    code = {path.relative_to(ROOT).as_posix() for path in (ROOT / "ffai").rglob("*.py")}
    assert {name for name in names if name.startswith("ffai/")} == code | {"ffai/py.typed"}
    assert {name.split("/")[0] for name in names} == {"ffai", info}
    assert f"{info}/licenses/LICENSE" in names


def test_the_metadata_says_what_a_buyer_wants_to_know(wheel):
    metadata = message_from_string(wheel.read(f"ffai-{ffai.__version__}.dist-info/METADATA").decode())
    assert metadata["Name"] == "ffai"
    assert metadata["Version"] == ffai.__version__
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "MIT"
    assert metadata.get_payload().startswith("# ffai")
    assert {"memory", "rag", "sentence-transformers", "demo"} <= {*metadata.get_all("Provides-Extra")}


def test_the_wheel_brings_the_command(wheel):
    entry = wheel.read(f"ffai-{ffai.__version__}.dist-info/entry_points.txt").decode()
    assert "ffai = ffai.cli:main" in entry

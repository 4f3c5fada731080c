"""The last results: each part's, with the machine that they come from."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.figures import Line

FILE = Path(__file__).parent / "results.json"
PACKAGES = ("numpy", "numkong", "polars", "fastembed", "onnxruntime")

Results = dict[str, Any]
"""``machine``, ``versions``, and ``parts``: name to ``date``, ``figures``, ``load`` (programs that wanted a core)."""


def load() -> Results:
    """Read the last results; empty if there are none."""
    results: Results = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    return results


def save(results: Results) -> None:
    FILE.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")


def recorded(results: Results, part: str, lines: Sequence[Line]) -> Results:
    """Put a part's new figures in the place of its old ones, or of those of the same sizes where figures have a size.

    What was measured on another machine goes: it can't be compared.
    """
    here = machine()
    kept = results["parts"] if results.get("machine") == here else {}
    figures = [asdict(line) for line in lines]
    if figures and all("size" in figure for figure in figures):
        measured = {figure["size"] for figure in figures}
        old = [figure for figure in kept.get(part, {}).get("figures", []) if figure["size"] not in measured]
        figures = sorted(old + figures, key=lambda figure: figure["size"])
    fresh = {
        "date": datetime.now(UTC).date().isoformat(),
        "load": round(os.getloadavg()[1], 1),
        "figures": figures,
    }
    return {"machine": here, "versions": versions(), "parts": {**kept, part: fresh}}


def machine() -> dict[str, Any]:
    """Say what this machine is."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory": f"{memory / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def versions() -> dict[str, str]:
    """Say which packages did the work."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _processor() -> str:
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        for line in listing.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"

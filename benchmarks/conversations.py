"""Turns that read like those of an assistant, put together from parts: the same in each run."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path
from typing import Any

import yaml

_PARTS: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))


def turns(count: int) -> list[str]:
    """Return that many turns, each once, in an order that looks random."""
    every = [
        f"{ask.format(f'{thing} {trouble}')}{who}\n{advice}{end}"
        for subject in _PARTS["subjects"].values()
        for ask, thing, trouble, who, advice, end in product(
            _PARTS["asking"],
            subject["things"],
            subject["troubles"],
            _PARTS["who"],
            subject["advice"],
            _PARTS["ending"],
        )
    ]
    return random.Random(7).sample(every, count)


def questions(count: int) -> list[str]:
    """Return that many questions about such turns, in words of their own."""
    every = [
        recall.format(f"{thing} {trouble}")
        for subject in _PARTS["subjects"].values()
        for recall, thing, trouble in product(_PARTS["recalling"], subject["things"], subject["troubles"])
    ]
    return random.Random(8).sample(every, count)

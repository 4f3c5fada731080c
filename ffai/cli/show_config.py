"""``ffai config``: every setting, its value and where it comes from."""

from __future__ import annotations

import json
import re
from typing import Any

from ffai.config import explain

_SECRET = re.compile(r"(api_?key|password|secret|token|credential)s?$", re.IGNORECASE)
_PASSWORD_IN_URL = re.compile(r"(?<=://)([^/@\s:]*):[^/@\s]*@")


def show_config(path: str | None = None, *, only: str = "") -> None:
    """Print one line per setting: key, value, origin. Values that look like secrets are hidden.

    Args:
        path: a YAML file or folder; ``None`` for what ``FFAI()`` would read here.
        only: the beginning of the keys to show.

    Raises:
        ConfigError: the configuration can't be read.

    Examples:
        >>> show_config(only="memory.durability")
        memory.durability  process  ...
    """
    rows = [(setting.key, _shown(setting.value), setting.origin) for setting in explain(path)]
    rows = [row for row in rows if row[0].startswith(only)]
    key_width = max((len(key) for key, _, _ in rows), default=0)
    value_width = max((len(value) for _, value, _ in rows if len(value) <= 40), default=0)
    for key, value, origin in rows:
        print(f"{key:<{key_width}}  {value:<{value_width}}  {origin}")


def _shown(value: Any) -> str:
    hidden = _without_secrets(value)
    return hidden if isinstance(hidden, str) else json.dumps(hidden, ensure_ascii=False, default=str)


def _without_secrets(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: "***" if _SECRET.search(str(key)) else _without_secrets(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_secrets(inner) for inner in value]
    return _PASSWORD_IN_URL.sub(r"\1:***@", value) if isinstance(value, str) else value

"""Loading a package at the moment of its use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from ffai.errors import MissingExtraError


def require(module: str, *, extra: str) -> ModuleType:
    """Import an optional package.

    Raises:
        MissingExtraError: the package is not installed; names the extra that brings it.
        ModuleNotFoundError: it is installed, and something inside it is missing.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise MissingExtraError(module, extra) from error


def lazy_exports(
    package: str, exports: Mapping[str, str], *, needs: str | None = None, extra: str = ""
) -> Callable[[str], Any]:
    """Give a package a ``__getattr__`` that imports each public name when it is first asked for.

    Args:
        package: the package's ``__name__``.
        exports: public name to the module that defines it.
        needs: an optional package without which none of them works.
        extra: the extra that brings it.
    """

    def getattr_(name: str) -> Any:
        if name not in exports:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if needs is not None:
            require(needs, extra=extra)
        return getattr(import_module(exports[name]), name)

    return getattr_

"""The ``ffai`` command."""

from ffai.cli.command import main

__all__ = ["main"]

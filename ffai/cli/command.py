"""What the ``ffai`` command understands, and how it ends."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ffai import __version__
from ffai.errors import FFAIError

if TYPE_CHECKING:
    from ffai.config import LoggingSettings


def main(argv: Sequence[str] | None = None) -> int:
    """Run the ``ffai`` command.

    Args:
        argv: what follows the command's name; ``None`` takes the process's own.

    Returns:
        The exit code: 0 for success, 1 for an error that was told on stderr, 130 after Ctrl-C.

    Raises:
        SystemExit: by ``--help``, ``--version`` and arguments that make no sense (code 2).

    Examples:
        >>> main(["config", "--only", "memory.collection_name"])
        memory.collection_name  ffai_turns  ...
        0
    """
    parser = _parser()
    arguments = parser.parse_args(argv)
    try:
        if arguments.command == "demo":
            return _demo(arguments)
        if arguments.command == "config":
            return _config(arguments)
    except FFAIError as error:
        print(f"ffai: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `ffai config | head`: whoever reads has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    parser.print_help()
    return 0


def set_up_logging(settings: LoggingSettings) -> None:
    """Send the log lines of this process where the configuration says.

    Raises:
        OSError: the log file can't be opened.
    """
    logging.basicConfig(level=settings.level, format=settings.format, filename=settings.file)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ffai", description="Memory for LLM applications.")
    parser.add_argument("--version", action="version", version=f"ffai {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command")

    demo = commands.add_parser(
        "demo",
        help="hold a conversation with a real model, and recall it in a second process",
        description="Hold a conversation with a real local model, end the process, and recall it by meaning in a "
        "second one. Needs no key and no model hub.",
    )
    demo.add_argument("--folder", type=Path, help="where the memory is kept (default: a new temporary folder)")
    demo.add_argument("--keep", action="store_true", help="keep the temporary folder")
    demo.add_argument("--chat", metavar="MODEL", help="a provider's model instead, such as openai/gpt-4o-mini")

    config = commands.add_parser(
        "config",
        help="show every setting, its value and where it comes from",
        description="Show every setting, its value and where it comes from.",
    )
    config.add_argument("path", nargs="?", help="a YAML file or folder (default: FFAI_CONFIG, else ./config)")
    config.add_argument("--only", metavar="PREFIX", default="", help="settings whose key begins like this")
    return parser


def _demo(arguments: argparse.Namespace) -> int:
    from ffai.cli.demo import run
    from ffai.config import Config

    set_up_logging(Config.load().logging)
    return run(folder=arguments.folder, keep=arguments.keep, chat=arguments.chat)


def _config(arguments: argparse.Namespace) -> int:
    from ffai.cli.show_config import show_config

    show_config(arguments.path, only=arguments.only)
    sys.stdout.flush()
    return 0

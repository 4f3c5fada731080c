"""The libraries that run embedding models on this machine, fastembed and sentence-transformers: how each is used."""

from __future__ import annotations

import contextlib
import difflib
import importlib.util
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffai._lazy import require
from ffai.core.embeddings.hub import HubModel, cache_folder, hub_address
from ffai.errors import DamagedModelError, EmbeddingError, ModelUnavailableError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Encode = Callable[[list[str]], NDArray[np.float32]]

_FULL_NAMES = {"all-MiniLM-L6-v2": "sentence-transformers/all-MiniLM-L6-v2"}
# fastembed's own table has these too, and takes a second to import: too long for a constructor.
_REPOSITORIES = {"sentence-transformers/all-MiniLM-L6-v2": ("Qdrant/all-MiniLM-L6-v2-onnx", ("model.onnx",))}
_MODEL_FILES = ("tokenizer.json", "modules.json", "config.json")
_ONNX_FILES = ("model.onnx", "onnx/model.onnx", "model_optimized.onnx", "onnx/model_quantized.onnx")


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSource:
    """Where the files of a local model are, and how they become a function from texts to vectors."""

    files: HubModel | Path
    load: Callable[[Path], Encode]
    """Raises DamagedModelError, ModelUnavailableError; the function it returns raises EmbeddingError."""


def check_backend(name: str) -> None:
    """Check that a library which can run local models is installed.

    Raises:
        ModelUnavailableError: none is; names both.

    Examples:
        >>> check_backend("all-MiniLM-L6-v2")
    """
    if not (_installed("fastembed") or _installed("sentence_transformers")):
        raise ModelUnavailableError(
            f"No local embedding backend found for {'local/' + name!r}. "
            'Install one: pip install "ffai[memory]" (fastembed, about 80 MB, no torch), '
            "or pip install sentence-transformers."
        )


def model_folder(name: str) -> Path | None:
    """Return the folder that a model's name points to; None where it is not the path of one.

    Raises:
        ModelUnavailableError: it is written as a path, and there is no model there.

    Examples:
        >>> model_folder("all-MiniLM-L6-v2") is None
        True
    """
    folder = Path(name).expanduser()
    if any((folder / file).is_file() for file in _MODEL_FILES):
        return folder.absolute()
    if folder.is_absolute() or name.startswith(("./", "../", "~")):
        problem = f"the folder has none of {_MODEL_FILES}" if folder.is_dir() else "there is no such folder"
        raise ModelUnavailableError(f"{'local/' + name!r} can't be loaded: {problem}.")
    return None


def find_source(name: str, *, device: str, options: Mapping[str, Any]) -> LocalSource:
    """Choose the library for a model: fastembed where it can, else sentence-transformers.

    Args:
        name: what comes after ``local/``: a name, or the path of a folder.
        device: ``"cpu"``, ``"cuda"``, or another that the library knows.
        options: passed to the library's constructor.

    Raises:
        ModelUnavailableError: no library is installed, or none knows the model.

    Examples:
        >>> find_source("all-MiniLM-L6-v2", device="cpu", options={}).files.repo
        'Qdrant/all-MiniLM-L6-v2-onnx'
    """
    check_backend(name)
    folder = model_folder(name)
    if folder is not None:
        return _source_of_folder(folder, device, options)
    model = _FULL_NAMES.get(name, name)
    if _installed("fastembed") and (described := _REPOSITORIES.get(model) or _described_by_fastembed(model)):
        repo, needs = described
        files = HubModel(
            repo=repo,
            cache=cache_folder("FASTEMBED_CACHE_PATH"),
            needs=(*needs, "tokenizer.json"),
            takes=("config.json", "tokenizer_config.json", "special_tokens_map.json", "preprocessor_config.json"),
        )
        return LocalSource(files=files, load=partial(_load_fastembed, model, device, options))
    if _installed("sentence_transformers"):
        files = HubModel(
            repo=name if "/" in name else f"sentence-transformers/{name}",
            cache=cache_folder("SENTENCE_TRANSFORMERS_HOME"),
            needs=("config.json",),
            takes=("*.json", "*.txt", "*.model", "*.safetensors"),
        )
        return LocalSource(files=files, load=partial(_load_sentence_transformers, device, options))
    raise ModelUnavailableError(f"fastembed knows no model {model!r}.{_similar_names(model)}")


def download(model: HubModel, *, force: bool) -> None:
    """Fetch a model from the hub into its cache folder.

    Args:
        model: what to fetch.
        force: fetch also what the cache seems to have.

    Raises:
        ModelUnavailableError: the hub does not have it, or the transfer failed.
    """
    hub = require("huggingface_hub", extra="memory")
    progress: Any = require("huggingface_hub.utils", extra="memory").tqdm

    class Silent(progress):  # type: ignore[misc]  # bars of a background thread would run through the chat
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **{**kwargs, "disable": True})

    def failed(error: Exception) -> EmbeddingError:
        answers = (getattr(one, "response", None) for one in (error, error.__cause__))
        status = next((answer.status_code for answer in answers if answer is not None), None)
        passing = status is None or status == 429 or status >= 500
        return ModelUnavailableError(
            f"The download of {model.repo!r} from {hub_address()} failed: {error}", transient=passing
        )

    with _foreign_errors(failed):
        hub.snapshot_download(
            model.repo,
            cache_dir=model.cache,
            allow_patterns=[*model.needs, *model.takes],
            force_download=force,
            endpoint=hub_address(),
            tqdm_class=Silent,
        )


def _source_of_folder(folder: Path, device: str, options: Mapping[str, Any]) -> LocalSource:
    onnx_file = next((name for name in _ONNX_FILES if (folder / name).is_file()), None)
    if onnx_file is not None and _installed("fastembed"):
        return LocalSource(files=folder, load=partial(_load_fastembed_folder, onnx_file, device, options))
    if _installed("sentence_transformers"):
        return LocalSource(files=folder, load=partial(_load_sentence_transformers, device, options))
    raise ModelUnavailableError(
        f"{str(folder)!r} has none of {_ONNX_FILES}, which fastembed needs. "
        "For other formats: pip install sentence-transformers"
    )


def _load_fastembed(model: str, device: str, options: Mapping[str, Any], folder: Path) -> Encode:
    import numpy as np

    fastembed = _import_fastembed()
    with _foreign_errors(partial(_load_error, folder)):
        embedding = fastembed.TextEmbedding(
            model,
            cache_dir=str(folder),
            specific_model_path=str(folder),  # else fastembed asks the hub, and sleeps 39 s where there is none
            cuda=device.startswith("cuda"),
            **{"threads": _threads(), **options},
        )

    def encode(texts: list[str]) -> NDArray[np.float32]:
        with _foreign_errors(partial(_encode_error, model)):
            return np.asarray(list(embedding.embed(texts, batch_size=len(texts))), dtype=np.float32)

    return encode


def _load_fastembed_folder(onnx_file: str, device: str, options: Mapping[str, Any], folder: Path) -> Encode:
    """Load a folder that fastembed does not know, with the pooling that its own settings ask for."""
    fastembed = _import_fastembed()
    model = f"ffai-folder/{folder}/{onnx_file}"
    with _foreign_errors(partial(_load_error, folder)):
        pooling, normalises = _pooling(folder)
        known = {description["model"] for description in fastembed.TextEmbedding.list_supported_models()}
        if model not in known:
            descriptions = require("fastembed.common.model_description", extra="memory")
            fastembed.TextEmbedding.add_custom_model(
                model=model,
                pooling=descriptions.PoolingType[pooling],
                normalization=normalises,
                sources=descriptions.ModelSource(hf="ffai/folder"),
                dim=_read_json(folder / "config.json").get("hidden_size", 0),
                model_file=onnx_file,
            )
    return _load_fastembed(model, device, options, folder)


def _load_sentence_transformers(device: str, options: Mapping[str, Any], folder: Path) -> Encode:
    import numpy as np

    library = require("sentence_transformers", extra="sentence-transformers")
    mine = {key: value for key, value in options.items() if key != "threads"}  # torch's threads are the process's own
    with _foreign_errors(partial(_load_error, folder)):
        model = library.SentenceTransformer(str(folder), device=device, local_files_only=True, **mine)

    def encode(texts: list[str]) -> NDArray[np.float32]:
        with _foreign_errors(partial(_encode_error, str(folder))):
            rows = model.encode(texts, batch_size=len(texts), convert_to_numpy=True, show_progress_bar=False)
            return np.asarray(rows, dtype=np.float32)

    return encode


def _import_fastembed() -> Any:
    # onnxruntime starts a thread that sends telemetry, and a forked child then hangs when it exits.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    return require("fastembed", extra="memory")


def _described_by_fastembed(model: str) -> tuple[str, tuple[str, ...]] | None:
    """Look a model up in fastembed's table: its repository, and its files."""
    for description in _import_fastembed().TextEmbedding.list_supported_models():
        if description["model"].lower() == model.lower() and description["sources"].get("hf"):
            return description["sources"]["hf"], (description["model_file"], *description["additional_files"])
    return None


def _similar_names(model: str) -> str:
    names = [description["model"] for description in _import_fastembed().TextEmbedding.list_supported_models()]
    ends = {name.rpartition("/")[2]: name for name in names}
    close = [ends[end] for end in difflib.get_close_matches(model.rpartition("/")[2], ends, n=3)]
    return f" Did you mean {' or '.join(repr('local/' + name) for name in close)}?" if close else ""


def _pooling(folder: Path) -> tuple[str, bool]:
    """Read how a folder in the sentence-transformers layout pools, and whether it normalises; else mean, and yes."""
    settings = _read_json(folder / "1_Pooling" / "config.json")
    modules = _read_json(folder / "modules.json")
    normalises = not modules or any(module["type"].endswith("Normalize") for module in modules)
    if settings.get("pooling_mode_cls_token"):
        return "CLS", normalises
    return ("LAST_TOKEN" if settings.get("pooling_mode_lasttoken") else "MEAN"), normalises


def _read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _threads() -> int:
    """Leave half of the cores to the program: two busy threads on two cores were 7 to 70 times slower than one."""
    told = os.environ.get("OMP_NUM_THREADS", "")
    if told.isdecimal() and int(told) > 0:
        return int(told)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores // 2)


def _installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


@contextlib.contextmanager
def _foreign_errors(ours: Callable[[Exception], EmbeddingError]) -> Iterator[None]:
    """Turn what these libraries raise into an error of ours."""
    try:
        yield
    except (EmbeddingError, ImportError, MemoryError):
        raise
    except Exception as error:
        raise ours(error) from error


def _load_error(folder: Path, error: Exception) -> EmbeddingError:
    kind = ModelUnavailableError if isinstance(error, OSError) else DamagedModelError
    return kind(f"the model in {str(folder)!r} can't be read: {type(error).__name__}: {error}")


def _encode_error(model: str, error: Exception) -> EmbeddingError:
    return EmbeddingError(f"{model!r} failed: {type(error).__name__}: {error}")

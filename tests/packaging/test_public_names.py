"""Each package's ``__init__`` is a shop window: imports, and a sorted list of what can be had."""

from __future__ import annotations

import ast
import importlib
import inspect
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = sorted(
    ".".join(path.parent.relative_to(ROOT).parts)
    for path in (ROOT / "ffai").rglob("__init__.py")
    if "__all__" in path.read_text("utf-8")
)


def test_the_shop_window_is_the_one_that_was_agreed():
    ffai = importlib.import_module("ffai")
    assert {"FFAI", "Memory", "TurnHit", "MemoryScope", "Embeddings", "ResponseOptions", "FFAIError"} <= {*ffai.__all__}
    assert inspect.isclass(ffai.FFAI)  # and not the module of the same name


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("ffai.FFAI", ["FFAI"]),
        ("ffai.core.memory", ["Memory", "TurnVectorStore", "TurnHit", "persist_store", "load_store"]),
        ("ffai.core.embeddings", ["Embeddings"]),
        ("ffai.core.history_manager", ["HistoryManager"]),
        ("ffai.core.history.recorder", ["HistoryRecorder"]),
        ("ffai.core.history.permanent", ["PermanentHistory"]),
        ("ffai.clients", ["LiteLLMClient", "AsyncLiteLLMClient", "FallbackClient", "RetryClient"]),
        ("ffai.testing", ["FakeClient", "FakeEmbedder"]),
        ("ffai.config", ["Config"]),
    ],
)
def test_what_is_promised_can_be_imported(module, names):
    found = importlib.import_module(module)
    assert all(callable(getattr(found, name)) for name in names)


@pytest.mark.parametrize("package", PACKAGES)
def test_all_names_exist_and_are_sorted(package):
    module = importlib.import_module(package)
    assert sorted(module.__all__, key=lambda name: (not name.isupper(), name)) == [*module.__all__]
    for name in module.__all__:
        assert getattr(module, name) is not None


@pytest.mark.parametrize("package", PACKAGES)
def test_a_name_that_does_not_exist_is_an_attribute_error(package):
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = importlib.import_module(package).no_such_name


@pytest.mark.parametrize("package", PACKAGES)
def test_an_init_holds_imports_and_names_only(package):
    tree = ast.parse((ROOT / Path(*package.split(".")) / "__init__.py").read_text("utf-8"))
    allowed = ast.Import | ast.ImportFrom | ast.Assign | ast.Expr | ast.If
    assert all(isinstance(node, allowed) for node in tree.body)
    conditions = [ast.unparse(node.test) for node in tree.body if isinstance(node, ast.If)]
    assert set(conditions) <= {"TYPE_CHECKING"}


def test_each_extra_that_a_message_names_exists():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    for path in (ROOT / "ffai").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in {"require", "MissingExtraError"}:
                named = {keyword.arg: ast.unparse(keyword.value).strip("'") for keyword in node.keywords}
                assert named.get("extra", "dev") in {*extras, "extra"}, f"{path.name}: {ast.unparse(node)}"

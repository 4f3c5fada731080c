import json
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ffai.core.embeddings.whole import why_not_whole


@pytest.fixture(scope="module")
def model(minilm_folder):
    return (minilm_folder / "model.onnx").read_bytes()


def test_the_files_of_a_real_model_are_whole(minilm_folder):
    assert {path.name: why_not_whole(path) for path in minilm_folder.iterdir()} == {
        path.name: None for path in minilm_folder.iterdir()
    }


@settings(max_examples=30, deadline=None)
@given(kept=st.floats(0, 1, exclude_max=True))
def test_a_model_cut_anywhere_is_found_out(kept, model, tmp_path_factory):
    path = tmp_path_factory.mktemp("cut") / "model.onnx"
    path.write_bytes(model[: int(len(model) * kept)])
    assert why_not_whole(path) in ("is empty", "is cut off, or no such file at all")


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("model.onnx", b"<!doctype html><p>Sign in</p>", "cut off"),
        ("model.onnx", b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 133\n", "cut off"),
        ("tokenizer.json", b'{"version": "1.0", "trunc', "cut off"),
        ("tokenizer.json", b"", "empty"),
        ("tokenizer.json", b' {"a": [1, 2]}\n', None),
        ("model.safetensors", struct.pack("<Q", 1000) + b'{"weight":', "cut off"),
        ("model.safetensors", struct.pack("<Q", 2) + b"{}", None),
        ("vocab.txt", b"any text", None),
    ],
)
def test_other_content_is_told_from_whole_files(name, content, problem, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    told = why_not_whole(path)
    assert told is None if problem is None else problem in told


@given(
    st.recursive(
        st.none() | st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_every_json_document_that_is_a_list_or_an_object_is_whole(tmp_path_factory, value):
    path = tmp_path_factory.mktemp("json") / "config.json"
    path.write_text(json.dumps({"value": value}))
    assert why_not_whole(path) is None


def test_a_folder_in_the_place_of_a_file_is_told(tmp_path):
    (tmp_path / "model.onnx").mkdir()
    assert "can't be read" in why_not_whole(tmp_path / "model.onnx")

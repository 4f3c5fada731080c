"""Writing the BERT encoder of a safetensors file as an ONNX graph, with numpy and onnx alone."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffai._lazy import require

if TYPE_CHECKING:
    from numpy.typing import NDArray

Weights = Mapping[str, "NDArray[Any]"]
"""Name of a tensor to its values."""

_OPSET = 20  # the first with Gelu
_IR_VERSION = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class BertShape:
    """The numbers of a BERT encoder; the defaults are those of all-MiniLM-L6-v2."""

    layers: int = 6
    heads: int = 12
    hidden: int = 384
    epsilon: float = 1e-12


def write_bert_onnx(weights: Path, onnx_file: Path, shape: BertShape | None = None) -> None:
    """Turn the weights of a BERT encoder into a model that onnxruntime runs.

    The model's inputs are ``input_ids``, ``attention_mask`` and ``token_type_ids``, int64, shape ``(batch, sequence)``;
    its output is ``last_hidden_state``, float32, shape ``(batch, sequence, hidden)``.

    Args:
        weights: a safetensors file with the tensor names of a Hugging Face ``BertModel``.
        onnx_file: where the model is written.
        shape: the encoder's numbers; those of all-MiniLM-L6-v2 unless given.

    Raises:
        MissingExtraError: onnx is not installed.
        KeyError: the file lacks a tensor of such an encoder.

    Examples:
        >>> write_bert_onnx(Path("model.safetensors"), Path("model.onnx"))  # doctest: +SKIP
    """
    onnx = require("onnx", extra="demo")
    model = _Graph(read_safetensors(weights), shape or BertShape()).model()
    onnx.checker.check_model(model)
    onnx.save(model, str(onnx_file))


def read_safetensors(path: Path) -> Weights:
    """Read every tensor of a safetensors file.

    Raises:
        KeyError: a tensor's number type is neither float32 nor int64.

    Examples:
        >>> import json, struct, tempfile
        >>> header = json.dumps({"bias": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "tiny.safetensors")
        ...     _ = file.write_bytes(struct.pack("<Q", len(header)) + header + struct.pack("<2f", 1.0, 2.0))
        ...     read_safetensors(file)["bias"].tolist()
        [1.0, 2.0]
    """
    import numpy as np

    types = {"F32": np.float32, "I64": np.int64}
    raw = path.read_bytes()
    (header_size,) = struct.unpack("<Q", raw[:8])
    body = 8 + header_size
    tensors = {}
    for name, entry in json.loads(raw[8:body]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        values: NDArray[Any] = np.frombuffer(raw[body + begin : body + end], types[entry["dtype"]])
        tensors[name] = values.reshape(entry["shape"])
    return tensors


class _Graph:
    """The encoder as ONNX nodes. Each method adds nodes and returns the name of its result."""

    def __init__(self, weights: Weights, shape: BertShape) -> None:
        self._onnx = require("onnx", extra="demo")
        self._weights, self._shape = weights, shape
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}

    def model(self) -> Any:
        """Build the whole encoder as an ``onnx.ModelProto``."""
        helper, types = self._onnx.helper, self._onnx.TensorProto
        self._add_head_constants()
        bias = self._attention_bias()
        states = self._embeddings()
        for layer in range(self._shape.layers):
            states = self._layer(layer, states, bias)
        ids = ("input_ids", "attention_mask", "token_type_ids")
        graph = helper.make_graph(
            self._nodes,
            "bert",
            [helper.make_tensor_value_info(name, types.INT64, ["batch", "sequence"]) for name in ids],
            [helper.make_tensor_value_info(states, types.FLOAT, ["batch", "sequence", self._shape.hidden])],
            list(self._constants.values()),
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION)

    def _embeddings(self) -> str:
        """Add the vectors of each token, its type and its position."""
        words = self._node("Gather", [self._weight("embeddings.word_embeddings.weight"), "input_ids"], "words")
        kinds = self._node(
            "Gather", [self._weight("embeddings.token_type_embeddings.weight"), "token_type_ids"], "kinds"
        )
        length = self._node("Gather", [self._node("Shape", ["input_ids"], "ids_shape"), "one"], "length")
        places = self._weight("embeddings.position_embeddings.weight")
        place = self._node("Slice", [places, "zero", length, "zero"], "places")
        total = self._node("Add", [self._node("Add", [words, kinds], "words_and_kinds"), place], "embedded")
        return self._normalise(total, "embeddings.LayerNorm", "embeddings_out")

    def _attention_bias(self) -> str:
        """Give padding a score of -1e9, so that softmax leaves nothing of it: shape (batch, 1, 1, sequence)."""
        mask = self._node("Cast", ["attention_mask"], "mask", to=self._onnx.TensorProto.FLOAT)
        padding = self._node("Sub", ["one_float", mask], "padding")
        penalty = self._node("Mul", [padding, "minus_1e9"], "penalty")
        return self._node("Unsqueeze", [penalty, "axes_1_2"], "attention_bias")

    def _layer(self, index: int, states: str, bias: str) -> str:
        """Self-attention, then the feed-forward part, each added to what it read and normalised."""
        prefix, name = f"encoder.layer.{index}.", f"layer{index}"
        attended = self._linear(
            self._attend(prefix, name, states, bias), prefix + "attention.output.dense", f"{name}_att"
        )
        states = self._normalise(
            self._node("Add", [attended, states], f"{name}_sum1"), prefix + "attention.output.LayerNorm", f"{name}_mid"
        )
        inner = self._node("Gelu", [self._linear(states, prefix + "intermediate.dense", f"{name}_up")], f"{name}_gelu")
        forward = self._linear(inner, prefix + "output.dense", f"{name}_down")
        last = index == self._shape.layers - 1
        return self._normalise(
            self._node("Add", [forward, states], f"{name}_sum2"),
            prefix + "output.LayerNorm",
            "last_hidden_state" if last else f"{name}_out",
        )

    def _attend(self, prefix: str, name: str, states: str, bias: str) -> str:
        """Multi-head attention of the states on themselves: shape (batch, sequence, hidden)."""
        query = self._heads(prefix, name, states, "query", [0, 2, 1, 3])
        key = self._heads(prefix, name, states, "key", [0, 2, 3, 1])
        value = self._heads(prefix, name, states, "value", [0, 2, 1, 3])
        products = self._node("MatMul", [query, key], f"{name}_products")
        scores = self._node("Add", [self._node("Mul", [products, "scale"], f"{name}_scaled"), bias], f"{name}_scores")
        weights = self._node("Softmax", [scores], f"{name}_weights", axis=-1)
        context = self._node("MatMul", [weights, value], f"{name}_context")
        rows = self._node("Transpose", [context], f"{name}_rows", perm=[0, 2, 1, 3])
        return self._node("Reshape", [rows, "joined_heads"], f"{name}_joined")

    def _heads(self, prefix: str, name: str, states: str, role: str, order: list[int]) -> str:
        """Project the states for one role and split them by head; ``order`` places (batch, sequence, head, size)."""
        projected = self._linear(states, f"{prefix}attention.self.{role}", f"{name}_{role}")
        split = self._node("Reshape", [projected, "split_heads"], f"{name}_{role}_split")
        return self._node("Transpose", [split], f"{name}_{role}_heads", perm=order)

    def _linear(self, states: str, weight: str, name: str) -> str:
        factor = self._constant(f"{weight}.transposed", self._weights[f"{weight}.weight"].T)
        product = self._node("MatMul", [states, factor], f"{name}_product")
        return self._node("Add", [product, self._weight(f"{weight}.bias")], name)

    def _normalise(self, states: str, weight: str, name: str) -> str:
        inputs = [states, self._weight(f"{weight}.weight"), self._weight(f"{weight}.bias")]
        return self._node("LayerNormalization", inputs, name, axis=-1, epsilon=self._shape.epsilon)

    def _add_head_constants(self) -> None:
        import numpy as np

        size = self._shape.hidden // self._shape.heads
        self._constant("zero", np.array([0], np.int64))
        self._constant("one", np.array([1], np.int64))
        self._constant("axes_1_2", np.array([1, 2], np.int64))
        self._constant("split_heads", np.array([0, 0, self._shape.heads, size], np.int64))
        self._constant("joined_heads", np.array([0, 0, self._shape.hidden], np.int64))
        self._constant("one_float", np.asarray(1.0, np.float32))
        self._constant("minus_1e9", np.asarray(-1e9, np.float32))
        self._constant("scale", np.asarray(size**-0.5, np.float32))

    def _weight(self, name: str) -> str:
        return self._constant(name, self._weights[name])

    def _constant(self, name: str, values: NDArray[Any]) -> str:
        import numpy as np

        if name not in self._constants:
            self._constants[name] = self._onnx.numpy_helper.from_array(np.array(values, order="C"), name)
        return name

    def _node(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self._nodes.append(self._onnx.helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

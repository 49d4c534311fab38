"""Runs a sentence model of the BERT family in onnxruntime, on one thread, for `speed`.

Usage: onnx_model.py MODEL_FOLDER, with numpy, onnx and onnxruntime installed.

The graph is built from the folder's own weights out of the fused operators that onnxruntime has for
BERT (EmbedLayerNormalization, Attention, SkipLayerNormalization, BiasGelu), which is what its own
optimizer makes of an exported model. Mean pooling and the scaling to unit length are in the graph.

A line of JSON comes in, {"rows": [[term, ...], ...], "runs": n}, all rows of one length; a line
goes out, {"seconds": [...], "vectors": [[...], ...]}: the processor seconds of each run and the
vectors. Before the first answer comes a line with the versions.
"""

import json
import struct
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FUSED = "com.microsoft"
KINDS = {"F32": np.float32, "F16": np.float16}


def read_weights(path):
    """Tensors of a safetensors file: a length, a header in JSON, the numbers."""
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] not in KINDS:
            continue
        start, end = (8 + length + offset for offset in entry["data_offsets"])
        numbers = np.frombuffer(data[start:end], KINDS[entry["dtype"]])
        tensors[name.removeprefix("bert.")] = numbers.reshape(entry["shape"]).astype(np.float32)
    return tensors


class Graph:
    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, numbers):
        name = f"constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(numbers), name))
        return name

    def node(self, operator, inputs, domain="", outputs=1, **attributes):
        names = [f"{operator}{len(self.nodes)}_{at}" for at in range(outputs)]
        self.nodes.append(helper.make_node(operator, inputs, names, domain=domain, **attributes))
        return names[0]


def build(weights, config):
    graph = Graph()
    epsilon = config.get("layer_norm_eps", 1e-12)

    def tensors(prefix, *names):
        return [graph.constant(weights[f"{prefix}.{name}"]) for name in names]

    def transposed(*names):
        return graph.constant(np.concatenate([weights[f"{name}.weight"] for name in names]).T)

    def biases(*names):
        return graph.constant(np.concatenate([weights[f"{name}.bias"] for name in names]))

    axis = graph.constant(np.array([1], np.int64))
    lengths = graph.node("ReduceSum", ["mask", axis], keepdims=0)
    lengths = graph.node("Cast", [lengths], to=TensorProto.INT32)
    terms = graph.node("Cast", ["terms"], to=TensorProto.INT32)
    types = graph.node("Sub", [terms, terms])
    tables = [f"{name}_embeddings.weight" for name in ("word", "position", "token_type")]
    hidden = graph.node(
        "EmbedLayerNormalization",
        [terms, types]
        + tensors("embeddings", *tables)
        + tensors("embeddings.LayerNorm", "weight", "bias"),
        FUSED,
        outputs=2,
        epsilon=epsilon,
    )
    for layer in range(config["num_hidden_layers"]):
        prefix = f"encoder.layer.{layer}"
        own = [f"{prefix}.attention.self.{name}" for name in ("query", "key", "value")]
        attended = graph.node(
            "Attention",
            [hidden, transposed(*own), biases(*own), lengths],
            FUSED,
            num_heads=config["num_attention_heads"],
        )
        inner = f"{prefix}.intermediate.dense"
        for name, step in ((f"{prefix}.attention.output", attended), (f"{prefix}.output", None)):
            if step is None:
                step = graph.node("MatMul", [hidden, transposed(inner)])
                step = graph.node("BiasGelu", [step, biases(inner)], FUSED)
            step = graph.node("MatMul", [step, transposed(f"{name}.dense")])
            norm = tensors(f"{name}.LayerNorm", "weight", "bias")
            hidden = graph.node(
                "SkipLayerNormalization",
                [step, hidden, *norm, biases(f"{name}.dense")],
                FUSED,
                epsilon=epsilon,
            )
    mask = graph.node("Cast", ["mask"], to=TensorProto.FLOAT)
    last = graph.constant(np.array([2], np.int64))
    hidden = graph.node("Mul", [hidden, graph.node("Unsqueeze", [mask, last])])
    total = graph.node("ReduceSum", [hidden, axis], keepdims=0)
    count = graph.node("ReduceSum", [mask, axis], keepdims=1)
    vector = graph.node("LpNormalization", [graph.node("Div", [total, count])], axis=1, p=2)
    rows = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "length"])
        for name in ("terms", "mask")
    ]
    shape = ["texts", config["hidden_size"]]
    out = helper.make_tensor_value_info(vector, TensorProto.FLOAT, shape)
    return helper.make_model(
        helper.make_graph(graph.nodes, "bert", rows, [out], graph.constants),
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(FUSED, 1)],
        ir_version=8,
    )


def main():
    folder = Path(sys.argv[1])
    config = json.loads((folder / "config.json").read_text())
    model = build(read_weights(folder / "model.safetensors"), config)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    print(json.dumps({"onnxruntime": onnxruntime.__version__}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        terms = np.array(request["rows"], np.int64)
        inputs = {"terms": terms, "mask": np.ones_like(terms)}
        seconds = []
        for _ in range(request["runs"]):
            start = time.process_time()
            (vectors,) = session.run(None, inputs)
            seconds.append(time.process_time() - start)
        print(json.dumps({"seconds": seconds, "vectors": vectors.tolist()}), flush=True)


main()

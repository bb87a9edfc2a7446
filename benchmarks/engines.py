"""Whole inference engines against our encoder: ONNX Runtime and OpenVINO, on the first pass of a sentence model.

    python benchmarks/engines.py FILE DEV [--model en] [--every 10] [--rounds 5] [--threads 2] [--json RESULT]

For an environment of its own that has graph2graph's dependencies and `onnxruntime onnx openvino nncf`; a line says which engine
is missing. The passes that `g2g parse --reencode 0` makes over FILE (every nth sentence) are recorded once and replayed by each
side, in batches and for single sentences of 10 to 30 words; all take turns, and the best round counts. `bare` passes leave out
the relations between the pieces of a word, as BERT does; only then does ONNX Runtime use its own attention. `whole` passes have
them, so their vectors give trees: how many of 300 sentences of DEV get another tree than from our fp32, and how many get
another one in a batch than alone, of 100.
"""

import argparse
import logging
import statistics
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
import torch
from torch import Tensor, nn

from graph2graph import markdown
from graph2graph.encoder.encoder import GraphEncoder, Layer
from graph2graph.encoder.layout import Graph, Layout
from graph2graph.encoder.precision import Precision
from graph2graph.files import write_json
from graph2graph.parser import catalogue
from graph2graph.parser.parser import Parser
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence
from machine import describe, seconds

N_SINGLES, SINGLE_LENGTHS = 24, range(10, 31)
N_TREES, ALONE_EVERY = 300, 3
OURS = "graph2graph fp32"  # the side that gives the expected vectors and trees

Run = Callable[[dict[str, Any]], Any]  # named arrays -> the vectors, [B, n, d]
Encode = Callable[..., Tensor]  # as GraphEncoder.encode


class Pass(NamedTuple):
    """One call of the encoder."""

    x: Tensor  # [N, m]
    layout: Layout
    graph: Graph | None

    def replay(self, encode: Encode, *, whole: bool) -> Tensor:
        """Its vectors, [N, d], with or without its graph."""
        return encode(self.x, self.layout, graph=self.graph if whole else None)


class ExportedLayer(nn.Module):
    """A layer in the plain form that engines know: padded rows, separate query, key and value, relations as 0/1 planes."""

    def __init__(self, layer: Layer) -> None:
        super().__init__()
        attention, self.activation = layer.attention, layer.activation
        self.n_heads, self.scale, width = attention.n_heads, attention.scale, attention.output.in_features
        weights, biases = attention.qkv.weight.chunk(3), list(attention.qkv.bias.chunk(3))
        keys, values = attention.relation_keys, attention.relation_values
        biases[2] = biases[2] + values[0].repeat(self.n_heads)  # attention sums to 1, so W2[0] is a bias of the values
        self.query, self.key, self.value = (_linear(w, b, width) for w, b in zip(weights, biases))
        self.output, self.attention_norm, self.outer_norm = attention.output, layer.attention_norm, layer.outer_norm
        self.inner, self.outer = layer.inner, layer.outer
        self.register_buffer("keys", (keys[1:] - keys[:1]).T.contiguous())  # D1 of Eq. 3, [c, k - 1]
        self.register_buffer("values", values[1:] - values[:1])  # D2 of Eq. 4, [k - 1, c]

    def forward(self, x: Tensor, bias: Tensor, planes: Tensor | None) -> Tensor:
        """[B, n, d] -> [B, n, d]; the planes of the relations are [B, k - 1, n, n]."""
        query, key, value = self._heads(self.query(x)), self._heads(self.key(x)), self._heads(self.value(x))
        scores = torch.matmul(query, key.transpose(-1, -2))  # [B, h, n, n]
        if planes is not None:
            of_relation = torch.matmul(query, self.keys)  # [B, h, n, k - 1]
            for r in range(planes.shape[1]):
                scores = scores + of_relation[..., r : r + 1] * planes[:, r : r + 1]
        attention = (scores / (1 / self.scale) + bias).softmax(-1)
        context = torch.matmul(attention, value)  # [B, h, n, c]
        if planes is not None:
            mass = [(attention * planes[:, r : r + 1]).sum(-1, keepdim=True) for r in range(planes.shape[1])]
            context = context + torch.matmul(torch.cat(mass, -1), self.values)
        context = context.permute(0, 2, 1, 3).contiguous().view(x.shape[0], x.shape[1], -1)
        x = self.attention_norm(self.output(context) + x)
        return self.outer_norm(self.outer(self.activation(self.inner(x))) + x)

    def _heads(self, x: Tensor) -> Tensor:
        """[B, n, d] -> [B, h, n, c]."""
        return x.view(x.shape[0], x.shape[1], self.n_heads, -1).permute(0, 2, 1, 3)


def _linear(weight: Tensor, bias: Tensor, width: int) -> nn.Linear:
    linear = nn.Linear(width, len(bias))
    linear.load_state_dict({"weight": weight, "bias": bias})
    return linear


class Exported(nn.Module):
    """The encoder from input embeddings on, in the form that engines know."""

    def __init__(self, encoder: GraphEncoder) -> None:
        super().__init__()
        self.norm, self.layers = encoder.norm, nn.ModuleList(ExportedLayer(layer) for layer in encoder.layers)

    def forward(self, x: Tensor, mask: Tensor, planes: Tensor | None = None) -> Tensor:
        """[B, n, d], with a mask [B, n] that is 1 at real tokens -> [B, n, d]."""
        bias = (1.0 - mask[:, None, None, :]) * -10000.0
        x = self.norm(x)
        for layer in self.layers:
            x = layer(x, bias, planes)
        return x


def export(encoder: GraphEncoder, path: Path, *, whole: bool) -> None:
    """Write the encoder as ONNX, for any batch and length."""
    n_planes, rows = encoder.config.relations - 1, {0: "batch", 1: "length"}
    example = {"x": torch.randn(2, 7, encoder.config.input_width), "mask": torch.ones(2, 7)}
    axes = {"x": rows, "mask": rows, "vectors": rows}
    if whole:
        example["planes"] = torch.zeros(2, n_planes, 7, 7)
        axes["planes"] = {0: "batch", 2: "length", 3: "length"}
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter that needs no further package is called old
        arguments = tuple(example.values())
        names = {"input_names": list(example), "output_names": ["vectors"], "dynamic_axes": axes}
        torch.onnx.export(Exported(encoder).eval(), arguments, str(path), opset_version=17, dynamo=False, **names)


# ---------------------------------------------------------------------- the engines


def onnx_runtime(exported: Path, shape: Any, threads: int) -> Iterator[tuple[str, Run]]:
    """ONNX Runtime in fp32 and with dynamic int8; it has no bf16 for x86."""
    import onnx
    import onnxruntime
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.transformers import optimizer

    logging.getLogger().setLevel(logging.ERROR)
    fused, int8 = exported.with_suffix(".fused.onnx"), exported.with_suffix(".int8.onnx")
    optimizer.optimize_model(
        str(exported), model_type="bert", num_heads=shape.heads, hidden_size=shape.width, opt_level=1
    ).save_model_to_file(str(fused))
    kind = {"DefaultTensorType": onnx.TensorProto.FLOAT}
    quantize_dynamic(fused, int8, per_channel=True, weight_type=QuantType.QInt8, extra_options=kind)
    for precision, file in (("fp32", fused), ("int8", int8)):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        yield precision, lambda inputs, session=session: session.run(None, inputs)[0]


def openvino(exported: Path, shape: Any, threads: int) -> Iterator[tuple[str, Run]]:  # noqa: ARG001
    """OpenVINO in fp32, in bf16 where the CPU has it, and with int8 weights and dynamic activations."""
    import nncf
    import openvino

    nncf.set_log_level(logging.ERROR)
    core = openvino.Core()
    settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads}
    exact = core.read_model(exported)
    int8 = nncf.compress_weights(exact.clone(), mode=nncf.CompressWeightsMode.INT8_SYM)
    precisions = {"fp32": (exact, "f32"), "int8": (int8, "f32")}
    if "BF16" in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
        precisions |= {"bf16": (exact, "bf16"), "int8 and bf16": (int8, "bf16")}
    for precision, (network, hint) in precisions.items():
        compiled = core.compile_model(network, "CPU", settings | {"INFERENCE_PRECISION_HINT": hint})
        request = compiled.create_infer_request()
        run = partial(request.infer, share_inputs=True, share_outputs=True)
        yield precision, lambda inputs, run=run: run(inputs)[0]


ENGINES = {"onnxruntime": ("ONNX Runtime", onnx_runtime), "openvino": ("OpenVINO", openvino)}
NEEDED = {"onnxruntime": ["onnx", "onnxruntime"], "openvino": ["nncf", "onnx", "openvino"]}


def engine_encode(run: Run, n_planes: int) -> Encode:
    """An engine in place of `GraphEncoder.encode`; without planes, it ignores the graph."""

    def encode(x: Tensor, layout: Layout, *, graph: Graph | None = None, wanted: Tensor | None = None) -> Tensor:
        inputs = {"x": layout.pad(x).numpy(), "mask": layout.is_real.float().numpy()}
        if n_planes:
            planes = np.zeros((layout.n_rows, n_planes, layout.width, layout.width), dtype=np.float32)
            if graph is not None:
                planes[graph.rows, graph.relations - 1, graph.queries, graph.keys] = 1
            inputs["planes"] = planes
        packed = layout.pack(torch.from_numpy(run(inputs)))
        return packed if wanted is None else packed[wanted]

    return encode


def all_sides(parser: Parser, given: argparse.Namespace, directory: Path) -> Iterator[tuple[str, bool, Encode]]:
    """The name of each side, whether its passes are whole, and its encoder: first ours, then the engines that are here."""
    for precision in get_args(Precision):
        if precision != "auto":
            encode = Parser.load(catalogue.find(given.model), precision=precision).model.encoder.encode
            yield from ((f"graph2graph {precision}", whole, encode) for whole in (False, True))
    plain, shape = Parser.start_from(parser, parser.config).model.encoder, parser.config.model.encoder
    for module, (name, engine) in ENGINES.items():
        if missing := [needed for needed in NEEDED[module] if find_spec(needed) is None]:
            print(f"{name} is left out: pip install {' '.join(missing)}", file=sys.stderr)
            continue
        for whole in (False, True):
            path = directory / f"{module}-{'whole' if whole else 'bare'}.onnx"
            export(plain, path, whole=whole)
            for precision, run in engine(path, shape, given.threads):
                yield f"{name} {precision}", whole, engine_encode(run, (shape.relations - 1) * whole)


# ---------------------------------------------------------------------- what is measured


def recorded(parser: Parser, batches: Sequence[Sequence[Sentence]]) -> list[Pass]:
    """The calls of the encoder when these are parsed, one encoding a sentence."""
    encoder, passes = parser.model.encoder, list[Pass]()
    encode = encoder.encode

    def record(x: Tensor, layout: Layout, *, graph: Graph | None = None, wanted: Tensor | None = None) -> Tensor:
        passes.append(Pass(x.clone(), layout, graph))
        return encode(x, layout, graph=graph, wanted=wanted)

    encoder.encode = record  # type: ignore[method-assign]
    for batch in batches:
        list(parser.parse(batch, reencode=0.0))
    encoder.encode = encode  # type: ignore[method-assign]
    return passes


def trees(parser: Parser, sentences: Sequence[Sentence], encode: Encode, *, alone: bool) -> list[list[str]]:
    """The trees of these sentences by an encoder, together or each alone."""
    ours = parser.model.encoder.encode
    parser.model.encoder.encode = encode  # type: ignore[method-assign]
    batches = [[sentence] for sentence in sentences] if alone else [sentences]
    found = [tree.lines for batch in batches for tree in parser.parse(batch, reencode=0.0)]
    parser.model.encoder.encode = ours  # type: ignore[method-assign]
    return found


@torch.inference_mode()
def quality(parser: Parser, dev: list[Sentence], sides: dict[tuple[str, bool], Encode]) -> dict[tuple[str, bool], Any]:
    """How far the vectors and trees of each side are from those of ours in fp32."""
    sample = recorded(parser, [dev[:32]])
    expected = {whole: [one.replay(sides[OURS, whole], whole=whole) for one in sample] for whole in (False, True)}
    alone = trees(parser, dev, sides[OURS, True], alone=False)
    found: dict[tuple[str, bool], Any] = {}
    for (name, whole), encode in sides.items():
        vectors = [one.replay(encode, whole=whole) for one in sample]
        difference = max(float((a - b).abs().max()) for a, b in zip(vectors, expected[whole], strict=True))
        found[name, whole] = {"largest_difference": difference}
        if name.endswith("fp32") and difference > 1e-3:
            raise SystemExit(f"{name}: vectors differ by {difference}; the export is wrong")
        if whole:
            together = trees(parser, dev, encode, alone=False)
            single = trees(parser, dev[::ALONE_EVERY], encode, alone=True)
            found[name, whole] |= {
                "other_trees": sum(a != b for a, b in zip(together, alone, strict=True)),
                "other_trees_alone": sum(a != b for a, b in zip(together[::ALONE_EVERY], single, strict=True)),
            }
    return found


@torch.inference_mode()
def times(
    passes: list[Pass], singles: list[Pass], sides: dict[tuple[str, bool], Encode], rounds: int
) -> dict[tuple[str, bool], Any]:
    """The best time of all batches, and the best median of the single sentences, of each side."""
    best: dict[tuple[str, bool], Any] = {}
    for number in range(rounds + 1):
        for (name, whole), encode in sides.items():
            in_batches = sum(seconds(partial(one.replay, encode, whole=whole)) for one in passes)
            alone = statistics.median(seconds(partial(one.replay, encode, whole=whole)) for one in singles)
            if number:  # the first round warms up
                old = best.get((name, whole), {"seconds": np.inf, "single_ms": np.inf})
                single = min(old["single_ms"], 1000 * alone)
                best[name, whole] = {"seconds": min(old["seconds"], in_batches), "single_ms": single}
        print(f"round {number} of {rounds}", file=sys.stderr)
    return best


def measure(given: argparse.Namespace) -> dict[str, Any]:
    """The result: the machine, and a row for each side."""
    parser = Parser.load(catalogue.find(given.model), precision="fp32")
    limit = parser.config.model.encoder.max_positions
    gold = list(conllu.read(given.file))[:: given.every]
    dev = [one for one in conllu.read(given.dev) if parser.featurizer(one).n_pieces <= limit]
    dev = dev[:: max(1, len(dev) // given.trees)][: given.trees]
    middling = [one for one in gold if len(one) in SINGLE_LENGTHS]
    middling = middling[:: max(1, len(middling) // N_SINGLES)][:N_SINGLES]
    passes, singles = recorded(parser, [gold]), recorded(parser, [[one] for one in middling])
    n_words = sum(map(len, gold))
    with tempfile.TemporaryDirectory() as directory:
        sides = {(name, whole): encode for name, whole, encode in all_sides(parser, given, Path(directory))}
        differences, best = quality(parser, dev, sides), times(passes, singles, sides, given.rounds)
    rows = []
    for name, whole in sides:
        found, ours = best[name, whole], best[OURS, whole]
        speeds = {"words_per_second": n_words / found["seconds"], "of_ours_fp32": ours["seconds"] / found["seconds"]}
        single = {"single_ms": found["single_ms"], "single_of_ours_fp32": ours["single_ms"] / found["single_ms"]}
        rows.append({"side": name, "pass": "whole" if whole else "bare"} | speeds | single | differences[name, whole])
    packages = ["torch", *(module for module in ("onnxruntime", "openvino", "nncf") if find_spec(module))]
    return {
        "machine": describe(),
        "versions": {package: version(package) for package in packages},
        "words": n_words,
        "sentences": len(gold),
        "singles": len(middling),
        "trees": len(dev),
        "sides": rows,
    }


COLUMNS = {
    "side": ("", "{}"),
    "pass": ("pass", "{}"),
    "words_per_second": ("words/s", "{:,.0f}"),
    "of_ours_fp32": ("of ours, fp32", "{:.2f}"),
    "single_ms": ("one sentence, ms", "{:.1f}"),
    "single_of_ours_fp32": ("of ours, fp32", "{:.2f}"),
    "largest_difference": ("largest difference of a vector", "{:.1g}"),
    "other_trees": ("other trees", "{}"),
    "other_trees_alone": ("other trees alone", "{}"),
}


def main() -> None:
    """The command."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("file", type=Path)
    arguments.add_argument("dev", type=Path)
    arguments.add_argument("--model", default="en")
    arguments.add_argument("--every", type=int, default=10, help="take every nth sentence of FILE")
    arguments.add_argument("--trees", type=int, default=N_TREES, help="sentences of DEV")
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--json", type=Path)
    given = arguments.parse_args()
    torch.set_num_threads(given.threads)
    found = measure(given)
    rows = [
        [form.format(row[key]) if key in row else "" for key, (_, form) in COLUMNS.items()] for row in found["sides"]
    ]
    print(markdown.table([title for title, _ in COLUMNS.values()], rows), end="")
    if given.json:
        write_json(given.json, found, indent=1)


if __name__ == "__main__":
    main()

"""How fast the decoders are, on a CoNLL-U file, gold words, against one bare pass of the encoder.

    python benchmarks/parse.py FILE [--model en] [--settings encoder naive sent exact …] [--rounds 2] [--threads 2] [--json]

Each setting runs in a separate process; all take turns, for several rounds, and the best round of each counts, its peak memory
too. `encoder` is one forward pass of the BertModel of `transformers`, of the same shape, over the same pieces. `naive` is the
straightforward decoder (`naive_parser.py`) on batches of 10 sentences as they come, timed on a sample, as is `exact-sample`.
`exact` is timed on every fourth sentence, so that all of it takes less than 8 minutes. `sent` encodes each sentence once.
`default` is what `g2g parse` does when nothing is said; others are in fp32 or in the precision behind a hyphen, `sent-bf16`.
`latency-…` is the median time of sentences of about 20 words parsed one at a time. `bound-…` is the speed at which a bare pass
in that precision would encode the same pieces as a decoder, and `of bound` the decoder's share of it. Only on request:
`sent-compiled` with `torch.compile`, `naive-sorted` with batches of like length. With --score the LAS is printed too: for
development files only.
"""

import argparse
import json
import resource
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from graph2graph import markdown
from graph2graph.reproduce.jobs import Job, results_of
from machine import describe, matmul_gflops, seconds

if TYPE_CHECKING:
    from graph2graph.config import Precision
    from graph2graph.parser.parser import Parser
    from graph2graph.treebank.sentence import Sentence

SAMPLE = 200  # sentences for the naive decoder
EXACT_EVERY = 4  # sentences of the file
BARE_TOKENS = 1024  # in a batch of the bare pass: the best of 512, 1024, 2048, 4096 for it here
LOW = ("bf16", "int8")
ENCODER = ["encoder", *(f"encoder-{precision}" for precision in LOW)]
DECODERS = ["sent", "adaptive", "exact"]
LATENCY = ["latency-encoder", "latency-default"]
ALL = [
    *ENCODER,
    "naive",
    "exact-sample",
    *DECODERS,
    "sent-bf16",
    "sent-int8",
    "adaptive-bf16",
    "adaptive-int8",
    "exact-bf16",
]
ALL += ["default", *LATENCY]
SLOW = {
    "exact",
    "exact-bf16",
    "exact-int8",
    "naive",
    "naive-sorted",
    "exact-sample",
}  # with one round, to take a few minutes
ON_REQUEST = ["exact-int8", "sent-compiled", "naive-sorted", "latency-exact-undrafted"]
ON_REQUEST += [f"latency-{decoder}" for decoder in DECODERS]
COLUMNS = {
    "words_per_second": ("words/s", "{:,.0f}"),
    "precision": ("precision", "{}"),
    "of_encoder": ("of bare pass", "{:.3f}"),
    "of_bound": ("of bound", "{:.2f}"),
    "sentences_per_second": ("sentences/s", "{:,.1f}"),
    "encodings_per_sentence": ("encodings", "{:.2f}"),
    "matmul_share": ("of peak", "{:.0%}"),
    "peak_rss_mb": ("RSS MB", "{:,.0f}"),
    "p50_ms": ("p50 ms", "{:.0f}"),
    "las": ("LAS", "{:.2f}"),
}


def measure(setting: str, given: argparse.Namespace) -> dict[str, Any]:
    """One round of a setting, in this process."""
    from graph2graph.parser import catalogue
    from graph2graph.parser.parser import Parser
    from graph2graph.treebank import conllu

    torch.set_num_threads(given.threads)
    name, precision = split(setting)
    # the naive decoder needs layers as they are trained
    load = load_unprepared if name.startswith("naive") else partial(Parser.load, precision=precision)
    parser = load(catalogue.find(given.model))
    gold = list(conllu.read(given.file))
    found = {"precision": parser.precision, "cpu": describe()}
    if name.startswith("latency-"):
        return found | latency(parser, gold, name)
    gold = sentences_for(name, gold, parser, whole=given.score)
    if name == "encoder":
        return found | speeds(parser, gold, bare_pass(parser, gold, precision))
    if name.startswith("naive"):
        return found | speeds(
            parser, gold, naive_pass(parser, gold, given.naive_batch, is_sorted=name == "naive-sorted")
        )
    return found | decode(name, parser, gold, score=given.score)


def split(setting: str) -> "tuple[str, Precision]":
    """What a setting measures, and its precision."""
    name, _, last = setting.rpartition("-")
    if last == "bf16" or last == "int8":
        return name, last
    return setting, "auto" if setting.endswith("default") else "fp32"


def load_unprepared(directory: Path) -> "Parser":
    """A parser whose layers are not prepared for parsing."""
    from graph2graph.parser.parser import Parser

    return Parser.start_from(loaded := Parser.load(directory, precision="fp32"), loaded.config)


def sentences_for(setting: str, gold: "list[Sentence]", parser: "Parser", *, whole: bool) -> "list[Sentence]":
    """The sentences that a setting is timed on."""
    if setting in ("naive", "naive-sorted", "exact-sample"):
        short = [sentence for sentence in gold if not parser.featurizer(sentence).is_long]
        return [short[i * len(short) // SAMPLE] for i in range(min(SAMPLE, len(short)))]
    return gold[::EXACT_EVERY] if setting == "exact" and not whole else gold


def speeds(parser: "Parser", gold: "list[Sentence]", time_spent: float) -> dict[str, Any]:
    """The figures that all settings have."""
    return {
        "pieces_once": sum(parser.featurizer(sentence).n_pieces for sentence in gold),
        "words_per_second": sum(map(len, gold)) / time_spent,
        "sentences_per_second": len(gold) / time_spent,
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def decode(setting: str, parser: "Parser", gold: "list[Sentence]", *, score: bool) -> dict[str, Any]:
    """The figures of our decoders; GFLOPS where the encoder computes in floating point."""
    from graph2graph import scoring
    from graph2graph.decoding.greedy import Work

    if setting == "sent-compiled":
        for layer in parser.model.encoder.layers:
            layer.compile(dynamic=True)
        list(parser.parse(gold[:SAMPLE], reencode=0.0))  # compiles
    work, parsed, threshold = Work(), list["Sentence"](), threshold_of(parser, setting)
    time_spent = seconds(lambda: parsed.extend(parser.parse(gold, reencode=threshold, work=work)))
    found = speeds(parser, gold, time_spent)
    found |= {"encodings_per_sentence": work.n_encoded / len(gold), "pieces_encoded": work.n_pieces}
    if parser.precision == "fp32":
        layers = sum(p.numel() for name, p in parser.model.named_parameters() if ".layers." in name)
        found["gflops"] = 2 * layers * work.n_pieces / time_spent / 1e9
    if score and len(parsed) > SAMPLE:
        found["las"] = scoring.score(gold, parsed).las
    return found


def threshold_of(parser: "Parser", setting: str) -> float:
    """The threshold of re-encoding that a setting is named after."""
    name, decode = setting.removeprefix("latency-").split("-")[0], parser.config.decode
    return {"adaptive": decode.adaptive, "default": decode.reencode, "sent": 0.0, "exact": float("inf")}[name]


def latency(parser: "Parser", gold: "list[Sentence]", setting: str) -> dict[str, Any]:
    """The time of single sentences of middling length."""
    chosen = [sentence for sentence in gold if 18 <= len(sentence) <= 22][:50]
    if setting == "latency-encoder":
        model = bare_model(parser)
        times = [encode_all(model, bare_batches(parser, [sentence])) for sentence in chosen]
    else:
        drafts = 0 if setting.endswith("undrafted") else None
        threshold = threshold_of(parser, setting)

        def parse(sentence: "Sentence") -> Callable[[], object]:
            return lambda: list(parser.parse([sentence], reencode=threshold, draft_tokens=drafts))

        times = [seconds(parse(sentence)) for sentence in chosen]
    rate = sum(map(len, chosen)) / sum(times)
    return {"p50_ms": 1000 * sorted(times)[len(times) // 2], "words_per_second": rate}


def naive_pass(parser: "Parser", gold: "list[Sentence]", batch: int, *, is_sorted: bool) -> float:
    """The time of the naive decoder."""
    import naive_parser

    features = [parser.featurizer(sentence) for sentence in gold]
    if is_sorted:
        features.sort(key=lambda feature: feature.n_pieces)
    begin = time.perf_counter()
    for first in range(0, len(features), batch):
        naive_parser.parse(parser.model, features[first : first + batch])
    return time.perf_counter() - begin


def bare_pass(parser: "Parser", gold: "list[Sentence]", precision: "Precision") -> float:
    """The time of one forward pass of transformers' BertModel, once its tensors are ready."""
    model, batches = bare_model(parser), bare_batches(parser, gold)
    if precision == "bf16":
        model = model.bfloat16()
    if precision == "int8":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            model = torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear}, dtype=torch.qint8)
    encode_all(model, batches[:1])
    return encode_all(model, batches)


@torch.inference_mode()
def encode_all(model: torch.nn.Module, batches: list[tuple[torch.Tensor, torch.Tensor]]) -> float:
    """The time of a pass over some batches."""
    begin = time.perf_counter()
    for ids, mask in batches:
        model(input_ids=ids, attention_mask=mask)
    return time.perf_counter() - begin


def bare_model(parser: "Parser") -> torch.nn.Module:
    """A BertModel of the shape of the parser's encoder."""
    from transformers import BertConfig, BertModel

    shape = parser.config.model.encoder
    config = BertConfig(
        vocab_size=shape.vocab_size,
        hidden_size=shape.width,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=shape.inner_width,
        max_position_embeddings=shape.max_positions,
    )
    model: torch.nn.Module = BertModel(config, add_pooling_layer=False).eval()
    return model


def bare_batches(parser: "Parser", gold: "list[Sentence]") -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The pieces of all sentences and their mask, in batches of like length."""
    rows = sorted((row.tokens for sentence in gold for row in parser.featurizer(sentence).windows), key=len)
    batches: list[list[Any]] = [[]]
    for row in rows:
        if batches[-1] and len(row) * (len(batches[-1]) + 1) > BARE_TOKENS:
            batches.append([])
        batches[-1].append(row)
    tensors = []
    for batch in batches:
        ids = torch.nn.utils.rnn.pad_sequence([torch.from_numpy(row) for row in batch], batch_first=True)
        lengths = torch.tensor([len(row) for row in batch])
        tensors.append((ids, (torch.arange(ids.shape[1]) < lengths[:, None]).long()))
    return tensors


def best_of_rounds(given: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """The best round of each setting."""
    best: dict[str, dict[str, Any]] = {}
    for number in range(given.rounds):
        settings = [setting for setting in given.settings if number == 0 or setting not in SLOW]
        jobs = (Job(setting, measure, (setting, given), threads=given.threads) for setting in settings)
        for job, found in results_of(jobs, workers=1):
            print(f"round {number + 1} of {given.rounds}: {job.name}", file=sys.stderr)
            if job.name not in best or found["words_per_second"] > best[job.name]["words_per_second"]:
                best[job.name] = found
    return best


def add_shares(best: dict[str, dict[str, Any]], peak: float) -> None:
    """Compare each setting with the machine's matmul speed, and with the bare pass."""
    for setting, row in list(best.items()):
        if "gflops" in row:
            row["matmul_share"] = row["gflops"] / peak
        is_latency = setting.startswith("latency-")
        reference = best.get("latency-encoder" if is_latency else "encoder")
        if reference is not None:
            row["of_encoder"] = row["words_per_second"] / reference["words_per_second"]
        bare = best.get("encoder" if row["precision"] == "fp32" else f"encoder-{row['precision']}")
        if bare is not None and "pieces_encoded" in row:
            bound = bare["words_per_second"] * row["pieces_once"] / row["pieces_encoded"]
            best[f"bound-{setting}"] = {"precision": row["precision"], "words_per_second": bound}
            row["of_bound"] = row["words_per_second"] / bound


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", default="en")
    parser.add_argument("--settings", nargs="+", default=ALL, choices=ALL + ON_REQUEST)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--naive-batch", type=int, default=10, help="larger batches spend more of the work on padding")
    parser.add_argument("--score", action="store_true")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def main() -> None:
    """Time the settings and print a row for each."""
    given = arguments()
    best = best_of_rounds(given)
    torch.set_num_threads(given.threads)
    add_shares(best, matmul_gflops())
    if given.json:
        print(json.dumps(best, indent=1))
        return
    rows = [
        [setting, *(form.format(row[key]) if key in row else "" for key, (_, form) in COLUMNS.items())]
        for setting, row in best.items()
    ]
    print(markdown.table(["setting", *(title for title, _ in COLUMNS.values())], rows), end="")


if __name__ == "__main__":
    main()

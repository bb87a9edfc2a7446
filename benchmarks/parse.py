"""How fast the decoders are, on a CoNLL-U file, gold words, against one bare pass of the encoder.

    python benchmarks/parse.py FILE [--model en] [--settings encoder naive sent exact …] [--rounds 2] [--threads 2] [--json]

Each setting runs in a process of its own, all of them in turn, several rounds; the best round of each counts, its peak memory
too. `encoder` is the BertModel of `transformers` with the same shape, one forward pass over the same pieces; `naive` is the
straightforward decoder (`naive_parser.py`) on batches of 10 sentences as they come, timed on a sample as is `exact-sample`;
`exact` is timed on every fourth sentence, so that all of it takes less than 8 minutes; `sent` encodes each sentence once, in
`sent-int8` with integers. Only if asked for: `sent-compiled` with `torch.compile`, `naive-sorted` with batches of like length,
and `latency-…`, which parses sentences of about 20 words one at a time and tells the median. `of bound` is the share of the
speed at which a bare pass would encode the same pieces. With --score the LAS is printed too: for development files only.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch

from machine import matmul_gflops

SAMPLE = 200  # sentences for the naive decoder
EXACT_EVERY = 4  # sentences of the file
THRESHOLDS = {"sent": 0.0, "exact": float("inf")}
ALL = ["encoder", "naive", "exact-sample", "sent", "sent-int8", "exact", "adaptive", "adaptive-int8"]
SLOW = {"exact": 1, "naive": 1, "naive-sorted": 1, "exact-sample": 1}  # rounds at most, so that it takes a few minutes
ASKED_FOR = ["sent-compiled", "naive-sorted"]
LATENCY = ["latency-sent", "latency-adaptive", "latency-exact", "latency-exact-undrafted"]


def once(given: argparse.Namespace) -> dict[str, Any]:
    """One setting, in this process."""
    from graph2graph import scoring
    from graph2graph.decoding.greedy import Work
    from graph2graph.parser import catalogue
    from graph2graph.parser.parser import Parser
    from graph2graph.treebank import conllu

    torch.set_num_threads(given.threads)
    setting: str = given.only
    parser = Parser.load(catalogue.find(given.model), precision="int8" if setting.endswith("int8") else "fp32")
    gold = list(conllu.read(given.file))
    if setting in LATENCY:
        return latency(parser, gold, setting)
    if setting in ("naive", "naive-sorted", "exact-sample"):
        gold = [s for s in gold if not parser.featurizer(s).is_long]
        gold = [gold[i * len(gold) // SAMPLE] for i in range(min(SAMPLE, len(gold)))]
    if setting == "exact" and not given.score:
        gold = gold[::EXACT_EVERY]
    n_words, result = sum(map(len, gold)), {}
    if setting == "sent-compiled":
        for layer in parser.model.encoder.layers:
            layer.compile(dynamic=True)
        list(parser.parse(gold[:SAMPLE], reencode=0.0))  # compiles
    work = Work()
    begin = time.perf_counter()
    if setting == "encoder":
        begin = _bare_pass(parser, gold)
    elif setting.startswith("naive"):
        import naive_parser

        features = [parser.featurizer(sentence) for sentence in gold]
        if setting == "naive-sorted":
            features.sort(key=lambda feature: feature.n_pieces)
        for first in range(0, len(features), given.naive_batch):
            naive_parser.parse(parser.model, features[first : first + given.naive_batch])
    else:
        threshold = threshold_of(parser, setting)
        parsed = list(parser.parse(gold, reencode=threshold, work=work))
        result["encodings_per_sentence"] = work.n_encoded / len(gold)
        result["pieces_encoded"] = work.n_pieces
    seconds = time.perf_counter() - begin
    result |= {
        "pieces_once": sum(parser.featurizer(sentence).n_pieces for sentence in gold),
        "words_per_second": n_words / seconds,
        "sentences_per_second": len(gold) / seconds,
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    if work.n_pieces and not setting.endswith("int8"):
        layers = sum(p.numel() for name, p in parser.model.named_parameters() if ".layers." in name)
        result["gflops"] = 2 * layers * work.n_pieces / seconds / 1e9
    if given.score and work.n_encoded and len(parsed) > SAMPLE:
        result["las"] = scoring.score(gold, parsed).las
    return result


def threshold_of(parser: Any, setting: str) -> float:
    """What a setting means by its name."""
    name = setting.removeprefix("latency-").split("-")[0]
    return float(parser.config.decode.adaptive if name == "adaptive" else THRESHOLDS[name])


def latency(parser: Any, gold: list[Any], setting: str) -> dict[str, Any]:
    """One sentence at a time."""
    chosen = [sentence for sentence in gold if 18 <= len(sentence) <= 22][:50]
    if setting.endswith("undrafted"):
        decode = parser.config.decode.model_copy(update={"draft_tokens": 0})
        parser.config = parser.config.model_copy(update={"decode": decode})
    seconds = []
    for sentence in chosen:
        begin = time.perf_counter()
        list(parser.parse([sentence], reencode=threshold_of(parser, setting)))
        seconds.append(time.perf_counter() - begin)
    rate = sum(map(len, chosen)) / sum(seconds)
    return {"p50_ms": 1000 * sorted(seconds)[len(seconds) // 2], "words_per_second": rate}


def _bare_pass(parser: Any, gold: list[Any]) -> float:
    """One forward pass of transformers' BertModel; returns when it began, tensors being ready."""
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
    model = BertModel(config, add_pooling_layer=False).eval()
    rows = sorted((row.tokens for s in gold for row in parser.featurizer(s).rows), key=len)
    batches, batch = [], []
    for row in rows:
        if batch and len(row) * (len(batch) + 1) > BARE_TOKENS:
            batches.append(batch)
            batch = []
        batch.append(row)
    batches.append(batch)
    tensors = []
    for batch in batches:
        ids = torch.nn.utils.rnn.pad_sequence([torch.from_numpy(row) for row in batch], batch_first=True)
        lengths = torch.tensor([len(row) for row in batch])
        tensors.append((ids, (torch.arange(ids.shape[1]) < lengths[:, None]).long()))
    with torch.inference_mode():
        model(input_ids=tensors[0][0], attention_mask=tensors[0][1])
        begin = time.perf_counter()
        for ids, mask in tensors:
            model(input_ids=ids, attention_mask=mask)
    return begin


BARE_TOKENS = 1024  # the best of 512, 1024, 2048, 4096 for it here


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", default="en")
    parser.add_argument("--settings", nargs="+", default=ALL, choices=ALL + ASKED_FOR + LATENCY)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--naive-batch", type=int, default=10, help="with more sentences, more of the work is on padding"
    )
    parser.add_argument("--score", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only:
        print(json.dumps(once(given)))
        return
    best: dict[str, dict[str, Any]] = {}
    for number in range(given.rounds):
        for setting in given.settings:
            if number >= SLOW.get(setting, given.rounds):
                continue
            command = [sys.executable, __file__, *sys.argv[1:], "--only", setting]
            print(f"round {number + 1} of {given.rounds}: {setting}", file=sys.stderr)
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            if setting not in best or found["words_per_second"] > best[setting]["words_per_second"]:
                best[setting] = found
    torch.set_num_threads(given.threads)
    peak = matmul_gflops()
    for row in best.values():
        if "gflops" in row:
            row["matmul_share"] = row["gflops"] / peak
        if "encoder" in best:
            row["of_encoder"] = row["words_per_second"] / best["encoder"]["words_per_second"]
            if "pieces_encoded" in row:
                row["of_bound"] = row["of_encoder"] * row["pieces_encoded"] / row["pieces_once"]
    if given.json:
        print(json.dumps(best, indent=1))
        return
    columns = {
        "words_per_second": ("words/s", "{:,.0f}"),
        "of_encoder": ("of bare pass", "{:.3f}"),
        "of_bound": ("of bound", "{:.2f}"),
        "sentences_per_second": ("sentences/s", "{:,.1f}"),
        "encodings_per_sentence": ("encodings", "{:.2f}"),
        "matmul_share": ("of peak", "{:.0%}"),
        "peak_rss_mb": ("RSS MB", "{:,.0f}"),
        "p50_ms": ("p50 ms", "{:.0f}"),
        "las": ("LAS", "{:.2f}"),
    }
    rows = [
        [setting, *(form.format(row[key]) if key in row else "" for key, (_, form) in columns.items())]
        for setting, row in best.items()
    ]
    from graph2graph import markdown

    print(markdown.table(["setting", *(title for title, _ in columns.values())], rows), end="")


if __name__ == "__main__":
    main()

"""How fast the decoders are, on a CoNLL-U file, gold words, against one bare pass of the encoder.

    python benchmarks/parse.py FILE [--model en] [--settings encoder naive sent exact …] [--rounds 3] [--threads 2] [--json]

Each setting runs in a process of its own, all of them in turn, several rounds; the best round of each counts, its peak memory
too. `encoder` is the BertModel of `transformers` with the same shape, one forward pass over the same pieces; `naive` is the
straightforward decoder (`naive_parser.py`), timed on a sample; `sent` encodes each sentence once. With --score the LAS is
printed too: for development files only.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SAMPLE = 200  # sentences for the naive decoder
THRESHOLDS = {"sent": 0.0, "exact": float("inf")}
ALL = ["encoder", "naive", "exact-sample", "sent", "exact", "adaptive"]


def once(given: argparse.Namespace) -> dict[str, Any]:
    """One setting, in this process."""
    import torch

    from graph2graph import catalogue, conllu, scoring
    from graph2graph.decoding.greedy import Work
    from graph2graph.parser import Parser

    torch.set_num_threads(given.threads)
    parser = Parser.load(catalogue.find(given.model))
    gold = list(conllu.read(given.file))
    setting: str = given.only
    if setting in ("naive", "exact-sample"):
        gold = [s for s in gold if not parser.featurizer(s).is_long]
        gold = [gold[i * len(gold) // SAMPLE] for i in range(min(SAMPLE, len(gold)))]
    n_words, result = sum(map(len, gold)), {}
    work = Work()
    begin = time.perf_counter()
    if setting == "encoder":
        begin = _bare_pass(parser, gold)
    elif setting == "naive":
        import naive_parser

        features = [parser.featurizer(sentence) for sentence in gold]
        batches = [sorted(features, key=lambda f: f.n_pieces)[i : i + 20] for i in range(0, len(features), 20)]
        for batch in batches:
            naive_parser.parse(parser.model, batch)
    else:
        threshold = parser.config.decode.adaptive if setting == "adaptive" else THRESHOLDS[setting.split("-")[0]]
        parsed = list(parser.parse(gold, reencode=threshold, work=work))
        result["encodings_per_sentence"] = work.n_encoded / len(gold)
        result["pieces_encoded"] = work.n_pieces
    seconds = time.perf_counter() - begin
    result |= {
        "words_per_second": n_words / seconds,
        "sentences_per_second": len(gold) / seconds,
        "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    if work.n_pieces:
        layers = sum(p.numel() for name, p in parser.model.named_parameters() if ".layers." in name)
        result["gflops"] = 2 * layers * work.n_pieces / seconds / 1e9
    if given.score and setting in ("sent", "exact", "adaptive"):
        result["las"] = scoring.score(gold, parsed).las
    return result


def _bare_pass(parser: Any, gold: list[Any]) -> float:
    """One forward pass of transformers' BertModel; returns when it began, tensors being ready."""
    import torch
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


def matmul_gflops(size: int = 2048) -> float:
    """What the machine can do."""
    import torch

    a = torch.randn(size, size)
    best = 0.0
    for _ in range(5):
        begin = time.perf_counter()
        a @ a
        best = max(best, 2 * size**3 / (time.perf_counter() - begin) / 1e9)
    return best


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", default="en")
    parser.add_argument("--settings", nargs="+", default=ALL, choices=ALL)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--score", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.only:
        print(json.dumps(once(given)))
        return
    best: dict[str, dict[str, Any]] = {}
    for _ in range(given.rounds):
        for setting in given.settings:
            command = [sys.executable, __file__, *sys.argv[1:], "--only", setting]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            if setting not in best or found["words_per_second"] > best[setting]["words_per_second"]:
                best[setting] = found
    peak = matmul_gflops()
    for row in best.values():
        if "gflops" in row:
            row["matmul_share"] = row["gflops"] / peak
    if given.json:
        print(json.dumps(best, indent=1))
        return
    print(f"{'setting':14} {'words/s':>9} {'sent/s':>8} {'encodings':>9} {'of peak':>8} {'RSS MB':>7}")
    for setting, row in best.items():
        encodings = f"{row['encodings_per_sentence']:9.2f}" if "encodings_per_sentence" in row else " " * 9
        share = f"{100 * row['matmul_share']:7.0f}%" if "matmul_share" in row else " " * 8
        las = f"  LAS {row['las']:.2f}" if "las" in row else ""
        print(
            f"{setting:14} {row['words_per_second']:9,.0f} {row['sentences_per_second']:8,.1f} {encodings} {share} "
            f"{row['peak_rss_mb']:7,.0f}{las}"
        )


if __name__ == "__main__":
    main()

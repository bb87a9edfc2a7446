"""How long it takes to train a parser of another language: measured on one thread of this CPU, estimated for others.

    OMP_NUM_THREADS=1 python experiments/your_language.py

Trains a small SentTr from scratch on Swedish-Talbanken, which is scored, and one on MiniLM-L6 for an epoch of a part of it, for
the rate at which a pretrained encoder is trained. From that rate, in floating-point operations, follows the time that
multilingual BERT takes on a treebank of the size of German-GSD; for GPUs it follows from a share of the peak that their makers
state. Times are CPU time, which other programs do not change. Writes experiments/results/your_language.json.
"""

import resource
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

from graph2graph.files import read_json, write_json
from graph2graph.parser.model_directory import read_config
from graph2graph.reproduce.paths import Paths
from graph2graph.treebank import conllu

PATHS = Paths.find(start=Path(__file__).parent)
RUNS = PATHS.root / "runs/your-language"
TREEBANK = "sv_talbanken"
SMALL = {"layers": 3, "width": 192, "heads": 6, "inner_width": 768, "vocab_size": 4000}
PART = 300  # sentences
BERT = {"layers": 12, "width": 768, "inner_width": 3072}
GERMAN = {"sentences": 13_814, "words": 263_804, "pieces_a_word": 1.4, "epochs": 10}  # UD German-GSD, mBERT's pieces
GPUS = {"T4, fp32": 8.1e12, "A100, TF32": 156e12}  # peak, operations a second
SHARE_OF_PEAK = 0.3


def main() -> None:
    """Train both, and estimate the rest."""
    train, dev = (PATHS.treebanks / TREEBANK / f"{split}.conllu" for split in ("train", "dev"))
    RUNS.mkdir(parents=True, exist_ok=True)
    part = RUNS / "part.conllu"
    conllu.write(islice(conllu.read(train), PART), part)
    sizes = [f"model.encoder.{name}={value}" for name, value in SMALL.items()]
    scratch = run(
        "scratch", train, dev, [*sizes, "train.epochs=6", "train.batch_pieces=1000", "train.word_dropout=0.1"]
    )
    pretrained = run("minilm", part, part, ["train.epochs=1", "train.eval_sentences=20"], encoder=".weights/minilm-l6")
    rate = pretrained["operations"] / pretrained["cpu_seconds"]
    needed = operations(BERT, int(GERMAN["words"] * GERMAN["pieces_a_word"] * GERMAN["epochs"]))
    write_json(
        PATHS.experiments / "results/your_language.json",
        {
            "command": "OMP_NUM_THREADS=1 python experiments/your_language.py",
            "measured": {f"{TREEBANK}, from scratch": scratch, f"{PART} sentences, MiniLM-L6": pretrained},
            "operations_a_second": round(rate),
            "estimated": {
                "for": "multilingual BERT, German-GSD"
                + "".join(f", {value:,} {name}" for name, value in GERMAN.items()),
                "operations": needed,
                "this CPU, one thread, hours": round(needed / rate / 3600, 1),
                **{f"{name}, minutes": round(needed / peak / SHARE_OF_PEAK / 60, 1) for name, peak in GPUS.items()},
            },
        },
    )


def run(name: str, train: Path, dev: Path, settings: list[str], encoder: str = "none") -> dict[str, Any]:
    """Train a SentTr in a process of its own; its time, size and scores."""
    output = RUNS / name
    command = [sys.executable, "-m", "graph2graph", "train", str(train), str(dev), "--output", str(output)]
    command += ["--model", "sent", "--encoder", encoder]
    command += [word for setting in settings for word in ("--set", setting)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, cwd=PATHS.root)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    found, shape = read_json(output / "run.json"), read_config(output).model.encoder
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "cpu_seconds": round(seconds, 1),
        "encoder": f"{shape.layers} layers × {shape.width}",
        "epochs": found["epochs"],
        "pieces": found["pieces"],
        "operations": operations(shape.model_dump(), found["pieces"]),
        "dev": {metric: found["dev"][metric] for metric in ("uas", "las")},
    }


def operations(shape: dict[str, Any], n_pieces: int) -> int:
    """The multiplications and additions of training: two for each weight of the layers forwards, four backwards."""
    weights = shape["layers"] * shape["width"] * (4 * shape["width"] + 2 * shape["inner_width"])
    return 6 * weights * n_pieces


if __name__ == "__main__":
    main()

"""A clone of the repository with one tiny table, `toy`, of two rows, and its treebank beside it."""

import shutil
from pathlib import Path

from graph2graph.files import write_json
from graph2graph.reproduce.plans import Plans

TOY = Path(__file__).parent / "data" / "toy.conllu"
ROWS = """\
title = "Toy"
source = "Nothing"
scorers = ["unicode", "include"]

[cpu]
about = "A toy."
treebank = "toy"
encoder = "none"
settings.train = { epochs = 12, patience = 0, checkpoint_steps = 2, batch_pieces = 60, learning_rate = 1e-3 }
settings.model.encoder = { width = 32, inner_width = 64, layers = 1, heads = 2, vocab_size = 300 }
settings.data.tags = "xpos"
variants.sent-g2g.train.states = 2

[paper]
about = "A toy."
treebank = "nowhere"

[rows.sent]
title = "A"
variant = "sent"
published.dev.las = 90.0

[rows.graph]
title = "B"
variant = "sent-g2g"
against = "sent"
published.dev.las = 95.0
"""
CLAIMS = '[[claims]]\ntext = "B is better"\ncomparisons = [{ better = "toy/graph", worse = "toy/sent" }]\n'


def make_clone(directory: Path) -> Path:
    """Make the clone in a directory."""
    root = directory / "clone"
    (root / "experiments" / "toy").mkdir(parents=True)
    rows_file(root).write_text(ROWS)
    (root / "experiments" / "claims.toml").write_text(CLAIMS)
    treebank = directory / "shared" / "treebanks" / "toy"
    treebank.mkdir(parents=True)
    for split in ("train", "dev", "test"):
        shutil.copy(TOY, treebank / f"{split}.conllu")
    return root


def rows_file(clone: Path) -> Path:
    """The file of the toy table."""
    return clone / "experiments" / "toy" / "rows.toml"


def change_rows(clone: Path, old: str, new: str) -> None:
    """Replace a part of the toy table's file."""
    text = rows_file(clone).read_text()
    assert old in text
    rows_file(clone).write_text(text.replace(old, new))


def write_result(clone: Path, row: str, seed: int, right: dict[str, list[int]], *, valid: bool = True) -> None:
    """Write a result of the toy table from the right words of each sentence, ten words each."""
    plan = Plans.read(clone / "experiments", "toy").run(row, seed).plan
    scores = {
        split: {"uas": 0.0, "las": 10 * sum(some) / len(some), "words": 10 * len(some)} for split, some in right.items()
    }
    words = {split: " ".join(map(str, some)) for split, some in right.items()}
    result = {"plan": plan if valid else {}, "right_words": words, "seconds": 60, "threads": 2, "epochs": 3.0}
    write_json(clone / "experiments" / "results" / "toy" / "cpu" / f"{row}-{seed}.json", scores | result)

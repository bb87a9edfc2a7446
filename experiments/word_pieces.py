"""The cost of reading only the first piece of a word: StateTr+G2GTr against SentTr+G2GTr, on words of one piece and of several.

    python experiments/word_pieces.py

Needs the files of `g2g reproduce ud` in runs/reproduce/ud/cpu/: the word pieces of each model, and its parse of dev. Writes
experiments/results/word-pieces.json and docs/tables/word-pieces.md; languages without runs here keep their results.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from graph2graph.analysis.tables import Table
from graph2graph.encoder.pieces import Pieces
from graph2graph.files import read_json, write_json, write_text
from graph2graph.reproduce.paths import Paths
from graph2graph.reproduce.plans import PlannedRun, Plans
from graph2graph.treebank import conllu

ROOT = Path(__file__).resolve().parent.parent
STATE, SENT = "StateTr+G2GTr", "SentTr+G2GTr"
N_SAMPLES = 2000
Words = npt.NDArray[np.bool_]


def right(gold: conllu.Sentence, system: conllu.Sentence) -> Words:
    """Whether each word has the right head and label, subtypes stripped."""
    ours, theirs = (
        [(head, label.partition(":")[0]) for head, label in zip(one.heads, one.deprels, strict=True)]
        for one in (gold, system)
    )
    return np.array([one == other for one, other in zip(ours, theirs, strict=True)])


def language(title: str, dev: Path, state: Path, sent: Path) -> dict[str, Any]:
    """A language: the share of split words, both models' LAS on these and on the others, and the difference of the gains."""
    pieces = Pieces.read(sent)
    sentences = list(conllu.read(dev))
    split = [np.array([len(pieces.of(form)) > 1 for form in sentence.forms]) for sentence in sentences]
    runs = {STATE: state, SENT: sent}
    correct = {
        name: [right(gold, system) for gold, system in zip(sentences, conllu.read(run / "dev.conllu"), strict=True)]
        for name, run in runs.items()
    }
    kinds = {"one": [~some for some in split], "several": split}
    las, gains = {}, []
    rng = np.random.default_rng(1)
    drawn = rng.integers(0, len(sentences), (N_SAMPLES, len(sentences)))
    for kind, chosen in kinds.items():
        words = np.array([some.sum() for some in chosen])
        hits = {name: np.array([w[c].sum() for w, c in zip(of, chosen, strict=True)]) for name, of in correct.items()}
        las[kind] = {name: round(100 * some.sum() / words.sum(), 2) for name, some in hits.items()}
        ahead = hits[SENT] - hits[STATE]
        gains.append(100 * ahead[drawn].sum(axis=1) / words[drawn].sum(axis=1))
    low, high = np.percentile(gains[1] - gains[0], (2.5, 97.5))
    share = np.concatenate(split).mean()
    interval = [round(low, 2), round(high, 2)]
    return {"language": title, "several_pieces": round(100 * share, 2), "las": las, "interval": interval}


def table(rows: list[dict[str, Any]]) -> Table:
    """The languages as a table."""
    header = [
        "",
        "words of several pieces",
        "LAS, one piece",
        "gain",
        "LAS, several",
        "gain",
        "difference of the gains",
    ]
    lines = []
    for row in rows:
        gains, cells = [], [row["language"], f"{row['several_pieces']:.0f} %"]
        for scores in row["las"].values():
            gains.append(scores[SENT] - scores[STATE])
            cells += [" / ".join(f"{value:.1f}" for value in scores.values()), f"{gains[-1]:+.1f}"]
        interval = " to ".join(f"{value:+.1f}" for value in row["interval"])
        lines.append([*cells, f"{gains[1] - gains[0]:+.1f} ({interval})"])
    note = (
        f"Does reading all pieces of a word help? LAS on dev of the models of [the UD table](ud.md), {STATE} / {SENT}, on "
        f"words of one piece and on words of several, of which {STATE} reads only the first. The latter are also rarer words. "
        "In brackets: the 95 % interval of a bootstrap over sentences. Made by `python experiments/word_pieces.py`."
    )
    return Table("word-pieces", "Words of several pieces", header, lines, note)


def main() -> None:
    """Compare the models in all languages that both have parsed."""
    paths = Paths.find(start=ROOT)
    plans = Plans.read(paths.experiments, "ud")

    def parsed(run: PlannedRun) -> bool:
        return (paths.run(run) / "dev.conllu").is_file()

    found = {}
    for name, row in plans.rows.items():
        runs = [plans.run(one, 1) for one in (plans.against(name), name) if one]
        if len(runs) == 2 and all(map(parsed, runs)):
            found[row.title] = language(row.title, paths.files(runs[0])["dev"], *map(paths.run, runs))
    if not found:
        sys.exit(
            f"no language has both its runs in {paths.root / 'runs/reproduce/ud/cpu'}: g2g reproduce ud makes them"
        )
    path = paths.experiments / "results" / "word-pieces.json"
    known = {row["language"]: row for row in read_json(path)} if path.is_file() else {}
    rows = sorted((known | found).values(), key=lambda row: str(row["language"]))
    page = table(rows).markdown().replace("## ", "# ", 1)
    write_json(path, rows, indent=1)
    write_text(paths.root / "docs/tables/word-pieces.md", page)
    print(page)


if __name__ == "__main__":
    main()

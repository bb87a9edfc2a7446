"""The English parser: SentTr against SentTr+G2GTr, trained for the same time, and the model that is shipped.

    python experiments/english.py train [--minutes 85] [--until 85] [--seeds 1 2] [--models sent sent-g2g]
    python experiments/english.py text                        # tokeniser, splitter, tagger and lemmatiser, by UDPipe
    python experiments/english.py train --minutes 30 --until 45 --models sent-on sent-g2g-on    # go on from SentTr
    python experiments/english.py train --minutes 30 --until 45 --models sent-g2g-fresh-on --seeds 1    # no stale graphs
    python experiments/english.py score --split dev           # all runs: gold, predicted and no tags; bootstrap
    python experiments/english.py score --split test          # once, when everything is chosen; --exact: that way too
    python experiments/english.py graph sent-g2g-1            # dev: its graph as built, withheld, and with gold arcs
    python experiments/english.py ship sent-g2g-1             # half precision, into the package, scored as shipped
    python experiments/english.py page                        # docs/english.md, from the results

English-EWT, gold words, E5-small, one core a run. What is done is skipped; an interrupted training goes on with its plan, which
was made for --minutes, and if other work held it up it may take until --until. The results are in
experiments/results/english.json, and docs/english.md shows them.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from graph_use import CASES, graph_use

from graph2graph import markdown, scoring
from graph2graph.analysis import significance
from graph2graph.decoding.options import EXACT
from graph2graph.parser.parser import Parser
from graph2graph.text import udpipe as text
from graph2graph.treebank import conllu
from graph2graph.treebank.conllu import Sentence
from graph2graph.variants import VARIANTS

ROOT = Path(__file__).resolve().parent.parent
TREEBANK = Path(os.environ.get("G2G_TREEBANKS", ROOT.parent / "shared/treebanks")) / "en_ewt"
RUNS, RESULTS = ROOT / "runs/english", ROOT / "experiments/results/english.json"
PAGE, CURVES = ROOT / "docs/english.md", ROOT / "docs/images/english-curves.png"
SHIPPED = ROOT / "src/graph2graph/shipped/en"
TEXT_MODEL = RUNS / text.FILE_NAME
WATCHED = RUNS / "watched.conllu"
LICENCE = "CC BY-SA 4.0"
TAGS = ("gold", "predicted", "none")
ADAPTIVE = 0.7  # encode again when the best action is less probable: how the runs are scored
SHIPPED_ADAPTIVE = 0.55  # chosen on dev, by benchmarks/curve.py
COMMON: dict[str, Any] = {
    "model.encoder.layers": 12,
    "model.classifier_dropout": 0.33,
    "model.tagger": True,
    "train.learning_rate": 2e-4,
    "train.tag_dropout": 0.4,
    "train.word_dropout": 0.1,
}
GRAPHS = {"train.states": 1, "train.stale_weight": 0.9}
FRESH = GRAPHS | {"train.stale_weight": 0.0, "train.empty_stale_weight": 0.0}  # decisions on the newest graph only
WATCHED_EVERY = 4
ON = {"train.learning_rate": 1e-4, "train.new_learning_rate": 1e-3}  # for what goes on from a finished run
SETTINGS: dict[str, dict[str, Any]] = {
    "sent": COMMON,
    "sent-g2g": COMMON | GRAPHS | {"train.empty_epochs": 3},
    "sent-on": COMMON | ON,
    "sent-g2g-on": COMMON | ON | GRAPHS,
    "sent-g2g-fresh-on": COMMON | ON | FRESH,
}


def train(given: argparse.Namespace) -> None:
    """Each model with each seed, some side by side."""
    runs = [(model, seed) for seed in given.seeds for model in given.models]
    if not WATCHED.exists():
        conllu.write(list(conllu.read(TREEBANK / "dev.conllu"))[::WATCHED_EVERY], WATCHED)
    with ThreadPoolExecutor(given.workers) as pool:
        list(pool.map(lambda run: train_one(*run, given), runs))


def train_one(model: str, seed: int, given: argparse.Namespace) -> None:
    """One run, on one core."""
    files = [os.path.relpath(TREEBANK / f"{split}.conllu", ROOT) for split in ("train", "dev")]
    if model.endswith("-on"):  # is short: its time is not for scoring
        files[1] = os.path.relpath(WATCHED, ROOT)
    output = RUNS / f"{model}-{seed}"
    minutes = given.until if (output / "run.json").exists() else given.minutes
    command = ["g2g", "train", *files, "--output", os.path.relpath(output, ROOT)]
    if model.endswith("-on"):
        command += ["--start", f"runs/english/sent-{seed}", "--model", model.removesuffix("-on").removesuffix("-fresh")]
    else:
        command += ["--encoder", f".weights/{given.encoder}", "--model", model]
    command += ["--time-limit", f"{minutes:g}m"]
    for key, value in (SETTINGS[model] | {"train.seed": seed}).items():
        command += ["--set", f"{key}={json.dumps(value)}"]
    command += ["--license", LICENCE, "--resume"]
    print(" ".join(command), file=sys.stderr)
    one_core = os.environ | {"OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, "-m", "graph2graph", *command[1:]], check=True, cwd=ROOT, env=one_core)


def train_text(_: argparse.Namespace) -> None:
    """The text model."""
    options = text.TextOptions(epochs=50, iterations=5)
    text.train(TREEBANK / "train.conllu", TREEBANK / "dev.conllu", TEXT_MODEL, options=options)


def score(given: argparse.Namespace) -> None:
    """Runs on a split, with the three kinds of tags; then variant against variant."""
    rows: dict[str, dict[str, Any]] = {}
    gold = list(conllu.read(TREEBANK / f"{given.split}.conllu"))
    tagged = list(text.TextModel.load(TEXT_MODEL).tagged(gold))
    trees: dict[tuple[str, str], list[Sentence]] = {}
    for output in sorted(path for pattern in given.runs for path in RUNS.glob(pattern)):
        run = json.loads((output / "run.json").read_text())
        if not run["finished"]:
            continue
        parser = Parser.load(output)
        row = rows[output.name] = {key: run[key] for key in ("command", "seconds", "epochs", "steps")}
        row |= {"curve": learning_curve(output / "metrics.jsonl"), given.split: {}}
        is_exact = given.exact and parser.config.model.graph_input
        for tags in TAGS + ("exact",) * is_exact:
            seen = tagged if tags == "predicted" else gold
            parsed = list(parser.parse(seen, tags=tags != "none", reencode=EXACT if tags == "exact" else ADAPTIVE))
            trees[output.name, tags] = parsed
            row[given.split][tags] = _scores(gold, parsed)
            print(output.name, given.split, tags, row[given.split][tags], file=sys.stderr)
    new, results = _differences(gold, trees), _results()  # read now: others may have been scored meanwhile
    found = {_compared(one): one for one in [*results["differences"].get(given.split, []), *new]}
    results["differences"][given.split] = [found[key] for key in sorted(found)]
    for name, row in rows.items():
        results["runs"][name] = results["runs"].get(name, {}) | row
    _write(results)


def learning_curve(metrics: Path) -> list[tuple[int, float]]:
    """Steps, and the LAS of what was scored after them."""
    rows = map(json.loads, metrics.read_text().splitlines())
    return [(row["step"], round(row["las"], 2)) for row in rows if "best" in row]


def draw_curves(runs: dict[str, Any]) -> None:
    """Dev LAS over the steps, all runs in one picture."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.add_subplot()
    for name, run in runs.items():
        kind, seed = name.rsplit("-", 1)
        colour, line = ("#0072b2" if kind == "sent" else "#d55e00"), ("-" if seed == "1" else "--")
        if not kind.endswith("-on"):
            label = f"{VARIANTS[kind].title}, seed {seed}"
            axes.plot(*zip(*run["curve"], strict=True), line, marker="o", color=colour, label=label)
    axes.set_xlabel("steps")
    axes.set_ylabel("LAS on the part of dev that was scored")
    axes.legend(frameon=False, loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(CURVES, dpi=150)


def _differences(gold: list[Sentence], trees: dict[tuple[str, str], list[Sentence]]) -> list[dict[str, Any]]:
    """SentTr+G2GTr minus SentTr, and what went on minus what it went on from, for each seed and kind of tags."""
    rows = []
    for second, tags in trees:
        kind, seed = second.rsplit("-", 1)
        for first in (f"sent-{seed}", f"sent-on-{seed}" if kind == "sent-g2g-on" else None):
            reference = trees.get((first, "gold" if tags == "exact" else tags)) if first and first != second else None
            if reference is not None:
                found = significance.compare(gold, reference, trees[second, tags])
                p = {"bootstrap": found.bootstrap, "randomisation": round(found.randomisation, 4)}
                rows.append({"first": first, "second": second, "tags": tags, "las": round(found.points, 2)} | p)
    return rows


def _compared(difference: dict[str, Any]) -> tuple[str, ...]:
    return tuple(difference[key] for key in ("second", "first", "tags"))


def graph(given: argparse.Namespace) -> None:
    """What the graph does to the trees of a run."""
    gold = list(conllu.read(TREEBANK / "dev.conllu"))[::WATCHED_EVERY]
    found = graph_use(Parser.load(RUNS / given.run), gold)
    results = _results()
    results.setdefault("graph_use", {})[given.run] = {"gold": found}
    _write(results)


def ship(given: argparse.Namespace) -> None:
    """Put a run into the package, in half precision, with its text model; score the files as they are shipped."""
    source = RUNS / given.run
    parser = Parser.load(source)
    kept = {"predicted_tags": False} | (
        {"reencode": SHIPPED_ADAPTIVE, "adaptive": SHIPPED_ADAPTIVE} if parser.config.model.graph_input else {}
    )
    parser.config = parser.config.model_copy(update={"decode": parser.config.decode.model_copy(update=kept)})
    parser.save(SHIPPED, half=True)
    shutil.copy(TEXT_MODEL, SHIPPED / text.FILE_NAME)
    results = _results()
    scores = {split: shipped_scores(TREEBANK / f"{split}.conllu") for split in ("dev", "test")}
    results["shipped"] = {"run": given.run} | scores
    _write(results)
    card = (source / "README.md").read_text(encoding="utf-8")
    (SHIPPED / "README.md").write_text(shipped_card(card, parser, scores), encoding="utf-8")


def shipped_card(card: str, parser: Parser, scores: dict[str, Any]) -> str:
    """The card of the run, as that of a model which is in the package."""
    _, about, facts = card.split("\n\n", 2)
    about = about.replace("A dependency parser", "A dependency parser of English").replace(" --model DIR", "")
    seed = parser.config.train.seed
    if parser.config.model.graph_input:
        about += f"\nThe graph is encoded again when the best action is less probable than {SHIPPED_ADAPTIVE};"
        about += " `--reencode exact`\ndoes it always."
    table, made = facts[: facts.index("Scores on")], facts[facts.index("Made by") :]
    for name in (".weights/e5-small:", f"that of runs/english/sent-{seed}:"):
        table = table.replace(name, "E5-small (MIT), as `experiments/encoders.py e5-small` fetches it:")
    table = table.replace("english/watched.conllu", f"every {WATCHED_EVERY}th sentence of en_ewt/dev.conllu")
    if "--start" in made:
        before = json.loads((RUNS / f"sent-{seed}" / "run.json").read_text())
        table = table.replace(" minutes |", f" minutes, after {before['seconds'] / 60:.1f} minutes as SentTr |")
        made = made.replace("```\n", f"```\n{before['command']}\n", 1)
        if "--time-limit 85m" not in before["command"]:
            made += "The first was planned with `--time-limit 85m`; it was held up, and resumed with a later end.\n"
    return f"# en\n\n{about}\n\n{table}{made}\n{shipped_table(scores)}"


def shipped_table(scores: dict[str, Any]) -> str:
    """The part of the card that speaks of the files as they are shipped."""
    lines = ["Scores of these files, weights in half precision (UAS / LAS, official scorer; raw text: F1):", ""]
    cells = [[split, *(_cell(row[tags]) for tags in TAGS), _cell(row["raw"])] for split, row in scores.items()]
    lines += markdown.table(["split", "gold UPOS", "predicted tags", "no tags", "raw text"], cells).splitlines()
    lines += [
        "",
        "Words, sentences, tags and lemmas are found by text.udpipe, a UDPipe 1 model of the same treebank:",
        "",
    ]
    names = ("Tokens", "Sentences", "Words", "UPOS", "XPOS", "Lemmas")
    cells = [[split, *(f"{row['raw'][name]:.2f}" for name in names)] for split, row in scores.items()]
    lines += markdown.table(["split", *names], cells).splitlines()
    return "\n".join(lines) + "\n"


def _cell(scores: dict[str, float] | None) -> str:
    found = {name.lower(): value for name, value in scores.items()} if scores else {}
    return f"{found['uas']:.2f} / {found['las']:.2f}" if found else ""


def page(_: argparse.Namespace) -> None:
    """Write docs/english.md."""
    results = _results()
    lines = [
        "# The English parser",
        "",
        "UD English-EWT, E5-small (12 layers × 384), gold words; UAS / LAS as the official scorer has them. `sent` is SentTr,",
        "`sent-g2g` is SentTr+G2GTr; the number is the seed. Each run was planned for the same 85 minutes on one core (other",
        "work on the machine made some take longer, or stop short of their plan); those with `-on` go on from the SentTr of",
        "their seed for half an hour. The best epoch was chosen on dev. SentTr+G2GTr decodes adaptively, with a threshold of",
        f"{ADAPTIVE}. Made by `python experiments/english.py`; its commands are in `experiments/results/english.json`.",
        "",
    ]
    cells = []
    for name, run in sorted(results["runs"].items()):
        before = results["runs"][f"sent-{name[-1]}"] if "-on-" in name else None
        minutes, epochs = (
            " + ".join(form.format(one[key] / unit) for one in (before, run) if one)
            for form, key, unit in (("{:.0f}", "seconds", 60), ("{:.1f}", "epochs", 1))
        )
        for split in ("dev", "test"):
            if split in run:
                found = [_cell(run[split].get(tags)) for tags in (*TAGS, "exact")]
                cells.append([name, minutes, epochs, split, *found])
    lines += markdown.table(
        ["run", "minutes", "epochs", "split", "gold UPOS", "predicted tags", "no tags", "gold UPOS, exact decoding"],
        cells,
    ).splitlines()
    lines += [
        "",
        "Differences in LAS; p by paired bootstrap (one-sided) and by approximate randomisation. Equal time is",
        "`sent-g2g-1` − `sent-1`, and `sent-g2g-on` − `sent-on` for each seed:",
        "",
    ]
    cells = [
        [split, f"{row['second']} − {row['first']}", row["tags"], f"{row['las']:+.2f}"]
        + [f"{row[test]:.3f}" for test in ("bootstrap", "randomisation")]
        for split, rows in results["differences"].items()
        for row in rows
    ]
    lines += markdown.table(["split", "runs", "tags", "difference", "bootstrap", "randomisation"], cells).splitlines()
    lines += ["", "![Learning curves](images/english-curves.png)", ""]
    lines += ["Between epochs SentTr is scored on all of dev, SentTr+G2GTr on a part of it.", ""]
    draw_curves(results["runs"])
    lines += [f"What the graph does (every {WATCHED_EVERY}th sentence of dev, LAS; exact decoding):", ""]
    cells = [
        [name, tags, *(f"{row[case]['las']:.2f}" for case in CASES), f"{row['changed']:.1f} %"]
        for name, by_tags in results.get("graph_use", {}).items()
        for tags, row in by_tags.items()
    ]
    lines += markdown.table(["run", "tags", "as built", "withheld", "gold arcs", "trees changed"], cells).splitlines()
    if results["shipped"]:
        scores = {split: results["shipped"][split] for split in ("dev", "test")}
        lines += [
            "",
            f"Shipped as `en` is {results['shipped']['run']}, with a threshold of {SHIPPED_ADAPTIVE}.",
            "",
            shipped_table(scores).rstrip(),
        ]
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def shipped_scores(file: Path) -> dict[str, Any]:
    """The scores of the shipped files: gold words with each kind of tags, and raw text."""
    gold, parser, model = list(conllu.read(file)), Parser.load(SHIPPED), text.TextModel.load(SHIPPED / text.FILE_NAME)
    tagged = list(model.tagged(gold))
    found = {
        tags: _scores(gold, list(parser.parse(tagged if tags == "predicted" else gold, tags=tags != "none")))
        for tags in TAGS
    }
    return found | {"raw": raw_scores(gold, parser, model)}


def raw_scores(gold: list[Sentence], parser: Parser, model: text.TextModel) -> dict[str, float]:
    """From the raw text of a file, as the official evaluation has it: paragraphs and documents are known, sentences are not."""
    raw = raw_text(gold)
    scores = scoring.score_aligned(gold, parser.parse(model.sentences(raw), tags=parser.config.decode.predicted_tags))
    return {name: round(agreement.f1, 2) for name, agreement in scores.metrics.items()}


def raw_text(gold: list[Sentence]) -> str:
    """The text of a treebank: sentences put together by a space, a blank line where a document or paragraph begins."""
    parts: list[str] = []
    for sentence in gold:
        begins = any(comment.startswith(("newdoc", "newpar")) for comment in sentence.comments)
        parts.append(("\n\n" if begins and parts else " " if parts else "") + sentence.text)
    return "".join(parts) + "\n"


def _scores(gold: list[Sentence], parsed: list[Sentence]) -> dict[str, float]:
    return scoring.score(gold, parsed).as_dict("uas", "las", digits=2)


def _results() -> dict[str, Any]:
    if RESULTS.exists():
        found: dict[str, Any] = json.loads(RESULTS.read_text())
        return found
    return {"runs": {}, "differences": {}, "shipped": {}}


def _write(results: dict[str, Any]) -> None:
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    training = commands.add_parser("train")
    training.add_argument("--minutes", type=float, default=85)
    training.add_argument("--until", type=float, default=85)
    training.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    training.add_argument("--models", nargs="+", default=list(SETTINGS), choices=list(SETTINGS))
    training.add_argument("--encoder", default="e5-small")
    training.add_argument("--workers", type=int, default=2)
    training.set_defaults(action=train)
    commands.add_parser("text").set_defaults(action=train_text)
    scoring_ = commands.add_parser("score")
    scoring_.add_argument("--split", choices=["dev", "test"], default="dev")
    scoring_.add_argument("--runs", nargs="+", default=["sent*-?"], help="their names, * and ? standing for anything")
    scoring_.add_argument("--exact", action="store_true", help="graph models: gold UPOS with exact decoding too")
    scoring_.set_defaults(action=score)
    for name, action in (("graph", graph), ("ship", ship)):
        command = commands.add_parser(name)
        command.add_argument("run")
        command.set_defaults(action=action)
    commands.add_parser("page").set_defaults(action=page)
    given = parser.parse_args()
    given.action(given)


if __name__ == "__main__":
    main()

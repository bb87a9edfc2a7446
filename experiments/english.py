"""The English parser: SentTr against SentTr+G2GTr, and the model that is shipped.

    python experiments/english.py train [--minutes 85] [--until 85] [--seeds 1 2] [--models sent sent-g2g]
    python experiments/english.py text                        # tokeniser, splitter, tagger and lemmatiser, by UDPipe
    python experiments/english.py train --minutes 30 --until 45 --models sent-on sent-g2g-on    # go on from SentTr
    python experiments/english.py train --minutes 30 --until 45 --models sent-g2g-fresh-on --seeds 1    # no stale graphs
    python experiments/english.py score --split dev           # all runs: gold, predicted and no tags; bootstrap
    python experiments/english.py score --split test          # once, when all is chosen; --exact: exact decoding too
    python experiments/english.py graph sent-g2g-1            # dev: its graph as built, withheld, and with gold arcs
    python experiments/english.py ship sent-g2g-1             # half precision, into the package, scored as shipped
    python experiments/english.py page                        # docs/english.md, from the results

English-EWT, gold words, E5-small, one core for each run. Finished runs are skipped. A stopped run is resumed with its plan,
which was made for --minutes; if other work on the machine slowed it down, --until gives it more time. Results go to
experiments/results/english.json.
"""

import argparse
import json
import os
import shutil
import sys
from itertools import islice
from pathlib import Path
from typing import Any

from english_page import EMPTY, RESULTS, SHIPPED_ADAPTIVE, TAGS, WATCHED_EVERY, shipped_card, write_page
from graph_use import graph_use

from graph2graph import scoring
from graph2graph.analysis import significance
from graph2graph.decoding.options import EXACT, ParseOptions, TagSource
from graph2graph.files import read_json, write_json, write_text
from graph2graph.parser import checksums, language
from graph2graph.parser.language import CommonWords
from graph2graph.parser.parser import Parser
from graph2graph.reproduce import trainings
from graph2graph.reproduce.jobs import Job, results_of
from graph2graph.reproduce.paths import Paths
from graph2graph.reproduce.rows import Settings, merged
from graph2graph.text import udpipe as text
from graph2graph.training.request import Request
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence

PATHS = Paths.find(start=Path(__file__).parent)
TREEBANK = PATHS.treebanks / "en_ewt"
RUNS = PATHS.root / "runs/english"
SHIPPED = PATHS.root / "src/graph2graph/shipped/en"
TEXT_MODEL = RUNS / text.FILE_NAME
WATCHED = RUNS / "watched.conllu"
ADAPTIVE = 0.7  # encode again when the best action is less probable: how the runs are scored
COMMON: Settings = {
    "model": {"encoder": {"layers": 12}, "classifier_dropout": 0.33, "tagger": True},
    "train": {"learning_rate": 2e-4, "tag_dropout": 0.4, "word_dropout": 0.1},
}
GRAPHS: Settings = {"train": {"states": 1, "stale_weight": 0.9}}
FRESH: Settings = {"train": {"stale_weight": 0.0, "empty_stale_weight": 0.0}}  # decisions on the newest graph only
ON: Settings = {"train": {"learning_rate": 1e-4, "new_learning_rate": 1e-3}}  # for runs that continue a finished one
SETTINGS = {
    "sent": COMMON,
    "sent-g2g": merged(COMMON, GRAPHS, {"train": {"empty_epochs": 3}}),
    "sent-on": merged(COMMON, ON),
    "sent-g2g-on": merged(COMMON, ON, GRAPHS),
    "sent-g2g-fresh-on": merged(COMMON, ON, GRAPHS, FRESH),
}
Trees = dict[tuple[str, str], list[Sentence]]  # by run and kind of tags


def train(given: argparse.Namespace) -> None:
    """Train each model with each seed, some side by side."""
    if not WATCHED.exists():
        RUNS.mkdir(parents=True, exist_ok=True)
        conllu.write(islice(conllu.read(TREEBANK / "dev.conllu"), 0, None, WATCHED_EVERY), WATCHED)
    requests = (request_of(model, seed, given) for seed in given.seeds for model in given.models)
    jobs = (Job(request.output.name, trainings.train, (request, PATHS.root)) for request in requests)
    for job, result in results_of(jobs, given.workers):
        print(job.name, f"LAS {result['dev']['las']:.2f}", file=sys.stderr)


def request_of(model: str, seed: int, given: argparse.Namespace) -> Request:
    """A run on one core."""
    goes_on, output = model.endswith("-on"), Path("runs/english") / f"{model}-{seed}"
    minutes = given.until if (PATHS.root / output / "run.json").exists() else given.minutes
    dev = WATCHED if goes_on else TREEBANK / "dev.conllu"  # a short run has no time to score all of dev
    return trainings.training(
        PATHS,
        Path(os.path.relpath(TREEBANK / "train.conllu", PATHS.root)),
        Path(os.path.relpath(dev, PATHS.root)),
        output,
        model.removesuffix("-on").removesuffix("-fresh"),
        merged(SETTINGS[model], {"train": {"seed": seed}}),
        encoder=None if goes_on else f".weights/{given.encoder}",
        start=Path(f"runs/english/sent-{seed}") if goes_on else None,
        time_limit=60 * minutes,
        license="CC BY-SA 4.0",
    )


def train_text(_: argparse.Namespace) -> None:
    """Train the text model."""
    options = text.TextOptions(epochs=50, iterations=5)
    text.train(TREEBANK / "train.conllu", TREEBANK / "dev.conllu", TEXT_MODEL, options=options)


def score(given: argparse.Namespace) -> None:
    """Score the finished runs on a split with each kind of tags, and compare them with each other."""
    split: str = given.split
    gold = list(conllu.read(TREEBANK / f"{split}.conllu"))
    tagged = list(text.TextModel.load(TEXT_MODEL).tagged(gold))
    trees: Trees = {}
    rows: dict[str, dict[str, Any]] = {}
    for output in sorted(path for pattern in given.runs for path in RUNS.glob(pattern)):
        run = read_json(output / "run.json")
        if run["finished"]:
            parsed = parse_each_way(Parser.load(output), gold, tagged, exact=given.exact)
            trees |= {(output.name, tags): sentences for tags, sentences in parsed.items()}
            scores = {tags: uas_and_las(gold, sentences) for tags, sentences in parsed.items()}
            print(output.name, split, scores, file=sys.stderr)
            row = {key: run[key] for key in ("command", "seconds", "epochs", "steps")}
            rows[output.name] = row | {"curve": learning_curve(output / "metrics.jsonl"), split: scores}
    results = read_results()  # read now, since another process may have scored other runs meanwhile
    compared = {pair(one): one for one in [*results["differences"].get(split, []), *differences(gold, trees)]}
    results["differences"][split] = [compared[key] for key in sorted(compared)]
    for name, row in rows.items():
        results["runs"][name] = results["runs"].get(name, {}) | row
    write_json(RESULTS, results, indent=1)


def parse_each_way(
    parser: Parser, gold: list[Sentence], tagged: list[Sentence], *, exact: bool
) -> dict[str, list[Sentence]]:
    """The trees with gold, predicted and no tags; on request also with gold tags and exact decoding."""
    ways = {tags: (tagged if tags == "predicted" else gold, options(tags, reencode=ADAPTIVE)) for tags in TAGS}
    if exact and parser.config.model.graph_input:
        ways["exact"] = gold, options("gold", reencode=EXACT)
    return {name: list(parser.parse(sentences, given)) for name, (sentences, given) in ways.items()}


def options(tags: str, *, reencode: float | None = None) -> ParseOptions:
    """How to parse sentences with gold, predicted or no tags."""
    return ParseOptions(tags=TagSource.NONE if tags == "none" else TagSource.KEEP, reencode=reencode)


def learning_curve(metrics: Path) -> list[tuple[int, float]]:
    """Steps, and the LAS scored after each."""
    rows = map(json.loads, metrics.read_text().splitlines())
    return [(row["step"], round(row["las"], 2)) for row in rows if "best" in row]


def differences(gold: list[Sentence], trees: Trees) -> list[dict[str, Any]]:
    """Each run minus the SentTr of its seed, and minus the SentTr that was continued for as long, for each kind of tags."""
    rows = []
    for second, tags in trees:
        kind, seed = second.rsplit("-", 1)
        for first in (f"sent-{seed}", f"sent-on-{seed}" if kind == "sent-g2g-on" else None):
            reference = trees.get((first, "gold" if tags == "exact" else tags)) if first and first != second else None
            if reference is not None:
                found = significance.compare(gold, reference, trees[second, tags])
                names = {"first": first, "second": second, "tags": tags}
                p_values = {"bootstrap": found.bootstrap, "randomisation": round(found.randomisation, 4)}
                rows.append({**names, "las": round(found.points, 2), **p_values})
    return rows


def pair(difference: dict[str, Any]) -> tuple[str, ...]:
    """The two runs of a difference, and the tags."""
    return tuple(difference[key] for key in ("second", "first", "tags"))


def graph(given: argparse.Namespace) -> None:
    """Measure what the graph does to the trees of a run."""
    gold = list(conllu.read(TREEBANK / "dev.conllu"))[::WATCHED_EVERY]
    results = read_results()
    results.setdefault("graph_use", {})[given.run] = {"gold": graph_use(Parser.load(RUNS / given.run), gold)}
    write_json(RESULTS, results, indent=1)


def ship(given: argparse.Namespace) -> None:
    """Put a run and the text model into the package, in half precision, and score the files as they are shipped."""
    source = RUNS / given.run
    parser = Parser.load(source)
    decode: dict[str, Any] = {"predicted_tags": False}
    if parser.config.model.graph_input:
        decode |= {"reencode": SHIPPED_ADAPTIVE, "adaptive": SHIPPED_ADAPTIVE}
    parser.config = parser.config.model_copy(update={"decode": parser.config.decode.model_copy(update=decode)})
    parser.save(SHIPPED, half=True)
    shutil.copy(TEXT_MODEL, SHIPPED / text.FILE_NAME)
    results = read_results()
    scores = {split: shipped_scores(TREEBANK / f"{split}.conllu") for split in ("dev", "test")}
    results["shipped"] = {"run": given.run} | scores
    write_json(RESULTS, results, indent=1)
    card = (source / "README.md").read_text(encoding="utf-8")
    before = read_json(RUNS / f"sent-{parser.config.train.seed}" / "run.json")
    write_text(SHIPPED / "README.md", shipped_card(card, parser.config, before, scores))
    write_json(SHIPPED / language.FILE_NAME, CommonWords.of(conllu.read(TREEBANK / "train.conllu")).to_json())
    checksums.write(SHIPPED)


def shipped_scores(file: Path) -> dict[str, Any]:
    """The scores of the shipped files: gold words with each kind of tags, and raw text."""
    gold, parser, model = list(conllu.read(file)), Parser.load(SHIPPED), text.TextModel.load(SHIPPED / text.FILE_NAME)
    tagged = list(model.tagged(gold))
    parsed = {tags: list(parser.parse(tagged if tags == "predicted" else gold, options(tags))) for tags in TAGS}
    scores = {tags: uas_and_las(gold, sentences) for tags, sentences in parsed.items()}
    return scores | {"raw": raw_scores(gold, parser, model)}


def raw_scores(gold: list[Sentence], parser: Parser, model: text.TextModel) -> dict[str, float]:
    """F1 from raw text as in the official evaluation, which gives paragraphs and documents but not sentences."""
    tags = "predicted" if parser.config.decode.predicted_tags else "none"
    scores = scoring.score_aligned(gold, parser.parse(model.sentences(raw_text(gold)), options(tags)))
    return {name: round(agreement.f1, 2) for name, agreement in scores.metrics.items()}


def raw_text(gold: list[Sentence]) -> str:
    """The text of a treebank: a space between sentences, a blank line where a document or paragraph begins."""
    parts: list[str] = []
    for sentence in gold:
        begins = any(comment.startswith(("newdoc", "newpar")) for comment in sentence.comments)
        parts.append(("\n\n" if begins and parts else " " if parts else "") + sentence.text)
    return "".join(parts) + "\n"


def uas_and_las(gold: list[Sentence], parsed: list[Sentence]) -> dict[str, float]:
    """UAS and LAS, rounded."""
    return scoring.score(gold, parsed).as_dict("uas", "las", digits=2)


def read_results() -> dict[str, Any]:
    """The results so far."""
    found: dict[str, Any] = read_json(RESULTS) if RESULTS.exists() else EMPTY
    return found


def main() -> None:
    """Run a command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("train")
    command.add_argument("--minutes", type=float, default=85)
    command.add_argument("--until", type=float, default=85)
    command.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    command.add_argument("--models", nargs="+", default=list(SETTINGS), choices=list(SETTINGS))
    command.add_argument("--encoder", default="e5-small")
    command.add_argument("--workers", type=int, default=2)
    command.set_defaults(action=train)
    commands.add_parser("text").set_defaults(action=train_text)
    command = commands.add_parser("score")
    command.add_argument("--split", choices=["dev", "test"], default="dev")
    command.add_argument("--runs", nargs="+", default=["sent*-?"], help="names, with * and ? as wildcards")
    command.add_argument("--exact", action="store_true", help="graph models: also exact decoding, with gold UPOS")
    command.set_defaults(action=score)
    for name, action in (("graph", graph), ("ship", ship)):
        command = commands.add_parser(name)
        command.add_argument("run")
        command.set_defaults(action=action)
    commands.add_parser("page").set_defaults(action=lambda _: write_page(read_results()))
    given = parser.parse_args()
    given.action(given)


if __name__ == "__main__":
    main()

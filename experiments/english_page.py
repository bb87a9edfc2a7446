"""docs/english.md and the card of the shipped model, from the results of experiments/english.py."""

from pathlib import Path
from typing import Any

from graph_use import CASES

from graph2graph import markdown
from graph2graph.analysis.significance import described
from graph2graph.config import Config
from graph2graph.files import write_text
from graph2graph.parser.hub_card import UdTreebank, front_matter
from graph2graph.variants import VARIANTS

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "experiments/results/english.json"
PAGE, CURVES = ROOT / "docs/english.md", ROOT / "docs/images/english-curves.png"
TAGS = ("gold", "predicted", "none")
WATCHED_EVERY = 4
SHIPPED_ADAPTIVE = 0.55  # chosen on dev, by benchmarks/curve.py
EMPTY: dict[str, Any] = {"runs": {}, "differences": {}, "shipped": {}}

ABOUT = """\
# The English parser

`en` is in the package: `g2g parse --text "The dog barks." -f tree`, or `graph2graph.load("en")`. It is a SentTr+G2GTr on
E5-small (12 layers × 384), trained on UD English-EWT.
"""
PARTS = """\
The parser does not need tags and by default ignores those of the text model, since it parses better without them.

## Does the graph help?

SentTr+G2GTr minus SentTr, where both continued from the same SentTr for half an hour: LAS with gold UPOS, p by approximate
randomisation (two-sided).
"""
SAYS = """\
On test there is no significant difference. The shipped model is the one with the best score on dev, so its lead there proves
little. Trained from the start, SentTr+G2GTr differs from SentTr by {points:+.2f} LAS on test, {verdict}. That
pair is not in the table because the first took {minutes} minutes: other work slowed its machine.
[How the graph was trained](design/graph-training.md) has more.
"""
USE = """\
What the finished model does with its graph, on every {every}th sentence of dev (LAS, exact decoding): the graph as the parser
builds it, no graph, and gold arcs instead of the parser's.
"""
RUNS = """\
## All runs

`sent` is SentTr, `sent-g2g` SentTr+G2GTr; the number is the seed. Runs with `-on` continue from the SentTr of their seed for
half an hour. UAS / LAS by the official scorer, on gold words. The best epoch was chosen on dev. SentTr+G2GTr decodes
adaptively, with a threshold of 0.7.
"""
CURVES_TEXT = """\
![Learning curves](images/english-curves.png)

Between epochs SentTr is scored on all of dev, SentTr+G2GTr on a part of it.

Made by `python experiments/english.py page`. The commands of all runs, and the differences of all pairs of runs, are in
`experiments/results/english.json`.
"""


def write_page(results: dict[str, Any]) -> None:
    """Write the page and its picture."""
    draw_curves(results["runs"])
    write_text(PAGE, page(results))


def page(results: dict[str, Any]) -> str:
    """The page as Markdown."""
    runs, shipped = results["runs"], results["shipped"]
    parts = [ABOUT]
    if shipped:
        about = f"It is the run {shipped['run']} below, with a threshold of {SHIPPED_ADAPTIVE}.\n"
        parts += [about, shipped_tables(shipped)]
    parts += [PARTS, differences_table(results["differences"]), conclusion(results)]
    parts += [USE.format(every=WATCHED_EVERY), graph_table(results.get("graph_use", {}))]
    return "\n".join([*parts, RUNS, runs_table(runs), CURVES_TEXT])


def conclusion(results: dict[str, Any]) -> str:
    """What the differences say, and that of the runs that are not in the table because one had more time."""
    names, runs = ("sent-g2g-1", "sent-1"), results["runs"]
    tested = results["differences"].get("test", [])
    rows = [row for row in tested if (row["second"], row["first"], row["tags"]) == (*names, "gold")]
    if not rows:
        return ""
    minutes = " minutes and the second ".join(f"{runs[name]['seconds'] / 60:.0f}" for name in names)
    return SAYS.format(points=rows[0]["las"], verdict=described(rows[0]["randomisation"]), minutes=minutes)


def runs_table(runs: dict[str, Any]) -> str:
    """The scores of all runs on both splits."""
    rows = []
    for name, run in sorted(runs.items()):
        before = runs[f"sent-{name[-1]}"] if "-on-" in name else None
        legs = [one for one in (before, run) if one]
        minutes = " + ".join(f"{one['seconds'] / 60:.0f}" for one in legs)
        epochs = " + ".join(f"{one['epochs']:.1f}" for one in legs)
        for split in ("dev", "test"):
            if split in run:
                rows.append([name, minutes, epochs, split, *(uas_las(run[split].get(tags)) for tags in TAGS)])
    return markdown.table(["run", "minutes", "epochs", "split", "gold UPOS", "predicted tags", "no tags"], rows)


def differences_table(differences: dict[str, Any]) -> str:
    """SentTr+G2GTr against SentTr, after the same start and as much time, for each seed and split."""
    rows = [
        [split, f"{row['second']} − {row['first']}", f"{row['las']:+.2f}", described(row["randomisation"])]
        for split, compared in differences.items()
        for row in compared
        if row["first"].startswith("sent-on-") and row["tags"] == "gold"
    ]
    return markdown.table(["split", "runs", "difference", "significance"], rows)


def graph_table(graph_use: dict[str, Any]) -> str:
    """The LAS of runs with their graph, without it and with gold arcs."""
    rows = [
        [name, tags, *(f"{row[case]['las']:.2f}" for case in CASES), f"{row['changed']:.1f} %"]
        for name, by_tags in graph_use.items()
        for tags, row in by_tags.items()
    ]
    return markdown.table(["run", "tags", "as built", "no graph", "gold arcs", "trees changed by the graph"], rows)


def draw_curves(runs: dict[str, Any]) -> None:
    """Draw the dev LAS of all runs over their steps."""
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


def shipped_card(card: str, config: Config, before: dict[str, Any], scores: dict[str, Any]) -> str:
    """The card of a run, changed to that of the shipped model; `before` is the run that it went on from."""
    _, about, facts = card.split("\n\n", 2)
    about = about.replace("A dependency parser", "A dependency parser of English").replace(" --model DIR", "")
    if config.model.graph_input:
        about += f"\nThe graph is encoded again when the best action is less probable than {SHIPPED_ADAPTIVE};"
        about += " `--reencode exact`\ndoes it always."
    table, made = facts[: facts.index("Scores on")], facts[facts.index("Made by") :]
    for name in (".weights/e5-small:", f"that of runs/english/sent-{config.train.seed}:"):
        table = table.replace(name, "E5-small (MIT), as `experiments/encoders.py e5-small` fetches it:")
    table = table.replace("english/watched.conllu", f"every {WATCHED_EVERY}th sentence of en_ewt/dev.conllu")
    if "--start" in made:
        table = table.replace(" minutes |", f" minutes, after {before['seconds'] / 60:.1f} minutes as SentTr |")
        made = made.replace("```\n", f"```\n{before['command']}\n", 1)
        if "--time-limit 85m" not in before["command"]:
            made += "The first was planned with `--time-limit 85m`; it was held up, and resumed with a later end.\n"
    return f"{shipped_front_matter(scores)}# en\n\n{about}\n\n{table}{made}\n{shipped_tables(scores)}"


def shipped_front_matter(scores: dict[str, Any]) -> str:
    """What the hub reads of the card: the scores on gold words with gold UPOS."""
    gold = {split: scores[split]["gold"] for split in ("dev", "test")}
    return front_matter(name="en", licence="CC BY-SA 4.0", treebank=UdTreebank("en_ewt", "en"), scores=gold)


def shipped_tables(scores: dict[str, Any]) -> str:
    """The scores of the files as they are shipped."""
    splits = {split: scores[split] for split in ("dev", "test")}
    parsing = [[split, *(uas_las(row[tags]) for tags in TAGS), uas_las(row["raw"])] for split, row in splits.items()]
    names = ("Tokens", "Sentences", "Words", "UPOS", "XPOS", "Lemmas")
    words = [[split, *(f"{row['raw'][name]:.2f}" for name in names)] for split, row in splits.items()]
    return (
        "Scores of these files, weights in half precision (UAS / LAS, official scorer; raw text: F1):\n\n"
        + markdown.table(["split", "gold UPOS", "predicted tags", "no tags", "raw text"], parsing)
        + "\nWords, sentences, tags and lemmas are found by text.udpipe, a UDPipe 1 model of the same treebank:\n\n"
        + markdown.table(["split", *names], words)
    )


def uas_las(scores: dict[str, float] | None) -> str:
    """A cell with both scores, empty without them."""
    found = {name.lower(): value for name, value in scores.items()} if scores else {}
    return f"{found['uas']:.2f} / {found['las']:.2f}" if found else ""

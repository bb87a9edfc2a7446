"""Checks that a rebuilt parser still gives the trees, losses and weights of commit 15cd585, bit for bit.

    python experiments/golden_trees.py [--quick] [--only 'en-*' train-sent …] [--cache DIR] [--old DIR] [--new DIR]

Another machine may round differently, so no trees are stored: 15cd585 and the new code both run here, each command in a
process of its own, on one thread, in fp32 but for `en-int8`. 15cd585 comes out of git into a temporary directory. With --cache
its results are kept, and the next run takes only the new code's time.

    en-*       the shipped model on sentences of English-EWT: each way to parse
    train-*    a tiny model trained for some fifty steps: losses, final weights, trees
    load-*     a model directory written by 15cd585: its trees, their probabilities, the best three of a beam
    resume-*   a run that 15cd585 began and that was killed half way: final weights as if it had never stopped
    control-*  the same, resumed by 15cd585 itself

Exits with 1 if anything differs. Without ../shared/treebanks (or G2G_TREEBANKS) it makes up its sentences. Training with stale
weights of 0 is left out: since commit 1417d58 its last layer computes the focus words only, and draws dropout for those alone.
"""

import argparse
import hashlib
import importlib.metadata
import io
import json
import os
import platform
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from safetensors.numpy import load_file

ROOT = Path(__file__).resolve().parent.parent
TREEBANKS = Path(os.environ.get("G2G_TREEBANKS", ROOT.parent / "shared" / "treebanks"))
TREEBANK = TREEBANKS / "en_ewt" / "dev.conllu"
TOY = ROOT / "tests" / "data" / "toy.conllu"
WEIGHTS = ROOT / ".weights"
REFERENCE = "15cd585"

# What a side calls an option or a setting, where 15cd585 has another name for it, as in {"--output": "-f"}. The commands below
# are in the words of 15cd585, and leave out what is the default on both sides, such as the format.
SPELLINGS: dict[str, dict[str, str]] = {"old": {}, "new": {}}

N_DEV, N_QUICK, N_FEW = 300, 15, 20  # sentences: of the shipped model, with --quick, of its slowest checks
N_TRAIN, N_SMALL = 240, 24  # sentences of the tiny models: to train on; to score and parse
LENGTHS = range(1, 16)  # words of those that are real
N_GENERATED = 300

SHIPPED: dict[str, tuple[str, Sequence[str]]] = {  # the input and the options
    "en-exact": ("dev.conllu", ["--reencode", "exact"]),
    "en-adaptive": ("dev.conllu", ["--reencode", "adaptive"]),
    "en-beam": ("dev.conllu", ["--beam", "4", "--nbest", "4"]),
    "en-beam-exact": ("few.conllu", ["--beam", "4", "--nbest", "4", "--reencode", "exact"]),
    "en-int8": ("dev.conllu", ["--precision", "int8"]),
    "en-given-arcs": ("given.conllu", ["--keep-arcs"]),
    "en-probabilities": ("dev.conllu", ["--probabilities"]),
    "en-raw-text": ("dev.txt", ["--ranges"]),
    "en-no-tags": ("dev.conllu", ["--tags", "none"]),
    "en-predicted-tags": ("dev.conllu", ["--tags", "predict"]),
    "en-workers": ("few.conllu", ["--workers", "2"]),
}


class Recipe(NamedTuple):
    """How a tiny model is trained."""

    variant: str
    settings: Mapping[str, object]
    encoder: str | None = None  # a directory in .weights


TINY = {"width": 24, "layers": 2, "heads": 2, "inner_width": 48, "vocab_size": 600}
COMMON: dict[str, object] = {"train.epochs": 1, "train.batch_pieces": 200, "train.scratch_learning_rate": 5e-3}
SCRATCH: dict[str, object] = COMMON | {f"model.encoder.{name}": value for name, value in TINY.items()}
PRETRAINED: dict[str, object] = COMMON | {"model.encoder.layers": 2, "train.batch_pieces": 600}
VARIANTS = {
    "state": Recipe("state", SCRATCH),
    "state-cls": Recipe("state-cls", SCRATCH),
    "state-g2g": Recipe("state-g2g", SCRATCH),
    "state-g2cls": Recipe("state-g2cls", SCRATCH),
    "state-g2g-c": Recipe("state-g2g-c", SCRATCH),
    "sent": Recipe("sent", SCRATCH | {"train.batch_pieces": 40}),  # it encodes each sentence once: as many steps
    "sent-g2g": Recipe("sent-g2g", SCRATCH),
}
EXTRAS = {  # what is off by default, and pretrained encoders
    "sent-options": Recipe(
        "sent-g2g",
        SCRATCH
        | {"model.labelled_relations": True, "model.tagger": True, "data.swap": "lazy", "data.tags": "xpos"}
        | {"train.word_dropout": 0.1, "train.states": 1, "train.batch_pieces": 50},
    ),
    "state-options": Recipe(
        "state-g2g-c",
        SCRATCH
        | {"model.labelled_relations": True, "model.separate_positions": True, "model.composition_skip": False}
        | {"data.tags": "none", "train.states": 0, "train.batch_pieces": 800, "train.one_optimiser": True},
    ),
    "minilm-l6": Recipe("sent-g2g", PRETRAINED, "minilm-l6"),
    "mpnet-base": Recipe("state-g2g", PRETRAINED | {"model.encoder.layers": 1}, "mpnet-base"),
}
RESUMED = ("sent-g2g", "state-g2g-c")
QUICK = ["train-sent-g2g", "train-state-g2g-c", "load-state-g2g-c"]
QUICK += ["en-exact", "en-beam", "en-given-arcs", "en-raw-text"]


# ---------------------------------------------------------------------- the two sides


class Failed(Exception):
    """A command of one of the sides went wrong."""


@dataclass(frozen=True)
class Side:
    """The old or the new code, used through its command line alone."""

    name: str
    tree: Path  # a checkout, or at least its src

    def start(self, *arguments: object) -> subprocess.Popen[str]:
        """Start a command, on one thread and without a network."""
        alone = {
            "PYTHONPATH": str(self.tree / "src"),
            "OMP_NUM_THREADS": "1",
            "G2G_PRECISION": "fp32",
            "HF_HUB_OFFLINE": "1",
        }
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "graph2graph", *(self._spelt(str(argument)) for argument in arguments)],
            env=os.environ | alone,
            cwd=self.tree,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def g2g(self, *arguments: object) -> None:
        """Run a command to its end."""
        process = self.start(*arguments)
        _, complaint = process.communicate()
        if process.returncode:
            last = (complaint.strip().splitlines() or ["no message"])[-1]
            raise Failed(f"{self.name} side: g2g {arguments[0]} ended with {process.returncode}: {last}")

    def check(self) -> None:
        """Make sure that the code that runs is the one in the tree."""
        command = [sys.executable, "-P", "-c", "import graph2graph; print(graph2graph.__file__)"]
        environment = os.environ | {"PYTHONPATH": str(self.tree / "src")}
        found = Path(subprocess.check_output(command, env=environment, text=True).strip()).resolve()
        if not found.is_relative_to(self.tree.resolve()):
            sys.exit(f"golden_trees: {self.tree} has no graph2graph of its own; {found} would run")

    def _spelt(self, argument: str) -> str:
        name, *value = argument.split("=", 1)
        return "=".join([SPELLINGS[self.name].get(name, name), *value])


def unpacked(target: Path) -> Path:
    """The package as of 15cd585, taken out of git; unlike a worktree it leaves no trace there."""
    done = subprocess.run(["git", "-C", str(ROOT), "archive", REFERENCE, "src"], capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"golden_trees: {REFERENCE} is not in this clone; give a checkout of it with --old")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(target, filter="data")
    return target


def checked_out(tree: Path) -> Path:
    """A directory given with --old, if its package is that of 15cd585."""
    command = ["git", "-C", str(tree), "diff", "--quiet", REFERENCE, "--", "src"]
    if subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode:
        sys.exit(f"golden_trees: {tree}/src is not that of {REFERENCE}")
    return tree


class Bench:
    """Runs each task once on a side and keeps what it leaves; what the old side left may come from the cache."""

    def __init__(self, inputs: Path, new: Path, old: Path | None, work: Path, cache: Path) -> None:
        self.inputs, self.new_tree, self.old_tree, self.work = inputs, new, old, work
        self.results = {"old": cache, "new": work / "new"}
        self.seconds: dict[tuple[str, str], float] = {}  # CPU time of what ran now

    @cached_property
    def old(self) -> Side:
        """15cd585, unpacked only when something must be run on it."""
        side = Side("old", self.old_tree or unpacked(self.work / REFERENCE))
        side.check()
        return side

    @cached_property
    def new(self) -> Side:
        """The code under test."""
        side = Side("new", self.new_tree)
        side.check()
        return side

    def result(self, task: "Task", name: str) -> Path:
        """The directory with what a task leaves on a side."""
        target = self.results[name] / task.name
        if target.exists():
            return target
        side = self.old if name == "old" else self.new
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".part-") as part:
            begin = cpu_seconds()
            directory = Path(part) / "result"
            directory.mkdir()
            task.make(side, directory, self)
            self.seconds[task.name, name] = cpu_seconds() - begin
            if not target.exists():  # another run may share the cache
                directory.rename(target)
        return target


def cpu_seconds() -> float:
    """The CPU time of all commands so far; a busy machine hardly changes it."""
    times = os.times()
    return times.children_user + times.children_system


# ---------------------------------------------------------------------- what is run


class Task(Protocol):
    """Something to do on either side."""

    @property
    def name(self) -> str:
        """A directory of this name has what it leaves."""

    def make(self, side: Side, output: Path, bench: Bench) -> None:
        """Do it."""


@dataclass(frozen=True)
class ParseShipped:
    """The shipped model on an input, with options."""

    name: str
    given: str
    options: Sequence[str]

    def make(self, side: Side, output: Path, bench: Bench) -> None:
        """Parse."""
        side.g2g("parse", "--model", "en", bench.inputs / self.given, *self.options, "-o", output / "trees.conllu")


@dataclass(frozen=True)
class Train:
    """A tiny model, trained from the start to the end; and its trees."""

    name: str
    recipe: Recipe
    more: Mapping[str, object] = field(default_factory=dict)

    def arguments(self, model: Path, bench: Bench) -> list[object]:
        """The command that trains it."""
        files = [bench.inputs / "train.conllu", bench.inputs / "small.conllu"]
        settings = {**self.recipe.settings, **self.more}
        words = [word for key, value in settings.items() for word in ("--set", f"{key}={json.dumps(value)}")]
        encoder = [] if self.recipe.encoder is None else ["--encoder", WEIGHTS / self.recipe.encoder]
        return ["train", *files, "-o", model, "--model", self.recipe.variant, *encoder, *words]

    def make(self, side: Side, output: Path, bench: Bench) -> None:
        """Train and parse."""
        side.g2g(*self.arguments(output / "model", bench))
        parse_small(side, output / "model", output / "trees.conllu", bench)


@dataclass(frozen=True)
class Load:
    """A model that 15cd585 trained: its greedy trees and those of a beam."""

    name: str
    trained: Train

    def make(self, side: Side, output: Path, bench: Bench) -> None:
        """Parse twice."""
        model = bench.result(self.trained, "old") / "model"
        parse_small(side, model, output / "trees.conllu", bench)
        parse_small(side, model, output / "beam.conllu", bench, "--beam", "3", "--nbest", "3")


@dataclass(frozen=True)
class Half:
    """A run that is killed as soon as it has a checkpoint of its second half."""

    name: str
    whole: Train

    def make(self, side: Side, output: Path, bench: Bench) -> None:
        """Begin it and kill it."""
        model, result = output / "model", bench.result(self.whole, "old") / "model" / "run.json"
        n_steps, best_step = (json.loads(result.read_text())[key] for key in ("steps", "best_step"))
        if best_step != n_steps:
            raise Failed(
                f"{self.whole.name}: its best weights, which are kept, are not its last; choose other settings"
            )
        process = side.start(*self.whole.arguments(model, bench))
        while process.poll() is None and last_checkpoint(model) < n_steps / 2:
            time.sleep(0.002)
        process.kill()
        process.communicate()
        if not (model / "checkpoints").is_dir():
            raise Failed(f"{side.name} side: {self.name} was over before it could be killed")


@dataclass(frozen=True)
class Resume:
    """The rest of a run that 15cd585 began."""

    name: str
    half: Half

    def make(self, side: Side, output: Path, bench: Bench) -> None:
        """Go on to the end."""
        shutil.copytree(bench.result(self.half, "old") / "model", output / "model")
        side.g2g(*self.half.whole.arguments(output / "model", bench), "--resume")
        parse_small(side, output / "model", output / "trees.conllu", bench)


def parse_small(side: Side, model: Path, output: Path, bench: Bench, *options: str) -> None:
    """Parse the small file with all re-encoding; without other options with probabilities, which tell more than trees."""
    given = bench.inputs / "small.conllu"
    side.g2g("parse", "--model", model, given, "--reencode", "exact", *(options or ["--probabilities"]), "-o", output)


def last_checkpoint(model: Path) -> int:
    """The step of a run's last checkpoint; 0 without any."""
    return max((int(path.stem.split("-")[1]) for path in model.glob("checkpoints/step-*.safetensors")), default=0)


class Check(NamedTuple):
    """Two results that must be the same: what a task gives on the old side, and the same or another on the new one."""

    name: str
    expected: Task
    found: Task
    side: str = "new"  # where the second is made


def all_checks() -> Iterator[Check]:
    """Every check."""
    for name, recipe in (VARIANTS | EXTRAS).items():
        if recipe.encoder is None or (WEIGHTS / recipe.encoder).is_dir():
            trained = Train(f"train-{name}", recipe)
            yield Check(trained.name, trained, trained)
            if name in VARIANTS:
                loaded = Load(f"load-{name}", trained)
                yield Check(loaded.name, loaded, loaded)
    for name in RESUMED:
        whole = Train(f"whole-{name}", VARIANTS[name], {"train.epochs": 2, "train.checkpoint_steps": 10})
        resumed = Resume(f"resume-{name}", Half(f"half-{name}", whole))
        yield Check(f"control-{name}", whole, resumed, side="old")
        yield Check(f"resume-{name}", whole, resumed)
    for name, (given, options) in SHIPPED.items():
        parsed = ParseShipped(name, given, options)
        yield Check(name, parsed, parsed)


def is_chosen(name: str, only: Sequence[str], quick: bool) -> bool:
    """Whether a check is to run: --only goes before --quick."""
    if only:
        return any(fnmatch(name, pattern) for pattern in only)
    return name in QUICK or not quick


# ---------------------------------------------------------------------- how results are compared


class Comparison(NamedTuple):
    """What was compared in two files, and the first difference."""

    compared: str
    difference: str | None


def compare(expected: Path, found: Path) -> tuple[str, list[str]]:
    """What was compared in the directories of two results, and the first difference of each file."""
    compared, differences = [], []
    for path in sorted(file for file in expected.rglob("*") if file.suffix in COMPARERS):
        name = path.relative_to(expected)
        if not (found / name).exists():
            differences.append(f"{name} is missing")
            continue
        one = COMPARERS[path.suffix](path, found / name)
        compared.append(one.compared)
        if one.difference is not None:
            differences.append(f"{name}: {one.difference}")
    return ", ".join(compared), differences if compared else ["nothing to compare"]


def compare_trees(expected: Path, found: Path) -> Comparison:
    """CoNLL-U must be the same byte for byte."""
    olds, news = blocks(expected), blocks(found)
    different = [number for number, (old, new) in enumerate(zip(olds, news)) if old != new]
    compared = f"{len(olds)} trees"
    if different:
        old, new = olds[different[0]], news[different[0]]
        return Comparison(compared, f"{len(different)} of {len(olds)} differ, first {line_difference(old, new)}")
    if len(olds) != len(news) or expected.read_bytes() != found.read_bytes():
        return Comparison(compared, f"{len(olds)} sentences, now {len(news)}; or other blank lines")
    return Comparison(compared, None)


def line_difference(old: str, new: str) -> str:
    """Where two sentences differ first."""
    olds, news = old.split("\n"), new.split("\n")
    named = [line.partition(" = ")[2] for line in olds if line.startswith("# sent_id")]
    name = named[0] if named else olds[0]
    for before, after in zip(olds, news):
        if before != after:
            pairs = zip(before.split("\t"), after.split("\t"))
            changed = ", ".join(f"{a!r} is now {b!r}" for a, b in pairs if a != b)
            return f"{name}, line {before.split()[0]}: {changed}"
    return f"{name}: {len(olds)} lines, now {len(news)}"


def compare_weights(expected: Path, found: Path) -> Comparison:
    """Every number of every tensor must be the same."""
    olds, news = load_file(expected), load_file(found)
    compared = f"{len(olds)} weights"
    old_shapes, new_shapes = ({(name, x.dtype, x.shape) for name, x in some.items()} for some in (olds, news))
    if old_shapes != new_shapes:
        return Comparison(compared, f"other names or shapes: {sorted(map(str, old_shapes ^ new_shapes))}")
    different = [name for name in olds if olds[name].tobytes() != news[name].tobytes()]
    if not different:
        return Comparison(compared, None)
    gaps = {name: np.abs(olds[name] - news[name]) for name in different}
    worst = max(different, key=lambda name: float(gaps[name].max()))
    index = int(gaps[worst].argmax())
    steps = ulps(*(np.float32(some[worst].flat[index]) for some in (olds, news)))
    gap = f"most by {gaps[worst].flat[index]:.1e} ({steps:,} ulps) in {worst}"
    return Comparison(compared, f"{len(different)} of {len(olds)} differ, the {gap}")


def ulps(old: np.float32, new: np.float32) -> int:
    """How many steps from one float to the next lie between two."""
    ranks = []
    for number in (old, new):
        bits = int(number.view(np.int32))
        ranks.append(bits if bits >= 0 else -(bits & 0x7FFFFFFF))
    return abs(ranks[0] - ranks[1])


def compare_metrics(expected: Path, found: Path) -> Comparison:
    """Losses, rates and scores must be the same; times may differ, and there may be more."""
    olds, news = ([json.loads(line) for line in path.read_text().splitlines()] for path in (expected, found))
    compared = f"{sum('loss' in line for line in olds)} losses"
    for old, new in zip(olds, news):
        for key, value in old.items():
            if key != "seconds" and new.get(key) != value:
                return Comparison(compared, f"step {old['step']}: {key} {value} is now {new.get(key)}")
    return Comparison(compared, None if len(olds) == len(news) else f"{len(olds)} lines, now {len(news)}")


COMPARERS: dict[str, Callable[[Path, Path], Comparison]] = {
    ".jsonl": compare_metrics,
    ".safetensors": compare_weights,
    ".conllu": compare_trees,
}


# ---------------------------------------------------------------------- sentences


def blocks(path: Path) -> list[str]:
    """The sentences of a CoNLL-U file, as they are written."""
    return [block for block in path.read_text(encoding="utf-8").split("\n\n") if block.strip()]


def write_inputs(directory: Path, *, quick: bool) -> None:
    """Write all that is parsed and trained on."""
    made_up = blocks(TOY) + generated(N_GENERATED)
    real = blocks(TREEBANK) if TREEBANK.exists() else made_up
    dev = spread(real, N_QUICK if quick else N_DEV)
    short = [sentence for sentence in real if n_words(sentence) in LENGTHS]
    files = {
        "dev.conllu": dev,
        "few.conllu": spread(dev, N_FEW),
        "given.conllu": [with_third_heads(sentence) for sentence in dev],
        "train.conllu": spread(short, N_TRAIN // 2) + spread(made_up, N_TRAIN // 2),
        "small.conllu": spread(short[1:], N_SMALL // 2) + spread(made_up[1:], N_SMALL // 2),
    }
    directory.mkdir()
    for name, some in files.items():
        (directory / name).write_text("".join(f"{block}\n\n" for block in some), encoding="utf-8")
    (directory / "dev.txt").write_text(paragraphs(dev), encoding="utf-8")


def spread(sentences: Sequence[str], n: int) -> list[str]:
    """So many sentences from all over a list."""
    return [sentences[i * len(sentences) // n] for i in range(n)] if len(sentences) > n else list(sentences)


def n_words(sentence: str) -> int:
    """How many words a sentence has."""
    return sum(line.split("\t")[0].isdigit() for line in sentence.split("\n"))


def with_third_heads(sentence: str) -> str:
    """The sentence with every third of its arcs and no others; some without a label, or with one that no model knows."""
    lines = []
    for line in sentence.split("\n"):
        columns = line.split("\t")
        number = int(columns[0]) if columns[0].isdigit() else 0
        if number % 3:
            columns[6:8] = "_", "_"
        elif number and number % 2 == 0:
            columns[7] = "_"
        elif number and number % 9 == 0 and columns[6] != "0":
            columns[7] = "dep:unheard"
        lines.append("\t".join(columns))
    return "\n".join(lines)


def paragraphs(sentences: Sequence[str], size: int = 5) -> str:
    """The raw text of sentences, in paragraphs."""
    texts = [line[9:] for block in sentences for line in block.split("\n") if line.startswith("# text = ")]
    return "\n\n".join(" ".join(texts[i : i + size]) for i in range(0, len(texts), size)) + "\n"


VERBS = ["sees", "likes", "follows", "paints", "finds", "hears"]
NOUNS = ["dog", "sailor", "garden", "letter", "piano", "child", "river", "song"]
ADJECTIVES = ["old", "quiet", "green", "curious", "long"]
PREPOSITIONS = ["near", "behind", "with", "under"]


Word = tuple[str, str, int, str]  # form, tag, index of the head, label


def generated(n: int) -> list[str]:
    """Sentences of a small grammar; in one of four a phrase comes after the verb that belongs before it, so that arcs cross."""
    rng, sentences = random.Random(1), []
    for number in range(n):
        words: list[Word] = []
        subject = add_noun(words, rng, -1, "nsubj")
        if rng.random() < 0.5:
            add_noun(words, rng, subject, "nmod", rng.choice(PREPOSITIONS))
        verb = len(words)
        words[subject] = (*words[subject][:2], verb, "nsubj")
        words.append((rng.choice(VERBS), "VERB", -1, "root"))
        add_noun(words, rng, verb, "obj")
        if number % 4 == 0:
            add_noun(words, rng, subject, "nmod", rng.choice(PREPOSITIONS))
        words.append((".", "PUNCT", verb, "punct"))
        lines = [f"# sent_id = generated-{number}", f"# text = {' '.join(form for form, *_ in words)}"]
        for index, (form, tag, head, label) in enumerate(words, 1):
            lines.append(f"{index}\t{form}\t_\t{tag}\t{tag}\t_\t{head + 1}\t{label}\t_\t_")
        sentences.append("\n".join(lines))
    return sentences


def add_noun(words: list[Word], rng: random.Random, head: int, label: str, preposition: str = "") -> int:
    """Add a noun with what goes before it; return its index."""
    adjectives = rng.sample(ADJECTIVES, rng.randrange(3))
    noun = len(words) + bool(preposition) + 1 + len(adjectives)
    if preposition:
        words.append((preposition, "ADP", noun, "case"))
    words.append(("the", "DET", noun, "det"))
    words += [(adjective, "ADJ", noun, "amod") for adjective in adjectives]
    words.append((rng.choice(NOUNS), "NOUN", head, label))
    return noun


# ---------------------------------------------------------------------- the command


def cache_key(inputs: Path) -> str:
    """What the old side's results depend on: the processor, torch, the input, and how this script uses them."""
    parts = [cpu(), importlib.metadata.version("torch"), REFERENCE]
    digest = hashlib.sha256("\n".join(parts).encode())
    for path in [Path(__file__), *sorted(inputs.iterdir())]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def cpu() -> str:
    """The model of the processor and what it can do."""
    try:
        first = Path("/proc/cpuinfo").read_text().split("\n\n")[0]
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    known = ("vendor_id", "model", "cpu family", "stepping", "flags", "CPU", "Features")
    return "\n".join(line for line in first.splitlines() if line.startswith(known))


def run(check: Check, bench: Bench) -> bool:
    """Run a check, print its line, and say whether all is the same."""
    try:
        expected = bench.result(check.expected, "old")
        found = bench.result(check.found, check.side)
        compared, differences = compare(expected, found)
    except Failed as failure:
        compared, differences = "", [str(failure)]
    times = [bench.seconds.get(key) for key in ((check.expected.name, "old"), (check.found.name, check.side))]
    shown = "".join(f"{'cached' if seconds is None else f'{seconds:.1f} s':>9}" for seconds in times)
    verdict = "DIFFERENT" if differences else "same"
    print(f"{check.name:20}{shown}  {verdict}: {compared}", *differences, sep="\n    ", flush=True)
    return not differences


def note_what_is_missing() -> None:
    """A line for each thing that is not there."""
    if not TREEBANK.exists():
        print(f"skipped: English-EWT, since {TREEBANK} is not there; toy and generated sentences are used instead")
    wanted = {recipe.encoder for recipe in EXTRAS.values() if recipe.encoder is not None}
    if missing := sorted(name for name in wanted if not (WEIGHTS / name).is_dir()):
        print(f"skipped: models on {' and '.join(missing)}, since .weights has no such encoder (make weights)")


def arguments() -> argparse.Namespace:
    """The options of the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few checks on fewer sentences: a minute and a half")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help="these checks; 'en-*' is all that begin so"
    )
    parser.add_argument("--cache", type=Path, metavar="DIR", help="keep here what the old side gave")
    parser.add_argument("--old", type=Path, metavar="DIR", help=f"a checkout of {REFERENCE}")
    parser.add_argument(
        "--new", type=Path, metavar="DIR", default=ROOT, help="the code to check; default: this repository"
    )
    parser.add_argument("--list", action="store_true", help="print the names of the checks")
    return parser.parse_args()


def main() -> None:
    """Run the checks and print a table."""
    given = arguments()
    checks = [check for check in all_checks() if is_chosen(check.name, given.only, given.quick)]
    if given.list or not checks:
        print("\n".join(check.name for check in checks) or "golden_trees: no check has such a name; --list has all")
        sys.exit(not checks)
    old = None if given.old is None else checked_out(given.old.resolve())
    note_what_is_missing()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="golden-") as directory:
        work = Path(directory)
        write_inputs(work / "inputs", quick=given.quick)
        cache = work / "old" if given.cache is None else given.cache.resolve() / cache_key(work / "inputs")
        bench = Bench(work / "inputs", given.new.resolve(), old, work, cache)
        print(f"{'check':20}{'old':>9}{'new':>9}  (CPU time)")
        same = [run(check, bench) for check in checks]
    times = f"{time.monotonic() - begin:.0f} s, {cpu_seconds():.0f} s of CPU time"
    print(f"{sum(same)} of {len(same)} checks give what {REFERENCE} gives; {times}")
    sys.exit(not all(same))


if __name__ == "__main__":
    main()

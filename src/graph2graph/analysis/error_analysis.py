"""Error analysis: the counts behind the paper's Figure 3, Table 3 and Appendix Tables 10 to 15.

Arcs are binned as by McDonald & Nivre (2011) and MaltEval. A bin's recall is the share of its gold arcs that the system found;
its precision, the share of the system's arcs in it that are right. An arc is right if its head and label are. For bins of
sentences by length, the recall is LAS.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from graph2graph.treebank.sentence import UPOS, XPOS, Sentence

LAST = 10  # the bin of arcs of this length or distance and more
ARC_BINS = ("ROOT", *map(str, range(1, LAST)), f"≥{LAST}")
SENTENCE_BINS = ("1–9", "10–19", "20–29", "30–39", "40–49", "≥50")
# The tables of bins and the bins that they always show.
BINS = {
    "dependency_length": ARC_BINS,
    "distance_to_root": ARC_BINS,
    "dependency_type": (),
    "projectivity": ("projective", "non-projective"),
    "sentence_length": SENTENCE_BINS,
}


@dataclass
class Bin:
    """The number of gold arcs in one bin and of the system's arcs in it, and how many of each are right."""

    gold: int = 0
    found: int = 0  # gold arcs that the system found
    system: int = 0
    right: int = 0  # arcs of the system that are right

    @property
    def recall(self) -> float:
        """The share of the gold arcs that the system found, in percent."""
        return 100 * self.found / self.gold if self.gold else 0.0

    @property
    def precision(self) -> float:
        """The share of the system's arcs that are right, in percent."""
        return 100 * self.right / self.system if self.system else 0.0

    @property
    def f(self) -> float:
        """The harmonic mean of recall and precision."""
        total = self.recall + self.precision
        return 2 * self.recall * self.precision / total if total else 0.0


@dataclass(frozen=True)
class Pattern:
    """A kind of error: the labels, the tags of the dependent and of both heads, and the position of the wrong head."""

    gold_label: str
    system_label: str
    tag: str
    gold_head: str  # tag, or ROOT
    system_head: str
    heads: str  # "correct", or where the system's head is from the gold head: "left of it", "right of it"


@dataclass
class ErrorCounts:
    """The counts of one system."""

    bins: dict[str, dict[str, Bin]] = field(
        default_factory=lambda: {table: {name: Bin() for name in names} for table, names in BINS.items()}
    )
    # How often words whose head is right have these gold and system labels.
    confusion: Counter[tuple[str, str]] = field(default_factory=Counter)
    patterns: Counter[Pattern] = field(default_factory=Counter)
    # The first word of each pattern with its heads, and its sentence.
    examples: dict[Pattern, tuple[str, str]] = field(default_factory=dict)


def count_errors(gold: Sequence[Sentence], system: Sequence[Sentence]) -> ErrorCounts:
    """Count the errors of a system; labels are compared without their subtypes."""
    counted = ErrorCounts()
    for gold_sentence, system_sentence in zip(gold, system, strict=True):
        _count(counted, gold_sentence, system_sentence)
    return counted


def rer(score: float, reference: float) -> float | None:
    """Relative error reduction against a reference, in percent; None if the reference is 100."""
    return 100 * (score - reference) / (100 - reference) if reference < 100 else None


def _count(counted: ErrorCounts, gold: Sentence, system: Sentence) -> None:
    gold_heads, heads = gold.tree, system.tree
    gold_labels, labels = ([label.partition(":")[0] for label in one.deprels] for one in (gold, system))
    is_right = [pair == other for pair, other in zip(zip(gold_heads, gold_labels), zip(heads, labels))]
    gold_bins, bins = _bins(gold_heads, gold_labels), _bins(heads, labels)
    for table, of_table in counted.bins.items():
        for gold_name, name, right in zip(gold_bins[table], bins[table], is_right, strict=True):
            gold_bin, system_bin = of_table.setdefault(gold_name, Bin()), of_table.setdefault(name, Bin())
            gold_bin.gold += 1
            gold_bin.found += right
            system_bin.system += 1
            system_bin.right += right
    for word, right in enumerate(is_right):
        if gold_heads[word] == heads[word]:
            counted.confusion[gold_labels[word], labels[word]] += 1
        if not right:
            pattern = _pattern(gold, gold_heads[word], heads[word], word, (gold_labels[word], labels[word]))
            counted.patterns[pattern] += 1
            if pattern not in counted.examples:
                forms = ["ROOT", *gold.forms]
                example = f"{forms[word + 1]}: {forms[gold_heads[word]]} → {forms[heads[word]]}"
                sentence = f"{gold.text} ({gold.sent_id})" if gold.sent_id else gold.text
                counted.examples[pattern] = (example, sentence)


def _bins(heads: Sequence[int], labels: Sequence[str]) -> dict[str, Sequence[str]]:
    """The bin of each arc in every table; arcs from ROOT have their own bin of length and of distance."""
    words = range(1, len(heads) + 1)
    return {
        "dependency_length": [_bin(abs(head - word) if head else 0) for word, head in zip(words, heads, strict=True)],
        "distance_to_root": [_bin(len(list(_ancestors(heads, word))) - 1) for word in words],
        "dependency_type": labels,
        "projectivity": ["projective" if _is_projective(heads, word) else "non-projective" for word in words],
        "sentence_length": [SENTENCE_BINS[min(len(heads) // 10, len(SENTENCE_BINS) - 1)]] * len(heads),
    }


def _bin(number: int) -> str:
    return ARC_BINS[min(number, LAST)]


def _is_projective(heads: Sequence[int], word: int) -> bool:
    """Whether the word's head is an ancestor of all words between them."""
    head = heads[word - 1]
    return all(head in _ancestors(heads, inner) for inner in range(min(head, word) + 1, max(head, word)))


def _ancestors(heads: Sequence[int], word: int) -> Iterator[int]:
    while word:
        word = heads[word - 1]
        yield word


def _pattern(gold: Sentence, gold_head: int, head: int, word: int, labels: tuple[str, str]) -> Pattern:
    side = "correct" if head == gold_head else "left of it" if head < gold_head else "right of it"
    universal = gold.column(UPOS)
    has_universal = any(tag != "_" for tag in universal)  # the Penn Treebank has none
    tags = ["ROOT", *(universal if has_universal else gold.column(XPOS))]
    return Pattern(*labels, tags[word + 1], tags[gold_head], tags[head], side)

"""Error analysis: the counts behind the paper's Figure 3, Table 3 and Appendix Tables 10 to 15.

Arcs are binned by dependency length, by distance to root, by label and by projectivity (McDonald & Nivre 2011, MaltEval). The
recall of a bin is the share of right arcs among those that the gold tree puts there; its precision, the share among those that
the system's tree puts there. An arc is right if its head and label are. Sentences are binned by length and have a LAS.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from graph2graph.treebank.sentence import UPOS, XPOS, Sentence

LAST = 10  # arcs of this length or distance, and longer ones, share a bin
ARC_BINS = ("ROOT", *map(str, range(1, LAST)), f"≥{LAST}")
SENTENCE_BINS = ("1–9", "10–19", "20–29", "30–39", "40–49", "≥50")


@dataclass
class Bin:
    """The arcs of the gold trees and of the system's trees in one bin, and how many of each are right."""

    gold: int = 0
    found: int = 0  # of the gold ones
    system: int = 0
    right: int = 0  # of the system's

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
    """A kind of error: labels, tags of the dependent and of the two heads, and the side of the wrong head."""

    gold_label: str
    system_label: str
    tag: str
    gold_head: str  # tag, or ROOT
    system_head: str
    heads: str  # "correct", or the side of the system's head from the gold one: "left of it", "right of it"


@dataclass(frozen=True)
class ErrorExample:
    """One wrongly parsed word."""

    sent_id: str
    text: str
    word: str
    gold_head: str
    system_head: str


@dataclass
class ErrorCounts:
    """The counts of one system."""

    by_length: dict[str, Bin] = field(default_factory=lambda: {name: Bin() for name in ARC_BINS})
    by_distance: dict[str, Bin] = field(default_factory=lambda: {name: Bin() for name in ARC_BINS})
    by_label: dict[str, Bin] = field(default_factory=dict)
    by_projectivity: dict[str, Bin] = field(
        default_factory=lambda: {name: Bin() for name in ("projective", "non-projective")}
    )
    by_sentence_length: dict[str, Bin] = field(default_factory=lambda: {name: Bin() for name in SENTENCE_BINS})
    confusion: Counter[tuple[str, str]] = field(default_factory=Counter)  # gold and system label of right heads
    patterns: Counter[Pattern] = field(default_factory=Counter)
    examples: dict[Pattern, ErrorExample] = field(default_factory=dict)  # the first of each


def count_errors(gold: Sequence[Sentence], system: Sequence[Sentence]) -> ErrorCounts:
    """Count the errors of a system; labels are compared without their subtypes."""
    counted = ErrorCounts()
    for gold_sentence, system_sentence in zip(gold, system, strict=True):
        _count(counted, gold_sentence, system_sentence)
    counted.by_label = dict(sorted(counted.by_label.items()))
    return counted


def rer(score: float, reference: float) -> float | None:
    """Relative error reduction against a reference, in percent; negative if the score is worse, None if the reference is 100.

    >>> rer(95, 90), rer(90, 100)
    (50.0, None)
    """
    return 100 * (score - reference) / (100 - reference) if reference < 100 else None


def _count(counted: ErrorCounts, gold: Sentence, system: Sentence) -> None:
    gold_heads, heads = gold.tree, system.tree
    gold_labels, labels = ([label.partition(":")[0] for label in one.deprels] for one in (gold, system))
    is_right = [pair == other for pair, other in zip(zip(gold_heads, gold_labels), zip(heads, labels))]
    _add(counted.by_length, _lengths(gold_heads), _lengths(heads), is_right)
    _add(counted.by_distance, _distances(gold_heads), _distances(heads), is_right)
    _add(counted.by_projectivity, _projectivity(gold_heads), _projectivity(heads), is_right)
    _add(counted.by_label, gold_labels, labels, is_right)
    length = [SENTENCE_BINS[min(len(gold) // 10, len(SENTENCE_BINS) - 1)]] * len(gold)
    _add(counted.by_sentence_length, length, length, is_right)
    for word, right in enumerate(is_right):
        if gold_heads[word] == heads[word]:
            counted.confusion[gold_labels[word], labels[word]] += 1
        if not right:
            pattern = _pattern(gold, gold_heads[word], heads[word], word, (gold_labels[word], labels[word]))
            counted.patterns[pattern] += 1
            if pattern not in counted.examples:
                gold_form, form = _form(gold, gold_heads[word]), _form(gold, heads[word])
                example = ErrorExample(gold.sent_id or "", gold.text, gold.forms[word], gold_form, form)
                counted.examples[pattern] = example


def _add(bins: dict[str, Bin], gold: Sequence[str], system: Sequence[str], is_right: Sequence[bool]) -> None:
    """Count each arc in the bin that the gold tree gives it and in the one that the system's tree gives it."""
    for gold_name, name, right in zip(gold, system, is_right, strict=True):
        of_gold, of_system = bins.setdefault(gold_name, Bin()), bins.setdefault(name, Bin())
        of_gold.gold += 1
        of_gold.found += right
        of_system.system += 1
        of_system.right += right


def _lengths(heads: Sequence[int]) -> list[str]:
    """The bin of each arc by its length; arcs from ROOT have a separate bin."""
    return [_bin(abs(head - word) if head else 0) for word, head in enumerate(heads, 1)]


def _distances(heads: Sequence[int]) -> list[str]:
    """The bin of each arc by the number of arcs from its dependent up to the root word."""
    depth = [-1] * (len(heads) + 1)
    for word in range(1, len(heads) + 1):
        path = []
        node = word
        while node and depth[node] < 0:
            path.append(node)
            node = heads[node - 1]
        base = depth[node] if node else -1
        for steps, below in enumerate(reversed(path), 1):
            depth[below] = base + steps
    return [_bin(distance) for distance in depth[1:]]


def _bin(number: int) -> str:
    return ARC_BINS[min(number, LAST)]


def _projectivity(heads: Sequence[int]) -> list[str]:
    """Whether each arc is projective, that is, whether its head dominates all words between its ends."""
    return ["projective" if _is_projective(heads, word) else "non-projective" for word in range(1, len(heads) + 1)]


def _is_projective(heads: Sequence[int], word: int) -> bool:
    head = heads[word - 1]
    return all(head in _ancestors(heads, between) for between in range(min(head, word) + 1, max(head, word)))


def _ancestors(heads: Sequence[int], word: int) -> Iterator[int]:
    while word:
        word = heads[word - 1]
        yield word


def _pattern(gold: Sentence, gold_head: int, head: int, word: int, labels: tuple[str, str]) -> Pattern:
    side = "correct" if head == gold_head else "left of it" if head < gold_head else "right of it"
    tags = _tags(gold)
    gold_tag, tag = ("ROOT" if h == 0 else tags[h - 1] for h in (gold_head, head))
    return Pattern(labels[0], labels[1], tags[word], gold_tag, tag, side)


def _tags(sentence: Sentence) -> list[str]:
    """The universal tags, or the treebank's own where there are none, as in the Penn Treebank."""
    tags = sentence.column(UPOS)
    return list(tags if any(tag != "_" for tag in tags) else sentence.column(XPOS))


def _form(sentence: Sentence, node: int) -> str:
    return sentence.forms[node - 1] if node else "ROOT"

"""Trees and CoNLL-U files at random, for the laws."""

import random
from dataclasses import dataclass

from hypothesis import strategies as st

from graph2graph.treebank.sentence import Sentence

LABELS = ["nsubj", "obj", "obl", "nmod:poss", "nmod", "punct"]


def random_tree(n_words: int, rng: random.Random, *, reach: int = 10**9) -> list[int]:
    """Any tree: words are attached in a random order, each to one of the last `reach` attached before it."""
    words = rng.sample(range(1, n_words + 1), n_words)
    heads = [0] * n_words
    for i, word in enumerate(words[1:], 1):
        heads[word - 1] = words[rng.randrange(max(0, i - reach), i)]
    return heads


def random_projective_tree(n_words: int, rng: random.Random) -> list[int]:
    """Any projective tree: a span has its head somewhere inside, and the spans left and right of it hang on that."""
    heads = [0] * n_words
    spans = [(1, n_words + 1, 0)]
    while spans:
        start, end, outer = spans.pop()
        if start < end:
            head = rng.randrange(start, end)
            heads[head - 1] = outer
            # Each side in up to two parts, so that a word can have several dependents there.
            left, right = rng.randrange(start, head + 1), rng.randrange(head + 1, end + 1)
            spans += [(start, left, head), (left, head, head), (head + 1, right, head), (right, end, head)]
    return heads


def reattached(heads: list[int], n_changes: int, rng: random.Random) -> list[int]:
    """The same tree with some leaves hung on other words: mildly non-projective."""
    heads = heads.copy()
    for _ in range(n_changes):
        leaves = sorted(set(range(1, len(heads) + 1)) - set(heads))
        leaf = rng.choice([word for word in leaves if heads[word - 1] != 0])
        heads[leaf - 1] = rng.choice([word for word in range(1, len(heads) + 1) if word != leaf])
    return heads


def trees(*, min_size: int = 1, max_size: int = 14) -> st.SearchStrategy[list[int]]:
    """The heads of words 1..n of any tree with one root, as a rule non-projective."""

    @st.composite
    def build(draw: st.DrawFn) -> list[int]:
        words = draw(st.permutations(range(1, draw(st.integers(min_size, max_size)) + 1)))
        heads = [0] * len(words)
        for i, word in enumerate(words[1:], 1):
            heads[word - 1] = words[draw(st.integers(0, i - 1))]
        return heads

    return build()


@dataclass
class File:
    """A CoNLL-U file, and what a reader must find in it."""

    text: str
    rows: list[list[list[str]]]
    heads: list[list[int | None]]


# All of Unicode but tab and line feed, which have a meaning, and with much of what other readers take for line ends.
# Not the carriage return: before a line feed it would be a part of the line end.
_cell = st.text(
    st.one_of(
        st.sampled_from("\u2028\u2029\u0085\x0b\x0c\x1c\x1d\x1e\x00\ufeff\u200f\u00a0 #|=_-.é漢😀"),
        st.characters(exclude_characters="\t\n\r", exclude_categories=["Cs"]),
    ),
    min_size=1,
    max_size=4,
)


@st.composite
def sentences(draw: st.DrawFn) -> tuple[list[str], list[list[str]], list[int | None]]:
    """The lines of a sentence without line ends, the columns of its words, and its heads."""
    lines = ["#" + comment for comment in draw(st.lists(st.one_of(_cell, st.just(" sent_id = 1\t2")), max_size=3))]
    tree = draw(trees(max_size=6))
    heads: list[int | None] = [None if hidden else head for head, hidden in zip(tree, draw(_hidden(len(tree))))]
    rows = []
    in_range_until = 0

    def columns(number: str, head: str) -> list[str]:
        cells = [draw(_cell) for _ in range(8)]
        return [number, *cells[:5], head, *cells[5:]]

    def empty_nodes(after: int) -> list[str]:
        return ["\t".join(columns(f"{after}.{i}", "_")) for i in range(1, 1 + draw(st.sampled_from([0, 0, 0, 1, 2])))]

    lines += empty_nodes(0)
    for word, head in enumerate(heads, 1):
        if word > in_range_until and draw(st.sampled_from([False, False, True])):
            in_range_until = draw(st.integers(word, len(heads)))
            lines.append("\t".join(columns(f"{word}-{in_range_until}", "_")))
        rows.append(columns(str(word), "_" if head is None else str(head)))
        lines += ["\t".join(rows[-1]), *empty_nodes(word)]
    return lines, rows, heads


def _hidden(size: int) -> st.SearchStrategy[list[bool]]:
    none, all_of_them = st.just([False] * size), st.just([True] * size)
    return st.one_of(none, all_of_them, st.lists(st.booleans(), min_size=size, max_size=size))


@st.composite
def conllu_files(draw: st.DrawFn) -> File:
    """Any legal file: mark or none, line ends of one kind or both, blank lines anywhere, a last line end or none."""
    file = File(draw(st.sampled_from(["", "", "\ufeff"])), [], [])
    ends = draw(st.sampled_from([["\n"], ["\r\n"], ["\n", "\r\n"]]))

    def end() -> str:
        return draw(st.sampled_from(ends))

    def blank(at_least: int) -> str:
        return "".join(end() for _ in range(draw(st.integers(at_least, at_least + 2))))

    parts = draw(st.lists(sentences(), min_size=1, max_size=4))
    file.text += blank(0)
    for i, (lines, rows, heads) in enumerate(parts):
        if i:
            file.text += blank(1)
        file.text += "".join(line + end() for line in lines)
        file.rows.append(rows)
        file.heads.append(heads)
    at_end = draw(st.sampled_from(["blank", "no blank line", "no line end"]))
    if at_end == "blank":
        file.text += blank(1)
    elif at_end == "no line end":
        file.text = file.text.rstrip("\r\n")
    return file


def perturbed(gold: list[Sentence], seed: int) -> list[Sentence]:
    """Other trees over the same words, with a few errors."""
    rng = random.Random(seed)
    found = []
    for one in gold:
        heads = reattached(one.tree, rng.randrange(4), rng) if len(one) > 3 else one.tree
        labels = [rng.choice(LABELS) if rng.random() < 0.2 else label for label in one.deprels]
        labels = [
            "root" if head == 0 else "dep" if label == "root" else label
            for head, label in zip(heads, labels, strict=True)
        ]
        found.append(one.with_tree(heads, labels))
    return found

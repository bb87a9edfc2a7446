"""Drawings, read back: any tree is drawn with all its words, labels and arcs, as text and as SVG."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph2graph.errors import DataError
from graph2graph.treebank import conllu, drawing
from graph2graph.treebank.sentence import UPOS, XPOS, Sentence
from pictures import HEARING, HEARING_TREE, Heads, Picture, printable
from strategies import random_tree, trees


def sentence_of(heads: Heads, *, forms: Sequence[str] | None = None, deprels: Sequence[str] | None = None) -> Sentence:
    forms = forms or ["x"] * len(heads)
    return Sentence.from_words(forms).with_tree(heads, deprels or ["dep"] * len(heads))


@st.composite
def forests(draw: st.DrawFn) -> list[int | None]:
    """Trees of which some words were cut off: made roots, or left without head."""
    tree = draw(trees(max_size=20))
    fates = draw(st.lists(st.sampled_from(["keep", "keep", "keep", "root", "none"]), min_size=20, max_size=20))
    return [None if fate == "none" else 0 if fate == "root" else head for head, fate in zip(tree, fates, strict=False)]


# All characters that a cell can hold, with many that are hard for XML, terminals and layout.
nasty = st.text(
    st.one_of(
        st.sampled_from("<>&\"'\x00\x1b\x85\u2028\u2029\ufffe\uffff \u00a0\u0301\u200f\u202e漢ｗسש😀i.MW"),
        st.characters(exclude_characters="\t\n\r", exclude_categories=["Cs"]),
    ),
    min_size=1,
    max_size=8,
)


def heads_in(tree: str) -> list[int | None]:
    """The heads of a text tree whose forms are all `x`, read off its lines."""
    rows = [line[: line.index("x") - 1] for line in tree.splitlines() if not line.startswith("#")]
    heads: list[int | None] = []
    for row, branch in enumerate(rows):
        column = len(branch) - 2
        while column >= 0 and branch[column] in "─│┬┴┼":
            column -= 1
        if branch[-1] != "╼":
            heads.append(None)
        elif column < 0:
            heads.append(0)
        else:
            assert branch[column] in "╭╰├"
            steps = {"╭": [1], "╰": [-1], "├": [1, -1]}[branch[column]]
            found = [head for step in steps if (head := follow(rows, row, column, step))]
            assert len(found) == 1
            heads += found
    return heads


def follow(rows: list[str], row: int, column: int, step: int) -> int | None:
    """The head that an upright line leads to, in one direction."""
    while True:
        row += step
        glyph, is_unattached = rows[row][column], rows[row][-1] != "╼"
        if glyph in "┬┴┼" or (glyph in "╭╰├" and is_unattached):
            return row + 1
        if glyph in "╭╰":
            return None
        assert glyph in "│├"


@given(st.data(), forests())
def test_any_sentence_is_a_valid_picture_with_all_its_words_labels_and_arcs(data: st.DataObject, heads: Heads) -> None:
    forms, deprels = (data.draw(st.lists(nasty, min_size=len(heads), max_size=len(heads))) for _ in range(2))
    sentence = sentence_of(heads, forms=forms, deprels=deprels)
    picture = Picture(drawing.svg(sentence))
    assert picture.title == printable(sentence.text)
    assert picture.forms == list(map(printable, forms))
    labels = [printable(label) for head, label in zip(heads, deprels, strict=True) if head is not None and label != "_"]
    assert sorted(picture.labels) == sorted(labels)
    assert len(picture.arcs) + len(picture.root_ends) == len(heads) - heads.count(None)
    picture.assert_tidy()


@given(forests())
def test_picture_shows_the_heads(heads: Heads) -> None:
    wide = "x" * 20
    picture = Picture(drawing.svg(sentence_of(heads, forms=[wide] * len(heads))))
    assert picture.heads() == heads
    mirrored = Picture(drawing.svg(sentence_of(heads, forms=["ש" * 20] * len(heads))))
    assert mirrored.heads() == heads


@given(forests())
def test_text_tree_shows_the_heads(heads: Heads) -> None:
    assert heads_in(drawing.text(sentence_of(heads))) == heads


@given(st.lists(st.tuples(nasty, nasty), min_size=1, max_size=9))
def test_text_tree_has_one_line_a_word_and_nothing_a_terminal_obeys(words: list[tuple[str, str]]) -> None:
    forms, deprels = zip(*words, strict=True)
    tree = drawing.text(sentence_of(range(len(words)), forms=forms, deprels=deprels))
    _, *lines = tree.split("\n")
    assert len(lines) == len(words)
    assert tree.replace("\n", "") == printable(tree.replace("\n", ""))
    for line, form, deprel in zip(lines, forms, deprels, strict=True):
        assert printable(form).rstrip() in line
        assert line.endswith(printable(deprel).rstrip())


def test_hearing() -> None:
    [sentence] = conllu.read(HEARING)
    assert drawing.text(sentence) + "\n" == HEARING_TREE
    picture = Picture(drawing.svg(sentence))
    picture.assert_tidy()
    assert picture.title == "A hearing is scheduled on the issue today."
    assert picture.forms == sentence.forms
    assert picture.tags == sentence.column(UPOS)
    assert Counter(picture.labels) == Counter(sentence.deprels)


def test_wide_and_combining_characters_are_aligned() -> None:
    sentence = sentence_of([0, 1, 1], forms=["漢字", "cafe\u0301", "abcd"]).with_columns({UPOS: "ABC", XPOS: "___"})
    assert drawing.text(sentence).splitlines()[1:] == [
        "─┬─╼ 漢字  A  dep",
        " ├─╼ cafe\u0301  B  dep",
        " ╰─╼ abcd  C  dep",
    ]


def test_words_without_head() -> None:
    sentence = sentence_of([None, 1, None, 0], forms=list("abcd"), deprels=["_", "dep", "_", "root"])
    assert drawing.text(sentence).splitlines()[1:] == [
        " ╭── a  _  _",
        " ╰─╼ b  _  dep",
        "     c  _  _",
        "───╼ d  _  root",
    ]
    picture = Picture(drawing.svg(sentence))
    assert (len(picture.arcs), len(picture.root_ends)) == (1, 1)


def test_xpos_stands_in_for_upos() -> None:
    sentence = sentence_of([0, 1]).with_columns({UPOS: ["_", "NOUN"], XPOS: ["VB", "NN"]})
    assert Picture(drawing.svg(sentence)).tags == ["VB", "NOUN"]
    assert "VB" in drawing.text(sentence)


def test_right_to_left() -> None:
    forms = ["ראה", "iPhone", "(", "חדש", "."]
    picture = Picture(drawing.svg(sentence_of([0, 1, 4, 2, 1], forms=forms)))
    assert picture.forms == forms
    assert picture.xs == sorted(picture.xs, reverse=True)
    assert [word.get("direction") for word in picture.words] == ["rtl", None, "rtl", "rtl", "rtl"]
    english = Picture(drawing.svg(sentence_of([0, 1, 1], forms=["He", "said", "שלום"])))
    assert english.xs == sorted(english.xs)
    assert [word.get("direction") for word in english.words] == [None, None, "rtl"]


def test_pictures_are_no_higher_than_their_nesting() -> None:
    heights = {n: Picture(drawing.svg(sentence_of(range(n)))).size[1] for n in (2, 60)}  # a chain is flat
    assert heights[2] == heights[60]


def test_labels_give_way_to_crossing_lines() -> None:
    # The arc 1 → 5 is crossed in its middle by the line down to the root, 3.
    picture = Picture(drawing.svg(sentence_of([None, None, 0, None, 1], forms=["word"] * 5)))
    [root] = picture.root_ends
    assert [box.left < root < box.right for box in picture.boxes] == [True, False]


def test_a_cycle_is_refused() -> None:
    for function in (drawing.text, drawing.svg):
        with pytest.raises(DataError, match="word 2 is in a cycle"):
            function(sentence_of([0, 3, 2]))


SHAPES: dict[str, Callable[[int], Heads]] = {
    "chain": range,
    "backward chain": lambda n: [*range(2, n + 1), 0],
    "star": lambda n: [0] + [1] * (n - 1),
    "roots": lambda n: [0] * n,
    "random": lambda n: random_tree(n, random.Random(1)),
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("function", [drawing.text, drawing.svg])
def test_5000_words(function: Callable[[Sentence], str], shape: str) -> None:
    """Deep and wide trees are drawn without recursion; drawn in quadratic time, this would take minutes."""
    assert function(sentence_of(list(SHAPES[shape](5000)))).count("dep") == 5000


@pytest.mark.slow
def test_treebanks(treebanks: Path) -> None:
    for file in sorted(treebanks.glob("*/test.conllu")):
        for sentence, _ in zip(conllu.read(file, check="forest"), range(10), strict=False):
            picture = Picture(drawing.svg(sentence))
            picture.assert_tidy()
            assert picture.forms == list(map(printable, sentence.forms))
            is_rtl = file.parent.name in {"ar_padt", "he_htb"}
            assert picture.xs == sorted(picture.xs, reverse=is_rtl)
            assert heads_in(drawing.text(sentence_of(sentence.heads))) == sentence.heads

"""A sentence knows its columns, and only a changed head or label changes its line."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conllu_example import EXAMPLE, read_text
from graph2graph.errors import DataError
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import DEPREL, HEAD, MISC, UPOS, XPOS, Sentence
from strategies import File, conllu_files, trees


@given(conllu_files(), st.data())
@settings(max_examples=20)
def test_only_changed_words_change_their_line(file: File, data: st.DataObject) -> None:
    for sentence in read_text(file.text):
        heads = data.draw(trees(min_size=len(sentence), max_size=len(sentence)))
        keep = data.draw(st.lists(st.booleans(), min_size=len(sentence), max_size=len(sentence)))
        deprels = [old if kept else f"{old}:x" for old, kept in zip(sentence.deprels, keep)]
        changed = sentence.with_tree(heads, deprels)
        assert (changed.heads, changed.deprels) == (heads, deprels)
        assert len(changed.lines) == len(sentence.lines)
        words = dict(zip(sentence.row_lines, range(len(sentence))))
        for index, (old, new) in enumerate(zip(sentence.lines, changed.lines)):
            word = words.get(index)
            if word is None or (heads[word], deprels[word]) == (sentence.heads[word], sentence.deprels[word]):
                assert new == old
            else:
                cells = old.split("\t")
                cells[HEAD], cells[DEPREL] = str(heads[word]), deprels[word]
                assert new == "\t".join(cells)
        back = changed.with_tree(sentence.heads, sentence.deprels)
        assert back == sentence


def test_sentence() -> None:
    first, second = read_text(EXAMPLE)
    assert (len(first), len(second)) == (4, 2)
    assert first.forms == ["Do", "n't", "go", "there"]
    assert first.column(XPOS) == ["VB", "RB", "VB", "RB"]
    assert first.heads == first.tree == [3, 3, 0, 3]
    assert first.comments == ["newdoc", "sent_id = s1", "text = Don't go there"]
    assert (first.sent_id, first.text) == ("s1", "Don't go there")
    assert (second.sent_id, second.text) == ("s2", "Yes.")
    assert first.parsed
    assert not first.with_tree([3, None, 0, 3], first.deprels).parsed


@pytest.mark.parametrize("cell", ["", "a\tb", "a\nb", "a\r", "\ud800"])
def test_what_no_cell_can_hold_is_refused_in_one_line(cell: str) -> None:
    sentence = Sentence.from_words(["Yes"], sent_id="1")
    for change in (
        lambda: sentence.with_tree([0], [cell]),
        lambda: sentence.with_columns({UPOS: [cell]}),
        lambda: Sentence.from_words(["Yes", cell]),
    ):
        with pytest.raises(
            DataError, match=r"is empty, or has a tab, a line break or half a surrogate pair$"
        ) as refused:
            change()
        assert str(refused.value).isprintable()


def test_tree_of_an_unparsed_sentence() -> None:
    sentence = Sentence.from_words(["Yes", "."])
    with pytest.raises(DataError, match=r"'Yes \.' has words without a head"):
        _ = sentence.tree


def test_with_probabilities() -> None:
    _, sentence = read_text(EXAMPLE.replace("1\tpunct\t_\t_", "1\tpunct\t_\tArcP=x|A=b"))
    changed = sentence.with_probabilities([(0.98765, 1), (0.5, 0.25)])
    assert changed.column(MISC) == ["SpaceAfter=No|ArcP=0.9877|LabelP=1.0000", "A=b|ArcP=0.5000|LabelP=0.2500"]
    assert changed.probabilities == [(0.9877, 1), (0.5, 0.25)]
    assert read_text("".join(changed.lines)) == [changed]
    assert sentence.probabilities == ()


def test_with_columns() -> None:
    _, sentence = read_text(EXAMPLE)
    changed = sentence.with_columns({UPOS: ["X", "Y"], XPOS: ["x", "y"]})
    assert changed.lines[1] == "1\tYes\tyes\tX\tx\t_\t0\troot\t_\tSpaceAfter=No\n"
    assert changed.heads == sentence.heads


def test_values_for_too_few_words() -> None:
    sentence, _ = read_text(EXAMPLE)
    with pytest.raises(ValueError, match="shorter"):
        sentence.with_tree([0], ["root"])
    with pytest.raises(ValueError, match="shorter"):
        sentence.with_probabilities([(1.0, 1.0)])
    with pytest.raises(ValueError, match="shorter"):
        sentence.with_columns({UPOS: ["X"], XPOS: ["x"]})


def test_from_words() -> None:
    sentence = Sentence.from_words(["New York", "!"], sent_id="7", text="New York!")
    assert read_text("".join(sentence.lines)) == [sentence]
    assert (sentence.sent_id, sentence.text, sentence.forms) == ("7", "New York!", ["New York", "!"])
    assert sentence.with_tree([0, 1], ["root", "punct"]).lines[2] == "1\tNew York\t_\t_\t_\t_\t0\troot\t_\t_\n"


def test_a_head_can_be_taken_away_whatever_was_checked() -> None:
    for check_ in ("tree", "forest", "columns"):
        sentence = next(conllu.read(io.StringIO(EXAMPLE), check=check_))
        assert sentence.with_tree([None] * 4, ["_"] * 4).column(HEAD) == ["_"] * 4

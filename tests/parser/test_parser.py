"""The parser: trees are trees whatever the weights, adaptive re-encoding, sentences longer than the encoder."""

import io
import math
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph2graph.decoding.greedy import Work
from graph2graph.treebank import conllu
from graph2graph.variants import VARIANTS
from tiny_parsers import MODELS, TOY, any_form, calm, check_tree, long_sentence, trees, unparsed_text, wild

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
@given(st.lists(st.lists(any_form, min_size=1, max_size=12), min_size=1, max_size=4))
@settings(max_examples=8)
def test_random_weights_give_trees(name: str, texts: list[list[str]]) -> None:
    sentences = list(conllu.read(io.StringIO("".join(map(unparsed_text, texts)))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some are longer than 24 positions
        parsed = list(wild(name, max_positions=24).parse(sentences))
    assert [sentence.forms for sentence in parsed] == texts
    for sentence in parsed:
        check_tree(sentence)


def test_a_threshold_above_one_is_exact_and_zero_encodes_once() -> None:
    parser = wild("sent-g2g", max_positions=24)
    exact, always, once, between = Work(), Work(), Work(), Work()
    expected = trees(list(parser.parse(TOY, work=exact)))
    assert trees(list(parser.parse(TOY, reencode=1.1, work=always))) == expected
    assert trees(list(parser.parse(TOY, reencode=0.0, work=once))) != expected
    for sentence in parser.parse(TOY, reencode=0.5, batch_tokens=30, work=between):
        check_tree(sentence)
    assert exact.n_encoded == always.n_encoded == sum(map(len, TOY))  # the last arc ends it
    assert once.n_encoded == len(TOY)
    assert once.n_encoded < between.n_encoded < exact.n_encoded


def test_adaptive_trees_do_not_depend_on_the_batch() -> None:
    parser = wild("sent-g2g", max_positions=24)
    together = trees(list(parser.parse(TOY, reencode=0.6)))
    assert trees(list(parser.parse(TOY, reencode=0.6, batch_tokens=1))) == together


@pytest.mark.slow
def test_parts_of_long_sentences_are_encoded_once_or_after_every_arc() -> None:
    parser, sentence = wild("sent-g2g", max_positions=24), long_sentence(80)
    counts = []
    for threshold in (math.inf, 1.1, 0.0):
        work = Work()
        with pytest.warns(UserWarning, match="sentence endless"):
            [found] = parser.parse([sentence], reencode=threshold, work=work)
        check_tree(found)
        counts.append(work.n_encoded)
    assert counts[0] >= 80 > counts[1] == counts[2]


def test_senttr_knows_no_threshold() -> None:
    parser = wild("sent", max_positions=24)
    assert trees(list(parser.parse(TOY, reencode=0.0))) == trees(list(parser.parse(TOY)))


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_a_sentence_of_3000_words(name: str) -> None:
    # the other state models take as long and differ in nothing that matters here
    sentence = long_sentence(3000 if name in ("sent", "sent-g2g", "state-g2g") else 150)
    parser = calm(name, width=16, layers=1, heads=2, inner_width=16)
    with pytest.warns(UserWarning, match="sentence endless: longer than the encoder's 64 positions"):
        [parsed] = parser.parse([sentence])
    check_tree(parsed)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_long_sentences_leave_the_others_alone(name: str) -> None:
    parser = wild(name, max_positions=24)
    short = [sentence for sentence in TOY if len(sentence) < 5]
    long = long_sentence(40)
    alone = trees(list(parser.parse(short)))
    with pytest.warns(UserWarning, match="sentence endless"):
        *others, first = parser.parse([*short, long], batch_tokens=10_000)
    assert trees(others) == alone
    with pytest.warns(UserWarning, match="sentence endless"):
        [second] = parser.parse([long], batch_tokens=1)
    assert trees([first]) == trees([second])


@pytest.mark.slow
def test_warnings_begin_at_the_first_sentence_that_does_not_fit() -> None:
    """A sentence model reads CLS, ROOT, the pieces and SEP; a state model CLS, ROOT, the words, and one or two SEP."""
    [word] = {form for sentence in TOY for form in sentence.forms if form == "the"}
    for name, longest in (("sent", 61), ("sent-g2g", 61), ("state", 61), ("state-g2g", 60)):
        parser = calm(name)
        fits, does_not = (
            next(conllu.read(io.StringIO(unparsed_text([word] * n_words)))) for n_words in (longest, longest + 1)
        )
        check_tree(next(parser.parse([fits])))  # a warning would be an error
        with pytest.warns(UserWarning, match="longer than the encoder's 64 positions"):
            check_tree(next(parser.parse([does_not])))


def test_many_pieces_are_no_length_for_a_state_model() -> None:
    words = ["antidisestablishmentarianistically"] * 8
    [sentence] = conllu.read(io.StringIO(unparsed_text(words)))
    parser = calm("state-g2g", vocab_size=60)
    assert parser.featurizer(sentence).n_pieces > 64
    check_tree(next(parser.parse([sentence])))

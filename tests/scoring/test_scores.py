"""Scores equal those of udtools' official scorer on perturbed predictions; what it does not have is counted by hand."""

from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest

from graph2graph import scoring
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence
from official_scorer import (
    HEARING,
    REAL_TREEBANKS,
    TOY,
    Perturbed,
    assert_equal_scores,
    from_text,
    message,
    official,
    ours,
    to_text,
)


@pytest.fixture(scope="module")
def toy() -> list[Sentence]:
    return from_text(TOY)


@pytest.fixture(params=REAL_TREEBANKS)
def real(request: pytest.FixtureRequest, treebanks: Path) -> list[Sentence]:
    """Thirty sentences from the middle of a development set."""
    return list(islice(conllu.read(treebanks / request.param / "dev.conllu"), 50, 80))


def check_parses(gold: list[Sentence], seed: str) -> None:
    perturbed = Perturbed.of(gold, seed)
    rate = perturbed.random.choice([0.02, 0.2, 0.9])
    perturbed.heads(rate)
    perturbed.labels(rate / 2)
    assert_equal_scores(gold, perturbed.text, same_words=True)


@pytest.mark.parametrize("seed", range(40))
def test_toy_parses_score_as_officially(toy: list[Sentence], seed: int) -> None:
    check_parses(toy, f"parses {seed}")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_real_parses_score_as_officially(real: list[Sentence], seed: int) -> None:
    check_parses(real, f"parses {seed}")


@pytest.mark.slow
def test_a_whole_file_scores_as_officially(treebanks: Path) -> None:
    check_parses(list(conllu.read(treebanks / "en_ewt" / "dev.conllu")), "parses")


# The heads of the quotes, of $ and of the last stop in the first sentence are wrong; Hearings has lost its subtype.
ANSWER = (
    HEARING.replace("`` _ 3", "`` _ 2")
    .replace("$ _ 6", "$ _ 3")
    .replace("9 . _ _ . _ 3", "9 . _ _ . _ 6")
    .replace("nsubj:pass", "nsubj")
)


@pytest.mark.parametrize(
    ("punct", "words", "uas", "las", "clas", "ucm"),
    [
        # content words: Hearings, end, $ and the second sentence's root; dobj is no relation of UD version 2
        ("include", 10, 7 / 10, 7 / 10, 3 / 4, 1 / 2),
        # left out: -- ... . and .; not `` and $, which are symbols, nor -RRB-, which has letters
        ("unicode", 6, 4 / 6, 3 / 6, 1 / 3, 1 / 2),
        # left out: `` -- ... . and .
        ("ptb", 5, 4 / 5, 3 / 5, 1 / 3, 1 / 2),
    ],
)
@pytest.mark.parametrize("compare", [scoring.score, scoring.score_aligned])
def test_punctuation(
    compare: Callable[..., scoring.Scores],
    punct: scoring.Punct,
    words: int,
    uas: float,
    las: float,
    clas: float,
    ucm: float,
) -> None:
    scores = compare(from_text(HEARING), from_text(ANSWER), punct=punct)
    assert (scores.words, scores.sentences) == (words, 2)
    found = (scores.uas, scores.las, scores.clas, scores.ucm, scores.lcm)
    assert found == pytest.approx((100 * uas, 100 * las, 100 * clas, 100 * ucm, 100 * ucm))


def test_sentences_wholly_right(toy: list[Sentence]) -> None:
    fr, es, *others = toy
    predicted = [
        fr.with_tree(fr.heads, ["nsubj" if deprel == "nsubj:pass" else deprel for deprel in fr.deprels]),  # right
        es.with_tree(es.heads, ["obj", *es.deprels[1:]]),  # a wrong label
        *(s.with_tree([0 if head == 0 else s.tree.index(0) + 1 for head in s.heads], s.deprels) for s in others),
    ]
    scores = scoring.score(toy, predicted)  # of the others, only the one-word sentence is a star
    assert (scores.ucm, scores.lcm) == pytest.approx((100 * 3 / 5, 100 * 2 / 5))


def test_nothing_to_score() -> None:
    for compare in (scoring.score, scoring.score_aligned):
        scores = compare([], [])
        assert (scores.uas, scores.clas, scores.lcm, scores.words, scores.sentences) == (0, 0, 0, 0, 0)


def test_several_roots_are_scored_as_officially(toy: list[Sentence]) -> None:
    predicted = [sentence.with_tree([0] * len(sentence), sentence.deprels) for sentence in toy]
    expected = official(to_text(toy), to_text(predicted), several_roots=True)
    for compare in (scoring.score, scoring.score_aligned):
        scores = compare(toy, predicted)
        assert scores.several_roots == 4
        assert ours(scores).items() <= expected.items()


@pytest.mark.slow
def test_deep_trees_score() -> None:
    """The official scorer recurses; ours does not."""
    deep = Sentence.from_words(["a"] * 5000).with_tree(list(range(5000)), ["dep"] * 5000)
    assert scoring.score([deep], [deep]).las == scoring.score_aligned([deep], [deep]).las == 100.0


def test_other_words_are_an_error() -> None:
    found = message(scoring.score, HEARING, HEARING.replace("Hearings", "Hearing"))
    assert found.startswith("pred.conllu:3: word 2 is 'Hearing', in gold.conllu:3 it is 'Hearings'")
    assert "--align" in found
    assert "(sent_id hearing)" in found


def test_missing_and_spare_words_are_an_error() -> None:
    last = "9 . _ _ . _ 3 punct\n"
    found = message(scoring.score, HEARING, HEARING.replace(last, ""))
    assert found.startswith("gold.conllu:10: word 9 is '.', in pred.conllu:9 the sentence ends before it")
    found = message(scoring.score, HEARING, HEARING.replace(last, last + "10 ! _ _ . _ 3 punct\n"))
    assert found.startswith("pred.conllu:11: word 10 is '!', in gold.conllu:10 the sentence ends before it")


def test_missing_sentences_are_an_error() -> None:
    one_less = HEARING[: HEARING.index("# sent_id = stop")]
    for gold, predicted, where, counts in (
        (HEARING, one_less, "gold.conllu:13", "sentences: 2 in gold.conllu, 1 in pred.conllu"),
        (one_less, HEARING, "pred.conllu:13", "sentences: 1 in gold.conllu, 2 in pred.conllu"),
        (HEARING, "", "gold.conllu:2", "sentences: 2 in gold.conllu, 0 in pred.conllu"),
    ):
        assert message(scoring.score, gold, predicted).startswith(f"{where}: {counts}; ")


@pytest.mark.parametrize("compare", [scoring.score, scoring.score_aligned])
def test_missing_heads_and_tags_are_an_error(compare: Callable[..., scoring.Scores]) -> None:
    unparsed = HEARING.replace("10 _ _ CD _ 3", "10 _ _ CD _ _")
    assert message(compare, HEARING, unparsed).startswith("pred.conllu:7: word 6 has no head")
    assert message(compare, unparsed, HEARING).startswith("gold.conllu:7: word 6 has no head")
    untagged = HEARING.replace("CD", "_")
    assert message(compare, untagged, HEARING, punct="ptb").startswith("gold.conllu:7: word 6 has no XPOS")
    assert compare(from_text(HEARING), from_text(untagged), punct="ptb").las == 100.0

"""Scores of files with other tokens, words and sentences equal those of udtools' official scorer."""

import io
import random
from itertools import islice
from pathlib import Path

import pytest

from graph2graph import scoring
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence
from official_scorer import (
    HEARING,
    LABELS,
    REAL_TREEBANKS,
    TOY,
    Perturbed,
    Token,
    Word,
    assert_equal_scores,
    from_text,
    message,
    to_text,
)


@pytest.fixture(scope="module")
def toy() -> list[Sentence]:
    return from_text(TOY)


@pytest.fixture(params=REAL_TREEBANKS)
def real(request: pytest.FixtureRequest, treebanks: Path) -> list[Sentence]:
    """Thirty sentences from the middle of a development set."""
    return list(islice(conllu.read(treebanks / request.param / "dev.conllu"), 50, 80))


def check_segmentations(gold: list[Sentence], seed: str) -> None:
    perturbed = Perturbed.of(gold, seed)
    rate = perturbed.random.choice([0.02, 0.2, 0.6])
    perturbed.heads(rate / 2)
    perturbed.labels(rate / 2)
    perturbed.tokens(rate)
    if perturbed.random.random() < 0.5:
        perturbed.boundaries(rate)
    assert_equal_scores(gold, perturbed.text, same_words=False)
    # The perturbed file is as good a gold file: this has multiword tokens that only the prediction lacks.
    assert_equal_scores(list(conllu.read(io.StringIO(perturbed.text))), to_text(gold), same_words=False)


@pytest.mark.parametrize("seed", range(160))
def test_toy_segmentations_score_as_officially(toy: list[Sentence], seed: int) -> None:
    check_segmentations(toy, f"segmentations {seed}")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_real_segmentations_score_as_officially(real: list[Sentence], seed: int) -> None:
    check_segmentations(real, f"segmentations {seed}")


@pytest.mark.slow
def test_a_whole_file_scores_as_officially(treebanks: Path) -> None:
    check_segmentations(list(conllu.read(treebanks / "it_partut" / "dev.conllu")), "segmentations")


@pytest.mark.parametrize("seed", range(10))
def test_any_segmentations_score_as_officially(seed: int) -> None:
    """Both files cut the same few letters anywhere, with any words in their multiword tokens."""
    rng = random.Random(seed)

    def segmented(letters: str) -> Perturbed:
        result = Perturbed(rng, [[]])
        while letters:
            size = rng.randint(1, 3)
            form, letters = letters[:size], letters[size:]
            n_words = rng.choice([1, 1, 2, 3])
            words = [Word(rng.choice(["a", "b", "ab", "ba"]), rng.choice(LABELS)) for _ in range(n_words)]
            result.sentences[-1].append(Token(form, words))
            if letters and rng.random() < 0.1:
                result.sentences.append([])
        result.heads(0.9)
        return result

    for _ in range(100):
        letters = "".join(rng.choices("ab", k=rng.randint(1, 15)))
        gold, predicted = segmented(letters).text, segmented(letters).text
        assert_equal_scores(list(conllu.read(io.StringIO(gold))), predicted, same_words=False)


def test_sentences_wholly_right_need_their_span_and_words(toy: list[Sentence]) -> None:
    text = to_text(toy)
    variants = {
        text.replace("1-2\tDu\t", "1-2\tD u\t"): 100.0,
        text.replace("2\tle\t", "2\tLE\t"): 100.0,
        text.replace("2\tle\t", "2\tla\t"): 80.0,  # another word in a multiword token, with the same characters
    }
    for variant, share in variants.items():
        scores = scoring.score_aligned(toy, list(conllu.read(io.StringIO(variant))))
        assert (scores.ucm, scores.lcm) == (share, share)
    spare, merged = Perturbed.of(toy, ""), Perturbed.of(toy, "")
    spare.sentences[0][0].words.append(Word("de", "fixed", spare.sentences[0][0].words[0]))
    merged.sentences[:2] = [merged.sentences[0] + merged.sentences[1]]
    for text, share in ((spare.text, 80.0), (merged.text, 60.0)):
        scores = scoring.score_aligned(toy, list(conllu.read(io.StringIO(text))))
        assert (scores.ucm, scores.lcm) == (share, share)


def test_other_characters_are_an_error() -> None:
    found = message(scoring.score_aligned, HEARING, HEARING.replace("Hearings", "Hearinks"))
    assert found.startswith(
        "pred.conllu:3: the characters are 'ksend--$10-RRB-.....', in gold.conllu:3 they are 'gsend--$10-RRB-.....'"
    )
    assert found.endswith("(sent_id hearing)")
    one_less = HEARING[: HEARING.index("# sent_id = stop")]
    for gold, predicted, expected in (
        (HEARING, one_less, "pred.conllu:10: the characters are at an end, in gold.conllu:13 they are '.'"),
        (one_less, HEARING, "pred.conllu:13: the characters are '.', in gold.conllu:10 they are at an end"),
        (HEARING, "", "pred.conllu:1: the characters are none, in gold.conllu:2 they are '``Hear"),
        (HEARING, HEARING.replace("Hearings", "~"), "pred.conllu:3: FORM is only spaces"),
    ):
        assert message(scoring.score_aligned, gold, predicted).startswith(expected)

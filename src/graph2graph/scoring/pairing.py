"""Gold and predicted sentences in pairs with the same words."""

from collections.abc import Iterable, Iterator
from itertools import zip_longest

from graph2graph.scoring.alignment import without_spaces
from graph2graph.treebank.checking import LocatedSentence, located
from graph2graph.treebank.sentence import Sentence


def paired(
    gold: Iterable[Sentence],
    predicted: Iterable[Sentence],
    *,
    names: tuple[str, str],
    needs_xpos: bool = False,
    hint: str = "",
) -> Iterator[tuple[Sentence, Sentence]]:
    """Gold and predicted sentences in pairs; raise an error if their words differ or a word has no head.

    Errors call the files by `names` and end with `hint`, which says what to do. With `needs_xpos`, gold words need an XPOS.
    """
    golds, predictions = located(gold, names[0]), located(predicted, names[1])
    for number, (one, other) in enumerate(zip_longest(golds, predictions), 1):
        if one is None or other is None:
            left_over = one or other
            assert left_over is not None
            n_gold = number - (one is None) + sum(1 for _ in golds)
            n_predicted = number - (other is None) + sum(1 for _ in predictions)
            counts = f"sentences: {n_gold} in {names[0]}, {n_predicted} in {names[1]}"
            raise left_over.error(0, f"{counts}; this one is left over{hint}")
        one.check_parsed(needs_xpos=needs_xpos)
        _check_same_words(one, other, hint)
        other.check_parsed()
        yield one.sentence, other.sentence


def _check_same_words(gold: LocatedSentence, predicted: LocatedSentence, hint: str) -> None:
    for word, (form, other) in enumerate(zip_longest(gold.sentence.forms, predicted.sentence.forms)):
        if form is None or other is None:
            longer, shorter = (predicted, gold) if form is None else (gold, predicted)
            there = f"{shorter.source}:{shorter.line(word - 1)}"
            raise longer.error(
                word, f"word {word + 1} is {form or other!r}, in {there} the sentence ends before it{hint}"
            )
        if form != other and without_spaces(form) != without_spaces(other):
            there = f"{gold.source}:{gold.line(word)}"
            raise predicted.error(word, f"word {word + 1} is {other!r}, in {there} it is {form!r}{hint}")

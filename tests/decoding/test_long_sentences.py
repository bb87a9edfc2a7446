"""Long sentences are decoded part by part: the work grows with their length and no faster, and the trees are trees."""

import sys
import time
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

import numpy as np
import pytest
import torch

from graph2graph.decoding import long_sentences
from graph2graph.decoding.greedy import Work
from graph2graph.models.parser_model import ParserModel
from graph2graph.parser.parser import Parser
from graph2graph.treebank.sentence import Sentence
from tiny_parsers import TOY_FORMS, calm, check_tree
from tiny_parsers import wild as wild_parser

pytestmark = [pytest.mark.usefixtures("one_thread"), pytest.mark.filterwarnings("ignore:sentence .* longer than")]

KINDS: dict[str, Callable[[int], list[str]]] = {
    "running text": lambda n: [TOY_FORMS[i % len(TOY_FORMS)] for i in range(n)],
    "one word": lambda n: ["dog"] * n,
}
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "default": ("sent-g2g", {"reencode": 0.6}),
    "once": ("sent-g2g", {"reencode": 0.0}),
    "exact": ("sent-g2g", {"reencode": "exact"}),
    "without graph": ("sent", {}),
    "beam": ("sent-g2g", {"beam": 4}),
    "given arcs": ("sent-g2g", {"reencode": 0.0, "keep_arcs": True}),
    "probabilities": ("sent-g2g", {"reencode": 0.0, "probabilities": True}),
    "one subject": ("sent-g2g", {"reencode": 0.0, "one_subject": True}),
    "state": ("state", {}),
    "state with graph": ("state-g2g", {}),
}


def operations(function: Callable[[], object]) -> int:
    """How many functions are called, in Python and in C."""
    found = 0

    def count(frame: FrameType, event: str, arg: object) -> None:
        nonlocal found
        found += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return found


def half_given(sentence: Sentence) -> Sentence:
    """The sentence with a head for every second word: the one before it."""
    heads = [word if word % 2 else None for word in range(len(sentence))]
    return sentence.with_tree(heads, ["_"] * len(sentence))


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_work_is_linear_in_the_length(way: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Encodings, pieces, operations: twice the words take twice as much. And no array of a step is any longer."""
    model, options = WAYS[way]
    parser, widths = calm(model, max_positions=24), set[int]()
    for name in ("encode_sentences", "encode_states"):
        encode = getattr(ParserModel, name)

        def seen(self: ParserModel, states: Any, *args: Any, encode: Any = encode, **kwargs: Any) -> Any:
            widths.add(states.heads.shape[1])
            return encode(self, states, *args, **kwargs)

        monkeypatch.setattr(ParserModel, name, seen)
    counts = []
    for n_words in (40, 80, 160):
        sentence = Sentence.from_words(KINDS[kind](n_words))
        given = half_given(sentence) if options.get("keep_arcs") else sentence
        work, found = Work(), list[Sentence]()
        calls = operations(lambda: found.extend(parser.parse([given], work=work, **options)))  # noqa: B023
        check_tree(found[0])
        counts.append((work.n_encoded, work.n_pieces, calls))
    small, middle, large = np.array(counts)
    assert ((large - middle) <= 2.6 * (middle - small)).all(), counts
    assert max(widths) <= 24


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sent", "state"])
def test_the_number_of_swaps_is_limited(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that wants to swap whenever it can takes n² actions for n words."""
    parser, actions = calm(name, max_positions=24), list[int]()
    with torch.no_grad():
        parser.model.exist.out.bias[:] = torch.tensor([0.0, -100, -100, 100])
    count = long_sentences.greedy

    def counted(*args: Any, **kwargs: Any) -> Any:
        work = kwargs["work"] = Work(observer=lambda states, scored, decided: actions.append(1))
        return count(*args, **kwargs | {"work": work})

    monkeypatch.setattr(long_sentences, "greedy", counted)
    n_actions = []
    for n_words in (40, 80, 160):
        actions.clear()
        [found] = parser.parse([Sentence.from_words(["dog"] * n_words)])
        check_tree(found)
        n_actions.append(len(actions))
    small, middle, large = n_actions
    assert large - middle < 2.6 * (middle - small) < 40 * 40


@pytest.mark.parametrize("name", ["sent-g2g", "state"])
def test_given_arcs_of_a_long_sentence_win(name: str) -> None:
    parser = wild_parser(name, max_positions=24)
    rng = np.random.default_rng(3)
    heads: list[int | None] = [None] * 60
    for word in range(60):
        if word != 17 and rng.random() < 0.5:
            heads[word] = 18 if rng.random() < 0.3 else int(rng.integers(word)) + 1 if word else 18
    heads[17] = 0
    labels = [label if rng.random() < 0.3 else "_" for label in ["obj"] * 60]
    labels[17] = "root"
    given = Sentence.from_words(KINDS["running text"](60)).with_tree(heads, labels)
    [found] = parser.parse([given], keep_arcs=True, probabilities=True)
    check_tree(found)
    assert all(old in (None, new) for old, new in zip(heads, found.heads, strict=True))
    assert all(old in ("_", new) for old, new in zip(labels, found.deprels, strict=True))
    assert len(found.probabilities) == 60


def test_a_beam_gives_a_long_sentence_its_greedy_tree(parser_of: Callable[..., Parser]) -> None:
    parser, long = parser_of("sent-g2g", max_positions=24), Sentence.from_words(TOY_FORMS[:40])
    short = Sentence.from_words(TOY_FORMS[:5])
    [greedy] = parser.parse([long])
    several, [only] = parser.nbest([short, long], 4)
    assert len(several) > 1
    assert (only.sentence.heads, only.sentence.deprels, only.share) == (greedy.heads, greedy.deprels, 1.0)
    assert only.score < 0


def test_a_part_sees_the_arcs_of_the_parts_before(parser_of: Callable[..., Parser]) -> None:
    """Its encoding has them, though each part is encoded only once."""
    parser = parser_of("sent-g2g", max_positions=24)
    n_known, encode = list[int](), parser.model.encode_sentences

    def seen(states: Any, *args: Any, **kwargs: Any) -> Any:
        n_known.append(int((states.heads >= 0).sum()))
        return encode(states, *args, **kwargs)

    parser.model.encode_sentences = seen  # type: ignore[method-assign]
    try:
        list(parser.parse([Sentence.from_words(KINDS["running text"](60))], reencode=0.0))
    finally:
        del parser.model.encode_sentences
    assert n_known[0] == 0 < max(n_known)


@pytest.mark.slow
def test_thousands_of_words_with_the_shipped_model() -> None:
    """Three times the words take about three times the time. Before, 2,000 words took 47 s and 20,000 did not end."""
    from graph2graph.parser import catalogue

    parser = Parser.load(catalogue.find("en"))

    def seconds(words: Iterable[str]) -> float:
        begin = time.process_time()
        [found] = parser.parse([Sentence.from_words(list(words))])
        assert found.heads.count(0) == 1
        return time.process_time() - begin

    seconds(["word"] * 600)
    small, large = seconds(["word"] * 2000), seconds(["word"] * 6000)
    assert large < 6 * small
    assert large < 120

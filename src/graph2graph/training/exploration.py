"""Learning from one's own mistakes: states off the gold path, with the graph that the parser itself has built.

A sentence that is to be explored is parsed with one encoding, by the model as it is in training, dropout and all. If it makes a
mistake, a state after that is taken in place of a gold one: its graph has the mistake in it, and what is to be learnt there
is the way to the best tree that can still be had (`oracle.way_back`).
"""

from collections.abc import Sequence

import numpy as np

from graph2graph.arrays import IntArray
from graph2graph.config import DecodeConfig
from graph2graph.decoding.greedy import Work, greedy
from graph2graph.models.parser_model import ParserModel
from graph2graph.training.examples import Example, detour
from graph2graph.training.sampling import Draw
from graph2graph.transition.state import NO_NODE, Action, State


def with_detours(model: ParserModel, drawn: Sequence[Draw]) -> tuple[list[Example], list[IntArray]]:
    """The examples and steps of a batch; where it was asked for, a state of the parser's own in place of the last step."""
    detours = _detours(model, drawn)
    examples: list[Example] = []
    steps: list[IntArray] = []
    for number, draw in enumerate(drawn):
        off_path = detours.get(number)
        kept = draw.steps if off_path is None else draw.steps[:-1]
        if len(kept):
            examples.append(draw.example)
            steps.append(kept)
        if off_path is not None:
            examples.append(off_path)
            steps.append(np.zeros(1, dtype=np.int64))
    return examples, steps


def _detours(model: ParserModel, drawn: Sequence[Draw]) -> dict[int, Example]:
    """For each sentence that is explored and in which a mistake was made: the way on from a state after it."""
    asked = [number for number, draw in enumerate(drawn) if draw.detour is not None]
    if not asked:
        return {}
    work = Work(decisions=[])
    final = greedy(model, [drawn[number].example.features for number in asked], DecodeConfig(reencode=0), work=work)
    taken: list[list[tuple[int, int]]] = [[] for _ in asked]  # the parser's own actions and labels
    for decided in work.decisions or []:
        for row, action, label in zip(*(array.tolist() for array in (decided.rows, decided.actions, decided.labels))):
            taken[row].append((action, label))
    detours: dict[int, Example] = {}
    for row, number in enumerate(asked):
        gold, share, own = drawn[number].example, drawn[number].detour, taken[row]
        first = next((step for step, both in enumerate(own) if not _is_gold(gold, step, *both)), len(own))
        if share is None or first + 1 >= len(own):
            continue
        state = State(gold.features.n_words)
        for action, _ in own[: first + 1 + int(share * (len(own) - first - 1))]:
            state.apply(Action(action))
        found = detour(gold, state, final.labels[row, : len(gold.heads)], root_label=model.root_label)
        if found is not None:
            detours[number] = found
    return detours


def _is_gold(gold: Example, step: int, action: int, label: int) -> bool:
    is_arc = gold.labels[step] != NO_NODE
    return bool(action == gold.actions[step] and (not is_arc or label == gold.labels[step]))

"""The parser model: training sees what decoding sees, and nothing is left out that is read."""

from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
from torch import Tensor

from graph2graph.config import Config, DecodeConfig, ModelConfig
from graph2graph.decoding.greedy import Decisions, greedy
from graph2graph.errors import DataError
from graph2graph.models.parser_model import Encodings, ParserModel
from graph2graph.parser.parser import Parser
from graph2graph.training.examples import Example, training_examples
from graph2graph.training.loss import batch_loss
from graph2graph.training.supervision import StaleWeights, supervise
from graph2graph.transition.state import NO_NODE, Action
from graph2graph.transition.states import States
from graph2graph.variants import VARIANTS
from tiny_parsers import MODELS, TOY, VOCABULARY, close, every_state, wild

pytestmark = pytest.mark.usefixtures("one_thread")


class Recorder:
    """Decodes along the gold transitions, or trains on them, and keeps the scores of each decision: [sentence][step]."""

    def __init__(self, parser: Parser, examples: list[Example]) -> None:
        self.model, self.examples = parser.model, examples
        self.actions: list[list[Tensor]] = [[] for _ in examples]
        self.labels: list[dict[int, Tensor]] = [{} for _ in examples]

    def decode(self) -> States:
        """With the real decoder, which is made to believe that the gold action scores best."""
        score_actions, score_labels = self.model.action_scores, self.model.label_scores

        is_whole = self.model.config.input == "sentence"  # its encodings are those of all sentences, in their order
        running: list[int] = []  # the others of a state model, which keep step

        def actions(encodings: Encodings, rows: Tensor, *args: Any) -> Tensor:
            nonlocal running
            running = [n for n, one in enumerate(self.examples) if one.n_steps > len(self.actions[n])]
            numbers = rows.tolist() if is_whole else running
            scores = score_actions(encodings, rows, *args)
            best = torch.tensor([self.examples[number].actions[len(self.actions[number])] for number in numbers])
            for number, row in zip(numbers, scores, strict=True):
                self.actions[number].append(row)
            return torch.nn.functional.one_hot(best, len(Action)).float()

        def labels(encodings: Encodings, rows: Tensor, *args: Any) -> Tensor:
            numbers = rows.tolist() if is_whole else [running[row] for row in rows.tolist()]
            steps = [len(self.actions[number]) - 1 for number in numbers]
            for number, step, row in zip(numbers, steps, score_labels(encodings, rows, *args), strict=True):
                self.labels[number][step] = row
            best = torch.tensor(
                [self.examples[number].labels[step] for number, step in zip(numbers, steps, strict=True)]
            )
            return torch.nn.functional.one_hot(best, len(VOCABULARY.labels)).float()

        with mock.patch.multiple(self.model, action_scores=actions, label_scores=labels):
            features, at_once = [one.features for one in self.examples], list[Decisions]()  # labels are not put off
            return greedy(self.model, features, DecodeConfig(draft_tokens=0), decisions=at_once)

    @torch.no_grad()
    def teach(self) -> None:
        """With the loss, all steps at once."""
        score_actions, score_labels = self.model.action_scores, self.model.label_scores
        found: list[Tensor] = []

        def kept(score: Callable[..., Tensor]) -> Callable[..., Tensor]:
            def scored(*args: Any) -> Tensor:
                found.append(score(*args))
                return found[-1]

            return scored

        batch = supervise(every_state(self.examples), self.model.config)
        with mock.patch.multiple(self.model, action_scores=kept(score_actions), label_scores=kept(score_labels)):
            batch_loss(self.model, batch)
        action_scores, label_scores = found
        decisions = batch.decisions
        encoded_at = np.concatenate([sample.steps for sample in batch.samples])[decisions.encoded]
        once = self.model.config.input == "sentence" and not self.model.config.graph_input
        arc_rows = iter(label_scores)
        for row, (number, step, at) in enumerate(zip(decisions.sentences, decisions.steps, encoded_at, strict=True)):
            labels = next(arc_rows) if self.examples[number].labels[step] != NO_NODE else None
            if once or at == step:
                self.actions[number].append(action_scores[row])
                if labels is not None:
                    self.labels[number][int(step)] = labels


@pytest.mark.slow
@pytest.mark.parametrize("max_positions", [64, 8], ids=["whole", "in windows"])
@pytest.mark.parametrize("name", MODELS)
def test_training_sees_what_decoding_sees(name: str, max_positions: int) -> None:
    parser = wild(name, max_positions=max_positions)
    examples = training_examples(parser, TOY)
    taught, decoded = Recorder(parser, examples), Recorder(parser, examples)
    taught.teach()
    states = decoded.decode()
    for number, one in enumerate(examples):
        assert states.heads[number, : len(one.heads)].tolist() == one.heads.tolist()
        assert states.labels[number, : len(one.heads)].tolist() == one.deprels.tolist()
        assert len(taught.actions[number]) == len(decoded.actions[number]) == one.n_steps
        close(torch.stack(decoded.actions[number]), torch.stack(taught.actions[number]))
        assert decoded.labels[number].keys() == taught.labels[number].keys()
        for step, scores in taught.labels[number].items():
            close(decoded.labels[number][step], scores)


@pytest.mark.parametrize("ahead", [0.0, 0.9], ids=["own decision", "later ones too"])
@pytest.mark.parametrize("name", [name for name in VARIANTS if name.startswith("state")])
def test_a_state_model_leaves_out_only_vectors_that_are_not_read(name: str, ahead: float) -> None:
    """Loss and gradient are those of encoding every token to the end."""
    parser = wild(name)
    samples = every_state(training_examples(parser, TOY))
    batch = supervise(samples, parser.config.model, StaleWeights(0.0, ahead))

    def gradients() -> list[Tensor]:
        total = batch_loss(parser.model, batch).total
        return [total, *torch.autograd.grad(total, list(parser.model.parameters()), materialize_grads=True)]

    found = gradients()
    with mock.patch.object(ParserModel, "_tokens_read", lambda *given, **_: np.arange(len(given[-1].nodes))):
        expected = gradients()
    for some, every in zip(found, expected, strict=True):
        torch.testing.assert_close(some, every, rtol=1e-4, atol=1e-3 if ahead else 1e-4)


def test_parts_that_do_not_fit_the_sentence_models_are_refused() -> None:
    for fields in ({"history": True}, {"composition": True}, {"output": "cls"}):
        with pytest.raises(DataError, match="belong to state models"):
            Parser.create(Config(model=ModelConfig(**VARIANTS["sent-g2g"].model | fields)), VOCABULARY, forms=["a"])

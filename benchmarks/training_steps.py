"""Real training steps, for benchmarks that time them."""

import itertools
from pathlib import Path
from typing import Any

import torch

from graph2graph.arrays import IntArray
from graph2graph.config import Config
from graph2graph.parser.parser import Parser
from graph2graph.parser.vocabulary import Vocabulary
from graph2graph.training.examples import training_examples
from graph2graph.training.learner import Learner, optimiser
from graph2graph.training.processes import Processes
from graph2graph.training.sampling import Sampler
from graph2graph.treebank.sentence import Sentence
from graph2graph.variants import VARIANTS


class TrainingSteps:
    """A new parser of one variant, its training examples and its optimiser."""

    def __init__(
        self, variant: str, sentences: list[Sentence], encoder: Path | None, settings: dict[str, Any] | None = None
    ) -> None:
        given = settings or {}
        config = Config.parse(given | {"model": VARIANTS[variant].model | given.get("model", {})}, "benchmark")
        torch.manual_seed(1)
        forms = (form for sentence in sentences for form in sentence.forms)
        vocabulary = Vocabulary.of(sentences, config.data.tags)
        self.parser = Parser.create(config, vocabulary, encoder=encoder, forms=forms)
        self.model = self.parser.model.train()
        self.sampler = Sampler(training_examples(self.parser, sentences), config.model, config.train)
        self.optimiser = optimiser(self.model, config.train, pretrained=encoder is not None)
        self.learner = Learner(self.model, self.sampler, Processes())
        self.batches = itertools.cycle(self.sampler.batches(0))

    def step(self, numbers: IntArray | None = None) -> int:
        """Make a step from the sentences with these numbers, by default from the next batch; return the pieces encoded."""
        batch = next(self.batches) if numbers is None else numbers
        return self.learner.update(batch, self.optimiser, epoch=0, step=0).pieces

    @property
    def n_layer_parameters(self) -> int:
        """Parameters of the encoder's layers: each makes two floating-point operations a piece, six with the backward pass."""
        return sum(p.numel() for name, p in self.model.named_parameters() if ".layers." in name)

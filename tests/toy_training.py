"""Tiny parsers and the toy treebank, for tests of training."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from graph2graph.config import Config
from graph2graph.parser.parser import Parser
from graph2graph.parser.vocabulary import Vocabulary
from graph2graph.scoring import Scores
from graph2graph.training.examples import Example, Sample, training_examples
from graph2graph.training.loop import Trainer
from graph2graph.training.plan import Plan
from graph2graph.training.processes import Processes
from graph2graph.training.report import RunReport
from graph2graph.training.request import Request
from graph2graph.training.sampling import Sampler
from graph2graph.treebank import conllu
from graph2graph.variants import VARIANTS

TOY = Path(__file__).parent / "data" / "toy.conllu"
TINY = {"width": 32, "inner_width": 64, "layers": 1, "heads": 2, "vocab_size": 300}
TINY_FLAGS = [f"--set=model.encoder.{name}={value}" for name, value in TINY.items()]
START = np.zeros(1, dtype=np.int64)


def tiny_parser(variant: str = "sent-g2g", *, tagger: bool = False, **train: object) -> Parser:
    """A parser with random weights for the toy treebank; `train` are its training settings."""
    sentences = list(conllu.read(TOY))
    model = VARIANTS[variant].model | {"encoder": TINY, "tagger": tagger}
    config = Config.parse({"model": model, "train": train}, "test")
    torch.manual_seed(0)
    return Parser.create(config, Vocabulary.of(sentences), forms=(form for s in sentences for form in s.forms))


def toy_examples(parser: Parser) -> list[Example]:
    return training_examples(parser, conllu.read(TOY))


def sampler_of(parser: Parser, examples: Sequence[Example]) -> Sampler:
    return Sampler(examples, parser.config.model, parser.config.train, mask=parser.pieces.mask)


def toy_samples(parser: Parser) -> list[Sample]:
    """What the first epoch samples from each sentence."""
    sampler = sampler_of(parser, toy_examples(parser))
    return [sampler.sample(number, 0) for number in range(len(sampler.examples))]


def train_in_child(
    *arguments: object, env: dict[str, str] | None = None, check: bool = True
) -> subprocess.CompletedProcess[str]:
    """`g2g train` in a process of its own, which can be killed."""
    command = [sys.executable, "-m", "graph2graph", "train", *map(str, arguments)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"} | (env or {})
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert not check or done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done


class Recorder(RunReport):
    """Keeps the plans, losses and scores of a run."""

    def __init__(self) -> None:
        super().__init__(note=print)
        self.plans: list[Plan] = []
        self.resumed_at: list[int] = []
        self.losses: list[float] = []
        self.scores: list[Scores] = []

    def planned(self, plan: Plan, resumed_at: int) -> None:
        self.plans.append(plan)
        self.resumed_at.append(resumed_at)

    def stepped(self, step: int, loss: float) -> None:
        self.losses.append(loss)

    def scored(self, step: int, epoch: int, scores: Scores, best: bool) -> None:
        self.scores.append(scores)


def toy_trainer(
    parser: Parser, output: Path, report: RunReport | None = None, *, time_limit: float | None = None
) -> Trainer:
    """A run on the toy treebank, not yet begun."""
    output.mkdir(exist_ok=True)
    parser.save_settings(output)
    request = Request(train=(TOY,), dev=TOY, output=output, config=parser.config, time_limit=time_limit)
    dev = list(conllu.read(TOY))
    return Trainer(request, parser, toy_examples(parser), dev, Processes(), report or Recorder())

"""A whole run: read and check everything, train, and leave a model with its card."""

import os
import shutil
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from graph2graph.config import Config
from graph2graph.encoder import pretrained
from graph2graph.errors import DataError
from graph2graph.files import read_json, write_json, write_text
from graph2graph.parser.migration import dump_config, parse_config
from graph2graph.parser.parser import Parser
from graph2graph.parser.pipeline import Pipeline
from graph2graph.parser.vocabulary import Vocabulary
from graph2graph.training.card import TrainingFacts, card
from graph2graph.training.examples import training_examples
from graph2graph.training.loop import Observer, Outcome, Task, Trainer
from graph2graph.training.processes import Processes
from graph2graph.training.report import LineReport
from graph2graph.training.resources import check_resources
from graph2graph.training.settings import resolve
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence

HINT = (
    "note: training without a pretrained encoder; --encoder NAME|DIR (for instance bert-base-multilingual-cased) gives a "
    "far better parser"
)
Note = Callable[[str], None]  # is called with messages for the user


@dataclass(frozen=True)
class Request:
    """What to train, on what, and where to."""

    train: Path
    dev: Path
    output: Path
    config: Config
    encoder: str | None = None  # a name or a directory
    start: Path | None = None  # directory of a model to continue from, instead of an encoder
    time_limit: float | None = None  # seconds
    resume: bool = False
    license: str = "not stated"
    command: str = ""
    started: float | None = None  # when the time limit began, on the clock of time.monotonic; default: now


def train(
    train: str | os.PathLike[str],
    dev: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    variant: str | None = None,
    encoder: str | None = None,
    settings: Mapping[str, Any] | None = None,
    time_limit: float | None = None,
    resume: bool = False,
    note: Note = print,
) -> Pipeline:
    """Train a parser on one CoNLL-U file and choose the best model on another: what `g2g train` does.

    >>> import graph2graph
    >>> graph2graph.train("train.conllu", "dev.conllu", "model", settings={"train.epochs": 5})  # doctest: +SKIP

    Args:
        train: the treebank to learn from
        dev: the treebank that the best model is chosen on
        output: the directory of the new model
        variant: of the paper, like "sent-g2g"
        encoder: a pretrained encoder, as a directory or a name on the hub; default: train from scratch
        settings: changes to the defaults, by dotted name
        time_limit: in seconds
        resume: continue the unfinished run in `output`, if there is one
        note: is called with messages, one line each
    """
    request = Request(
        train=Path(train),
        dev=Path(dev),
        output=Path(output),
        config=resolve({}, variant=variant, changes=settings or {}),
        encoder=encoder,
        time_limit=time_limit,
        resume=resume,
        command=f"graph2graph.train({str(train)!r}, {str(dev)!r}, {str(output)!r}, …)",
    )
    run(request, processes=Processes(), observer=LineReport(note), note=note)
    return Pipeline.load(request.output)


def run(request: Request, *, processes: Processes, observer: Observer, note: Note) -> None:
    """Train as requested; nothing that is finished is done again."""
    sentences, dev = _read(request.train), _read(request.dev)
    asked = _asked(request, processes)
    if _is_finished(request, asked):
        note(f"{request.output}: this run is finished")
        return
    task = _prepare(request, sentences, dev, note)
    processes.wait()  # until all have seen whether there is a run already
    if processes.is_first:
        task.parser.save_settings(request.output)
        started = {"asked": asked, "command": request.command, "finished": False}
        write_json(request.output / "run.json", started)
    outcome = Trainer(task, processes, observer).run()
    if outcome is not None:
        _write_card(request, task.parser, sentences, outcome)
        _write_result(request, asked, outcome)
        shutil.rmtree(request.output / "checkpoints", ignore_errors=True)
        scores, minutes = outcome.scores, outcome.seconds / 60
        figures = f"UAS {scores.uas:.2f}, LAS {scores.las:.2f} on {request.dev.name}"
        note(f"{request.output}: {figures}, {minutes:.1f} minutes")


def _prepare(request: Request, sentences: Sequence[Sentence], dev: Sequence[Sentence], note: Note) -> Task:
    """The parser and its examples; everything that can be wrong is found here, before the first step."""
    torch.manual_seed(request.config.train.seed)
    parser = _new_parser(request, sentences)
    is_pretrained = request.encoder is not None or request.start is not None
    if not is_pretrained:
        note(HINT)
    for message in _unknown_labels(dev, parser.vocabulary, request.dev):
        note(message)
    note(check_resources(request.output, parser.model, parser.config))
    return Task(
        parser=parser,
        examples=training_examples(parser, sentences),
        dev=dev,
        output=request.output,
        is_pretrained=is_pretrained,
        time_limit=request.time_limit,
        started=request.started,
    )


def _new_parser(request: Request, sentences: Sequence[Sentence]) -> Parser:
    """The parser before its first step."""
    config, vocabulary = request.config, Vocabulary.of(sentences, request.config.data.tags)
    if request.start is None:
        encoder = None if request.encoder is None else pretrained.find(request.encoder)
        forms = (form for sentence in sentences for form in sentence.forms)
        return Parser.create(config, vocabulary, encoder=encoder, forms=forms)
    if request.encoder is not None:
        raise DataError("a model to start from has its encoder: give --encoder or --start")
    other = Parser.load(request.start)
    if other.config.data != config.data:
        raise DataError(f"{request.start}: it was trained with other data settings: {other.config.data}")
    if unknown := set(vocabulary.labels) - set(other.vocabulary.labels):
        raise DataError(f"{request.start}: it has no label {min(unknown)}, which is in {request.train}")
    return Parser.start_from(other, config)


def _write_card(request: Request, parser: Parser, sentences: Sequence[Sentence], outcome: Outcome) -> None:
    facts = TrainingFacts(
        encoder=request.encoder or (f"that of {request.start}" if request.start else "none"),
        train=_name(request.train),
        dev=_name(request.dev),
        license=request.license,
        command=request.command,
        seconds=outcome.seconds,
        steps=outcome.progress.best_step,
        epochs=outcome.epochs,
        parameters=sum(parameter.numel() for parameter in parser.model.parameters()),
        sentences=len(sentences),
        words=sum(len(sentence) for sentence in sentences),
    )
    write_text(request.output / "README.md", card(parser.config, facts, outcome.scores))


def _write_result(request: Request, asked: dict[str, Any], outcome: Outcome) -> None:
    result = {
        "asked": asked,
        "command": request.command,
        "finished": True,
        "dev": outcome.scores.as_dict(),
        "seconds": round(outcome.seconds, 1),
        "steps": outcome.progress.step,
        "best_step": outcome.progress.best_step,
        "epochs": round(outcome.epochs, 2),
        "pieces": outcome.progress.pieces,
        "loss_shares": outcome.progress.loss_shares(),
    }
    write_json(request.output / "run.json", result)


# ---------------------------------------------------------------------- resuming


def _asked(request: Request, processes: Processes) -> dict[str, Any]:
    """Everything that must be the same when a run is resumed; the time limit need not, since the plan is saved."""
    return {
        "train": [str(request.train), _fingerprint(request.train)],
        "dev": [str(request.dev), _fingerprint(request.dev)],
        "encoder": request.encoder,
        "settings": dump_config(request.config),
        "processes": processes.count,
    } | ({"start": str(request.start)} if request.start else {})


def _is_finished(request: Request, asked: dict[str, Any]) -> bool:
    """Whether the run in the output directory is finished; an error if it is another run."""
    output, path = request.output, request.output / "run.json"
    if not path.exists():
        if (output / "model.safetensors").exists():
            raise DataError(f"{output}: there is a model already; choose another --output")
        return False
    if not request.resume:
        raise DataError(f"{output}: there is a run already; continue it with --resume, or choose another --output")
    state: dict[str, Any] = read_json(path)
    before = state.get("asked", {})
    for key, value in asked.items():
        if key not in before or _comparable(key, before[key], path) != _comparable(key, value, path):
            raise DataError(f"{output}: cannot resume, {key} is not the same as when the run began")
    return bool(state.get("finished"))


def _comparable(key: str, value: Any, path: Path) -> Any:
    """The part of a request's value that must not change: a file may be moved, and settings may be of an older release."""
    if key in ("train", "dev"):
        return value[-1]
    if key == "encoder" and value is not None:
        return Path(value).name
    return parse_config(value, str(path)) if key == "settings" else value


# ---------------------------------------------------------------------- input


def _read(file: Path) -> list[Sentence]:
    sentences = list(conllu.read(file))
    if not sentences:
        raise DataError(f"{file}: no sentences")
    for sentence in sentences:
        if not sentence.parsed:
            raise DataError(f"{file}: sentence {sentence.sent_id or sentence.text} has words without a head")
    return sentences


def _unknown_labels(dev: Sequence[Sentence], vocabulary: Vocabulary, file: Path) -> list[str]:
    """A note for each label that is not in the training data, at its first occurrence."""
    known, notes = set(vocabulary.labels), []
    for sentence in dev:
        for label in sentence.deprels:
            if label not in known:
                known.add(label)
                where = f"{file}: label {label} (sentence {sentence.sent_id or sentence.text})"
                notes.append(f"note: {where} is not in the training data and cannot be predicted")
    return notes


def _fingerprint(file: Path) -> str:
    return f"{zlib.crc32(file.read_bytes()):08x}"


def _name(file: Path) -> str:
    return "/".join(file.absolute().parts[-2:])

"""A whole run: read and check everything, train, and leave a model with its card."""

import shutil
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from graph2graph.config import Config
from graph2graph.encoder import pretrained
from graph2graph.errors import DataError
from graph2graph.files import read_json
from graph2graph.models.parser_model import ParserModel
from graph2graph.parser.migration import dump_config, parse_config
from graph2graph.parser.parser import Parser
from graph2graph.parser.vocabulary import Vocabulary
from graph2graph.training import card
from graph2graph.training.examples import training_examples
from graph2graph.training.loop import Observer, Trainer, write_json
from graph2graph.training.plan import peak_memory
from graph2graph.training.processes import Processes
from graph2graph.treebank import conllu
from graph2graph.treebank.conllu import Sentence

HINT = (
    "note: training without a pretrained encoder; --encoder NAME|DIR (for instance bert-base-multilingual-cased) gives a "
    "far better parser"
)


@dataclass(frozen=True)
class Request:
    """What is asked for."""

    train: Path
    dev: Path
    output: Path
    encoder: str | None
    config: Config
    start: Path | None = None  # the directory of a model to go on from
    time_limit: float | None = None  # seconds
    resume: bool = False
    license: str = "not stated"
    command: str = ""
    started: float | None = None  # when the clock of the time limit began (time.monotonic)


def run(request: Request, *, processes: Processes, observer: Observer, note: Callable[[str], None]) -> None:
    """Train as asked; `note` is told what a user should know."""
    config, output = request.config, request.output
    sentences, dev = _read(request.train), _read(request.dev)
    vocabulary = Vocabulary.of(sentences, config.data.tags)
    asked = _asked(request, processes)
    if _is_finished(request, asked):
        note(f"{output}: this run is finished")
        return
    torch.manual_seed(config.train.seed)
    parser = _beginning(request, vocabulary, sentences)
    vocabulary, config = parser.vocabulary, parser.config
    is_pretrained = request.encoder is not None or request.start is not None
    if not is_pretrained:
        note(HINT)
    for message in _unknown_labels(dev, vocabulary, request.dev):
        note(message)
    note(_check_room(output, parser.model, config))
    processes.wait()  # all have seen whether there is a run already
    if processes.is_first:
        parser.save_settings(output)
        write_json(output / "run.json", {"asked": asked, "command": request.command, "finished": False})
    trainer = Trainer(
        parser,
        training_examples(parser, sentences),
        dev,
        output=output,
        pretrained=is_pretrained,
        processes=processes,
        observer=observer,
        time_limit=request.time_limit,
        started=request.started,
    )
    if trainer.run() is not None:
        note(_finish(request, asked, trainer, sentences))


def _beginning(request: Request, vocabulary: Vocabulary, sentences: Sequence[Sentence]) -> Parser:
    """The parser as it is before the first step."""
    config = request.config
    if request.start is None:
        encoder = None if request.encoder is None else pretrained.find(request.encoder)
        forms = (form for sentence in sentences for form in sentence.forms)
        return Parser.create(config, vocabulary, encoder=encoder, forms=forms)
    if request.encoder is not None:
        raise DataError("a model to start from has its encoder: give --encoder or --start")
    other = Parser.load(request.start)
    if other.config.data != config.data:
        raise DataError(f"{request.start}: the settings of its data are others: {other.config.data}")
    if unknown := set(vocabulary.labels) - set(other.vocabulary.labels):
        raise DataError(f"{request.start}: it has no label {min(unknown)}, which is in {request.train}")
    return Parser.start_from(other, config)


def _finish(request: Request, asked: dict[str, Any], trainer: Trainer, sentences: Sequence[Sentence]) -> str:
    """Write the card and the result; the checkpoints have done their duty."""
    assert trainer.scores is not None
    scores, parser = trainer.scores, trainer.parser
    facts = card.Run(
        encoder=request.encoder or (f"that of {request.start}" if request.start else "none"),
        train=_name(request.train),
        dev=_name(request.dev),
        license=request.license,
        command=request.command,
        seconds=trainer.elapsed,
        steps=trainer.best_step,
        epochs=trainer.epochs_done,
        parameters=sum(parameter.numel() for parameter in parser.model.parameters()),
        sentences=len(sentences),
        words=sum(len(sentence) for sentence in sentences),
    )
    card.write(request.output, card.card(parser.config, facts, scores))
    result = {
        "asked": asked,
        "command": request.command,
        "finished": True,
        "dev": scores.as_dict(),
        "seconds": round(trainer.elapsed, 1),
        "steps": trainer.step,
        "best_step": trainer.best_step,
        "epochs": round(trainer.epochs_done, 2),
        "pieces": trainer.pieces,
        "loss_shares": trainer.loss_shares,
    }
    write_json(request.output / "run.json", result)
    shutil.rmtree(request.output / "checkpoints", ignore_errors=True)
    minutes = trainer.elapsed / 60
    return f"{request.output}: UAS {scores.uas:.2f}, LAS {scores.las:.2f} on {request.dev.name}, {minutes:.1f} minutes"


def _asked(request: Request, processes: Processes) -> dict[str, Any]:
    """What must be the same when a run is resumed; a time limit need not, since the plan stays as it was made."""
    return {
        "train": [str(request.train), _fingerprint(request.train)],
        "dev": [str(request.dev), _fingerprint(request.dev)],
        "encoder": request.encoder,
        "settings": dump_config(request.config),
        "processes": processes.count,
    } | ({"start": str(request.start)} if request.start else {})


def _is_finished(request: Request, asked: dict[str, Any]) -> bool:
    """Look at an earlier sitting of the same run; nothing is ever overwritten by another run."""
    output, path = request.output, request.output / "run.json"
    if not path.exists():
        if (output / "model.safetensors").exists():
            raise DataError(f"{output}: there is a model already; choose another --output")
        return False
    if not request.resume:
        raise DataError(f"{output}: there is a run already; add --resume to go on, or choose another --output")
    state: dict[str, Any] = read_json(path)
    before = state.get("asked", {})
    for key, value in asked.items():
        if key not in before or _meant(key, before[key], path) != _meant(key, value, path):
            raise DataError(f"{output}: cannot resume, {key} is not what it was when the run began")
    return bool(state.get("finished"))


def _meant(key: str, value: Any, path: Path) -> Any:
    """What counts of something that was asked: of a file its content, of settings all, those of newer versions too."""
    if key in ("train", "dev"):
        return value[-1]
    if key == "encoder" and value is not None:
        return Path(value).name
    return parse_config(value, str(path)) if key == "settings" else value


def _read(file: Path) -> list[Sentence]:
    sentences = list(conllu.read(file))
    if not sentences:
        raise DataError(f"{file}: no sentences")
    for sentence in sentences:
        if not sentence.parsed:
            raise DataError(f"{file}: sentence {sentence.sent_id or sentence.text} has words without a head")
    return sentences


def _unknown_labels(dev: Sequence[Sentence], vocabulary: Vocabulary, file: Path) -> list[str]:
    """Labels that no training sentence has cannot be learnt: each is worth a line."""
    known, found = set(vocabulary.labels), []
    for sentence in dev:
        for label in sentence.deprels:
            if label not in known:
                known.add(label)
                place = f"{file}: label {label} (sentence {sentence.sent_id or sentence.text})"
                found.append(f"note: {place} is not in the training data and cannot be predicted")
    return found


def _check_room(output: Path, model: ParserModel, config: Config) -> str:
    """Disk for two checkpoints, the one being written and the model; memory for a step."""
    size = 4 * sum(parameter.numel() for parameter in model.parameters())
    needed = 3 * 3 * size + 2 * size
    place = output.absolute()
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    if free < needed:
        raise DataError(f"{output}: {needed / 1e6:,.0f} MB of disk needed, {free / 1e6:,.0f} MB free")
    memory = peak_memory(model, config.model, config.train.batch_pieces)
    return f"{size / 4e6:.1f}M parameters; about {memory / 1e9:.1f} GB of memory, {needed / 1e6:,.0f} MB of disk"


def _fingerprint(file: Path) -> str:
    return f"{zlib.crc32(file.read_bytes()):08x}"


def _name(file: Path) -> str:
    return "/".join(file.absolute().parts[-2:])

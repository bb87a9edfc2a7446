"""A whole run: read and check everything, train, and leave a model with its card."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch

from graph2graph.encoder import pretrained
from graph2graph.errors import DataError
from graph2graph.files import FilePath, errors_naming, write_json, write_text
from graph2graph.parser import checksums, language
from graph2graph.parser.parser import Parser
from graph2graph.parser.pipeline import Pipeline
from graph2graph.parser.vocabulary import Vocabulary
from graph2graph.training.card import card
from graph2graph.training.checkpoint import DIRECTORY, KEPT
from graph2graph.training.examples import Example, training_examples
from graph2graph.training.lock import locked
from graph2graph.training.loop import Trainer
from graph2graph.training.options import TrainOptions
from graph2graph.training.precision import TrainingPrecision, named_precision, working_precision
from graph2graph.training.processes import Processes
from graph2graph.training.record import Asked, RunRecord, read_record, write_record
from graph2graph.training.report import RunReport
from graph2graph.training.request import Request
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import Sentence

HINT = (
    "note: training without a pretrained encoder, {layers} layers × {width}; --encoder NAME|DIR (for instance "
    "bert-base-multilingual-cased) gives a far better parser"
)


class Data(NamedTuple):
    """The treebanks of a run."""

    train: Sequence[Sentence]
    examples: Sequence[Example]  # of the training sentences
    dev: Sequence[Sentence]


def train(
    train: FilePath | Sequence[FilePath],
    dev: FilePath,
    output: FilePath,
    *,
    variant: str | None = None,
    encoder: str | None = None,
    settings: Mapping[str, Any] | None = None,
    time_limit: float | None = None,
    resume: bool = False,
    note: Callable[[str], None] = print,
) -> Pipeline:
    """Train a parser on CoNLL-U files and choose the best model on one more: what `g2g train` does.

    >>> import graph2graph
    >>> graph2graph.train("train.conllu", "dev.conllu", "model", settings={"train.epochs": 5})  # doctest: +SKIP

    Args:
        train: the treebank to learn from, one file or several
        dev: the treebank to choose the best model on
        output: the directory of the new model
        variant: of the paper, like "sent-g2g"
        encoder: a pretrained encoder, as a directory or a name on the hub; default: train from scratch, in a size that
            follows the treebank's; "paper-size": from scratch, in the paper's size
        settings: changes to the defaults, by dotted name
        time_limit: in seconds
        resume: continue the unfinished run in `output`, if there is one; what is not given here is what that run has
        note: is called with messages, one line each
    """
    files = [train] if isinstance(train, (str, os.PathLike)) else list(train)
    options = TrainOptions(
        train=[Path(file) for file in files],
        dev=Path(dev),
        variant=variant,
        encoder=encoder,
        settings=settings or {},
        time_limit=time_limit,
    )
    command = f"graph2graph.train({str(train)!r}, {str(dev)!r}, {str(output)!r}, …)"
    request = options.request(Path(output), resume=resume, command=command)
    run(request, Processes(), RunReport(note))
    return Pipeline.load(request.output)


def run(request: Request, processes: Processes, report: RunReport) -> None:
    """Train as requested; a finished run is not repeated, an unfinished one is resumed."""
    sentences = [sentence for file in request.train for sentence in _read(file)]
    dev = _read(request.dev)
    request = request.sized(sum(map(len, sentences)))
    asked = request.asked(processes.count)
    if _left_to_do(request, asked, report) is not None:
        request, began_in = _with_precision(request, processes, report)
        parser = _prepare(request, sentences, dev, report.note)
        examples = training_examples(parser, sentences)
        with _only_run_in(request.output, processes):
            left = _left_to_do(request, asked, report)  # again, since another process may have just ended
            processes.wait()  # until all have seen whether there is a run already
            if left is not None:
                record = RunRecord(asked=asked, command=left.command, precision=began_in)
                _train(left, record, parser, Data(sentences, examples, dev), processes, report)
    if processes.is_first:
        shutil.rmtree(request.output / DIRECTORY, ignore_errors=True)


def _with_precision(request: Request, processes: Processes, report: RunReport) -> tuple[Request, TrainingPrecision]:
    """The request with the precision to train in, and the one in which the run began, if it has begun."""
    record, train, device = read_record(request.output), request.config.train, processes.device.type
    began_in = (record and record.precision) or named_precision(train.precision, device)
    precision, began_in = processes.agreed((working_precision(began_in, device, report.note), began_in))
    config = request.config.model_copy(update={"train": train.model_copy(update={"precision": precision})})
    return replace(request, config=config), began_in


def _left_to_do(request: Request, asked: Asked, report: RunReport) -> Request | None:
    """The request with the command that began the run; None if the run is finished."""
    record = request.begun(asked)
    if record is not None and record.finished:
        report.note(f"{request.output}: this run is finished")
        return None
    return request if record is None else replace(request, command=record.command or request.command)


@contextmanager
def _only_run_in(output: Path, processes: Processes) -> Iterator[None]:
    """Keep other runs out of a directory, and remove half-written files of one that was killed there."""
    with ExitStack() as stack:
        is_ours = not processes.is_first or stack.enter_context(locked(output / DIRECTORY / "lock", wait=False))
        if not processes.agreed(is_ours):
            raise DataError(f"{output}: another process is training there; wait for it, or choose another --output")
        if processes.is_first:
            with errors_naming(output):
                for left_over in (*output.glob(".*.part"), *(output / DIRECTORY).glob(".*.part")):
                    left_over.unlink(missing_ok=True)
        yield


def _train(
    request: Request, record: RunRecord, parser: Parser, data: Data, processes: Processes, report: RunReport
) -> None:
    """Train, and write the model's card and the result."""
    if processes.is_first:
        write_record(request.output, record)  # first: from now on the run can be resumed
        parser.save_settings(request.output)
    outcome = Trainer(request, parser, data.examples, data.dev, processes, report).run()
    if outcome is not None:
        write_text(request.output / "README.md", card(request, parser, data.train, outcome))
        write_json(request.output / language.FILE_NAME, language.CommonWords.of(data.train).to_json())
        checksums.write(request.output)
        result = {
            "dev": outcome.scores.as_dict(),
            "seconds": round(outcome.seconds, 1),
            "steps": outcome.progress.step,
            "best_step": outcome.progress.best_step,
            "epochs": round(outcome.epochs, 2),
            "pieces": outcome.progress.pieces,
            "loss_shares": outcome.progress.loss_shares(),
            "updates": outcome.progress.updates,
        }
        write_record(request.output, record, result)
        report.finished(request.output, request.dev, outcome)


def _read(file: Path) -> list[Sentence]:
    sentences = list(conllu.read(file))
    if not sentences:
        raise DataError(f"{file}: no sentences")
    for sentence in sentences:
        if not sentence.parsed:
            raise DataError(f"{file}: sentence {sentence.sent_id or sentence.text} has words without a head")
    return sentences


def _prepare(
    request: Request, sentences: Sequence[Sentence], dev: Sequence[Sentence], note: Callable[[str], None]
) -> Parser:
    """The parser before its first step, with notes about what the user should know."""
    torch.manual_seed(request.config.train.seed)
    parser = _new_parser(request, sentences)
    if not request.is_pretrained:
        shape = request.config.model.encoder
        note(HINT.format(layers=shape.layers, width=shape.width))
    for label, sentence in _unknown_labels(dev, parser.vocabulary):
        where = f"{request.dev}: label {label} (sentence {sentence.sent_id or sentence.text})"
        note(f"note: {where} is not in the training data and cannot be predicted")
    note(check_resources(request, parser))
    return parser


def _new_parser(request: Request, sentences: Sequence[Sentence]) -> Parser:
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
        raise DataError(f"{request.start}: it has no label {min(unknown)}, which is in the training data")
    return Parser.start_from(other, config)


def _unknown_labels(dev: Sequence[Sentence], vocabulary: Vocabulary) -> Iterator[tuple[str, Sentence]]:
    """Each label that is not in the training data, with the first sentence that has it."""
    known = set(vocabulary.labels)
    for sentence in dev:
        for label in sentence.deprels:
            if label not in known:
                known.add(label)
                yield label, sentence


def check_resources(request: Request, parser: Parser) -> str:
    """Refuse to start on a disk that is too full; return the disk and memory that a run needs, in one line."""
    encoder, batch_pieces = parser.config.model.encoder, parser.config.train.batch_pieces
    n_parameters = sum(parameter.numel() for parameter in parser.model.parameters())
    checkpoint, weights = 3 * 4 * n_parameters, 4 * n_parameters  # a checkpoint has two moments beside each weight
    needed = (KEPT + 1) * checkpoint + 2 * weights  # a new file is complete before an old one is deleted
    output = request.output.absolute()
    existing = next(path for path in (output, *output.parents) if path.exists())
    free = shutil.disk_usage(existing).free
    if free < needed:
        raise DataError(f"{request.output}: {needed / 1e6:,.0f} MB of disk needed, {free / 1e6:,.0f} MB free")
    # weights, gradients and two moments; what backpropagation keeps of a batch; Python and torch
    kept_a_layer = 14 * encoder.width + 2 * encoder.inner_width + 3 * encoder.heads * 64
    memory = 4 * 4 * n_parameters + 4.0 * batch_pieces * encoder.layers * kept_a_layer * 1.3 + 4e8
    return (
        f"{n_parameters / 1e6:.1f}M parameters; about {memory / 1e9:.1f} GB of memory, {needed / 1e6:,.0f} MB of disk"
    )

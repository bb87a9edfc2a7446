"""What the tests share: the treebanks, and the command line run in this process."""

import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings

from graph2graph.cli import main
from server_tools import (  # noqa: F401 - fixtures
    busy,
    limited,
    served_directory,
    served_models,
    served_pipeline,
    url,
)
from toy_table import make_clone

if TYPE_CHECKING:
    from graph2graph.models.features import Features
    from graph2graph.parser.parser import Parser
    from graph2graph.transition.states import States
    from graph2graph.treebank.sentence import Sentence

ROOT = Path(__file__).parents[1]
WEIGHTS = ROOT / ".weights"
TREEBANKS = Path(os.environ.get("G2G_TREEBANKS", ROOT.parent / "shared" / "treebanks"))

os.environ.setdefault(
    "G2G_PRECISION", "fp32"
)  # what `auto` means: tests ask for other precisions by name, and try none

sys.path.append(str(ROOT / "experiments"))  # scripts that write pages of the docs
sys.path.append(str(ROOT / "benchmarks"))  # the naive forms that ours are compared with
sys.path.append(str(ROOT / "experiments"))  # the pages that experiments make

CONTRACTIONS = """\
# newpar
# sent_id = dont
# text = I don't think he saw it.
1	I	I	PRON	PRP	Case=Nom	4	nsubj	_	_
2-3	don't	_	_	_	_	_	_	_	_
2	do	do	AUX	VBP	_	4	aux	_	_
3	n't	not	PART	RB	Polarity=Neg	4	advmod	_	_
4	think	think	VERB	VB	_	0	root	_	_
5	he	he	PRON	PRP	Case=Nom	6	nsubj	_	_
6	saw	see	VERB	VBD	_	4	ccomp	_	_
7	it	it	PRON	PRP	_	6	obj	_	SpaceAfter=No
8	.	.	PUNCT	.	_	4	punct	_	_

# sent_id = isnt
# text = It isn't the issue.
1	It	it	PRON	PRP	_	5	nsubj	_	_
2-3	isn't	_	_	_	_	_	_	_	_
2	is	be	AUX	VBZ	_	5	cop	_	_
3	n't	not	PART	RB	Polarity=Neg	5	advmod	_	_
4	the	the	DET	DT	_	5	det	_	_
5	issue	issue	NOUN	NN	_	0	root	_	SpaceAfter=No
6	.	.	PUNCT	.	_	5	punct	_	_

"""

# A busy machine is no failure: examples may take their time.
settings.register_profile("g2g", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("g2g")


@pytest.fixture(scope="session")
def treebanks() -> Path:
    """The directory of treebanks; tests that need it are skipped where it is missing."""
    if not TREEBANKS.is_dir():
        pytest.skip(f"treebanks are not there: {TREEBANKS} (set G2G_TREEBANKS)")
    return TREEBANKS


@pytest.fixture(scope="session")
def encoder_dir() -> Callable[[str], Path]:
    """`encoder_dir("minilm-l6")` is the directory of a real encoder; the test is skipped where it was not fetched."""

    def find(name: str) -> Path:
        if not (WEIGHTS / name).is_dir():
            pytest.skip(f"{WEIGHTS / name} is not there: python experiments/encoders.py {name}")
        return WEIGHTS / name

    return find


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Tensors too small to be shared among threads, which on a busy machine would wait for each other."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def text_udpipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text model that has seen the toy treebank, and that "don't" and "isn't" are two words."""
    from graph2graph.text import udpipe as text

    treebank = tmp_path_factory.mktemp("text") / "train.conllu"
    treebank.write_text(
        CONTRACTIONS + (ROOT / "tests" / "data" / "toy.conllu").read_text(encoding="utf-8"), encoding="utf-8"
    )
    options = text.TextOptions(dimension=16, segment_size=20, epochs=3, iterations=3)
    text.train(treebank, None, treebank.with_name("text.udpipe"), options=options)
    return treebank.with_name("text.udpipe")


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone of the repository with one tiny table, in which the test runs."""
    root = make_clone(tmp_path)
    monkeypatch.delenv("G2G_TREEBANKS", raising=False)
    monkeypatch.chdir(root)
    return root


@contextmanager
def little_disk(directory: Path, size: int = 100_000) -> Iterator[Path]:
    """A file system of this size; where it cannot be made, the test is skipped."""
    directory.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(directory)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("only root can make a file system, and not in every container")
    try:
        yield directory
    finally:
        subprocess.run(["umount", "--lazy", str(directory)], check=True)


class Result(NamedTuple):
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str
    out_bytes: bytes = b""


def run_g2g(*args: object, stdin: bytes = b"") -> Result:
    """Run `g2g ARGS…` in this process, as `main` would be run by the shell."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n") for _ in range(2))
    err.reconfigure(errors="backslashreplace")  # as the real standard error has it
    given = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    code: object = 0
    with mock.patch.multiple(sys, argv=["g2g", *map(str, args)], stdin=given, stdout=out, stderr=err):
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
    for stream in (out, err):
        stream.flush()
    printed, complained = out.buffer.getvalue(), err.buffer.getvalue()
    return Result(code if isinstance(code, int) else 1, printed.decode(), complained.decode(), printed)


@pytest.fixture(scope="session")
def g2g() -> Callable[..., Result]:
    """`g2g("validate", path, stdin=b"…")` gives the exit code, standard output and standard error."""
    return run_g2g


def wild(name: str, sentences: "Sequence[Sentence]", **encoder: int) -> "Parser":
    """A parser with large random weights, whose decisions are clear and wrong; it makes no drafts, which are hard to count."""
    import torch

    from graph2graph.config import Config
    from graph2graph.parser.parser import Parser
    from graph2graph.parser.vocabulary import Vocabulary
    from graph2graph.variants import VARIANTS

    torch.manual_seed(1)
    shape = {"width": 32, "inner_width": 64, "layers": 1, "heads": 2, "vocab_size": 300, "max_positions": 64} | encoder
    values = {"model": VARIANTS[name].model | {"encoder": shape}, "decode": {"draft_tokens": 0}}
    forms = (form for sentence in sentences for form in sentence.forms)
    parser = Parser.create(Config.parse(values, "test"), Vocabulary.of(sentences), forms=forms)
    with torch.no_grad():
        for parameter in parser.model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.3)
    return parser


@pytest.fixture(scope="session")
def toy() -> "list[Sentence]":
    """The toy treebank."""
    from graph2graph.treebank import conllu

    return list(conllu.read(ROOT / "tests" / "data" / "toy.conllu"))


@pytest.fixture(scope="session")
def parser_of(toy: "list[Sentence]") -> "Callable[..., Parser]":
    """`parser_of("sent")` is a tiny parser with large random weights, made once."""
    return cache(lambda name, **encoder: wild(name, toy, **encoder))


@pytest.fixture(params=["sent", "sent-g2g", "state", "state-g2g-c"])
def any_parser(request: pytest.FixtureRequest, parser_of: "Callable[..., Parser]") -> "Parser":
    """Parsers of sentences and of states, with and without a graph."""
    return parser_of(request.param)


@pytest.fixture
def graph_parser(parser_of: "Callable[..., Parser]") -> "Parser":
    """SentTr+G2GTr."""
    return parser_of("sent-g2g")


@pytest.fixture
def toy_features(graph_parser: "Parser", toy: "list[Sentence]") -> "list[Features]":
    """The toy sentences; all these parsers have the same pieces and tags."""
    return [graph_parser.featurizer(sentence) for sentence in toy]


@pytest.fixture
def batches(graph_parser: "Parser", monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many states the encoder of SentTr+G2GTr was given, each time that it ran."""
    encode, sizes = graph_parser.model.encode_sentences, list[int]()

    def counted(states: "States", *args: Any, **kwargs: Any) -> Any:
        sizes.append(len(states))
        return encode(states, *args, **kwargs)

    monkeypatch.setattr(graph_parser.model, "encode_sentences", counted)
    return sizes


@pytest.fixture(scope="session")
def toy_model(text_udpipe: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a whole model: a parser with random weights, whose trees are wrong but trees, a text model, a card."""
    import shutil

    import torch

    from graph2graph.config import Config
    from graph2graph.parser.parser import Parser
    from graph2graph.parser.vocabulary import Vocabulary
    from graph2graph.treebank import conllu
    from graph2graph.variants import VARIANTS

    sentences = list(conllu.read(ROOT / "tests" / "data" / "toy.conllu"))
    encoder = {"width": 16, "inner_width": 32, "layers": 1, "heads": 2, "vocab_size": 200}
    config = Config.parse({"model": VARIANTS["sent-g2g"].model | {"encoder": encoder}}, "test")
    torch.manual_seed(1)
    parser = Parser.create(config, Vocabulary.of(sentences), forms=(form for s in sentences for form in s.forms))
    path = tmp_path_factory.mktemp("toy") / "model"
    parser.save(path)
    shutil.copy(text_udpipe, path)
    (path / "README.md").write_text("# A toy\n\n| licence | none |\n|---|---|\n", encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def bare_model(toy_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy model without its text model."""
    import shutil

    path = tmp_path_factory.mktemp("bare") / "bare"
    shutil.copytree(toy_model, path, ignore=shutil.ignore_patterns("text.udpipe"))
    return path

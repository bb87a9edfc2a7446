"""`g2g parse` with a small model of its own."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from graph2graph import conllu
from graph2graph.config import VARIANTS, Config
from graph2graph.parser import Parser, Vocabulary

TOY = Path(__file__).parent / "data" / "toy.conllu"
Run = Callable[..., Any]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A parser with random weights: its trees are wrong, but trees."""
    sentences = list(conllu.read(TOY))
    encoder = {"width": 16, "inner_width": 32, "layers": 1, "heads": 2, "vocab_size": 200}
    config = Config.parse({"model": VARIANTS["sent-g2g"] | {"encoder": encoder}}, "test")
    torch.manual_seed(1)
    parser = Parser.create(config, Vocabulary.of(sentences), forms=(form for s in sentences for form in s.forms))
    path = tmp_path_factory.mktemp("model")
    parser.save(path)
    return path


def test_only_head_and_deprel_change(g2g: Run, model: Path, tmp_path: Path) -> None:
    given, parsed = tmp_path / "in.conllu", tmp_path / "out.conllu"
    text = TOY.read_text().replace("\n", "\r\n").replace("# sent_id = yes", "# anything else\r\n# sent_id = yes")
    given.write_bytes(text.encode())
    assert g2g("parse", "--model", model, given, "-o", parsed).code == 0
    before, after = given.read_bytes().split(b"\n"), parsed.read_bytes().split(b"\n")
    assert len(before) == len(after)
    for line, other in zip(before, after, strict=True):
        columns, others = line.split(b"\t"), other.split(b"\t")
        assert columns[:6] + columns[8:] == others[:6] + others[8:]
    assert list(conllu.read(parsed))  # single-rooted trees, all of them


def test_heads_in_the_input_are_not_looked_at(g2g: Run, model: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.conllu"
    conllu.write((s.with_tree([None] * len(s), ["_"] * len(s)) for s in conllu.read(TOY)), bare)
    assert g2g("parse", "--model", model, bare).out == g2g("parse", "--model", model, TOY).out


def test_a_file_may_be_parsed_in_place(g2g: Run, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.conllu"
    path.write_bytes(TOY.read_bytes())
    assert g2g("parse", "--model", model, path, "-o", path).code == 0
    assert len(list(conllu.read(path))) == 7
    assert [p.name for p in tmp_path.iterdir()] == ["x.conllu"]


def test_words_in_lines(g2g: Run, model: Path) -> None:
    done = g2g("parse", "--model", model, "--input", "horizontal", "-", stdin=b"A dog barks .\n\n  Yes\n")
    sentences = list(conllu.read(io.StringIO(done.out)))
    assert [s.forms for s in sentences] == [["A", "dog", "barks", "."], ["Yes"]]
    assert all(s.parsed for s in sentences)
    done = g2g("parse", "--model", model, "--input", "vertical", "-", stdin=b"A\ndog\n\n\nYes")
    assert [s.forms for s in conllu.read(io.StringIO(done.out))] == [["A", "dog"], ["Yes"]]


def test_json_tree_and_picture(g2g: Run, model: Path, tmp_path: Path) -> None:
    lines = g2g("parse", "--model", model, TOY, "--output", "json").out.splitlines()
    first = json.loads(lines[0])
    assert len(lines) == 7
    assert first["sent_id"] == "hearing"
    assert first["words"][0]["form"] == "A"
    assert sum(word["head"] == 0 for word in first["words"]) == 1
    assert "hearing" in g2g("parse", "--model", model, TOY, "--output", "tree").out
    one = tmp_path / "one.conllu"
    conllu.write(list(conllu.read(TOY))[:1], one)
    assert g2g("parse", "--model", model, one, "--output", "svg").out.startswith("<?xml")
    done = g2g("parse", "--model", model, TOY, "--output", "svg")
    assert done.code == 1
    assert "one sentence" in done.err


def test_tags_can_be_left_out(g2g: Run, model: Path) -> None:
    parser = Parser.load(model)
    expected = "".join("".join(s.lines) for s in parser.parse(conllu.read(TOY), tags=False))
    assert g2g("parse", "--model", model, TOY, "--tags", "none").out == expected


def test_mistakes(g2g: Run, model: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"good\n\xff\xfe bad\n")
    short = tmp_path / "short.conllu"
    short.write_text("1\tword\n\n")
    cases = [
        ("no such model", ["--model", tmp_path / "none", TOY]),
        ("No such file", ["--model", model, tmp_path / "none.conllu"]),
        ("No such file", ["--model", model, "--input", "vertical", tmp_path / "none.txt"]),
        ("bad.txt:2: invalid UTF-8", ["--model", model, "--input", "horizontal", bad]),
        ("expected 10 tab-separated columns", ["--model", model, short]),
        ("No such file", ["--model", model, TOY, "-o", tmp_path / "no" / "where.conllu"]),
    ]
    for message, arguments in cases:
        done = g2g("parse", *arguments)
        assert done.code == 1, message
        assert message in done.err
        assert len(done.err.strip().splitlines()) == 1

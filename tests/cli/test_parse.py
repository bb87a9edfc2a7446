"""`g2g parse`: its options and output, with a tiny model whose trees are wrong but trees."""

import gzip
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import CONTRACTIONS, little_disk
from graph2graph.parser.parser import Parser
from graph2graph.parser.pipeline import Pipeline
from graph2graph.text.udpipe import TextModel
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import MISC, UPOS, XPOS

TOY = Path(__file__).parents[1] / "data" / "toy.conllu"
Run = Callable[..., Any]
TEXT = "Hey There. I don't think he saw it.\n\nIt isn't the issue today.\n"


def test_only_head_and_deprel_change(g2g: Run, bare_model: Path, tmp_path: Path) -> None:
    given, parsed = tmp_path / "in.conllu", tmp_path / "out.conllu"
    text = TOY.read_text().replace("\n", "\r\n").replace("# sent_id = yes", "# anything else\r\n# sent_id = yes")
    given.write_bytes(text.encode())
    assert g2g("parse", "--model", bare_model, given, "-o", parsed).code == 0
    before, after = given.read_bytes().split(b"\n"), parsed.read_bytes().split(b"\n")
    assert len(before) == len(after)
    for line, other in zip(before, after, strict=True):
        columns, others = line.split(b"\t"), other.split(b"\t")
        assert columns[:6] + columns[8:] == others[:6] + others[8:]
    assert list(conllu.read(parsed))  # single-rooted trees, all of them


@pytest.mark.parametrize("tags", ["keep", "predict", "none"])
def test_other_columns_stay_whatever_the_tags(g2g: Run, toy_model: Path, tmp_path: Path, tags: str) -> None:
    given = tmp_path / "in.conllu"
    text = (
        CONTRACTIONS.replace("AUX", "_")
        .replace("\n", "\r\n")
        .replace("7\tit", "6.1\t_\t_\t_\t_\t_\t_\t_\t_\t_\r\n7\tit")
    )
    given.write_bytes(text.encode() + TOY.read_bytes())
    done = g2g("parse", "--model", toy_model, given, "--tags", tags)
    assert done.code == 0, done.err
    before, after = given.read_bytes().split(b"\n"), done.out_bytes.split(b"\n")
    assert [(c[:6], c[8:]) for c in (line.split(b"\t") for line in before)] == [
        (c[:6], c[8:]) for c in (line.split(b"\t") for line in after)
    ]


def test_the_parser_sees_the_tags_asked_for(g2g: Run, toy_model: Path, text_udpipe: Path, tmp_path: Path) -> None:
    parser, tagger = Parser.load(toy_model), TextModel.load(text_udpipe)
    wrong = tmp_path / "wrong.conllu"
    conllu.write((s.with_columns({UPOS: ["VERB"] * len(s), XPOS: ["_"] * len(s)}) for s in conllu.read(TOY)), wrong)
    trees = {}
    for tags in ("keep", "predict", "none"):
        done = g2g("parse", "--model", toy_model, wrong, "--tags", tags)
        trees[tags] = [(s.heads, s.deprels) for s in conllu.read(io.StringIO(done.out))]
    assert trees["keep"] == [(s.heads, s.deprels) for s in parser.parse(conllu.read(wrong))]
    assert trees["predict"] == [(s.heads, s.deprels) for s in parser.parse(tagger.tagged(conllu.read(wrong)))]
    assert trees["none"] == [(s.heads, s.deprels) for s in parser.parse(conllu.read(wrong), tags=False)]
    assert len({str(found) for found in trees.values()}) == 3  # or this test says nothing


def test_heads_in_the_input_are_not_looked_at(g2g: Run, bare_model: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.conllu"
    conllu.write((s.with_tree([None] * len(s), ["_"] * len(s)) for s in conllu.read(TOY)), bare)
    assert g2g("parse", "--model", bare_model, bare).out == g2g("parse", "--model", bare_model, TOY).out


def test_a_file_may_be_parsed_in_place(g2g: Run, bare_model: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.conllu"
    path.write_bytes(TOY.read_bytes())
    assert g2g("parse", "--model", bare_model, path, "-o", path).code == 0
    assert len(list(conllu.read(path))) == 7
    assert [p.name for p in tmp_path.iterdir()] == ["x.conllu"]


def test_json_tree_and_picture(g2g: Run, bare_model: Path, tmp_path: Path) -> None:
    lines = g2g("parse", "--model", bare_model, TOY, "-f", "json").out.splitlines()
    first = json.loads(lines[0])
    assert len(lines) == 7
    assert first["sent_id"] == "hearing"
    assert first["words"][0]["form"] == "A"
    assert sum(word["head"] == 0 for word in first["words"]) == 1
    assert "hearing" in g2g("parse", "--model", bare_model, TOY, "-f", "tree").out
    one = tmp_path / "one.conllu"
    conllu.write(list(conllu.read(TOY))[:1], one)
    assert g2g("parse", "--model", bare_model, one, "-f", "svg").out.startswith("<?xml")
    assert g2g("parse", "--model", bare_model, TOY, "-f", "svg").out.count("<title>") == 7


def test_inputs_with_odd_ends_make_one_valid_file(g2g: Run, bare_model: Path, tmp_path: Path) -> None:
    text = TOY.read_bytes().rstrip(b"\n")
    files = [tmp_path / f"{number}.conllu" for number in range(4)]
    windows = b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n")
    for file, data in zip(files, (text, windows, windows + b"\r", b"\xef\xbb\xbf" + text), strict=True):
        file.write_bytes(data)
        alone = g2g("parse", "--model", bare_model, file)
        assert [line.split(b"\t")[:6] for line in alone.out_bytes.split(b"\n")] == [
            line.split(b"\t")[:6] for line in data.split(b"\n")
        ]
    for options in ([], ["--beam", 2, "--nbest", 2]):
        parsed = g2g("parse", "--model", bare_model, *files, *options)
        assert parsed.code == 0, parsed.err
        assert g2g("validate", "-", stdin=parsed.out_bytes)[:3] == (0, "", "")
        n_first = sum("nbest = 1" in s.comments or not options for s in conllu.read(io.BytesIO(parsed.out_bytes)))
        assert n_first == 28


def test_each_input_has_its_own_output(g2g: Run, toy_model: Path, tmp_path: Path) -> None:
    first, second, text = tmp_path / "a" / "x.conllu", tmp_path / "a" / "y.conllu.gz", tmp_path / "a" / "z.txt"
    first.parent.mkdir()
    first.write_bytes(TOY.read_bytes())
    second.write_bytes(gzip.compress(TOY.read_bytes()))
    text.write_text(TEXT)
    directory, other = tmp_path / "new" / "out", tmp_path / "json"
    inputs = [first, second, text]
    assert g2g("parse", "--model", toy_model, *inputs, "--output-dir", directory)[:3] == (0, "", "")
    assert sorted(file.name for file in directory.iterdir()) == ["x.conllu", "y.conllu", "z.conllu"]
    for file, name in zip(inputs, "xyz", strict=True):
        assert (directory / f"{name}.conllu").read_text() == g2g("parse", "--model", toy_model, file).out
    assert g2g("parse", "--model", toy_model, first, "-f", "json", "--output-dir", other).code == 0
    assert [file.name for file in other.iterdir()] == ["x.json"]
    assert g2g("parse", "--model", toy_model, first, "--output-dir", first.parent).code == 0  # in place


def test_outputs_that_would_collide_are_refused(g2g: Run, bare_model: Path, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for name in ("x.conllu", "x.txt", "a/x.conllu"):
        (tmp_path / name).write_bytes(TOY.read_bytes())
    out = tmp_path / "out"
    for arguments, message in (
        ([tmp_path / "x.conllu", tmp_path / "a" / "x.conllu"], "would both be written to"),
        ([tmp_path / "x.conllu", tmp_path / "x.txt"], "would both be written to"),
        (["-"], "- is no file"),
        (["--text", "Yes"], "--text is no file"),
        ([tmp_path / "x.conllu", "-o", "y"], "not both"),
    ):
        done = g2g("parse", "--model", bare_model, *arguments, "--output-dir", out)
        assert done.code == 2
        assert message in " ".join(done.err.replace("│", " ").split())
        assert not out.exists()


def test_a_bad_input_keeps_what_was_written(g2g: Run, bare_model: Path, tmp_path: Path) -> None:
    good, bad, out = tmp_path / "good.conllu", tmp_path / "bad.conllu", tmp_path / "out"
    good.write_bytes(TOY.read_bytes())
    bad.write_bytes(b"oops\n")
    done = g2g("parse", "--model", bare_model, good, bad, "--output-dir", out)
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert done.err.startswith(f"g2g: {bad}:1: expected 10 tab-separated columns")
    assert [file.name for file in out.iterdir()] == ["good.conllu"]


def test_a_disk_that_fills_up(g2g: Run, bare_model: Path, tmp_path: Path) -> None:
    given = tmp_path / "in.conllu"
    given.write_bytes(TOY.read_bytes() * 200)
    with little_disk(tmp_path / "disk") as disk:
        (disk / "out.conllu").write_text("old")
        done = g2g("parse", "--model", bare_model, given, "-o", disk / "out.conllu", "--reencode", 0)
        part = disk / "out.conllu.part"
        message = f"g2g: {disk / 'out.conllu'}: No space left on device; what was written by then is in {part}\n"
        assert (done.code, done.err) == (1, message)
        assert (disk / "out.conllu").read_text() == "old"
        written = part.read_bytes()
        assert len(written) > 50_000
        whole = written[: written.rindex(b"\n\n") + 2]  # all but the last sentence is intact
        assert sum(1 for _ in conllu.read(io.BytesIO(whole))) > 100


def test_bombs_in_other_formats(g2g: Run, bare_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("G2G_MAX_LINE", "1000")
    monkeypatch.setenv("G2G_MAX_SENTENCE", "2000")
    given = tmp_path / "in.txt"
    for kind, text, message in (
        ("horizontal", "Yes .\n" + "w " * 1000, f"{given}:2: a line of more than 1,000 bytes; set G2G_MAX_LINE"),
        ("vertical", "Yes\n\n" + "w" * 2000, f"{given}:3: a line of more than 1,000 bytes; set G2G_MAX_LINE"),
        ("vertical", "Yes\n\n" + "w\n" * 2000, f"{given}:3: a sentence of more than 2,000 bytes; set G2G_MAX_SENTENCE"),
    ):
        given.write_text(text)
        done = g2g("parse", "--model", bare_model, "--input", kind, given)
        assert (done.code, done.err.count("\n")) == (1, 1)
        assert message in done.err


def test_tags_can_be_left_out(g2g: Run, bare_model: Path) -> None:
    parser = Parser.load(bare_model)
    expected = "".join("".join(s.lines) for s in parser.parse(conllu.read(TOY), tags=False))
    assert g2g("parse", "--model", bare_model, TOY, "--tags", "none").out == expected


def test_json_says_where_words_are(g2g: Run, toy_model: Path, tmp_path: Path) -> None:
    file = tmp_path / "windows.txt"
    text = TEXT.replace("\n", "\r\n")
    file.write_bytes(text.encode())
    lines = g2g("parse", "--model", toy_model, file, "-f", "json").out.splitlines()
    words = [word for line in lines for word in json.loads(line)["words"]]
    assert len(words) > 15
    assert all(text[word["start_char"] : word["end_char"]] == word["form"] for word in words)
    first = json.loads(g2g("parse", "--model", toy_model, TOY, "-f", "json").out.splitlines()[0])
    assert "start_char" not in first["words"][0]


def test_a_parser_that_does_better_without_predicted_tags(g2g: Run, toy_model: Path, tmp_path: Path) -> None:
    blind = tmp_path / "blind"
    shutil.copytree(toy_model, blind)
    values = json.loads((blind / "config.json").read_text())
    values["decode"]["predicted_tags"] = False
    (blind / "config.json").write_text(json.dumps(values))
    text = "Hey There. Yes, you see the dogs that they had seen? No!"

    def of(bare_model: Path, *options: object) -> tuple[list[Any], list[list[str]]]:
        out = g2g("parse", "--model", bare_model, "--text", text, *options).out
        sentences = list(conllu.read(io.StringIO(out)))
        return [(s.heads, s.deprels) for s in sentences], [s.column(UPOS) for s in sentences]

    trees, tags = of(toy_model)
    trees_without, no_tags = of(toy_model, "--tags", "none")
    assert trees != trees_without
    assert of(blind) == (trees_without, tags) != (trees_without, no_tags)
    assert of(blind, "--tags", "predict") == (trees, tags)
    document = Pipeline.load(blind)(text)
    assert [(s.heads, s.deprels) for s in document.sentences] == trees_without


def test_mistakes(g2g: Run, bare_model: Path, toy_model: Path, tmp_path: Path) -> None:
    corrupt = tmp_path / "corrupt"
    shutil.copytree(toy_model, corrupt)
    (corrupt / "text.udpipe").write_bytes(b"nothing good")
    packed = tmp_path / "packed.txt.gz"
    packed.write_bytes(gzip.compress(TEXT.encode() * 100)[:60])
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"good\n\xff\xfe bad\n")
    short = tmp_path / "short.conllu"
    short.write_text("1\tword\n\n")
    cases = [
        ("no such model", ["--model", tmp_path / "none", TOY]),
        ("No such file", ["--model", bare_model, tmp_path / "none.conllu"]),
        ("No such file", ["--model", bare_model, "--input", "vertical", tmp_path / "none.txt"]),
        ("bad.txt:2: invalid UTF-8", ["--model", bare_model, "--input", "horizontal", bad]),
        ("expected 10 tab-separated columns", ["--model", bare_model, short]),
        ("bad.txt:2: invalid UTF-8 at position 1", ["--model", toy_model, bad]),
        ("No such file", ["--model", toy_model, tmp_path / "none.txt"]),
        ("Is a directory", ["--model", toy_model, tmp_path]),
        ("broken gzip data", ["--model", toy_model, packed]),
        ("g2g train-text", ["--model", bare_model, "--text", "Yes"]),
        ("g2g train-text", ["--model", bare_model, TOY, "--tags", "predict"]),
        ("text.udpipe: not a UDPipe model", ["--model", corrupt, "--text", "Yes"]),
        ("no-such-name: no such model", ["--model", "no-such-name", TOY]),
        ("No such file", ["--model", bare_model, TOY, "-o", tmp_path / "no" / "where.conllu"]),
    ]
    for message, arguments in cases:
        done = g2g("parse", *arguments)
        assert done.code == 1, message
        assert message in done.err
        assert len(done.err.strip().splitlines()) == 1


@pytest.mark.slow
def test_how_to_decode(g2g: Run, toy_model: Path, tmp_path: Path) -> None:
    given = tmp_path / "in.conllu"
    given.write_bytes(TOY.read_bytes())

    def run(*how: object) -> str:
        done = g2g("parse", "--model", toy_model, given, *how)
        assert done.code == 0, done.err
        return str(done.out)

    plain = run()
    assert run("--reencode", "exact") == run("--reencode", "1.5") == run("--beam", 1) == plain
    list(conllu.read(io.StringIO(run("--reencode", "0"))))
    assert run("--reencode", "adaptive") == run("--reencode", "0.9")
    assert run("--keep-arcs") == TOY.read_text()
    for tags in ("keep", "predict"):
        rows = [line.split("\t") for line in run("--probabilities", "--tags", tags).splitlines() if line[:1].isdigit()]
        assert all("ArcP=" in row[MISC] and "LabelP=" in row[MISC] for row in rows)
    best = list(conllu.read(io.StringIO(run("--beam", 4))))
    list(conllu.read(io.StringIO(run("--precision", "int8"))))
    ranked = list(conllu.read(io.StringIO(run("--beam", 4, "--nbest", 3))))
    firsts = [sentence for sentence in ranked if "nbest = 1" in sentence.comments]
    assert [(s.heads, s.deprels) for s in firsts] == [(s.heads, s.deprels) for s in best]
    assert len(ranked) > len(firsts)
    assert all(any(comment.startswith("share = ") for comment in s.comments) for s in ranked)
    assert run("--beam", 4, "--nbest", 3, "--tags", "predict").count("# score = ") >= len(best)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (["--reencode", "often"], "expected exact, adaptive or a number"),
        (["--reencode", "-1"], "expected exact, adaptive or a number"),
        (["--reencode", "nan"], "expected exact, adaptive or a number"),
        (["--beam", "0"], "beam"),
        (["--beam", "2", "--keep-arcs"], "beam search supports neither given arcs nor probabilities"),
        (["--beam", "2", "--nbest", "3"], "--nbest goes up to the width of --beam"),
    ],
)
def test_how_not_to_decode(g2g: Run, toy_model: Path, how: list[str], message: str) -> None:
    done = g2g("parse", "--model", toy_model, TOY, *how)
    assert done.code == 2
    assert message in " ".join(done.err.replace("│", " ").split())


@pytest.mark.parametrize(("heads", "message"), [((2, 1), "ring"), ((0, 0), "sentence ring: no tree has these arcs")])
def test_arcs_of_no_tree_are_told(
    g2g: Run, toy_model: Path, tmp_path: Path, heads: tuple[int, int], message: str
) -> None:
    given = tmp_path / "in.conllu"
    rows = [f"{i}\tx\t_\t_\t_\t_\t{head}\t_\t_\t_\n" for i, head in enumerate(heads, 1)]
    given.write_text("# sent_id = ring\n" + "".join(rows) + "\n")
    done = g2g("parse", "--model", toy_model, given, "--keep-arcs")
    assert done.code == 1
    assert message in done.err
    assert "Traceback" not in done.err


@pytest.mark.slow
def test_workers_give_the_same_in_the_same_order(g2g: Run, toy_model: Path, tmp_path: Path) -> None:
    given = tmp_path / "in.conllu"
    conllu.write(list(conllu.read(TOY)) * 100, given)
    one, two = (g2g("parse", "--model", toy_model, given, "--workers", n, "--reencode", 0) for n in (1, 2))
    assert one.code == two.code == 0
    assert one.out == two.out
    for tags in ("predict", "none"):
        text = [g2g("parse", "--model", toy_model, TOY, "--workers", n, "--tags", tags).out for n in (1, 2)]
        assert text[0] == text[1]

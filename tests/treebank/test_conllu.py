"""CoNLL-U comes back byte for byte, and only a changed head or label changes its line."""

import codecs
import errno
import gzip
import io
import itertools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings

from conllu_example import EXAMPLE, read_text
from graph2graph import files
from graph2graph.errors import DataError
from graph2graph.treebank import conllu
from graph2graph.treebank.sentence import FORM, Sentence
from strategies import File, conllu_files


def written(sentences: list[Sentence]) -> bytes:
    out = io.BytesIO()
    assert conllu.write(sentences, out) == len(sentences)
    return out.getvalue()


def check(sentences: list[Sentence], file: File) -> None:
    """What was read is what the file says, and is written back as it was."""
    assert [sentence.rows for sentence in sentences] == file.rows
    assert [sentence.heads for sentence in sentences] == file.heads
    assert written(sentences) == file.text.encode()


@given(conllu_files())
@settings(max_examples=30)
def test_round_trip_through_streams(file: File) -> None:
    data = file.text.encode()
    check(list(conllu.read(io.BytesIO(data))), file)
    check(list(conllu.read(io.BufferedReader(io.BytesIO(data)))), file)
    check(list(conllu.read(io.BytesIO(gzip.compress(data)))), file)
    check(list(conllu.read(io.StringIO(file.text, newline="\n"))), file)
    check(list(conllu.read(io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="\n"))), file)
    sentences = list(conllu.read(io.BytesIO(data)))
    text = io.StringIO(newline="\n")
    conllu.write(sentences, text)
    assert text.getvalue() == file.text


@given(conllu_files())
@settings(max_examples=20)
def test_round_trip_through_files(tmp_path_factory: pytest.TempPathFactory, file: File) -> None:
    directory = tmp_path_factory.mktemp("files")
    plain, zipped = directory / "in.conllu", directory / "in.gz"
    plain.write_bytes(file.text.encode())
    zipped.write_bytes(gzip.compress(file.text.encode()))
    for path in (plain, zipped, str(plain)):
        check(list(conllu.read(path)), file)
    conllu.write(conllu.read(plain), directory / "out.conllu.gz")
    conllu.write(conllu.read(directory / "out.conllu.gz"), str(directory / "out.conllu"))
    assert (directory / "out.conllu").read_bytes() == plain.read_bytes()
    assert gzip.decompress((directory / "out.conllu.gz").read_bytes()) == plain.read_bytes()
    assert sorted(path.name for path in directory.iterdir()) == ["in.conllu", "in.gz", "out.conllu", "out.conllu.gz"]


@pytest.mark.slow
def test_every_treebank_comes_back(treebanks: Path, tmp_path: Path) -> None:
    files = sorted(treebanks.rglob("*.conllu"))
    assert len(files) > 40
    for path in files:
        out = io.BytesIO()
        conllu.write(conllu.read(path), out)
        assert out.getvalue() == path.read_bytes(), path


@pytest.mark.parametrize("text", ["", "\n", "\r\n\n", "\ufeff", "\ufeff\n"])
def test_nothing_to_read(text: str) -> None:
    assert read_text(text) == []


def test_mark_before_blank_lines() -> None:
    text = "\ufeff\n\n" + EXAMPLE
    assert written(read_text(text)) == text.encode()


def test_mark_stays_when_the_first_line_changes() -> None:
    text = "\ufeff1\ta\t_\t_\t_\t_\t_\t_\t_\t_\r\n\r\n"
    [sentence] = read_text(text)
    assert sentence.with_tree([0], ["root"]).lines == ["\ufeff1\ta\t_\t_\t_\t_\t0\troot\t_\t_\r\n", "\r\n"]


def test_sent_id_after_a_mark() -> None:
    assert read_text("\ufeff" + EXAMPLE[EXAMPLE.index("# sent_id") :])[0].sent_id == "s1"


@pytest.mark.parametrize("code", ["en_ewt", "it_isdt", "ru_taiga", "zh_gsd", "tr_imst"])
def test_udpipe_reads_and_writes_the_same(treebanks: Path, code: str) -> None:
    udpipe = pytest.importorskip("ufal.udpipe")
    ours = list(itertools.islice(conllu.read(treebanks / code / "test.conllu"), 250))
    reader = udpipe.InputFormat.newConlluInputFormat()
    writer = udpipe.OutputFormat.newConlluOutputFormat()
    reader.setText(written(ours).decode())
    theirs, error = udpipe.Sentence(), udpipe.ProcessingError()
    for sentence in ours:
        assert reader.nextSentence(theirs, error)
        words = list(theirs.words)[1:]
        assert [word.form for word in words] == sentence.forms
        assert [word.head for word in words] == sentence.heads
        assert [word.deprel for word in words] == sentence.deprels
        assert theirs.getSentId() == sentence.sent_id
        assert theirs.getText() == (sentence.text if "text" in "".join(sentence.comments) else "")
        assert writer.writeSentence(theirs) == "".join(sentence.lines)
    assert not reader.nextSentence(theirs, error)
    assert not error.occurred()


def test_conllu_package_finds_the_same(treebanks: Path) -> None:
    package = pytest.importorskip("conllu")
    text = (treebanks / "it_partut" / "test.conllu").read_text(encoding="utf-8")
    for theirs, ours in zip(package.parse(text), read_text(text), strict=True):
        words = [token for token in theirs if isinstance(token["id"], int)]
        assert [word["form"] for word in words] == ours.forms
        assert [word["head"] for word in words] == ours.heads
        assert theirs.metadata.get("sent_id") == ours.sent_id


def test_how_far_heads_are_trusted() -> None:
    text = "1\ta\t_\t_\t_\t_\t{}\t_\t_\t_\n2\tb\t_\t_\t_\t_\t{}\t_\t_\t_\n\n"

    def accepted(first: str, second: str) -> list[str]:
        source = text.format(first, second)
        return [c for c in ("tree", "forest", "columns") if not list(conllu.problems(io.StringIO(source), check=c))]

    assert accepted("0", "1") == accepted("_", "_") == accepted("_", "1") == ["tree", "forest", "columns"]
    assert accepted("0", "0") == ["forest", "columns"]
    assert accepted("2", "1") == accepted("1", "0") == accepted("x", "0") == accepted("9", "0") == ["columns"]


def test_conll_x() -> None:
    """Its columns are the same up to DEPREL; there are no comments, and PHEAD and PDEPREL come last."""
    parsed = "1\tA\ta\tD\tDT\t_\t2\tdet\t_\t_\n2\tdog\tdog\tN\tNN\tnum=sg\t0\tROOT\t0\tROOT\n\n"
    unparsed = "1\tA\t_\tD\tDT\t_\t_\t_\t_\t_\n2\tdog\t_\tN\tNN\t_\t_\t_\t_\t_\n"
    first, second = read_text(parsed + unparsed)
    assert first.heads == [2, 0]
    assert second.heads == [None, None]
    assert written([first, second.with_tree([2, 0], ["det", "ROOT"])]).decode() == parsed + unparsed.replace(
        "DT\t_\t_\t_", "DT\t_\t2\tdet"
    ).replace("NN\t_\t_\t_", "NN\t_\t0\tROOT")


class Endless(io.RawIOBase):
    """A file that never ends, a few bytes at a time."""

    def __init__(self, data: bytes) -> None:
        self.source: Iterator[int] = itertools.cycle(data)
        self.n_read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, target: memoryview) -> int:  # type: ignore[override]
        size = min(len(target), 7)
        target[:size] = bytes(itertools.islice(self.source, size))
        self.n_read += size
        return size


def test_reading_is_lazy() -> None:
    stream = Endless(EXAMPLE.encode())
    sentences = conllu.read(stream)
    assert [next(sentences).sent_id for _ in range(4)] == ["s1", "s2", "s1", "s2"]
    assert stream.n_read < 4 * len(EXAMPLE)


def test_text_is_read_lazily() -> None:
    text = io.TextIOWrapper(io.BufferedReader(Endless(EXAMPLE.encode())), encoding="utf-8", newline="\n")
    assert [sentence.sent_id for sentence in itertools.islice(conllu.read(text), 3)] == ["s1", "s2", "s1"]


def test_writing_is_lazy(tmp_path: Path) -> None:
    def sentences() -> Iterator[Sentence]:
        for i, sentence in enumerate(conllu.read(Endless(EXAMPLE.encode()))):
            if i == 3:
                return
            assert len(out.getvalue()) == sum(len("".join(s.lines)) for s in seen)
            seen.append(sentence)
            yield sentence

    out, seen = io.BytesIO(), []
    assert conllu.write(sentences(), out) == 3


def test_streams_stay_open() -> None:
    for stream in (io.BytesIO(EXAMPLE.encode()), io.StringIO(EXAMPLE)):
        assert len(list(conllu.read(stream))) == 2
        assert not stream.closed
        stream.seek(0)
        assert next(conllu.read(stream)).sent_id == "s1"
        assert not stream.closed
        conllu.write([], stream)
        assert not stream.closed


def test_a_stream_may_be_closed_half_way() -> None:
    stream = io.BytesIO(EXAMPLE.encode())
    sentences = conllu.read(stream)
    next(sentences)
    stream.close()
    sentences.close()


@pytest.mark.parametrize("mode", ["w+b", "w+"])
def test_temporary_files(mode: str) -> None:
    """They are wrappers, not of the classes of `io`."""
    with tempfile.NamedTemporaryFile(mode, newline=None if "b" in mode else "\n") as file:
        conllu.write(read_text(EXAMPLE), file)
        file.seek(0)
        assert written(list(conllu.read(file))) == EXAMPLE.encode()


def test_codecs_streams() -> None:
    reader = codecs.getreader("utf-8")(io.BytesIO(EXAMPLE.encode()))
    assert written(list(conllu.read(reader))) == EXAMPLE.encode()


def test_a_zipped_file_of_several_members() -> None:
    first, second = (gzip.compress("".join(sentence.lines).encode()) for sentence in read_text(EXAMPLE))
    assert written(list(conllu.read(io.BytesIO(first + second)))) == EXAMPLE.encode()


def test_the_same_file_is_read_and_written(tmp_path: Path) -> None:
    for name in ("a.conllu", "a.conllu.gz"):
        path = tmp_path / name
        conllu.write(read_text(EXAMPLE) * 500, path)
        before = path.read_bytes()
        changed = (sentence.with_tree(sentence.heads, ["x"] * len(sentence)) for sentence in conllu.read(path))
        assert conllu.write(changed, path) == 1000
        assert path.read_bytes() != before
        assert all(sentence.deprels == ["x"] * len(sentence) for sentence in conllu.read(path))
        assert len(list(tmp_path.glob(".*"))) == 0


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(EXAMPLE + "oops\n")
    with pytest.raises(DataError, match="expected 10 tab-separated columns"):
        conllu.write(conllu.read(path), path)
    assert path.read_text() == EXAMPLE + "oops\n"
    assert [file.name for file in tmp_path.iterdir()] == ["a.conllu"]


def test_zipped_output_is_the_same_each_time(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        conllu.write(read_text(EXAMPLE), tmp_path / name)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


class Broken(io.RawIOBase):
    """A disk that fails after some bytes."""

    name = "broken.conllu"

    def __init__(self, data: bytes) -> None:
        self.data = data

    def readable(self) -> bool:
        return True

    def readinto(self, target: memoryview) -> int:  # type: ignore[override]
        if not self.data:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        size = min(len(target), 10)
        size = min(size, len(self.data))
        target[:size], self.data = self.data[:size], self.data[size:]
        return size


def test_a_read_error() -> None:
    sentences = conllu.read(Broken(EXAMPLE.encode()))
    assert next(sentences).sent_id == "s1"
    with pytest.raises(DataError, match=r"^broken\.conllu: Input/output error$"):
        next(sentences)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nothing\.conllu: No such file or directory$"):
        next(conllu.read(tmp_path / "nothing.conllu"))
    with pytest.raises(DataError, match=r"Is a directory$"):
        next(conllu.read(tmp_path))
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"Not a directory$"):
        next(conllu.read(tmp_path / "file" / "below"))


def test_a_file_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, mode: str) -> None:  # root may read everything, so it has to be played
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)

    monkeypatch.setattr(files, "open", refuse, raising=False)
    with pytest.raises(DataError, match=r"secret\.conllu: Permission denied$"):
        next(conllu.read(tmp_path / "secret.conllu"))


def test_files_that_cannot_be_written(tmp_path: Path) -> None:
    sentences = read_text(EXAMPLE)
    with pytest.raises(DataError, match=r"No such file or directory$"):
        conllu.write(sentences, tmp_path / "no" / "such" / "directory.conllu")
    with pytest.raises(DataError, match=r"Is a directory$"):
        conllu.write(sentences, tmp_path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk() -> None:
    with pytest.raises(DataError, match=r"^/dev/full: No space left on device$"):
        conllu.write(read_text(EXAMPLE), "/dev/full")


def test_a_device_is_written_to_not_replaced(tmp_path: Path) -> None:
    conllu.write(read_text(EXAMPLE), os.devnull)
    assert not Path(os.devnull).is_file()


def test_form_is_never_taken_for_something_else() -> None:
    """Forms that look like comments, ids, blank lines or line ends, and a NUL, are forms."""
    for form in ("#", "# sent_id = 9", "1-2", " ", "\u2028", "\x00", "_", "\ufeff", "\r", "a\rb"):
        [sentence] = read_text(f"1\t{form}\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
        assert sentence.rows[0][FORM] == form
        assert sentence.sent_id is None


WORD = "1\ta\t_\t_\t_\t_\t0\troot\t_\t_"
ODD_ENDS = ["", "\n", "\r", "\r\n", "\n\n", "\r\n\r\n", "\r\n\n", "\n\r\n", "\r\n\r", "\n\r", "\r\r\n", "\r\r"]


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("comment", ["", "# c\n", "# c\r\n", "\n\r\n# c\r\n", "\r\r\n", "\r\ufeff\n"])
@pytest.mark.parametrize("end", ODD_ENDS)
def test_files_with_odd_ends_follow_each_other(mark: str, comment: str, end: str) -> None:
    """Each file comes back as it is, and several make one file that can be read; so do several trees of one sentence."""
    text = mark + comment + WORD + end
    [sentence] = read_text(text)
    assert written([sentence]).decode() == text
    several = [sentence, sentence.with_comments({"nbest": "1", "score": "2"}), *read_text(text + "\n\n" + WORD)]
    joined = written(several)
    assert joined.decode().startswith(text)
    again = list(conllu.read(io.BytesIO(joined)))
    assert [one.rows for one in again] == [one.rows for one in several]
    assert [one.comments for one in again] == [one.comments for one in several]
    assert again[1].comments[-2:] == ["nbest = 1", "score = 2"]
    [alone] = list(conllu.read(io.BytesIO(written(several[1:2]))))
    assert alone.comments == several[1].comments
    assert (
        alone.row_lines == several[1].row_lines == [index for index, line in enumerate(alone.lines) if "\ta\t" in line]
    )


@pytest.mark.parametrize(
    "start", ["\ufeff\ufeff\n", "\ufeff\ufeff\r\n\r\n", "\ufeff\r\ufeff\n", "\ufeff\n\ufeff\r\ufeff\n"]
)
def test_lines_of_byte_order_marks_are_blank(start: str) -> None:
    """A block of two marks was no sentence and no end of one, and stopped the reader; found once in 80,000 random files."""
    text = start + WORD
    [sentence] = read_text(text)
    assert written([sentence]).decode() == text
    assert list(conllu.problems(io.BytesIO(text.encode()))) == []
    assert sentence.with_comments({"score": "2"}).comments[-1] == "score = 2"


def test_text_that_other_readers_split_is_not_split() -> None:
    text = f"# a\rb\u2028c\x0bd\r\n{WORD}\r\n\r\n"
    for stream in (io.StringIO(text, newline=""), codecs.getreader("utf-8")(io.BytesIO(text.encode()))):
        [sentence] = conllu.read(stream)
        assert written([sentence]).decode() == text


class Filled(io.RawIOBase):
    """A file that goes on with the same bytes for ever."""

    def __init__(self, first: bytes, data: bytes) -> None:
        self.first, self.data = first, data * (io.DEFAULT_BUFFER_SIZE // len(data))
        self.n_read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, target: memoryview) -> int:  # type: ignore[override]
        piece = (self.first or self.data)[: len(target)]
        self.first = self.first[len(piece) :]
        target[: len(piece)] = piece
        self.n_read += len(piece)
        return len(piece)


def test_a_line_or_a_sentence_that_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("G2G_MAX_LINE", "1000")  # the defaults take seconds
    monkeypatch.setenv("G2G_MAX_SENTENCE", "20000")
    line = r"^<stream>:{}: a line of more than 1,000 bytes; set G2G_MAX_LINE to read it all the same$"
    sentence = r"^<stream>:3: a sentence of more than 20,000 bytes; set G2G_MAX_SENTENCE to read it all the same$"
    for data, first, message in (
        (b"\0", "", line.format(1)),
        (b"a", f"{WORD}\n\n# ", line.format(3)),
        (f"{WORD}\n".encode(), f"{WORD}\n\n", sentence),
        (b"\n", f"{WORD}\n\n{WORD}\n", sentence),
        (b"#\n", f"{WORD}\n\n", sentence),
    ):
        stream = Filled(first.encode(), data)
        with pytest.raises(DataError, match=message):
            list(conllu.read(stream))
        assert stream.n_read < 40_000
    monkeypatch.setenv("G2G_MAX_SENTENCE", str(len(WORD)))
    with pytest.raises(DataError, match=rf"^<stream>:1: a sentence of more than {len(WORD)} bytes"):
        read_text(WORD + "\n")
    assert len(read_text(WORD)) == 1

"""Laws of reading, on files and texts at random: CoNLL-U comes back as it was, and offsets point at the words.

    python experiments/laws.py reader --seed 1 --runs 250000
    python experiments/laws.py offsets --seed 1 --runs 100000

The results are in experiments/results/laws-reader-SEED.json and laws-offsets-SEED.json. A stopped campaign goes on. A run that
breaks a law is written down with its input, and the script ends with an error. `experiments/fuzz_conllu.py` asks the
same of files that a fuzzer makes.
"""

import argparse
import base64
import gzip
import io
import random
import re
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from graph2graph.errors import DataError
from graph2graph.files import read_json, write_json
from graph2graph.parser import catalogue
from graph2graph.text.udpipe import FILE_NAME, TextModel
from graph2graph.treebank import conllu
from graph2graph.treebank.checking import Check
from graph2graph.treebank.misc import Span
from graph2graph.treebank.sentence import FORM, ID, MISC, Sentence

RESULTS = Path(__file__).parent / "results"
KEPT_FAILURES = 20
REPORT = 2_000  # runs between two reports
WORTH_TIMING = 0.02  # seconds
NOTHING: dict[str, Any] = {"runs": 0, "failed": 0, "failures": [], "inputs": {}, "slowest_ms": 0.0}
Make = Callable[
    [random.Random], tuple[bytes, Callable[[], str]]
]  # an input, and a function that checks it and names its kind

# A file that ends in the middle of what another file would need before it.
OPEN_END = b"\xef\xbb\xbf# sent_id = open\r\n1\tYes\tyes\tINTJ\tUH\t_\t0\troot\t_\t_"


# --- the reader ---


def check_file(data: bytes) -> bool:
    """Whether a file is accepted; raise AssertionError where a law is broken.

    A file is refused with problems of one printable line each, or comes back byte for byte. What `g2g parse` would write for
    it, after another file and with a second tree of the last sentence, is valid, and has the same words.
    """
    _problems(data, "tree")
    sentences = _read(data)
    if not sentences:
        return sentences is not None
    plain = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    assert written_bytes(sentences) == plain, "the file did not come back"
    if b"\r" in plain:
        stream = io.StringIO(plain.decode(), newline="")  # which splits lines at carriage returns
        assert [one.lines for one in conllu.read(stream, check="columns")] == [one.lines for one in sentences]
    trees = [with_any_tree(sentence) for sentence in sentences]
    trees.append(trees[-1].with_comments({"nbest": "2", "score": "-0.1"}))
    several = [_other, *trees]
    again = list(conllu.read(io.BytesIO(written_bytes(several))))  # raises an error at what `g2g validate` refuses
    assert [one.rows for one in again] == [one.rows for one in several], "the words differ after parse"
    assert [one.comments for one in again] == [one.comments for one in several], "the comments differ after parse"
    return True


def _read(data: bytes) -> list[Sentence] | None:
    """The sentences of a file, None if it is refused; both ways of reading agree."""
    problems = _problems(data, "columns")
    try:
        sentences = list(conllu.read(io.BytesIO(data), check="columns"))
    except DataError as error:
        if str(error) != problems[0]:
            raise AssertionError("the first problem is not the error") from error
        return None
    assert not problems, "a file with problems was read"
    return sentences


def _problems(data: bytes, check: Check) -> list[str]:
    """The problems of a file, one printable line each."""
    problems = [str(problem) for problem in conllu.problems(io.BytesIO(data), check=check)]
    assert all(map(str.isprintable, problems)), "a problem is not one printable line"
    return problems


def written_bytes(sentences: list[Sentence]) -> bytes:
    """The sentences as a file."""
    out = io.BytesIO()
    conllu.write(sentences, out)
    return out.getvalue()


def with_any_tree(sentence: Sentence) -> Sentence:
    """The sentence with a tree, as if it had been parsed."""
    n = len(sentence)
    tree = sentence.with_tree([0, *[1] * (n - 1)], ["root", *["dep"] * (n - 1)])
    return tree.with_probabilities([(1.0, 0.5)] * n) if n % 2 else tree


_other = next(conllu.read(io.BytesIO(OPEN_END)))

CELLS = [
    *(
        "_",
        "a",
        "The",
        "x|y=z",
        "#",
        "# sent_id = 1",
        "1-2",
        "é",
        "漢字",
        "🐕",
        "a b",
        " ",
        "\u00a0",
        "\ufeff",
        "\u200d",
    ),
    *("\r", "a\rb", "\x00", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "e\u0301", "\u202e", "ArcP=abc", "ArcP=inf"),
    *(
        "ArcP=0.5|LabelP=1",
        "TokenRange=99999999999999999999",
        "TokenRange=9:3",
        "TokenRange=0:3",
        "SpaceAfter=No",
        "nsubj",
    ),
]
ENDS = (["\n"], ["\n"], ["\r\n"], ["\n", "\r\n"], ["\n", "\r\n", "\r\r\n"])
LAST_ENDS = (
    "",
    "\r",
    "\n",
    "\r\n",
    "\n\n",
    "\r\n\r\n",
    "\n\r",
    "\r\n\r",
    "\n\n\n\r\n",
    "\r\r",
    "\n\ufeff",
    "\r\n\ufeff\r\n",
)
SPLICES = [
    *(
        b"",
        b"\n",
        b"\n\n",
        b"\r",
        b"\r\n",
        b"\t",
        b"\t\t",
        b"_",
        b"#",
        b"0",
        b"1",
        b"2",
        b"9" * 30,
        b"-",
        b"1-2",
        b"2-1",
        b"1.1",
    ),
    *(
        b"\xef\xbb\xbf",
        b"\xff",
        b"\xc3",
        b"\xed\xa0\x80",
        b"\x00",
        b"\x1f\x8b",
        b" ",
        b"# text = x\n",
        b"root",
        b"obj",
    ),
]


def legal_file(rng: random.Random) -> bytes:
    """A legal file: any cells, ranges and empty nodes, blank lines anywhere, line ends of all kinds, the last one or none."""
    ends = rng.choice(ENDS)
    lines: list[str] = [""] * rng.choice((0, 0, 0, 1, 2))
    for _ in range(rng.choice((1, 1, 2, 3))):
        lines += [*_sentence_lines(rng), *[""] * rng.choice((1, 1, 1, 2, 3))]
    while not lines[-1]:
        lines.pop()
    text = "".join(line + rng.choice(ends) for line in lines[:-1]) + lines[-1] + rng.choice(LAST_ENDS)
    return (rng.choice(("", "", "\ufeff")) + text).encode()


def _sentence_lines(rng: random.Random) -> Iterator[str]:
    """The lines of a sentence without their ends."""
    for _ in range(rng.choice((0, 1, 2))):
        yield "#" + rng.choice((" sent_id = 1", " text = a b", "", *CELLS)) + "."
    n_words, in_range_until = rng.choice((1, 1, 2, 2, 3, 4)), 0
    heads = [0, *(rng.randrange(1, word) for word in range(2, n_words + 1))]
    is_parsed = rng.random() < 0.8
    yield from _empty_nodes(rng, 0)
    for word, head in enumerate(heads, 1):
        if word > in_range_until and rng.random() < 0.2:
            in_range_until = rng.randint(word, n_words)
            yield _line(rng, f"{word}-{in_range_until}", "_")
        yield _line(rng, str(word), str(head) if is_parsed else "_")
        yield from _empty_nodes(rng, word)


def _empty_nodes(rng: random.Random, word: int) -> Iterator[str]:
    for number in range(1, 1 + rng.choice((0, 0, 0, 0, 1, 2))):
        yield _line(rng, f"{word}.{number}", "_")


def _line(rng: random.Random, number: str, head: str) -> str:
    cells = rng.choices(CELLS, k=8)
    cells[-1] = cells[-1].rstrip("\r") or "_"  # where it would belong to the line end
    return "\t".join([number, *cells[:5], head, *cells[5:]])


def spoilt_file(rng: random.Random) -> bytes:
    """A legal file with a few changes."""
    data = legal_file(rng)
    for _ in range(rng.randint(1, 4)):
        start = rng.randrange(len(data) + 1)
        data = data[:start] + rng.choice(SPLICES) + data[start + rng.choice((0, 0, 1, 2, 10)) :]
    return data


def reader_run(rng: random.Random) -> tuple[bytes, Callable[[], str]]:
    """A file, and a function that checks it and says what kind of file it is."""
    kind = rng.choices(("legal", "spoilt", "gzip", "noise"), (40, 45, 10, 5))[0]
    if kind == "legal":
        data = legal_file(rng)
    elif kind == "spoilt":
        data = spoilt_file(rng)
    elif kind == "gzip":
        data = gzip.compress(rng.choice((legal_file, spoilt_file))(rng), compresslevel=1, mtime=0)
        data = data[: rng.choice((len(data), len(data), rng.randrange(len(data))))]
    else:
        data = rng.randbytes(rng.randrange(60))

    def check() -> str:
        is_accepted = check_file(data)
        assert is_accepted or kind != "legal", "a legal file is refused"
        return f"{kind}, {'accepted' if is_accepted else 'refused'}"

    return data, check


# --- offsets ---

WORDS = [
    *(
        "The",
        "dog",
        "barks",
        ".",
        "Yes",
        "don't",
        "isn't",
        "cannot",
        "gonna",
        "Mr.",
        "U.S.",
        "e.g.",
        "10,000.5",
        "$5",
        "(",
        ")",
    ),
    *(
        '"',
        "'",
        "``",
        "--",
        "...",
        "a/b",
        "http://x.y/z?q=1",
        "x@y.com",
        "#tag",
        "|",
        "\\",
        "\\n",
        "_",
        "1-2\t_",
        "é",
        "e\u0301",
    ),
    *(
        "漢字かな",
        "한국어",
        "עברית",
        "عربي",
        "🐕",
        "👩\u200d🚀",
        "\u200d",
        "\u202e",
        "\ud800",
        "\ufffe",
        "ﬁ",
        "İ",
        "ß",
        "Ǆ",
        "10 000",
    ),
]
SPACES = [
    *(
        " ",
        " ",
        " ",
        " ",
        " ",
        "  ",
        "\n",
        "\n",
        "\n\n",
        "\r\n",
        "\r\n\r\n",
        "\r",
        "\t",
        "\u00a0",
        "\u3000",
        "\u2028",
        "\u0085",
    ),
    *("\0", "\x0c", "\x0b", "\x1f", "\ufeff", "", "", "\n \n", "\n\n\n\n"),
]
_UNSEEN = re.compile("[\0\ud800-\udfff]")  # what UDPipe cannot hold
_ESCAPES = {"s": " ", "t": "\t", "r": "\r", "n": "\n", "p": "|", "\\": "\\"}


def check_offsets(model: TextModel, text: str) -> int:
    """The number of words in a text; raise AssertionError where a law is broken.

    The characters of each word at its offsets are its FORM, tokens follow each other, and tokens with the spaces that MISC
    gives between them are the text.
    """
    seen = _UNSEEN.sub("\ufffd", text)
    n_words, end, spelt = 0, 0, ""
    for sentence in model.sentences(text, ranges=True, tags=False):
        for form, span in zip(sentence.forms, sentence.spans, strict=True):
            if span is not None:
                assert seen[span.start : span.end].split() == form.split(), f"{form!r} is not at {span}"
        for row, span in _tokens(sentence):
            assert seen[span.start : span.end].split() == row[FORM].split(), f"token {row[FORM]!r} is not at {span}"
            assert end <= span.start < span.end <= len(text), (
                f"token {row[FORM]!r} at {span} is before the last or empty"
            )
            spelt += (
                seen[end : span.start] if not seen[end : span.start].strip() else "\ufffe"
            )  # only spaces lie between
            spelt += seen[span.start : span.end]
            end = span.end
        spelt_by_misc = "".join(map(_spelt, _rows_of_tokens(sentence)))
        assert "".join(spelt_by_misc.split()) in "".join(seen.split()), "MISC spells another text"
        n_words += len(sentence)
    spelt += seen[end:]
    assert "".join(spelt.split()) == "".join(seen.split()), "characters are lost or added"
    assert not seen[end:].strip(), "characters at the end are lost"
    return n_words


def _rows_of_tokens(sentence: Sentence) -> Iterator[list[str]]:
    """The columns of the tokens: words, and ranges in place of their words."""
    covered = 0
    for line in sentence.lines:
        row = line.rstrip("\n").split("\t")
        first, dash, last = row[ID].partition("-")
        if len(row) == 10 and (dash or int(first) > covered):
            covered = int(last) if dash else covered
            yield row


def _tokens(sentence: Sentence) -> Iterator[tuple[list[str], Span]]:
    for row in _rows_of_tokens(sentence):
        found = re.search(r"TokenRange=([0-9]+):([0-9]+)", row[MISC])
        assert found, f"token {row[FORM]!r} has no offsets"
        yield row, Span(int(found[1]), int(found[2]))


def _spelt(row: list[str]) -> str:
    """A token with the spaces around it, as MISC has them."""
    misc = dict(item.partition("=")[::2] for item in row[MISC].split("|"))
    decoded = {key: re.sub(r"\\(.)", lambda match: _ESCAPES[match[1]], value) for key, value in misc.items()}
    after = "" if misc.get("SpaceAfter") == "No" else decoded.get("SpacesAfter", " ")
    return decoded.get("SpacesBefore", "") + decoded.get("SpacesInToken", row[FORM]) + after


def offsets_run(model: TextModel, rng: random.Random) -> tuple[bytes, Callable[[], str]]:
    """A text, and a function that checks it."""
    text = "".join(rng.choice(WORDS) + rng.choice(SPACES) for _ in range(rng.randrange(25)))
    if rng.random() < 0.1:
        text += "".join(chr(rng.randrange(0x3000)) for _ in range(rng.randrange(20)))
    return text.encode("utf-8", "surrogatepass"), lambda: f"{'some' if check_offsets(model, text) else 'no'} words"


# --- the campaign ---


def campaign(make: Make, runs: range, seed: int, found: dict[str, Any]) -> dict[str, Any]:
    """Run checks and return what was found, added to what was found before; the seed and its number determine an input."""
    kinds, failures = Counter[str](found["inputs"]), list(found["failures"])
    slowest, n_failures = found["slowest_ms"] / 1000, found["failed"]
    for number in runs:
        data, check = make(random.Random(f"{seed}-{number}"))
        before = time.perf_counter()
        try:
            kinds[check()] += 1
        except Exception as error:
            n_failures += 1
            message = f"{type(error).__name__}: {error}"
            failures.append({"run": number, "error": message, "input": base64.b64encode(data).decode()})
        if time.perf_counter() - before > max(slowest, WORTH_TIMING):  # perhaps only because the machine is busy
            slowest = max(slowest, _seconds(check))
    return {
        "runs": runs.stop,
        "seed": seed,
        "failed": n_failures,
        "failures": failures[:KEPT_FAILURES],
        "inputs": dict(sorted(kinds.items())),
        "slowest_ms": round(1000 * slowest, 1),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def _seconds(check: Callable[[], str]) -> float:
    """The processor time of a check."""
    before = time.process_time()
    with suppress(Exception):
        check()
    return time.process_time() - before


def main() -> None:
    """Run a campaign and write down how it went."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("what", choices=("reader", "offsets"))
    arguments.add_argument("--runs", type=int, default=1000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--output", type=Path, help="default: experiments/results/laws-WHAT-SEED.json")
    given = arguments.parse_args()
    make: Make = reader_run
    if given.what == "offsets":
        make = partial(offsets_run, TextModel.load(catalogue.find(catalogue.DEFAULT) / FILE_NAME))
    output = given.output or RESULTS / f"laws-{given.what}-{given.seed}.json"
    found = read_json(output) if output.exists() else NOTHING
    while found["runs"] < given.runs:
        end = min(given.runs, found["runs"] + REPORT)
        found = campaign(make, range(found["runs"], end), given.seed, found)
        write_json(output, found)
    raise SystemExit(f"{found['failed']} of {found['runs']} runs failed" if found["failed"] else 0)


if __name__ == "__main__":
    main()

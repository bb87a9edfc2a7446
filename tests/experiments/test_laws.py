"""The laws of reading: a few runs of the campaigns, and the files that the fuzzer found."""

import base64
import json
import random
from functools import partial
from pathlib import Path

import laws
import pytest

from conftest import ROOT
from graph2graph.text.udpipe import TextModel

FUZZED = json.loads((ROOT / "tests" / "data" / "fuzzed-conllu.json").read_text(encoding="utf-8"))


def test_the_reader_keeps_its_laws() -> None:
    first = laws.campaign(laws.reader_run, range(250), 1, laws.NOTHING)
    found = laws.campaign(laws.reader_run, range(250, 500), 1, first)
    assert (found["runs"], found["failures"]) == (500, [])
    kinds = (
        "legal, accepted",
        "spoilt, accepted",
        "spoilt, refused",
        "gzip, accepted",
        "gzip, refused",
        "noise, refused",
    )
    assert all(found["inputs"][kind] > 0 for kind in kinds)


def test_offsets_keep_their_laws(text_udpipe: Path) -> None:
    found = laws.campaign(partial(laws.offsets_run, TextModel.load(text_udpipe)), range(300), 1, laws.NOTHING)
    assert found["failures"] == []
    assert found["inputs"]["some words"] > 200


def test_a_broken_law_is_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(laws, "check_file", lambda data: False)
    found = laws.campaign(laws.reader_run, range(50), 1, laws.NOTHING)
    assert found["failed"] > 10
    failure = found["failures"][0]
    assert failure["error"] == "AssertionError: a legal file is refused"
    data, check = laws.reader_run(random.Random(f"1-{failure['run']}"))
    assert base64.b64decode(failure["input"]) == data
    with pytest.raises(AssertionError, match="a legal file is refused"):
        check()


def test_what_the_fuzzer_found() -> None:
    found = [laws.check_file(base64.b64decode(data)) for data in FUZZED]
    assert found.count(True) > 10
    assert found.count(False) > 10

"""Disk and memory are checked before a run."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from graph2graph.errors import DataError
from graph2graph.training.resources import check_resources, peak_memory
from toy_training import tiny_parser


def test_no_room_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parser = tiny_parser()
    assert "M parameters" in check_resources(tmp_path / "new" / "model", parser.model, parser.config)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    with pytest.raises(DataError, match="MB of disk needed"):
        check_resources(tmp_path / "new" / "model", parser.model, parser.config)


def test_memory_grows_with_the_batch() -> None:
    small, large = (tiny_parser(batch_pieces=pieces).config for pieces in (100, 10_000))
    assert peak_memory(1000, large) > peak_memory(1000, small)

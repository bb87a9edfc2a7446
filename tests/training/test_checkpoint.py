"""Checkpoints are whole, or passed over."""

import errno
import os
from pathlib import Path

import pytest
import torch

from graph2graph.config import TrainConfig
from graph2graph.errors import DataError
from graph2graph.training import checkpoint
from graph2graph.training.learner import optimiser
from toy_training import tiny_parser


def saved(directory: Path, *steps: int) -> tuple[torch.nn.Module, torch.optim.AdamW]:
    """A model after one update, saved as if after each of these steps."""
    parser = tiny_parser()
    adam = optimiser(parser.model, TrainConfig(), pretrained=False)
    for parameter in parser.model.parameters():
        parameter.grad = torch.ones_like(parameter)
    adam.step()
    for step in steps:
        checkpoint.save(directory, step, parser.model, adam, {"step": step})
    return parser.model, adam


def test_weights_moments_and_progress_come_back_and_the_last_two_are_kept(tmp_path: Path) -> None:
    model, adam = saved(tmp_path, 1, 2, 3)
    names = [f"step-00000000{step}.safetensors" for step in (2, 3)]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    found = checkpoint.load(tmp_path)
    assert found is not None
    tensors, progress = found
    assert progress == checkpoint.progress_of(tmp_path) == {"step": 3}
    other = tiny_parser().model
    fresh = optimiser(other, TrainConfig(), pretrained=False)
    checkpoint.restore(tensors, other, fresh)
    for ours, theirs in zip(other.parameters(), model.parameters(), strict=True):
        assert torch.equal(ours, theirs)
        for key in checkpoint.MOMENTS:
            assert torch.equal(fresh.state[ours][key], adam.state[theirs][key])


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty"])
def test_a_damaged_checkpoint_is_passed_over_for_the_one_before(tmp_path: Path, damage: str) -> None:
    saved(tmp_path, 1, 2)
    path = tmp_path / "step-000000002.safetensors"
    content = bytearray(path.read_bytes())
    if damage == "flipped":
        content[-1000] ^= 1
    path.write_bytes({"truncated": content[:-500], "flipped": content, "empty": b""}[damage])
    with pytest.warns(UserWarning, match="not a whole checkpoint"):
        found = checkpoint.load(tmp_path)
    assert found is not None
    assert found[1] == {"step": 1}


def test_without_a_checkpoint_there_is_nothing_to_load(tmp_path: Path) -> None:
    assert checkpoint.load(tmp_path / "none") is None
    assert checkpoint.progress_of(tmp_path / "none") is None


def test_a_full_disk_is_one_clear_line_and_the_checkpoint_before_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, adam = saved(tmp_path, 1)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match=r"step-000000002\.safetensors: No space left on device; .* cannot be written"):
        checkpoint.save(tmp_path, 2, model, adam, {"step": 2})
    assert [path.name for path in tmp_path.iterdir()] == ["step-000000001.safetensors"]

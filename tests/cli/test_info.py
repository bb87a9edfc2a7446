"""`g2g info` shows what a model is, and its card."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

Run = Callable[..., Any]


def test_info(g2g: Run, toy_model: Path, tmp_path: Path) -> None:
    from graph2graph.parser.parser import Parser

    done = g2g("info", toy_model, "--json")
    assert (done.code, done.err) == (0, "")
    found, parser = json.loads(done.out), Parser.load(toy_model)
    assert (found["variant"], found["title"], found["text_model"]) == ("sent-g2g", "SentTr+G2GTr", True)
    assert found["parameters"] == sum(weight.numel() for weight in parser.model.state_dict().values())
    assert (found["labels"], found["tags"]) == (parser.vocabulary.labels, parser.vocabulary.tags)
    assert found["encoder"]["width"] == 16
    assert found["bytes"] == sum(path.stat().st_size for path in toy_model.iterdir())
    assert found["card"].startswith("# A toy")
    shown = g2g("info", toy_model).out
    assert shown.startswith("# A toy")
    assert "sent-g2g (SentTr+G2GTr)" in shown
    assert f"{found['parameters']:,}" in shown
    bare = tmp_path / "bare"
    shutil.copytree(toy_model, bare)
    for name in ("README.md", "text.udpipe"):
        (bare / name).unlink()
    assert "g2g train-text" in g2g("info", bare).out
    (bare / "model.safetensors").write_bytes(b"broken")
    for model, message in ((bare, "broken"), (tmp_path, "config.json"), ("none-such", "no such model")):
        done = g2g("info", model)
        assert (done.code, done.out) == (1, "")
        assert message in done.err
        assert len(done.err.splitlines()) == 1

"""Where things are in a clone of the repository: plans, treebanks, runs, results and tables."""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graph2graph.errors import DataError
from graph2graph.reproduce.plans import Run, tables
from graph2graph.treebank import conllu

HELD_OUT = 0.1  # of a training file, its end, where there is no development file


@dataclass(frozen=True)
class Places:
    """The clone, and the directory with a subdirectory for each treebank."""

    root: Path
    treebanks: Path

    @classmethod
    def find(cls, treebanks: Path | None = None, *, start: Path | None = None) -> "Places":
        """The clone that we are in, or the one that this package is run from."""
        here = (start or Path.cwd()).absolute()
        for root in (here, *here.parents, Path(__file__).absolute().parents[3]):
            if tables(root / "experiments"):
                return cls(root, (treebanks or root.parent / "shared" / "treebanks").absolute())
        raise DataError(
            f"no experiments/*/table.toml in {here} or above: g2g reproduce needs the plans of the repository, "
            "which the package alone does not have; clone it and run the command there"
        )

    @property
    def experiments(self) -> Path:
        """The plans."""
        return self.root / "experiments"

    def run(self, run: Run) -> Path:
        """The model of a run, its log and what it parsed."""
        return self.root / "runs" / "reproduce" / run.table / run.profile / run.name

    def result(self, table: str, profile: str, name: str) -> Path:
        """What is committed of a run."""
        return self.experiments / "results" / table / profile / f"{name}.json"

    def page(self, table: str, profile: str, suffix: str = ".md") -> Path:
        """The table in the docs."""
        return self.root / "docs" / "tables" / f"{table}{'' if profile == 'cpu' else '-' + profile}{suffix}"

    def files(self, run: Run) -> dict[str, Path]:
        """The three files of a treebank; where dev is missing, it and train are parts of train, which `prepare` makes.

        And what training looks at of dev, as `watched`: all, or a part, which `prepare` makes too.
        """
        directory = self.treebanks / run.treebank
        found = {split: directory / f"{split}.conllu" for split in ("train", "dev", "test")}
        made = self.root / "runs" / "reproduce" / "data"
        if found["train"].is_file() and not found["dev"].is_file():
            found |= {split: made / f"{run.treebank}-{split}.conllu" for split in ("train", "dev")}
        part = made / f"{run.treebank}-dev-{run.dev_sentences}.conllu"
        return found | {"watched": part if run.dev_sentences else found["dev"]}

    def lacking(self, run: Run) -> str | None:
        """What is not there of the data and the encoder that a run needs, if anything."""
        directory = self.treebanks / run.treebank
        for split in ("train", "test"):
            if not (directory / f"{split}.conllu").is_file():
                return f"no {split} file of {run.treebank}"
        is_path = run.encoder is not None and run.encoder.startswith((".", "/"))
        if is_path and not (self.root / str(run.encoder)).is_dir():
            return f"no {run.encoder} (python experiments/encoders.py {Path(str(run.encoder)).name})"
        return None

    def prepare(self, run: Run) -> None:
        """Hold out the end of a training file, if need be, and take a part of the development file, if asked."""
        files, whole = self.files(run), self.treebanks / run.treebank / "train.conllu"
        if files["train"] != whole and not all(files[split].exists() for split in ("train", "dev")):
            sentences = list(conllu.read(whole))
            n_train = len(sentences) - max(1, round(HELD_OUT * len(sentences)))
            _write(files["train"], sentences[:n_train])
            _write(files["dev"], sentences[n_train:])
        if not files["watched"].exists():
            sentences = list(conllu.read(files["dev"]))
            step = max(len(sentences) / run.dev_sentences, 1)
            _write(files["watched"], [sentences[int(n * step)] for n in range(int(len(sentences) / step))])

    def shown(self, path: Path) -> str:
        """A path as it may be published: from the clone, or from the treebanks."""
        if path.is_relative_to(self.treebanks):
            return f"$G2G_TREEBANKS/{path.relative_to(self.treebanks)}"
        return os.path.relpath(path, self.root)

    def commit(self) -> str:
        """The commit of the clone, with a + if files that belong to it have been changed since."""
        commit = self._git("rev-parse", "HEAD")
        changed = self._git("status", "--porcelain", "--untracked-files=no", "--", "src", "experiments/*.toml")
        return (commit or "unknown") + ("+" if changed else "")

    def _git(self, *arguments: str) -> str:
        try:
            done = subprocess.run(
                ["git", "-C", str(self.root), *arguments], capture_output=True, text=True, check=False
            )
        except OSError:
            return ""
        return done.stdout.strip() if done.returncode == 0 else ""


def _write(path: Path, sentences: Sequence[conllu.Sentence]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    conllu.write(sentences, part)
    os.replace(part, path)


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file that appears when it is complete."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file that appears when it is complete."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.part")
        part.write_text(text, encoding="utf-8")
        os.replace(part, path)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from error

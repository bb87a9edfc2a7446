"""Where things are in a clone of the repository: tables, treebanks, runs, results and pages."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from graph2graph.errors import DataError
from graph2graph.reproduce.plans import PlannedRun
from graph2graph.reproduce.rows import table_names
from graph2graph.treebank import conllu

HELD_OUT = 0.1  # where there is no dev file: the share of the training file, at its end, that serves as one


@dataclass(frozen=True)
class Paths:
    """The clone, and the directory with a subdirectory for each treebank."""

    root: Path
    treebanks: Path

    @classmethod
    def find(cls, treebanks: Path | None = None, *, start: Path | None = None) -> "Paths":
        """The clone that contains `start` (default: the working directory), or else the one with this package."""
        here = (start or Path.cwd()).absolute()
        for root in (here, *here.parents, Path(__file__).absolute().parents[3]):
            if table_names(root / "experiments"):
                default = os.environ.get("G2G_TREEBANKS") or root.parent / "shared" / "treebanks"
                return cls(root, Path(treebanks or default).absolute())
        raise DataError(
            f"no experiments/*/rows.toml in {here} or above: g2g reproduce needs a clone of the repository, which holds "
            "the tables; clone it and run the command there"
        )

    @property
    def experiments(self) -> Path:
        """The tables to run, and their results."""
        return self.root / "experiments"

    def run(self, run: PlannedRun) -> Path:
        """The directory of a run: its model, its log and the files it parsed."""
        return self.root / "runs" / "reproduce" / run.table / run.profile / run.name

    def result(self, table: str, profile: str, name: str) -> Path:
        """The committed result of a run."""
        return self.experiments / "results" / table / profile / f"{name}.json"

    def page(self, table: str, profile: str, suffix: str = ".md") -> Path:
        """The table's page in the docs."""
        return self.root / "docs" / "tables" / f"{table}{'' if profile == 'cpu' else '-' + profile}{suffix}"

    def files(self, run: PlannedRun) -> dict[str, Path]:
        """The files of a run: train, dev, test, and `watched`, the part of dev on which training chooses checkpoints.

        `prepare` makes those that are not in the treebank.
        """
        directory = self.treebanks / run.treebank
        files = {split: directory / f"{split}.conllu" for split in ("train", "dev", "test")}
        made = self.root / "runs" / "reproduce" / "data"
        if files["train"].is_file() and not files["dev"].is_file():
            files |= {split: made / f"{run.treebank}-{split}.conllu" for split in ("train", "dev")}
        part = made / f"{run.treebank}-dev-{run.dev_sentences}.conllu"
        return files | {"watched": part if run.dev_sentences else files["dev"]}

    def lacking(self, run: PlannedRun) -> str | None:
        """The file, encoder or GPU that a run needs and does not have, if any."""
        directory = self.treebanks / run.treebank
        for split in ("train", "test"):
            if not (directory / f"{split}.conllu").is_file():
                return f"no {split} file of {run.treebank}"
        encoder = run.encoder or ""
        if encoder.startswith((".", "/")) and not (self.root / encoder).is_dir():
            return f"no {encoder} (python experiments/encoders.py {Path(encoder).name})"
        if run.gpu:
            import torch

            return None if torch.cuda.is_available() else "no GPU"
        return None

    def prepare(self, run: PlannedRun) -> None:
        """Make the files of a run that its treebank does not have: dev from the end of train, and a part of dev."""
        files, whole = self.files(run), self.treebanks / run.treebank / "train.conllu"
        files["watched"].parent.mkdir(parents=True, exist_ok=True)
        if files["train"] != whole and not all(files[split].exists() for split in ("train", "dev")):
            sentences = list(conllu.read(whole))
            n_train = len(sentences) - max(1, round(HELD_OUT * len(sentences)))
            conllu.write(sentences[:n_train], files["train"])
            conllu.write(sentences[n_train:], files["dev"])
        if not files["watched"].exists():
            sentences = list(conllu.read(files["dev"]))
            step = max(len(sentences) / run.dev_sentences, 1)
            conllu.write((sentences[int(n * step)] for n in range(int(len(sentences) / step))), files["watched"])

    def published(self, path: Path) -> str:
        """A path that says nothing about this machine: relative to the clone, or under $G2G_TREEBANKS."""
        absolute = Path(os.path.normpath(self.root / path))
        if absolute.is_relative_to(self.treebanks):
            return f"$G2G_TREEBANKS/{absolute.relative_to(self.treebanks)}"
        return os.path.relpath(absolute, self.root)

    def commit(self) -> str:
        """The commit of the clone, with a + if the code or the tables have been changed since."""
        commit = self._git("rev-parse", "HEAD")
        changed = self._git("status", "--porcelain", "--untracked-files=no", "--", "src", "experiments/*.toml")
        return (commit or "unknown") + ("+" if changed else "")

    def _git(self, *arguments: str) -> str:
        command = ["git", "-C", str(self.root), *arguments]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError:
            return ""
        return done.stdout.strip() if done.returncode == 0 else ""

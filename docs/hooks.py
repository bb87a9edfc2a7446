"""Pages of the site that are made from something else: the front page, and the reference of the command line."""

import subprocess
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    readme = (Path(config.docs_dir).parent / "README.md").read_text(encoding="utf-8").replace("](docs/", "](")
    files.append(File.generated(config, "index.md", content=readme))
    files.append(File.generated(config, "cli.md", content=_commands()))
    return files


def _commands() -> str:
    command = [sys.executable, "-m", "typer", "graph2graph.cli", "utils", "docs", "--name", "g2g"]
    done = subprocess.run([*command, "--title", "Command line"], check=True, capture_output=True, text=True)
    return done.stdout

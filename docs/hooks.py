"""Generated pages of the site: files of the top directory, the command line, models' cards, and code that pages link to."""

import html
import re
import subprocess
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from typer.main import get_command

from graph2graph.cli import app
from graph2graph.parser import catalogue
from graph2graph.parser.hub_card import without_front_matter

TOP = {"README.md": "index.md"} | {name: name for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")}
EXAMPLE = re.compile(r"^(Example: )?((?:g2g|curl|echo) .*)$", re.MULTILINE)
CODE = re.compile(r"\]\((?:\.\./)+((?:src|benchmarks|experiments|tests)/[\w/]+\.py)\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for source, page in TOP.items():
        content = (Path(config.docs_dir).parent / source).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, page, content=content))
    files.append(File.generated(config, "cli.md", content=_commands()))
    for path in sorted({path for file in files.documentation_pages() for path in CODE.findall(file.content_string)}):
        code = (Path(config.docs_dir).parent / path).read_text(encoding="utf-8")
        files.append(File.generated(config, f"code/{path}.md", content=f"# {path}\n\n~~~~python\n{code}~~~~\n"))
    return files


def _commands() -> str:
    """The reference of the command line, with whole sentences in the list of commands, and examples as code."""
    command = [sys.executable, "-m", "typer", "graph2graph.cli", "utils", "docs", "--name", "g2g"]
    page = subprocess.run([*command, "--title", "Command line"], check=True, capture_output=True, text=True).stdout
    for name, about in get_command(app).commands.items():  # type: ignore[attr-defined]
        first_line = " ".join((about.help or "").split("\n\n")[0].split())
        page = re.sub(rf"^\* `{name}`: .*$", lambda _, line=f"* `{name}`: {first_line}": line, page, flags=re.MULTILINE)
    return EXAMPLE.sub(lambda found: f"{found[1] or ''}`{html.unescape(found[2])}`", page)


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Link to the pages of code, and put the cards of the shipped models on the page of the models."""
    up = "../" * page.file.src_uri.count("/")
    markdown = CODE.sub(rf"]({up}code/\1.md)", markdown)
    if page.file.src_uri == "models.md":
        for directory in catalogue.shipped().values():
            card = without_front_matter((directory / "README.md").read_text(encoding="utf-8"))
            markdown += "\n" + f"\n{card}".replace("\n#", "\n##")
    return markdown

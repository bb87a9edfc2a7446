"""Every setting, command, option, file and Python name that README and docs mention exists."""

import importlib
import inspect
import re
from functools import cache
from itertools import chain
from typing import Any

import click
import pytest
from markdown_blocks import ROOT, pages
from pydantic import BaseModel
from typer.main import get_command

from graph2graph.cli import app
from graph2graph.config import Config

CODE = re.compile(r"(`{3,})[\w+-]*\n(.*?)^ *\1$|`([^`\n]+)`", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"#.*")
SETTING = re.compile(r"(?<![\w./])((?:data|model|train|decode)\.[a-z_]+(?:\.[a-z_]+)*)")
COMMAND = re.compile(r"(?<![\w/-])g2g ([a-z][a-z-]*)(?![\w.-])((?:[^#|\n\\&]|\\\n)*)")
SCRIPT = re.compile(r"python ((?:benchmarks|experiments)/\w+\.py)((?:[^#|\n\\&]|\\\n)*)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
DOTTED = re.compile(r"(?<![\w./])graph2graph(?:\.\w+)+")
FILE = re.compile(r"(?:[\w-]+/)+[\w-]+\.(?:py|json|toml|md|conllu)")
SUFFIXES = {"conllu", "safetensors", "udpipe", "txt", "json", "jsonl", "toml", "bin", "html", "svg", "gz"}
OTHER_PROGRAMS = {"--data-urlencode", "--strict"}  # options of curl and twine
PLACES = (ROOT, ROOT / "src/graph2graph", ROOT / "docs")  # that file names on a page start from


@cache
def code() -> list[str]:
    """The code of all pages: blocks without their comments, and what stands in backticks."""
    found = chain.from_iterable(CODE.finditer(page.read_text(encoding="utf-8")) for page in pages())
    return [COMMENT.sub("", match[2] or match[3]) for match in found]


def mentioned(pattern: re.Pattern[str], group: int = 0) -> list[str]:
    """All that matches, once."""
    return sorted({match[group] for part in code() for match in pattern.finditer(part)})


def commands() -> dict[str, click.Command]:
    """The commands of `g2g` by name."""
    found: dict[str, click.Command] = get_command(app).commands  # type: ignore[attr-defined]
    return found


def options_of(command: click.Command) -> set[str]:
    """The long options of a command."""
    return {name for option in command.params for name in (*option.opts, *option.secondary_opts)} | {"--help"}


def is_setting(name: str) -> bool:
    """Whether a dotted name is a field of the settings."""
    group: Any = Config
    for part in name.split("."):
        if not (inspect.isclass(group) and issubclass(group, BaseModel) and part in group.model_fields):
            return False
        group = group.model_fields[part].annotation
    return True


@pytest.mark.parametrize("name", [name for name in mentioned(SETTING, 1) if name.split(".")[1] not in SUFFIXES])
def test_settings(name: str) -> None:
    assert is_setting(name)


@pytest.mark.parametrize("name", mentioned(COMMAND, 1))
def test_commands(name: str) -> None:
    assert name in commands()


@pytest.mark.parametrize("call", [call for call in mentioned(COMMAND) if "--" in call])
def test_options_of_commands(call: str) -> None:
    name, rest = COMMAND.match(call).groups()  # type: ignore[union-attr]
    assert set(OPTION.findall(rest)) <= options_of(commands()[name])


@pytest.mark.parametrize("call", mentioned(SCRIPT))
def test_scripts_and_their_options(call: str) -> None:
    file, rest = SCRIPT.match(call).groups()  # type: ignore[union-attr]
    source = (ROOT / file).read_text(encoding="utf-8")
    assert all(f'"{option}"' in source for option in OPTION.findall(rest))


@pytest.mark.parametrize("option", [option for option in mentioned(OPTION) if option not in OTHER_PROGRAMS])
def test_options_on_their_own(option: str) -> None:
    known = set().union(*map(options_of, commands().values())) | {"--version"}
    scripts = (
        path.read_text(encoding="utf-8") for path in (*ROOT.glob("benchmarks/*.py"), *ROOT.glob("experiments/*.py"))
    )
    assert option in known or any(f'"{option}"' in script for script in scripts)


@pytest.mark.parametrize("name", mentioned(DOTTED))
def test_python_names(name: str) -> None:
    parts = name.split(".")
    found: Any = importlib.import_module(parts[0])
    for n, part in enumerate(parts[1:], start=1):
        try:
            found = getattr(found, part)
        except AttributeError:
            found = importlib.import_module(".".join(parts[: n + 1]))


@pytest.mark.parametrize("file", [file for file in mentioned(FILE) if file == file.lower()])  # TABLE stands for any
def test_files(file: str) -> None:
    places = [place for place in PLACES if (place / file.split("/")[0]).is_dir()]
    assert not places or any((place / file).exists() for place in places)

"""The format of a model's settings: what each release changed, and how older settings are brought up to date.

`FORMAT` goes up when a release cuts, renames or adds a setting; `CHANGES` then says what became of the older ones. The same
settings are in a model's config.json and in the run.json of a training run, so both are migrated here.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graph2graph import __version__
from graph2graph.config import Config
from graph2graph.errors import DataError

FORMAT = 2


@dataclass(frozen=True)
class Change:
    """What a format changed in the one before it; settings are named as in `--set`, like `train.seed`."""

    cut: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)


CHANGES: dict[int, Change] = {
    2: Change(cut=("model.encoder.relation_std", "train.explore")),
}


def dump_config(config: Config) -> dict[str, Any]:
    """The settings as plain values, with their format and the release that wrote them."""
    return {
        "format": FORMAT,
        "release": __version__,
        **json.loads(config.model_dump_json()),
    }  # which spells out infinity


def parse_config(values: Any, source: str) -> Config:
    """The settings from plain values of this format or an older one; `source` names the file in errors."""
    return Config.parse(migrated(values, source), source)


def migrated(values: Any, source: str) -> Any:
    """Settings of this format or an older one as settings of this format, without the format; the argument is not changed."""
    if not isinstance(values, dict):
        return values  # for Config.parse to reject
    settings = {key: _copy(value) for key, value in values.items() if key not in ("format", "release")}
    for number in range(_format_of(values, source) + 1, FORMAT + 1):
        change = CHANGES[number]
        for name in change.cut:
            _take(settings, name)
        for old, new in change.renamed.items():
            for value in _take(settings, old):
                _put(settings, new, value)
    return settings


def _format_of(values: dict[str, Any], source: str) -> int:
    number = values.get("format", 1)
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise DataError(f"{source}: format: expected a number from 1 on, found {number!r}")
    if number > FORMAT:
        release = values.get("release")
        way_out = f"install graph2graph {release} or newer" if release else "update graph2graph"
        raise DataError(f"{source}: format {number}; graph2graph {__version__} reads formats up to {FORMAT}: {way_out}")
    return number


def _copy(value: Any) -> Any:
    return {key: _copy(item) for key, item in value.items()} if isinstance(value, dict) else value


def _take(settings: dict[str, Any], name: str) -> list[Any]:
    """Remove a setting; its value as a list of one, or an empty list if it was not there."""
    *groups, key = name.split(".")
    group: Any = settings
    for part in groups:
        group = group.get(part) if isinstance(group, dict) else None
    return [group.pop(key)] if isinstance(group, dict) and key in group else []


def _put(settings: dict[str, Any], name: str, value: Any) -> None:
    *groups, key = name.split(".")
    for part in groups:
        settings = settings.setdefault(part, {})
    settings[key] = value

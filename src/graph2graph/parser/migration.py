"""The format of a model's settings: what each release changed, and how older settings are migrated.

When a release cuts, renames or adds a setting, `FORMAT` goes up and `CHANGES` says which settings were cut or renamed. The
config.json of a model and the run.json of a training run hold the same settings; both are migrated here.
"""

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from graph2graph import __version__
from graph2graph.config import Config
from graph2graph.errors import DataError

FORMAT = 2


@dataclass(frozen=True)
class FormatChange:
    """How a format differs from the one before it; settings are named as in `--set`: `train.seed`."""

    cut: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)


CHANGES: dict[int, FormatChange] = {2: FormatChange(cut=("model.encoder.relation_std", "train.explore"))}


def dump_config(config: Config) -> dict[str, Any]:
    """The settings as plain values, with their format and the release that wrote them."""
    settings: dict[str, Any] = json.loads(config.model_dump_json())  # not model_dump: JSON has no number for infinity
    return {"format": FORMAT, "release": __version__} | settings


def parse_config(values: Any, source: str) -> Config:
    """The settings in plain values of this format or an older one; `source` names the file in errors."""
    return Config.parse(migrated(values, source), source)


def migrated(values: Any, source: str) -> Any:
    """A copy of settings of any known format, in today's format and without its number."""
    if not isinstance(values, dict):
        return values  # Config.parse rejects it
    settings = {key: deepcopy(value) for key, value in values.items() if key not in ("format", "release")}
    for number in range(_format_of(values, source) + 1, FORMAT + 1):
        for name in CHANGES[number].cut:
            group, key = _group_of(settings, name)
            group.pop(key, None)
        for old, new in CHANGES[number].renamed.items():
            group, key = _group_of(settings, old)
            if key in group:
                value = group.pop(key)
                group, key = _group_of(settings, new, make=True)
                group[key] = value
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


def _group_of(settings: dict[str, Any], name: str, *, make: bool = False) -> tuple[dict[str, Any], str]:
    """The group that a setting belongs to, and the setting's name in it; a missing group is empty, or made on request."""
    *groups, key = name.split(".")
    for group in groups:
        found = settings.setdefault(group, {}) if make else settings.get(group)
        settings = found if isinstance(found, dict) else {}
    return settings, key

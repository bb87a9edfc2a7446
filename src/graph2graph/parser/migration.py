"""The format of a model's settings, and how settings that older releases wrote are migrated.

When a release cuts, renames or adds a setting, `FORMAT` goes up and `CHANGES` says what became of the old names. A model's
config.json and a training's run.json hold the same settings; both are migrated here.
"""

import json
from copy import deepcopy
from typing import Any

from graph2graph import __version__
from graph2graph.config import Config
from graph2graph.errors import DataError

FORMAT = 3
CHANGES: dict[int, dict[str, str | None]] = {  # of each format, by the old name as in `--set`
    2: {"model.encoder.relation_std": None, "train.explore": None},
    3: {},  # weights may be stored in 8 bits (compression.py)
}
OLD_DEFAULTS: dict[int, dict[str, Any]] = {3: {"train.precision": "fp32"}}  # of what earlier formats leave out


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
        for old, new in CHANGES[number].items():
            _rename(settings, old, new)
        for name, value in OLD_DEFAULTS.get(number, {}).items():
            _fill_in(settings, name, value)
    return settings


def _fill_in(settings: dict[str, Any], name: str, value: Any) -> None:
    """Set a setting that is left out."""
    *path, last = name.split(".")
    group: Any = settings
    for part in path:
        group = group.setdefault(part, {}) if isinstance(group, dict) else None
    if isinstance(group, dict):
        group.setdefault(last, value)


def _rename(settings: dict[str, Any], old: str, new: str | None) -> None:
    """Move a setting to its new name, or remove it, if it is there."""
    *path, name = old.split(".")
    group: Any = settings
    for part in path:
        group = group.get(part) if isinstance(group, dict) else None
    if isinstance(group, dict) and name in group:
        value = group.pop(name)
        if new is not None:
            *path, name = new.split(".")
            for part in path:
                settings = settings.setdefault(part, {})
            settings[name] = value


def _format_of(values: dict[str, Any], source: str) -> int:
    number = values.get("format", 1)
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise DataError(f"{source}: format: expected a number from 1 on, found {number!r}")
    if number > FORMAT:
        release = values.get("release")
        way_out = f"install graph2graph {release} or newer" if release else "update graph2graph"
        raise DataError(f"{source}: format {number}; graph2graph {__version__} reads formats up to {FORMAT}: {way_out}")
    return number

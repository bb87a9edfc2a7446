"""All settings of a run, from those that a user gives."""

from collections.abc import Mapping
from typing import Any

from graph2graph.config import Config
from graph2graph.errors import DataError
from graph2graph.variants import VARIANTS

DEFAULT_VARIANT = "sent-g2g"


def resolve(
    settings: Mapping[str, Any], *, variant: str | None = None, tags: str | None = None, changes: Mapping[str, Any]
) -> Config:
    """The settings of a run; later arguments override earlier ones.

    Args:
        settings: nested, like {"train": {"epochs": 5}}; with a group "model" they need no variant
        variant: its settings are the defaults of `settings`
        tags: for data.tags
        changes: by dotted name, like {"train.epochs": 5}
    """
    if variant is None and "model" not in settings:
        variant = DEFAULT_VARIANT
    if variant is not None and variant not in VARIANTS:
        raise DataError(f"no model {variant!r}; expected one of {', '.join(VARIANTS)}")
    complete = _copy(settings if variant is None else VARIANTS[variant].complete(settings))
    for name, value in {**({} if tags is None else {"data.tags": tags}), **changes}.items():
        *path, key = name.split(".")
        group = complete
        for part in path:
            group = group.setdefault(part, {})
            if not isinstance(group, dict):
                raise DataError(f"{name}: {part} is not a group of settings")
        group[key] = value
    return Config.parse(complete, "settings")


def _copy(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _copy(value) if isinstance(value, Mapping) else value for key, value in settings.items()}

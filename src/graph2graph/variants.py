"""The seven parsers of the paper: the settings that define each, and the training settings that suit it."""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from graph2graph.config import Config, ModelConfig
from graph2graph.errors import DataError

DEFAULT_VARIANT = "sent-g2g"

_STATE = {"input": "state", "graph_input": False, "composition": True, "history": True}
_STATE_G2G = {"input": "state", "graph_input": True, "history": True}
# An encoded state supervises later decisions too; not with CLS, which stands for one decision only.
_TOKENS_TRAINING = {"stale_weight": 0.97}
# At the usual rate of new parameters, CLS on a pretrained encoder never learns where to look.
_CLS_TRAINING = {"new_learning_rate": 5e-4}
# Not in the paper: CLS learns where to look much sooner if it also predicts the tags of s2, s1 and b1.
_CLS_AID = {"tagger": True}


@dataclass(frozen=True)
class Variant:
    """A parser of the paper."""

    name: str  # on the command line
    title: str  # in the paper's tables
    model: dict[str, Any]  # settings that define it
    model_aid: dict[str, Any] = field(default_factory=dict)  # model settings that help it and are not in the paper
    train: dict[str, Any] = field(default_factory=dict)

    def complete(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Nested settings; this variant's own fill the gaps."""
        completed = dict(settings)
        for group, defaults in (("model", self.model | self.model_aid), ("train", self.train)):
            given = settings.get(group, {})
            completed[group] = defaults | given if isinstance(given, dict) else given  # Config.parse rejects the latter
        return completed


VARIANTS = {
    variant.name: variant
    for variant in (
        Variant("state", "StateTr", _STATE, train=_TOKENS_TRAINING),
        Variant("state-cls", "StateCLSTr", _STATE | {"output": "cls"}, _CLS_AID, _CLS_TRAINING),
        Variant("state-g2g", "StateTr+G2GTr", _STATE_G2G, train=_TOKENS_TRAINING),
        Variant("state-g2cls", "StateTr+G2CLSTr", _STATE_G2G | {"output": "cls"}, _CLS_AID, _CLS_TRAINING),
        Variant("state-g2g-c", "StateTr+G2GTr+C", _STATE_G2G | {"composition": True}, train=_TOKENS_TRAINING),
        Variant("sent", "SentTr", {"input": "sentence", "graph_input": False}),
        Variant("sent-g2g", "SentTr+G2GTr", {"input": "sentence", "graph_input": True}),
    )
}


def variant_of(model: ModelConfig) -> Variant | None:
    """The paper's variant that model settings describe, if any."""
    given = model.model_dump()
    for variant in VARIANTS.values():
        expected = {"output": "tokens", "composition": False, "history": False} | variant.model
        if all(given[key] == value for key, value in expected.items()):
            return variant
    return None


def resolve(settings: Mapping[str, Any], changes: Mapping[str, Any], *, variant: str | None = None) -> Config:
    """All settings of a training run.

    Args:
        settings: nested, like {"train": {"epochs": 5}}; if they have a group "model", no variant is needed
        changes: by dotted name, like {"train.epochs": 5}; they override the settings
        variant: its settings are the defaults
    """
    if variant is None and "model" not in settings:
        variant = DEFAULT_VARIANT
    if variant is not None and variant not in VARIANTS:
        raise DataError(f"no model {variant!r}; expected one of {', '.join(VARIANTS)}")
    resolved = dict(settings) if variant is None else VARIANTS[variant].complete(settings)
    return changed(resolved, changes)


def changed(settings: Mapping[str, Any], changes: Mapping[str, Any]) -> Config:
    """All settings, with changes by dotted name."""
    values = deepcopy(dict(settings))
    for name, value in changes.items():
        *path, key = name.split(".")
        group = values
        for part in path:
            group = group.setdefault(part, {})
            if not isinstance(group, dict):
                raise DataError(f"{name}: {part} is not a group of settings")
        group[key] = value
    return Config.parse(values, "settings")


def flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Settings by their dotted names.

    >>> flat({"train": {"states": 8}, "data": {"tags": "xpos"}})
    {'train.states': 8, 'data.tags': 'xpos'}
    """
    found: dict[str, Any] = {}
    for key, value in settings.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found

"""The seven parsers of the paper: the settings that define each, and the training settings that suit it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graph2graph.config import ModelConfig

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
        """Nested settings, with this variant's own for what they leave open."""
        completed = dict(settings)
        for group, defaults in (("model", self.model | self.model_aid), ("train", self.train)):
            given = settings.get(group, {})
            completed[group] = defaults | given if isinstance(given, dict) else given  # Config.parse rejects the latter
        return completed


VARIANTS = {
    variant.name: variant
    for variant in (
        Variant(
            name="state",
            title="StateTr",
            model={"input": "state", "graph_input": False, "composition": True, "history": True},
            train=_TOKENS_TRAINING,
        ),
        Variant(
            name="state-cls",
            title="StateCLSTr",
            model={"input": "state", "graph_input": False, "composition": True, "history": True, "output": "cls"},
            model_aid=_CLS_AID,
            train=_CLS_TRAINING,
        ),
        Variant(
            name="state-g2g",
            title="StateTr+G2GTr",
            model={"input": "state", "graph_input": True, "history": True},
            train=_TOKENS_TRAINING,
        ),
        Variant(
            name="state-g2cls",
            title="StateTr+G2CLSTr",
            model={"input": "state", "graph_input": True, "history": True, "output": "cls"},
            model_aid=_CLS_AID,
            train=_CLS_TRAINING,
        ),
        Variant(
            name="state-g2g-c",
            title="StateTr+G2GTr+C",
            model={"input": "state", "graph_input": True, "composition": True, "history": True},
            train=_TOKENS_TRAINING,
        ),
        Variant(name="sent", title="SentTr", model={"input": "sentence", "graph_input": False}),
        Variant(name="sent-g2g", title="SentTr+G2GTr", model={"input": "sentence", "graph_input": True}),
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

"""AdamW with a learning rate for each group of parameters, warm-up and linear decay."""

import torch
from torch import nn

from graph2graph.config import TrainConfig
from graph2graph.models.parser_model import ParserModel


def optimiser(model: ParserModel, config: TrainConfig, *, pretrained: bool) -> torch.optim.AdamW:
    """AdamW over all parameters of a model.

    Pretrained parameters use `learning_rate`; newly initialised ones use `new_learning_rate`, as in the paper. Without a
    pretrained encoder all use `scratch_learning_rate`; with `one_optimiser`, all use `learning_rate`. Two kinds can differ:
    composition, which is applied at every step of a sentence, so that its noise adds up; and the relation tables and label
    embeddings, which get few gradients because few pairs of words are related.
    """
    groups: dict[float, list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        groups.setdefault(_rate(name, config, pretrained=pretrained), []).append(parameter)
    return torch.optim.AdamW(
        [{"params": parameters, "lr": rate, "full_rate": rate} for rate, parameters in groups.items()],
        betas=config.adam_betas,
        eps=config.adam_epsilon,
        weight_decay=config.weight_decay,
        fused=True,
    )


def _rate(name: str, config: TrainConfig, *, pretrained: bool) -> float:
    """The full learning rate of the parameter with this name."""
    is_relation = ".relation_" in name
    if config.graph_learning_rate is not None and (is_relation or name.startswith("labels.")):
        return config.graph_learning_rate
    if config.one_optimiser:
        return config.learning_rate
    if name.startswith("composition."):
        return config.composition_learning_rate
    if not pretrained:
        return config.scratch_learning_rate
    is_new = is_relation or not name.startswith("encoder.")
    return config.new_learning_rate if is_new else config.learning_rate


def set_rate(optimiser: torch.optim.Optimizer, step: int, n_steps: int, warmup: float) -> float:
    """Set the learning rates of a step, counted from 0; return their share of the full rates.

    They rise linearly over the share `warmup` of the steps, then fall linearly to 0.
    """
    n_warmup = warmup * n_steps
    share = (step + 1) / n_warmup if step + 1 < n_warmup else (n_steps - step) / max(n_steps - n_warmup, 1)
    share = min(share, 1.0)
    for group in optimiser.param_groups:
        group["lr"] = group["full_rate"] * share
    return share

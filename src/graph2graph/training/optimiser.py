"""AdamW with one group of parameters or two, warm-up and linear decay."""

import torch
from torch import nn

from graph2graph.config import TrainConfig
from graph2graph.models.model import ParserModel


def optimiser(model: ParserModel, config: TrainConfig, *, pretrained: bool) -> torch.optim.AdamW:
    """The paper's: pretrained parameters learn at `learning_rate`, new ones at `new_learning_rate`, unless told otherwise."""
    groups: dict[float, list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        is_new = not pretrained or not name.startswith("encoder.") or ".relation_" in name
        rate = config.new_learning_rate if is_new and not config.one_optimiser else config.learning_rate
        groups.setdefault(rate, []).append(parameter)
    return torch.optim.AdamW(
        [{"params": parameters, "lr": rate, "full_rate": rate} for rate, parameters in groups.items()],
        betas=config.adam_betas,
        eps=config.adam_epsilon,
        weight_decay=config.weight_decay,
        fused=True,
    )


def set_rate(optimiser: torch.optim.Optimizer, step: int, n_steps: int, warmup: float) -> float:
    """The learning rate of one step, 0 being the first: up to its full height, then down to 0; return the share."""
    n_warmup = warmup * n_steps
    share = (step + 1) / n_warmup if step + 1 < n_warmup else (n_steps - step) / max(n_steps - n_warmup, 1)
    share = min(share, 1.0)
    for group in optimiser.param_groups:
        group["lr"] = group["full_rate"] * share
    return share

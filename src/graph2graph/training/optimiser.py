"""AdamW with one group of parameters or two, warm-up and linear decay."""

import torch
from torch import nn

from graph2graph.config import TrainConfig
from graph2graph.models.parser_model import ParserModel


def optimiser(model: ParserModel, config: TrainConfig, *, pretrained: bool) -> torch.optim.AdamW:
    """Pretrained parameters learn at `learning_rate`, what is new beside them at `new_learning_rate`, as in the paper.

    Without pretrained ones all learn at `scratch_learning_rate`; with `one_optimiser`, all at `learning_rate`. Composition has
    a rate of its own: it is applied at every step of a sentence, and what it adds grows with each. So may what reads the graph,
    the relation tables and the label embeddings: few pairs of words are related, so these see few gradients.
    """
    groups: dict[float, list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        reads_graph = ".relation_" in name or name.startswith("labels.")
        if reads_graph and config.graph_learning_rate is not None:
            rate = config.graph_learning_rate
        elif config.one_optimiser:
            rate = config.learning_rate
        elif name.startswith("composition."):
            rate = config.composition_learning_rate
        elif not pretrained:
            rate = config.scratch_learning_rate
        else:
            is_new = not name.startswith("encoder.") or ".relation_" in name
            rate = config.new_learning_rate if is_new else config.learning_rate
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

"""A small encoder and relations for it, shared by the tests of this package."""

import torch
from torch import Tensor

from graph2graph.config import EncoderConfig
from graph2graph.encoder.encoder import GraphEncoder

LENGTHS = [9, 1, 4, 7]


def small(*, relation_std: float = 1.0, **changes: object) -> GraphEncoder:
    """A small encoder with large relation tables, so that the graph weighs as much as the tokens."""
    shape = {"vocab_size": 40, "width": 24, "layers": 2, "heads": 3, "inner_width": 32, "max_positions": 32}
    torch.manual_seed(1)
    encoder = GraphEncoder(EncoderConfig(**{**shape, "relations": 3, **changes})).eval()
    with torch.no_grad():
        for name, parameter in encoder.named_parameters():
            if "relation" not in name and "norm" not in name:
                parameter.normal_(std=0.2)
    return with_relations(encoder, relation_std)


def with_relations(encoder: GraphEncoder, std: float) -> GraphEncoder:
    """The encoder, with new relation tables of this size."""
    with torch.no_grad():
        for name, parameter in encoder.named_parameters():
            if ".relation_" in name:
                parameter.normal_(std=std)
    return encoder


def some_relations(lengths: Tensor, k: int, *, tree: bool, seed: int = 0) -> Tensor:
    """Relation ids [B, n, n] within the rows: any for every pair, or those of a tree (labelled, if k allows it)."""
    random = torch.Generator().manual_seed(seed)
    n = int(lengths.max())
    relations = torch.zeros(len(lengths), n, n, dtype=torch.long)
    for row, length in enumerate(lengths.tolist()):
        if not tree:
            relations[row, :length, :length] = torch.randint(k, (length, length), generator=random)
            continue
        for node in range(1, length):
            head = int(torch.randint(node, (), generator=random))
            label = int(torch.randint(max((k - 1) // 2, 1), (), generator=random))
            relations[row, head, node] = min(1 + 2 * label, k - 1)
            relations[row, node, head] = min(2 + 2 * label, k - 1)
    return relations


def outputs_and_gradients(encoder: GraphEncoder, out: Tensor, given_: Tensor) -> dict[str, Tensor]:
    """The output, and how a fixed weighing of it depends on the input and on every parameter."""
    weighing = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view(out.shape)
    parameters = {name: p for name, p in encoder.named_parameters() if not name.startswith("words")}
    wanted = {"input": given_, **parameters}
    gradients = torch.autograd.grad((out * weighing).sum(), list(wanted.values()))
    return {"output": out.detach(), **dict(zip(wanted, gradients))}

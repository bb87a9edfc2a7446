"""Eq. 3 and 4 word for word, with tensors of n × n × c: what `graph_attention.py` must equal, at a lower cost.

Also half way to it: `dense_attention` takes the relation terms apart, n × k each, but still puts them in for all n × n pairs.
The weights are those of a `GraphEncoder`, used in place and without dropout; letters of shapes as there.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from graph2graph.encoder.encoder import GraphEncoder, Layer, position_bucket
from graph2graph.encoder.graph_attention import GraphAttention


def attention(self: GraphAttention, x: Tensor, relations: Tensor, is_real: Tensor, bias: Tensor | float = 0) -> Tensor:
    """[B, n, d] -> [B, n, d], with relation ids [B, n, n]; is_real is [B, n], bias [h, n, n]."""
    c = self.head_width
    query, key, value = self.qkv(x).unflatten(-1, (3, self.n_heads, c)).permute(2, 0, 3, 1, 4)  # each [B, h, n, c]
    relation_keys = self.relation_keys[relations]  # W1[r_ij], [B, n, n, c]
    relation_values = self.relation_values[relations]  # W2[r_ij], [B, n, n, c]
    # Eq. 3: e_ij = q_i·(k_j + W1[r_ij]) / √c
    scores = query @ key.transpose(-1, -2) + torch.einsum("bhic,bijc->bhij", query, relation_keys)  # [B, h, n, n]
    scores = scores / math.sqrt(c) + bias
    weights = scores.masked_fill(~is_real[:, None, None], -math.inf).softmax(-1)
    # Eq. 4: z_i = Σ_j a_ij (v_j + W2[r_ij])
    context = weights @ value + torch.einsum("bhij,bijc->bhic", weights, relation_values)  # [B, h, n, c]
    out: Tensor = self.output(context.transpose(1, 2).flatten(2))
    return out


def dense_attention(
    self: GraphAttention, x: Tensor, relations: Tensor, is_real: Tensor, bias: Tensor | float = 0
) -> Tensor:
    """The same without n × n × c: q_i·W1[r] for each relation, and the attention to each relation times W2[r]."""
    c, h = self.head_width, self.n_heads
    query, key, value = self.qkv(x).unflatten(-1, (3, h, c)).permute(2, 0, 3, 1, 4)  # each [B, h, n, c]
    of_pairs = relations[:, None].expand(-1, h, -1, -1)  # [B, h, n, n]
    scores = query @ key.transpose(-1, -2) + (query @ self.relation_keys.T).gather(-1, of_pairs)  # [B, h, n, n]
    scores = scores / math.sqrt(c) + bias
    weights = scores.masked_fill(~is_real[:, None, None], -math.inf).softmax(-1)
    mass = torch.zeros(*weights.shape[:3], len(self.relation_values)).scatter_add(-1, of_pairs, weights)  # [B, h, n, k]
    out: Tensor = self.output((weights @ value + mass @ self.relation_values).transpose(1, 2).flatten(2))
    return out


Attention = Callable[[GraphAttention, Tensor, Tensor, Tensor, Tensor | float], Tensor]


def layer(
    self: Layer, x: Tensor, relations: Tensor, is_real: Tensor, bias: Tensor | float = 0, attend: Attention = attention
) -> Tensor:
    """[B, n, d] -> [B, n, d]."""
    x = self.attention_norm(x + attend(self.attention, x, relations, is_real, bias))
    out: Tensor = self.outer_norm(x + self.outer(self.activation(self.inner(x))))
    return out


def encode(self: GraphEncoder, x: Tensor, relations: Tensor, is_real: Tensor, attend: Attention = attention) -> Tensor:
    """Word vectors, [B, n, m] -> [B, n, d], in the first segment; what stands at positions of padding means nothing."""
    distance = torch.arange(x.shape[1])
    x = x + self.positions(distance)
    if self.segments is not None:
        x = x + self.segments.weight[0]
    x = self.widen(self.norm(x))
    bias: Tensor | float = 0
    if self.position_bias is not None:
        buckets = position_bucket(distance - distance[:, None], self.position_bias.num_embeddings)
        bias = self.position_bias(buckets).permute(2, 0, 1)
    for each in self.layers:
        x = layer(each, x, relations, is_real, bias, attend)
    return x

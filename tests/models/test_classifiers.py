"""Eq. 5: Exist and Relation are perceptrons with one hidden layer over the focus, the history and the direction."""

import pytest
import torch

from graph2graph.models.parser_model import Encodings
from graph2graph.transition.state import ROOT
from tiny_parsers import VOCABULARY, close, wild

pytestmark = pytest.mark.usefixtures("one_thread")


@torch.no_grad()
def test_scores_are_those_of_equation_5() -> None:
    model, root_label = wild("state-g2g").model.eval(), VOCABULARY.labels.index("root")
    g, past = torch.randn(6, 32), torch.randn(3, 32)  # 5 nodes of one state, and the empty slot
    encodings = Encodings(g, torch.arange(6)[None], torch.zeros(1, dtype=torch.long))
    rows, focus = torch.zeros(3, dtype=torch.long), torch.tensor([[1, 2, 3], [ROOT, 4, -1], [2, 4, 3]])
    legal, is_right = torch.tensor([[True, True, False, True]]).expand(3, 4), torch.tensor([False, True, True])
    for found in (encodings, model.project(encodings)):
        actions = model.action_scores(found, rows, focus, legal, past)
        labels = model.label_scores(found, rows, focus, is_right, past)
        for d, (s2, s1, b1) in enumerate(focus.tolist()):
            exist, relation = model.exist, model.relation
            hidden = sum(slot(g[node]) for slot, node in zip(exist.slots, (s2, s1, b1), strict=True))
            wanted = exist.out(torch.relu(hidden + exist.history(past[d]) + exist.bias))
            close(actions[d][legal[d]], wanted[legal[d]])
            assert actions[d, 2] == -torch.inf
            hidden = sum(slot(g[node]) for slot, node in zip(relation.slots, (s2, s1), strict=True))
            hidden = hidden + relation.history(past[d]) + relation.bias + relation.directions[int(is_right[d])]
            wanted = relation.out(torch.relu(hidden))
            is_root = torch.arange(len(wanted)) == root_label
            possible = is_root if s2 == ROOT and is_right[d] else ~is_root
            close(labels[d][possible], wanted[possible])
            assert (labels[d][~possible] == -torch.inf).all()

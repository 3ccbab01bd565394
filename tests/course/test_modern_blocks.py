"""Tests that the modern building blocks of notebook 08 equal PyTorch's and Llama's own layers."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaMLP, LlamaRMSNorm, repeat_kv

from autograder.spec.course import reference


def test_rms_norm_is_pytorchs_and_llamas():
    torch.manual_seed(0)
    x = 3 * torch.randn(2, 5, 7) + 2
    mine = reference("RMSNorm")(7)
    nn.init.normal_(mine.weight)
    for theirs in (nn.RMSNorm(7, eps=1e-6), LlamaRMSNorm(7, eps=1e-6)):
        theirs.load_state_dict(mine.state_dict())
        torch.testing.assert_close(mine(x), theirs(x))


def test_swiglu_is_llamas_feed_forward_network():
    torch.manual_seed(0)
    x = torch.randn(2, 5, 6)
    mine, theirs = (
        reference("SwiGLU")(6, 11),
        LlamaMLP(LlamaConfig(hidden_size=6, intermediate_size=11, num_attention_heads=2)),
    )
    theirs.load_state_dict({name.replace(".", "_proj."): weight for name, weight in mine.state_dict().items()})
    torch.testing.assert_close(mine(x), theirs(x))


@pytest.mark.parametrize("groups", [1, 2, 3, 6])
def test_grouped_queries_are_pytorchs_and_llamas(groups):
    torch.manual_seed(0)
    Q, K, V = torch.randn(2, 6, 4, 5), torch.randn(2, groups, 7, 5), torch.randn(2, groups, 7, 3)
    mask = torch.ones(4, 7, dtype=torch.bool).triu(4)
    mine = reference("grouped_query_attention")(Q, K, V, mask)
    torch.testing.assert_close(mine, F.scaled_dot_product_attention(Q, K, V, attn_mask=~mask, enable_gqa=True))
    K, V = (repeat_kv(heads, 6 // groups) for heads in (K, V))
    torch.testing.assert_close(mine, F.scaled_dot_product_attention(Q, K, V, attn_mask=~mask))

"""The registry of strategies and the built-in entries, imported on first use."""

from __future__ import annotations

from pebble.registry import Registry
from strategies.protocol import Strategy

__all__ = ["REGISTRY"]

REGISTRY: Registry[Strategy] = Registry("strategy", "pebble.strategies")

for _name, _summary in {
    "belady": "evicts the value whose next use is furthest, clean before dirty where it pays",
    "lru": "evicts the least recently used value",
    "fifo": "evicts the value that came in first",
    "random": "evicts a random value (seeded)",
}.items():
    REGISTRY.register(
        _name, f"strategies.eviction:{_name.upper()}", f"any graph, an order then eviction: {_summary}"
    )

for _name, _target, _summary in [
    (
        "flash-attention",
        "FLASH_ATTENTION",
        "attention-backward: FlashAttention's blocks, KV outside, Q inside",
    ),
    (
        "flash-attention-1",
        "FLASH_ATTENTION_1",
        "attention-backward given=O: FA1's Algorithm 4, D recomputed per block",
    ),
    ("two-pass", "TWO_PASS", "attention-backward: a dK,dV pass and a dQ pass, S and dP computed in both"),
    ("naive", "NAIVE", "attention-backward: one phase after the other"),
]:
    REGISTRY.register(_name, f"strategies.attention_backward:{_target}", _summary)
REGISTRY.register(
    "algorithm6",
    "strategies.algorithm6:ALGORITHM6",
    "attention-backward and attention-gradient: small-cache tiles, square or streaming",
)
REGISTRY.register(
    "hybrid",
    "strategies.attention_hybrids:HYBRID",
    "attention, all three families: the best plan of tiles and passes, found by search",
)
REGISTRY.register(
    "tuned",
    "strategies.tuned:TUNED",
    "attention, all three families: the best plans of hybrid, replayed; with a limit, their blocks searched",
)
REGISTRY.register(
    "flash-forward",
    "strategies.attention_forward:FLASH_FORWARD",
    "attention-forward: FlashAttention-2's blocks, queries outside, keys and values inside",
)
REGISTRY.register(
    "saha-ye",
    "strategies.attention_forward:SAHA_YE",
    "attention-forward: small-cache tiles, square (Saha & Ye's Algorithm 1) or streaming",
)
REGISTRY.register(
    "masked-attention",
    "strategies.masked_attention:MASKED_ATTENTION",
    "attention-backward, attention-forward: masks, heads, groups; tiles without a pair are skipped",
)
REGISTRY.register(
    "row-resident",
    "strategies.attention_gradient:ROW_RESIDENT",
    "attention-gradient: two passes with whole rows resident",
)
REGISTRY.register(
    "tiled", "strategies.linear_algebra:TILED", "matmul and a1xa2t: output tiles resident, operands streamed"
)
REGISTRY.register(
    "blocked",
    "strategies.blocked:BLOCKED",
    "fft, stencils, grids, pyramids: blocks of points or bands of steps that fit",
)
REGISTRY.register(
    "auto", "strategies.portfolio:AUTO", "any graph: all of these, the best replayed and searched"
)

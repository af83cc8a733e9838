"""Heads of attention: shapes of the operands, and grouped queries as more rows of one head.

The heads of a group share keys and values, so their queries are to them what more queries of one head would
be: query i of the group's head r becomes row ``i · group + r`` of one matrix. All else is ordinary attention
with one head per group.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphs.masks import attention_mask
from pebble.errors import GraphSpecError

__all__ = ["attention_shapes", "grouped", "key_heads", "keys", "seen", "ungrouped"]


def key_heads(family: str, params: Mapping[str, Any]) -> int:
    """Key and value heads of an attention family's member.

    Raises
    ------
    GraphSpecError
        They do not divide the query heads.
    """
    heads = params.get("heads", 1)
    count: int = params.get("kv_heads") or heads
    if heads % count:
        raise GraphSpecError(
            f"{family}: heads={heads} are no multiple of kv_heads={count}, and groups are of equal size"
        )
    return count


def keys(params: Mapping[str, Any]) -> int:
    """Keys of an attention family's member: as many as queries, if not told."""
    count: int = params.get("n_k") or params["n"]
    return count


def attention_shapes(family: str, params: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Shapes of Q, K and V; a leading axis of heads only if there are several."""
    n, d, heads = params["n"], params["d"], params["heads"]
    groups = key_heads(family, params) if isinstance(heads, int) and heads > 0 else 1
    lead = ((heads,), (groups,)) if heads != 1 else ((), ())
    columns = (*lead[1], keys(params), d)
    return {"Q": (*lead[0], n, d), "K": columns, "V": columns}


def grouped(X: Any, ndim: int, groups: int) -> Any:
    """An array of rows by head, shape (heads, n, columns), as one by group: (groups, n · group, columns).

    Parameters
    ----------
    X : array
    ndim : int
        Axes of the keys; with two there are no heads.
    groups : int
        Key heads.
    """
    if ndim == 2 or X.shape[0] == groups:
        return X
    heads, n, columns = X.shape
    split = X.reshape(groups, heads // groups, n, columns)
    return split.swapaxes(1, 2).reshape(groups, n * (heads // groups), columns)


def ungrouped(X: Any, heads: int) -> Any:
    """The inverse of `grouped`."""
    if X.ndim == 2 or X.shape[0] == heads:
        return X
    groups, rows, columns = X.shape
    split = X.reshape(groups, rows * groups // heads, heads // groups, columns)
    return split.swapaxes(1, 2).reshape(heads, rows * groups // heads, columns)


def seen(scores: Any, mask: str, queries: int) -> Any:
    """The scores, −∞ where a query does not see the key, so that their exponentials are 0.

    Parameters
    ----------
    scores : array, shape (…, queries · group, keys)
    mask : str
    queries : int
        Queries of one head.
    """
    if mask == "full":
        return scores
    rows, columns = scores.shape[-2:]
    pairs = attention_mask(mask, queries, columns).repeated(rows // queries).dense()
    return np.where(pairs, scores, -np.inf)

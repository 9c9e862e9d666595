"""Shares of a secret as SPU holds them, to and from words of 64 bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from copublish.types import IntArray

SUMMAND_TYPE = "cheetah.AShr<FM64>"
"""What SPU calls a share of CHEETAH whose parts are added in the ring."""

BOOLEAN_TYPE = "cheetah.BShr<FM64,64>"
"""What SPU calls a share of CHEETAH whose parts are XORed, 64 bits in a word."""


def share_of(library: Any, words: IntArray, shape: tuple[int, ...], storage_type: str) -> Any:
    """Words as SPU's share of a secret of this shape."""
    meta = library.ValueMeta()
    meta.data_type, meta.visibility = library.DataType.DT_I64, library.Visibility.VIS_SECRET
    meta.is_complex, meta.shape, meta.storage_type = False, list(shape), storage_type
    chunk = library.ValueChunk()
    chunk.total_bytes, chunk.chunk_offset, chunk.content = words.nbytes, 0, words.tobytes()
    share = library.Share()
    share.meta, share.share_chunks = meta.SerializeToString(), [chunk.SerializeToString()]
    return share


def summand_in(library: Any, share: Any, shape: tuple[int, ...]) -> IntArray:
    """A node's summand of a secret: uniform, and known to nobody else."""
    if _meta_of(library, share).storage_type != SUMMAND_TYPE:
        raise ValueError("a secret is not kept in summands")
    content = b""
    for serialized in share.share_chunks:
        chunk = library.ValueChunk()
        chunk.ParseFromString(serialized)
        content += chunk.content
    return np.frombuffer(content, dtype=np.int64).reshape(shape)


def is_public(library: Any, share: Any) -> bool:
    """Whether all nodes have the value itself."""
    return bool(_meta_of(library, share).visibility == library.Visibility.VIS_PUBLIC)


def _meta_of(library: Any, share: Any) -> Any:
    meta = library.ValueMeta()
    meta.ParseFromString(share.meta)
    return meta

"""Texts as arrays of numbers, as a file of arrays holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ends = NDArray[np.signedinteger]


def narrow(values: NDArray[np.signedinteger]) -> NDArray[np.signedinteger]:
    """The same whole numbers, in four bytes each if they fit."""
    bounds = np.iinfo(np.int32)
    fits = not values.size or (bounds.min <= values.min() and values.max() <= bounds.max)
    return values.astype(np.int32 if fits else np.int64)


def packed(texts: Sequence[str]) -> tuple[NDArray[np.uint8], Ends]:
    """Texts as bytes, one after the other, and where each ends."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), narrow(ends)


def unpacked(data: NDArray[np.uint8], ends: Ends) -> list[str]:
    """The texts that were packed."""
    held, begin, texts = data.tobytes(), 0, []
    for end in ends.tolist():
        texts.append(held[begin:end].decode("utf-8", "surrogatepass"))
        begin = end
    return texts


def packed_lists(lists: Mapping[str, Sequence[str]]) -> dict[str, NDArray[Any]]:
    """Lists of texts by name, as arrays: ``NAME`` the bytes, and ``NAME_ends``."""
    found: dict[str, NDArray[Any]] = {}
    for name, texts in lists.items():
        found[name], found[f"{name}_ends"] = packed(texts)
    return found


def unpacked_list(arrays: Mapping[str, NDArray[Any]], name: str) -> list[str]:
    """One of the lists that were packed."""
    return unpacked(arrays[name], arrays[f"{name}_ends"])

"""Named arrays in one file that is mapped into memory: nothing is read before it is looked at.

A line says what format this is, a line of JSON where each array stands; then come the arrays, each
at a multiple of 64 bytes.
"""

from __future__ import annotations

import json
import math
import mmap
import re
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from sarag_rdf.ports import Arrays
from sarag_rdf.stores.kept_files import discard

DAMAGED = (OSError, ValueError, TypeError, KeyError, AttributeError, OverflowError)
"""What `read_arrays` raises for a file that is absent, cut off or not what it should be."""

_FORMAT = b"sarag arrays 1\n"
_STEP = 64
_DTYPE = re.compile(r"[<|][biuf][1248]")


def write_arrays(path: Path, arrays: Arrays) -> None:
    """Write a new file, and its folder if need be; one that fails with OSError leaves none."""
    held = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    places, size = {}, 0
    for name, array in held.items():
        places[name] = (array.dtype.str, array.shape, size)
        size += _whole(array.nbytes)
    head = _FORMAT + json.dumps({"size": size, "arrays": places}).encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.write(head.ljust(_whole(len(head) + 1) - 1) + b"\n")
            for array in held.values():
                file.write(array.data.cast("B") if array.size else b"")
                file.write(bytes(_whole(array.nbytes) - array.nbytes))
    except OSError:
        discard(path)
        raise


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a file, mapped and not to be written to; raises one of `DAMAGED`."""
    with path.open("rb") as file:
        data = mapped(file)
    begin = data.find(b"\n", len(_FORMAT)) + 1
    if data[: len(_FORMAT)] != _FORMAT or begin == 0:
        raise ValueError(f"{path.name} holds no arrays")
    head = json.loads(data[len(_FORMAT) : begin])
    if len(data) != begin + head["size"]:
        raise ValueError(f"{path.name} is cut off")
    places: Mapping[str, Any] = head["arrays"]
    return {name: _array(data, begin, *place) for name, place in places.items()}


def mapped(file: IO[bytes]) -> mmap.mmap:
    """The whole of a file as memory that is only read; an empty one raises ValueError."""
    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _array(
    data: mmap.mmap, begin: int, dtype: str, shape: tuple[int, ...], offset: int
) -> NDArray[Any]:
    if not _DTYPE.fullmatch(dtype) or any(length < 0 for length in shape):
        raise ValueError(f"no array has type {dtype} and shape {shape}")
    kind, count = np.dtype(dtype), math.prod(shape)
    if offset < 0 or begin + offset + count * kind.itemsize > len(data):
        raise ValueError("an array lies beyond the end")
    if count == 0:
        return np.empty(shape, kind)
    return np.frombuffer(data, kind, count, begin + offset).reshape(shape)


def _whole(size: int) -> int:
    """The least multiple of the step that is not below."""
    return -(-size // _STEP) * _STEP

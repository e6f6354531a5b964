"""Real data that tests read where SARAG_TEST_DATA names the folder that holds it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def data_folder(name: str) -> Path:
    """A folder of the data; the test is skipped where it is absent."""
    folder = Path(os.environ.get("SARAG_TEST_DATA", ""), name)
    if not os.environ.get("SARAG_TEST_DATA") or not folder.is_dir():
        pytest.skip(f"optional: SARAG_TEST_DATA has no {name}")
    return folder

"""Published systems, kept for comparison: one method a file."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sarag_rdf.base.prompts import Prompts

PROMPTS: Final = Prompts(Path(__file__).with_name("prompts"))
"""The prompts of these systems."""

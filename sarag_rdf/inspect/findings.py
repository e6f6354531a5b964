"""What a check of a graph finds: each finding is one line, with what to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

REPAIR = "sarag fsck --repair"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not in order: what was checked, what is wrong, and what to do about it."""

    check: str
    message: str
    remedy: str = ""

    def __str__(self) -> str:
        what = f"{self.check}: {self.message}"
        return f"{what} (do: {self.remedy})" if self.remedy else what


@dataclass(frozen=True, slots=True)
class FsckReport:
    """Findings that are there still, notes of what is no fault, what was repaired, counts."""

    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    repaired: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def in_order(self) -> bool:
        """Whether there is nothing to be done."""
        return not self.findings

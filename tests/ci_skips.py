"""Where CI is set a skipped test fails, unless its reason begins with "optional:"."""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import TypeVar

import pytest

_ALLOWED = ("optional:", "all tests skipped by +SKIP option")
_Report = TypeVar("_Report", pytest.TestReport, pytest.CollectReport)


def _judged(report: _Report) -> _Report:
    if report.outcome != "skipped" or hasattr(report, "wasxfail"):
        return report
    told = report.longrepr
    reason = (told[2] if isinstance(told, tuple) else str(told)).removeprefix("Skipped: ")
    if reason.startswith(_ALLOWED) or not os.environ.get("CI"):
        return report
    report.outcome = "failed"
    report.longrepr = f"skipped, which CI does not allow: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _judged((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _judged((yield))

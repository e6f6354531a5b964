"""Progress on standard error: how far, how fast, how long still."""

from __future__ import annotations

import sys
from collections.abc import Callable

from tqdm import tqdm


def bars() -> tuple[Callable[[str, int], Callable[[int], None]], Callable[[], None]]:
    """A Progress that shows one bar after the other, and a function that ends the last."""
    open_bars: list[tqdm[None]] = []

    def close() -> None:
        while open_bars:
            open_bars.pop().close()

    def progress(what: str, total: int) -> Callable[[int], None]:
        close()
        interval = 0.1 if sys.stderr.isatty() else 10.0
        bar = tqdm(
            total=total, desc=what, file=sys.stderr, mininterval=interval, disable=total == 0
        )
        open_bars.append(bar)

        def advance(done: int) -> None:
            bar.update(done)

        return advance

    return progress, close

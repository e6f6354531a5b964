"""In the place of the package of this name: converts files that say what happens to them.

A file is the signature of a PDF and a line of JSON: its `markdown`; the file to which the process
is `noted`; `seconds` that it takes; how many processes must have begun `together`; `kills`, if it
ends the process that converts it, or `kills_parent` the one that started that.
"""

import json
import os
import signal
import time
from pathlib import Path
from types import SimpleNamespace


class MarkItDown:
    def convert_local(self, path: Path) -> SimpleNamespace:
        says = json.loads(path.read_text().partition("\n")[2])
        if notes := says.get("noted"):
            with Path(notes).open("a") as file:
                file.write(f"{os.getpid()} {says['markdown']}\n")
            while len(_processes(notes)) < says.get("together", 0):
                time.sleep(0.02)
        time.sleep(says.get("seconds", 0.0))
        if says.get("kills"):
            os.kill(os.getpid(), signal.SIGKILL)
        if says.get("kills_parent"):
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(60)
        return SimpleNamespace(markdown=says["markdown"], title="")


def _processes(notes: str) -> set[str]:
    return {line.partition(" ")[0] for line in Path(notes).read_text().splitlines()}

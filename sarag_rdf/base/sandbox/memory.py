"""Memory of the machine and of processes."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

_OWN = re.compile(r"^(?:RssAnon|VmSwap):\s+(\d+) kB$", re.MULTILINE)


def machine_memory() -> int:
    """Bytes of the machine's memory, or of its control group, if that has less; 0 if unknown."""
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 0
    try:
        group = f"\n{Path('/proc/self/cgroup').read_text()}".partition("\n0::/")[2].strip()
        return min(size, int(Path("/sys/fs/cgroup", group, "memory.max").read_text()))
    except (OSError, ValueError):  # not Linux, no control group, or one without a limit ("max")
        return size


def half_of_memory() -> int:
    """Half of the machine's memory in bytes, but at least 4 GiB."""
    return max(4 << 30, machine_memory() // 2)


def process_memory(process: int) -> int:
    """Bytes of a process's memory, also if they are swapped out; 0 if it has ended.

    On Linux without the files that it maps, because the system can take their pages back.
    """
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0 if Path("/proc/self/status").exists() else _resident(process)
    return sum(int(kib) << 10 for kib in _OWN.findall(status))


def _resident(process: int) -> int:
    """The resident set of a process in bytes, as any POSIX system says it; 0 if it has ended."""
    command = ["/bin/ps", "-o", "rss=", "-p", str(process)]
    try:
        text = subprocess.run(command, capture_output=True, text=True, check=False).stdout  # noqa: S603
    except OSError:
        return 0
    return int(text) << 10 if text.strip().isdigit() else 0

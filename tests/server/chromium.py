"""Headless Chromium, driven over its debugging pipe, without a network and without packages."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pytest

DARK = {"name": "prefers-color-scheme", "value": "dark"}

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader",
    "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--remote-debugging-pipe", "--window-size=1440,900",
)  # fmt: skip
_COMPLAINTS = (
    "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded",
    "Page.javascriptDialogOpening",
)  # fmt: skip
_LEFT = "Inspected target navigated or closed"
_PATIENCE = 60.0


class Page:
    """One tab; collects what it requests and what it complains about."""

    def __init__(self, commands: BinaryIO, replies: BinaryIO, folder: Path) -> None:
        self._commands, self._replies, self._folder = commands, replies, folder
        self._buffer, self._number, self._session = b"", 0, ""
        self._loaded = False
        self.requests: list[str] = []
        self.complaints: list[Any] = []
        self.failures: list[str] = []
        """Responses with an error status, with their URLs."""
        self.address = (folder / "page.html").as_uri()
        target = self.call("Target.createTarget", url="about:blank")
        attached = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=1440, height=900, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        self.call(
            "Network.emulateNetworkConditions",
            offline=True, latency=0, downloadThroughput=0, uploadThroughput=0,
        )  # fmt: skip

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send one command of the DevTools protocol and wait for its result.

        A command that the tab leaves unanswered, as it goes to another page, has none.
        """
        deadline = time.monotonic() + _PATIENCE / 3
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._commands.write(json.dumps(message).encode() + b"\0")
        self._commands.flush()
        while time.monotonic() < deadline:
            reply = self._next()
            if reply.get("id") == self._number:
                if reply.get("error", {}).get("message") == _LEFT:
                    return {"result": {}}
                assert "error" not in reply, reply
                result: dict[str, Any] = reply["result"]
                return result
        return {"result": {}}

    def _next(self) -> dict[str, Any]:
        deadline = time.monotonic() + _PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._replies], [], [], deadline - time.monotonic())
            assert ready, "the browser does not answer"
            part = os.read(self._replies.fileno(), 1 << 16)
            assert part, "the browser has ended"
            self._buffer += part
        text, self._buffer = self._buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, parameters: dict[str, Any]) -> None:
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Network.requestWillBeSent":
            url = parameters["request"]["url"]
            if url != "data:,":
                self.requests.append(url)
        elif method == "Network.responseReceived":
            response = parameters["response"]
            if response["status"] >= 400:
                self.failures.append(f"{response['status']} {response['url']}")
        elif parameters.get("entry", {}).get("source") == "rendering":
            pass  # WebGL in software is slow, which the driver says
        elif method in _COMPLAINTS:
            self.complaints.append(parameters)

    def show(self, html: str) -> None:
        """Open a page from a file and wait until it is loaded."""
        (self._folder / "page.html").write_text(html, encoding="utf-8")
        self._open(self.address)

    def visit(self, url: str) -> None:
        """Open a page of a server on this machine, the only one that can be reached."""
        self.call(
            "Network.emulateNetworkConditions",
            offline=False, latency=0, downloadThroughput=-1, uploadThroughput=-1,
        )  # fmt: skip
        self._open(url)

    def _open(self, url: str) -> None:
        self._loaded = False
        self.call("Page.navigate", url=url)
        deadline = time.monotonic() + _PATIENCE
        while not self._loaded:
            assert time.monotonic() < deadline, f"{url} is not loaded"
            self._next()

    def until(self, expression: str) -> Any:
        """Wait until JavaScript in the page gives something true, and return it."""
        deadline = time.monotonic() + _PATIENCE
        while not (found := self.run(expression)):
            assert time.monotonic() < deadline, f"{expression} stays {found!r}"
            time.sleep(0.02)
        return found

    def run(self, expression: str) -> Any:
        """Evaluate JavaScript in the page."""
        reply = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in reply, reply
        return reply["result"].get("value")

    def screenshot(self, name: str) -> Path:
        """Save what the tab shows, also under ``SARAG_SCREENSHOTS`` if that is set."""
        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        assert data.startswith(b"\x89PNG\r\n\x1a\n")
        path = Path(os.environ.get("SARAG_SCREENSHOTS", self._folder)) / f"{name}.png"
        path.write_bytes(data)
        return path

    def key(self, key: str, *, control: bool = False) -> None:
        """Press and release a key, with Control if that is asked for."""
        code = {"Tab": 9, "Enter": 13, "Escape": 27}.get(key, 0)
        text = {"text": key} if len(key) == 1 else {}
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                windowsVirtualKeyCode=code,
                modifiers=2 if control else 0,
                **text,
            )

    def move(self, selector: str) -> None:
        """Move the mouse to the middle of an element."""
        self._mouse("mouseMoved", *self._middle(selector))

    def click(self, selector: str) -> None:
        """Click on the middle of an element."""
        self.drag(selector, selector)

    def drag(self, selector: str, to: str) -> None:
        """Press the button on one element and release it on another."""
        start, stop = self._middle(selector), self._middle(to)
        self._mouse("mouseMoved", *start)
        self._mouse("mousePressed", *start, button="left", buttons=1, clickCount=1)
        if stop != start:
            self._mouse("mouseMoved", *stop, button="left", buttons=1)
        self._mouse("mouseReleased", *stop, button="left", clickCount=1)

    def wheel(self, selector: str, delta: float) -> None:
        """Turn the wheel over an element."""
        self._mouse("mouseWheel", *self._middle(selector), deltaX=0, deltaY=delta)

    def _mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def _middle(self, selector: str) -> tuple[float, float]:
        box = self.run(
            f"(b => [b.x + b.width / 2, b.y + b.height / 2])"
            f"(document.querySelector({json.dumps(selector)}).getBoundingClientRect())"
        )
        return box[0], box[1]


@contextmanager
def open_browser(folder: Path) -> Iterator[Page]:
    """Start Chromium; skips the test if there is none, fails it if ``CI`` is set."""
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if not program:
        assert not os.environ.get("CI"), "continuous integration needs chromium"
        pytest.skip("chromium is not installed")
    commands, replies = folder / "commands", folder / "replies"
    os.mkfifo(commands)
    os.mkfifo(replies)
    # The pipe's ends must be file descriptors 3 and 4.
    shell = ["/bin/sh", "-c", 'in=$1 out=$2; shift 2; exec "$@" 3<"$in" 4>"$out"', "sh"]
    process = subprocess.Popen(
        [
            *shell,
            str(commands),
            str(replies),
            program,
            *_FLAGS,
            f"--user-data-dir={folder}/profile",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        with commands.open("wb") as writer, replies.open("rb", buffering=0) as reader:
            yield Page(writer, reader, folder)
    finally:
        process.terminate()
        process.wait(timeout=_PATIENCE)

"""Debian's Chromium without a window, driven through a pair of pipes."""

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = (
    "--headless",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-dev-shm-usage",
)
PATIENCE = 20.0
"""Seconds that any one answer may take."""


def find_browser() -> str | None:
    """Path of the first browser that is installed."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """A browser with one tab; commands are those of the Chrome DevTools Protocol."""

    def __init__(self, program: str):
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._numbers = itertools.count(1)
        self._unread = b""
        self.events: list[dict[str, Any]] = []
        options = [*OPTIONS, f"--user-data-dir={self._folder.name}"]
        if os.geteuid() == 0:
            options.append("--no-sandbox")
        self._process = _start([program, *options])
        assert self._process.stdin
        assert self._process.stdout
        self._write = self._process.stdin.fileno()
        self._read = self._process.stdout.fileno()
        self._session: dict[str, str] = {}
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        answer = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = {"sessionId": answer["sessionId"]}
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        """End the browser and remove what it wrote."""
        self._process.terminate()
        self._process.communicate()
        self._folder.cleanup()

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Give a command and wait for its result."""
        number = next(self._numbers)
        command = {"id": number, "method": method, "params": params, **self._session}
        os.write(self._write, json.dumps(command).encode() + b"\0")
        while (message := self._next()).get("id") != number:
            self.events.append(message)
        if "error" in message:
            raise RuntimeError(f"{method}: {message['error']['message']}")
        return message["result"]

    def open(self, path: Path, width: int = 1280, height: int = 900) -> None:
        """Load a file in a window of this size and wait until it has been drawn."""
        self.events.clear()
        self.resize(width, height)
        self.call("Page.navigate", url=path.as_uri())
        while "Page.loadEventFired" not in self.event_names():
            self.events.append(self._next())
        self.settle()

    def resize(self, width: int, height: int = 900) -> None:
        """Give the page another size."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1}
        self.call("Emulation.setDeviceMetricsOverride", mobile=False, **size)

    def prefer(self, **features: str) -> None:
        """Set what the user prefers, for instance `color_scheme="dark"`."""
        chosen = [
            {"name": f"prefers-{name.replace('_', '-')}", "value": value}
            for name, value in features.items()
        ]
        self.call("Emulation.setEmulatedMedia", features=chosen)
        self.settle()

    def settle(self) -> None:
        """Wait until the page has drawn twice."""
        frame = "new Promise((done) => requestAnimationFrame(done))"
        self.js(f"{frame}.then(() => {frame}).then(() => null)")

    def js(self, expression: str) -> Any:
        """Value of an expression in the page; a promise is awaited."""
        result = self.call(
            "Runtime.evaluate",
            expression=expression,
            returnByValue=True,
            awaitPromise=True,
        )
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def mouse(self, kind: str, x: float, y: float) -> None:
        """Send `mouseMoved`, `mousePressed` or `mouseReleased` at a point."""
        press = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **press)
        self.settle()

    def key(self, name: str) -> None:
        """Press and release a key, for instance `ArrowRight`."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name)
        self.settle()

    def screenshot(self, path: Path, **options: Any) -> None:
        """Save a picture of the page."""
        shot = self.call("Page.captureScreenshot", **options)
        path.write_bytes(base64.b64decode(shot["data"]))

    def event_names(self) -> list[str]:
        """What has happened since the page was opened."""
        return [event["method"] for event in self.events if "method" in event]

    def _next(self) -> dict[str, Any]:
        """The next message, which ends with a zero byte."""
        deadline = time.monotonic() + PATIENCE
        while b"\0" not in self._unread:
            left = max(deadline - time.monotonic(), 0)
            if not select.select([self._read], [], [], left)[0]:
                raise TimeoutError(f"the browser said nothing for {PATIENCE:.0f} s")
            if not (part := os.read(self._read, 1 << 20)):
                raise RuntimeError("the browser has ended")
            self._unread += part
        message, _, self._unread = self._unread.partition(b"\0")
        return json.loads(message)


def _start(command: list[str]) -> subprocess.Popen[bytes]:
    """Run a browser, which reads commands from file 3 and writes answers to file 4.

    A shell makes these out of its standard input and output.
    """
    script = 'exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1'
    pipe = subprocess.PIPE
    return subprocess.Popen(["sh", "-c", script, *command], stdin=pipe, stdout=pipe)

# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven through the DevTools protocol over two pipes: no port, no library.
https://chromedevtools.github.io/devtools-protocol; --remote-debugging-pipe: commands on descriptor 3, answers on
4, each JSON and a NUL byte."""
import base64
import json
import os
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import zlib

PATIENCE = 120  # seconds for one answer: the machine may be busy


def find_chromium():
    return next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)


class Browser:
    def __init__(self, width=1280, height=800, flags=()):
        self.dir = tempfile.TemporaryDirectory(prefix="page-test-", ignore_cleanup_errors=True)
        command_read, self.command = os.pipe()
        self.answer, answer_write = os.pipe()
        arguments = [find_chromium(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                     "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync",
                     "--force-color-profile=srgb", "--hide-scrollbars", f"--window-size={width},{height}", f"--user-data-dir={self.dir.name}",
                     "--remote-debugging-pipe", *flags, "about:blank"]
        # The browser takes its pipes from 3 and 4: whatever numbers ours have are put there by the shell.
        shell = f'exec 3<&{command_read} 4>&{answer_write}; exec "$@"'
        self.process = subprocess.Popen(["bash", "-c", shell, "bash", *arguments], pass_fds=(command_read, answer_write), start_new_session=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env={**os.environ, "HOME": self.dir.name})
        os.close(command_read)
        os.close(answer_write)
        self.rest, self.events, self.id, self.session = b"", [], 0, None
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.command)
        os.close(self.answer)
        self.dir.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def read(self, deadline):
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.answer], [], [], max(0, deadline - time.monotonic()))
            piece = os.read(self.answer, 1 << 20) if ready else b""
            if not piece:
                raise RuntimeError("the browser does not answer")
            self.rest += piece
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.id += 1
        message = {"id": self.id, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        payload = json.dumps(message).encode() + b"\0"
        while payload:
            payload = payload[os.write(self.command, payload):]
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self.read(deadline)
            if answer.get("id") == self.id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    # --- the page ---

    def js(self, text):
        """The value of an expression; promises are waited for."""
        result = self.call("Runtime.evaluate", expression=text, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"].get("exception", {}).get("description", "exception"))
        return result["result"].get("value")

    def open(self, path, hash_text=""):
        self.call("Page.navigate", url="about:blank")
        self.events.clear()
        self.call("Page.navigate", url=f"file://{os.path.abspath(path)}{hash_text}")
        self.wait("document.documentElement?.dataset.state")
        self.settle()

    def wait(self, condition):
        deadline = time.monotonic() + PATIENCE
        while not self.js(condition):
            if time.monotonic() > deadline:
                raise RuntimeError(f"never true: {condition}")
            time.sleep(.02)

    def settle(self):
        """Until all that was asked for is drawn."""
        self.js("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def text(self, selector):
        return self.js(f"document.querySelector({json.dumps(selector)}).innerText")

    def box(self, selector):
        return self.js(f"(() => {{ const r = document.querySelector({json.dumps(selector)}).getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; }})()")

    def mouse(self, kind, x, y, button="left", modifiers=0, clicks=1):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="none" if kind == "mouseMoved" and not self.held else button,
                  buttons=1 if self.held else 0, clickCount=0 if kind == "mouseMoved" else clicks, modifiers=modifiers, pointerType="mouse")

    held = False

    def move(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.settle()

    def click_at(self, x, y, modifiers=0):
        self.mouse("mouseMoved", x, y, modifiers=modifiers)
        self.mouse("mousePressed", x, y, modifiers=modifiers)
        self.mouse("mouseReleased", x, y, modifiers=modifiers)
        self.settle()

    def click(self, selector, modifiers=0):
        x, y, width, height = self.box(selector)
        self.click_at(x + width / 2, y + height / 2, modifiers)

    def drag(self, x1, y1, x2, y2):
        self.mouse("mouseMoved", x1, y1)
        self.mouse("mousePressed", x1, y1)
        self.held = True
        for step in range(1, 5):
            self.mouse("mouseMoved", x1 + (x2 - x1) * step / 4, y1 + (y2 - y1) * step / 4)
        self.held = False
        self.mouse("mouseReleased", x2, y2)
        self.settle()

    def key(self, key, modifiers=0):
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        codes = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Tab": 9, "Home": 36, "End": 35}
        common = {"key": key, "windowsVirtualKeyCode": codes.get(key, ord(key.upper()) if len(key) == 1 and key.isalnum() else 0), "modifiers": modifiers}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **common, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)
        self.settle()

    def type(self, selector, text):
        self.js(f"(() => {{ const field = document.querySelector({json.dumps(selector)}); field.focus(); field.select(); }})()")
        if text:
            self.call("Input.insertText", text=text)
        else:
            self.key("Delete")
            self.js(f"(() => {{ const f = document.querySelector({json.dumps(selector)}); f.value = ''; f.dispatchEvent(new Event('input')); }})()")
        time.sleep(.2)  # the page waits for a pause in the typing
        self.settle()

    def screenshot(self, path=None):
        data = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        if path:
            with open(path, "wb") as file:
                file.write(data)
        return Picture(data)

    def complaints(self):
        """What went wrong by the page's own account: exceptions, violations of its policy, and any request."""
        self.js("1")
        found = []
        for event in self.events:
            method, params = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(params["exceptionDetails"].get("exception", {}).get("description", "exception"))
            elif method == "Log.entryAdded":
                found.append(params["entry"]["text"])
            elif method == "Network.requestWillBeSent" and not params["request"]["url"].startswith(("file://", "about:")):
                found.append("request for " + params["request"]["url"][:200])
            elif method == "Runtime.consoleAPICalled":
                found.append(str(params["args"])[:300])
        return found


class Picture:
    """A PNG of 8 bits RGB or RGBA, as Chromium writes them."""

    def __init__(self, png):
        self.width, self.height, _, color = struct.unpack(">IIBB", png[16:26])
        channels = 4 if color == 6 else 3
        pos, packed = 8, b""
        while pos < len(png):
            size, kind = struct.unpack(">I4s", png[pos:pos + 8])
            packed += png[pos + 8:pos + 8 + size] if kind == b"IDAT" else b""
            pos += size + 12
        raw, stride = zlib.decompress(packed), self.width * channels
        self.rows, self.channels, before = [], channels, bytearray(stride)
        for y in range(self.height):
            kind, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
            self.unfilter(kind, line, before, channels)
            self.rows.append(line)
            before = line

    @staticmethod
    def unfilter(kind, line, before, channels):
        for i in range(len(line)) if kind else ():
            left = line[i - channels] if i >= channels else 0
            up, corner = before[i], before[i - channels] if i >= channels else 0
            if kind == 1:
                add = left
            elif kind == 2:
                add = up
            elif kind == 3:
                add = (left + up) // 2
            else:
                guess = left + up - corner
                add = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))[2]
            line[i] = (line[i] + add) & 255

    def pixel(self, x, y):
        at = int(x) * self.channels
        return tuple(self.rows[int(y)][at:at + 3])

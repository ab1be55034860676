"""Walk through the studio with the sample and write docs/studio/*.png: ``python docs/make_screenshots.py``.

The hand and the browser are those of the tests.
"""

from __future__ import annotations

import base64
import struct
import sys
import tempfile
import time
import zlib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "studio"
WIDTH, TALLEST = 1280, 1150
DECODE = """
const [source, done] = arguments, image = new Image();
image.onload = () => {
  const context = new OffscreenCanvas(image.width, image.height).getContext("2d"), reader = new FileReader();
  context.drawImage(image, 0, 0);
  reader.onload = () => done([image.width, image.height, reader.result.split(",")[1]]);
  reader.readAsDataURL(new Blob([context.getImageData(0, 0, image.width, image.height).data]));
};
image.src = "data:image/png;base64," + source;
"""


def load(name: str, path: Path) -> Any:
    """A module by its path."""
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Make all pictures."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        driver = load("chromium", ROOT / "tests" / "conftest.py").chromium(Path(name) / "profile")
        if driver is None:
            sys.exit("there is no chromium: tests/browser/install installs it")
        studio = load("hand", ROOT / "tests" / "browser" / "studio" / "conftest.py")
        server = studio.Server(folder=Path(name))
        try:
            walk(studio.Hand(driver, server, Path(name)))
        finally:
            server.stop()
            driver.quit()


def walk(hand: Any) -> None:
    """From the first step to the last, in the light; then some of them in the dark."""
    hand.open("open")
    hand.press("Take the sample")
    hand.sees("36 missing")
    shoot(hand, "open")
    hand.press("Describe the columns")
    hand.sees("Together, the 7")
    shoot(hand, "describe")
    hand.driver.find_element("css selector", "[data-column='age'] .q-btn").click()
    hand.sees("What values become")
    shoot(hand, "hierarchy")
    hand.press("Cancel")
    hand.press("Choose a goal")
    hand.sees("under 20")
    shoot(hand, "goal")
    hand.press("On to the run")
    hand.start_run()
    hand.sees("see the findings")
    hand.open("release")
    hand.sees("Read the findings below")
    shoot(hand, "findings")
    hand.press("Make it coarser")
    hand.sees("8 recognisable columns")
    time.sleep(1)  # a press is lost while the page draws itself anew
    hand.press("Try several group sizes")
    hand.until(lambda: hand.text().count("done and verified") == 4, "four runs")
    shoot(hand, "run")
    hand.press("Explore the result")
    hand.sees("of the detail lost")
    shoot(hand, "explore")
    hand.until(lambda: "→" in hand.driver.find_element("css selector", "#rows tbody").text, "rows")
    shoot(hand, "explore-rows", "#rows")
    hand.open("release")
    hand.sees("Every promise holds")
    shoot(hand, "release")
    for step, sign in (("describe", "Together, the 8"), ("explore", "of the detail lost")):
        hand.open(step, scheme="dark")
        hand.sees(sign)
        shoot(hand, f"{step}-dark")
    show_people(hand)


def show_people(hand: Any) -> None:
    """A table of people with several rows: columns of sets, and what is asked about people."""
    hand.open("open")
    hand.press("Open another", then="Close this table")
    hand.press("Close this table", then="Take one with several rows")
    hand.press("Take one with several rows")
    hand.sees("Describe the columns")
    hand.press("Describe the columns")
    hand.sees("It looks like a column of sets")
    shoot(hand, "sets", "[data-column=diagnoses]")
    hand.choose("Role of diagnoses", "Names a person")
    hand.open("goal")
    switch = "//*[@role='switch'][contains(., 'Keep the rows of a person together')]"
    hand.until(lambda: not hand.driver.find_element("xpath", switch).click(), "the switch")
    hand.sees("The secret key")
    time.sleep(1)
    shoot(hand, "people", "#people")


def shoot(hand: Any, name: str, part: str = "") -> None:
    """Write the page as it stands, from its top, as far down as is worth a picture; or a part of it."""
    hand.driver.execute_script("document.activeElement?.blur(); scrollTo(0, 0)")
    hand.driver.execute_script("document.documentElement.style.scrollbarWidth = 'none'")
    hand.tell("Input.dispatchMouseEvent", type="mouseMoved", x=2, y=2)
    height = hand.driver.execute_script("return document.querySelector('.main').scrollHeight")
    hand.size(WIDTH, min(max(int(height), 720), TALLEST))
    time.sleep(0.8)
    how = {"clip": clip_of(hand, part), "captureBeyondViewport": True} if part else {}
    taken = hand.tell("Page.captureScreenshot", format="png", **how)
    path = FOLDER / f"{name}.png"
    path.write_bytes(smaller(decoded(hand, taken["data"])))
    hand.size(WIDTH, 900)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1000} kB")


def clip_of(hand: Any, part: str) -> dict[str, float]:
    """Where a part of the page is."""
    script = "const b = document.querySelector(arguments[0]).getBoundingClientRect(); return b.toJSON()"
    box = hand.driver.execute_script(script, part)
    return {**{key: box[key] for key in ("x", "y", "width", "height")}, "scale": 1}


def smaller(pixels: NDArray[np.uint8]) -> bytes:
    """A picture as a file in at most 256 colours, which a page of plain surfaces and text hardly misses."""
    colour, place = np.unique(pixels.reshape(-1, 3), axis=0, return_inverse=True)
    times = np.bincount(place)
    kept = colour[np.argsort(-times, kind="stable")[:256]].astype(np.int32)
    nearest = np.concatenate(
        [
            ((part[:, None, :].astype(np.int32) - kept[None]) ** 2).sum(axis=2).argmin(axis=1)
            for part in np.array_split(colour, max(len(colour) // 2000, 1))
        ]
    )
    index = nearest[place].astype(np.uint8).reshape(pixels.shape[:2])
    lines = np.hstack([np.zeros((len(index), 1), np.uint8), index]).tobytes()
    height, width = index.shape
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = [(b"IHDR", head), (b"PLTE", kept.astype(np.uint8).tobytes())]
    parts += [(b"IDAT", zlib.compress(lines, 9)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


def chunk(kind: bytes, content: bytes) -> bytes:
    """A part of a PNG file."""
    check = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + check


def decoded(hand: Any, png: str) -> NDArray[np.uint8]:
    """The pixels of a PNG file, as the browser reads it: rows, columns, red green blue."""
    width, height, pixels = hand.driver.execute_async_script(DECODE, png)
    found = np.frombuffer(base64.b64decode(pixels), np.uint8).reshape(height, width, 4)
    return found[:, :, :3]


if __name__ == "__main__":
    main()

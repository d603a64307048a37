"""Random damage: nothing may end in a traceback, and no score may change in silence.

python -m perf.fuzz [--flips 2000] [--replies 2000] [--annotations 2000] [--seed 1]

logs         one bit flipped, or a line cut, doubled, dropped or replaced; then --mode eval. Its
             scores are the ones from before, or it reports what it passed over.
replies      bodies of a server: whole, mutated, random; each sample gets a record.
annotations  values, keys and bytes of an annotation file; then --check, which names the bad ones.

A small number of each is a test (`tests/engine/test_damage.py`).
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.mock_server import MockServer, Reply, Request
from tests.support.runs import Finished, api_model, evaluate, make_data, run_folder, write_config

L2 = "GUIElementGrounding"
PICTURES = [("os_web", (40, 30)), ("os_ios", (30, 60)), ("os_mac", (64, 48))] * 10
REPLIES = ("(0.2, 0.15)", "(0.9, 0.9)", "none", "x=0.15, y=0.12")
ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1.5, 1e308, "", "A", "../../x.png", "\x1b[31m", [], {}, [1], [[]], {"A": 1},
    "x" * 5000, 10**400, [0.1, 0.1, 0.3, 0.2], [5, 4, 3, 2], "os_web",
)  # fmt: skip


class Fuzz:
    """A folder with a data root, a config and one whole run.

    Attributes:
        found: tracebacks, silent changes and other surprises, with what brought them about.
        counts: what the runs ended with.
    """

    def __init__(self, home: Path, seed: int) -> None:
        self.home, self.random = home, random.Random(seed)
        self.found: list[str] = []
        self.counts: Counter[str] = Counter()
        self.data = make_data(home / "data", PICTURES)

    def run(self, url: str, *arguments: str, work_dir: Path, data: Path | None = None) -> Finished:
        """One run of `evaluate.py`; a traceback is a find."""
        config = write_config(
            self.home / "config.json", model={"m": api_model(url)}, data={L2: {"mode": "all"}}
        )
        ran = evaluate(
            "--config", config, "--work-dir", work_dir, "--no-report", *arguments,
            cwd=self.home, env={"LMUData": str(data or self.data)},
        )  # fmt: skip
        self.counts[f"exit code {ran.code}"] += 1
        if "Traceback" in ran.output or ran.code not in (0, 1, 2):
            self.found.append(f"{arguments}: exit code {ran.code}\n{ran.output[-1500:]}")
        return ran

    def logs(self, rounds: int) -> None:
        """Damages copies of a log and scores them."""
        with MockServer(lambda request: Reply(REPLIES[len(request.text) % 4])) as server:
            self.run(server.url, work_dir=self.home / "whole")
        folder = run_folder(self.home / "whole", "m")
        log = (folder / f"m_{L2}.jsonl").read_bytes()
        scores = (folder / f"m_{L2}_score.json").read_bytes()
        for number in range(rounds):
            damaged, what = self._damaged(log)
            place = self.home / "damaged" / "m" / folder.name
            shutil.rmtree(self.home / "damaged", ignore_errors=True)
            place.mkdir(parents=True)
            (place / f"m_{L2}.jsonl").write_bytes(damaged)
            ran = self.run(
                "http://127.0.0.1:9/v1", "--mode", "eval", work_dir=self.home / "damaged"
            )
            written = place / f"m_{L2}_score.json"
            if ran.code == 0 and written.read_bytes() != scores:
                self.found.append(f"log {number}: {what}: other scores, exit code 0\n{ran.output}")

    def _damaged(self, log: bytes) -> tuple[bytes, str]:
        if self.random.random() < 0.6:
            place, bit = self.random.randrange(len(log)), self.random.randrange(8)
            flipped = bytes([log[place] ^ (1 << bit)])
            return log[:place] + flipped + log[place + 1 :], f"bit {bit} of byte {place} flipped"
        lines = log.splitlines(keepends=True)
        one, other = self.random.randrange(len(lines)), self.random.randrange(len(lines))
        edits: dict[str, Callable[[], list[bytes]]] = {
            "cut": lambda: [*lines[:one], lines[one][: len(lines[one]) // 2], *lines[one + 1 :]],
            "dropped": lambda: lines[:one] + lines[one + 1 :],
            "doubled": lambda: lines[:one] + [lines[one]] * 2 + lines[one + 1 :],
            "replaced": lambda: [*lines[:one], self._odd_line(), *lines[one + 1 :]],
            "inserted": lambda: [*lines[:one], self._odd_line(), *lines[one:]],
            "overwritten": lambda: [*lines[:one], lines[other], *lines[one + 1 :]],
        }
        name = self.random.choice(sorted(edits))
        return b"".join(edits[name]()), f"line {one} {name}"

    def _odd_line(self) -> bytes:
        odd = [b"{}", b"[]", b'{"kind":"answer"}', b'{"kind":"run"}', b"[" * 100_000, b"\xff\xfe",
               b'{"kind":"answer","key":"x","status":"odd"}', b"null"]  # fmt: skip
        return self.random.choice(odd) + b"\n"

    def replies(self, samples: int) -> None:
        """A run over so many samples, each of which gets a random body."""
        data = make_data(self.home / "many", [("os_web", (8, 8))] * (samples // 2))
        sound = Reply("(0.2, 0.15)").encoded()

        def answer(_: Request) -> Reply:
            kind = self.random.random()
            if kind < 0.4:
                return Reply(body=sound)
            if kind < 0.7:
                return Reply(body=self._bitten(sound), status=self.random.choice([200, 200, 400]))
            if kind < 0.9:
                return Reply(body=json.dumps(self._mutated(json.loads(sound))).encode())
            return Reply(body=self.random.randbytes(self.random.randrange(300)))

        work_dir = self.home / "replies"
        with MockServer(answer) as server:
            ran = self.run(
                server.url, "--retry", "0", "--api-nproc", "8", work_dir=work_dir, data=data
            )
        log = (run_folder(work_dir, "m") / f"m_{L2}.jsonl").read_text("ascii")
        answers = [line for line in log.splitlines() if '"kind":"answer"' in line]
        if len(answers) != 2 * (samples // 2):
            self.found.append(f"{len(answers)} of {samples} samples have a record\n{ran.output}")

    def annotations(self, rounds: int) -> None:
        """Damages an annotation file and checks it."""
        home = self.home / "broken"
        shutil.copytree(self.data, home)
        file = home / "MMBench-GUI" / "L2_annotations.json"
        text = file.read_bytes()
        for _ in range(rounds):
            whole = self.random.random() < 0.7
            rows = self._mutated(json.loads(text)) if whole else None
            file.write_bytes(json.dumps(rows).encode() if whole else self._bitten(text))
            self.run("http://127.0.0.1:9/v1", "--check", work_dir=self.home / "none", data=home)

    def _bitten(self, data: bytes) -> bytes:
        place = self.random.randrange(len(data))
        bite = self.random.randbytes(self.random.randrange(4))
        return data[:place] + bite + data[place + self.random.randrange(4) :]

    def _mutated(self, value: Any) -> Any:
        """A copy in which one value somewhere is another, or a key is gone."""
        value = copy.deepcopy(value)
        place: Any = value
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                return value
            key = self.random.choice(keys)
            if isinstance(place[key], (dict, list)) and place[key] and self.random.random() < 0.8:
                place = place[key]
                continue
            if isinstance(place, dict) and self.random.random() < 0.2:
                del place[key]
            else:
                place[key] = self.random.choice(ODD)
            return value


def main() -> None:
    """Runs all three and prints what was found."""
    parser = argparse.ArgumentParser()
    for name in ("flips", "replies", "annotations"):
        parser.add_argument(f"--{name}", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        fuzz = Fuzz(Path(name), given.seed)
        fuzz.logs(given.flips)
        fuzz.replies(given.replies)
        fuzz.annotations(given.annotations)
    print(f"{dict(fuzz.counts)}; {len(fuzz.found)} found")
    print("\n\n".join(fuzz.found[:10]))


if __name__ == "__main__":
    main()

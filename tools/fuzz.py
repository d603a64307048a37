"""Random damage: nothing may end in a traceback, and no score may change in silence.

python -m tools.fuzz [--flips 2000] [--replies 2000] [--annotations 2000] [--seed 1]

logs         one bit flipped, or a line cut, doubled, dropped or replaced; then --mode eval. Its
             scores are the ones from before, or it says what it lacks or has skipped.
replies      bodies of a server: whole, mutated, random; each sample gets a record, and each whole
             body counts.
annotations  values, keys and bytes of an annotation file; then a run, which names the bad samples.

Case n has the seed `--seed` + n: a find is met again with its seed and one case (a log only nearly:
its times differ from run to run). A small number of each is a test (`tests/store/test_damage.py`).
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.mock_server import MockServer, Reply, Request
from tests.support.runs import Finished, api_model, evaluate, make_data, run_folder, write_config
from tests.support.stage import L1, L2, answer_records

NOWHERE = "http://127.0.0.1:9/v1"
PICTURES = [("os_web", (40, 30)), ("os_ios", (30, 60)), ("os_mac", (64, 48))]
REPLIES = ("(0.2, 0.15)", "(0.9, 0.9)", "none", "x=0.15, y=0.12")
SAID = ("skipped", "not been queried", "nothing to score", "is lost")  # of a damaged log
ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1.5,
    1e308,
    "",
    "A",
    "../../x.png",
    "\x1b[31m",
    [],
    {},
    [1],
    [[]],
    {"A": 1},
    "x" * 5000,
    10**400,
    [0.1, 0.1, 0.3, 0.2],
    [5, 4, 3, 2],
    "os_web",
)
ODD_LINES = (
    b"{}",
    b"[]",
    b'{"kind":"answer"}',
    b'{"kind":"run"}',
    b"[" * 100_000,
    b"\xff\xfe",
    b'{"kind":"answer","key":"x","status":"odd"}',
    b"null",
)


class Fuzz:
    """A folder for runs on damaged things.

    Attributes:
        found: tracebacks, silent changes and other surprises, with what brought them about.
        counts: what the runs ended with.
    """

    def __init__(self, home: Path, seed: int) -> None:
        self.home, self.seed = home, seed
        self.found: list[str] = []
        self.counts: Counter[str] = Counter()

    def run(self, what: str, url: str, data: Path, work_dir: str, *arguments: str) -> Finished:
        """One run of `evaluate.py`; a traceback is a find."""
        sets = {name: {"mode": "all"} for name in (L1, L2)[what.split()[0] != "annotations" :]}
        config = write_config(self.home / "config.json", model={"m": api_model(url)}, data=sets)
        command = ("--config", config, "--work-dir", self.home / work_dir, "--no-report")
        ran = evaluate(*command, *arguments, cwd=self.home, env={"LMUData": str(data)})
        self.counts[f"{what.split()[0]}: exit code {ran.code}"] += 1
        if "Traceback" in ran.output or ran.code not in (0, 1, 2):
            self.found.append(f"{what}: exit code {ran.code}\n{ran.output[-1500:]}")
        return ran

    def logs(self, rounds: int) -> None:
        """Damages copies of a log and scores them."""
        data = make_data(self.home / "data", PICTURES * 10)
        with MockServer(lambda request: Reply(REPLIES[len(request.text) % 4])) as server:
            self.run("whole log", server.url, data, "whole")
        folder = run_folder(self.home / "whole", "m")
        log = (folder / f"m_{L2}.jsonl").read_bytes()
        scores = (folder / f"m_{L2}_score.json").read_bytes()
        target_folder = self.home / "damaged" / "m" / folder.name
        for seed in range(self.seed, self.seed + rounds):
            shutil.rmtree(self.home / "damaged", ignore_errors=True)
            target_folder.mkdir(parents=True)
            damaged, what = damaged_log(random.Random(seed), log)
            (target_folder / f"m_{L2}.jsonl").write_bytes(damaged)
            ran = self.run(f"log {seed}: {what}", NOWHERE, data, "damaged", "--mode", "eval")
            written = target_folder / f"m_{L2}_score.json"
            is_same = written.exists() and written.read_bytes() == scores
            is_said = ran.code and any(words in ran.output for words in SAID)
            if not is_same and not is_said:
                self.found.append(f"log {seed}: {what}: exit code {ran.code}\n{ran.output}")

    def replies(self, samples: int) -> None:
        """A run over so many samples (an even number), each of which gets a random body."""

        def answer(request: Request) -> Reply:
            [instruction] = re.findall(r"Click \w+ target \d+\.", request.text)
            return self._reply_to(instruction)

        data = make_data(self.home / "many", [("os_web", (8, 8))] * (samples // 2))
        with MockServer(answer) as server:
            ran = self.run(
                "replies", server.url, data, "replies", "--retry", "0", "--api-nproc", "8"
            )
        answers = answer_records(run_folder(self.home / "replies", "m") / f"m_{L2}.jsonl")
        if len(answers) != samples:
            self.found.append(f"{len(answers)} of {samples} samples have a record\n{ran.output}")
        for raw_answer in answers:
            sent = self._reply_to(raw_answer["line"]["instruction"])
            if sent == Reply("(0.2, 0.15)") and raw_answer.get("raw") != sent.text:
                self.found.append(f"reply to {raw_answer['line']['instruction']}: {raw_answer}")

    def _reply_to(self, instruction: str) -> Reply:
        chance, sound = random.Random(f"{self.seed} {instruction}"), Reply("(0.2, 0.15)")
        kind = chance.random()
        if kind < 0.4:
            return sound
        if kind < 0.7:
            return Reply(body=bitten(chance, sound.encoded()), status=chance.choice([200, 400]))
        if kind < 0.9:
            return Reply(body=json.dumps(mutated(chance, json.loads(sound.encoded()))).encode())
        return Reply(body=chance.randbytes(chance.randrange(300)))

    def annotations(self, rounds: int) -> None:
        """Damages one of the two annotation files and runs on it."""
        data = make_data(self.home / "few", PICTURES)
        undamaged = {
            level: data / "MMBench-GUI" / f"{level}_annotations.json" for level in ("L1", "L2")
        }
        texts = {level: file.read_bytes() for level, file in undamaged.items()}
        with MockServer(lambda request: Reply(REPLIES[len(request.text) % 4])) as server:
            for seed in range(self.seed, self.seed + rounds):
                shutil.rmtree(self.home / "annotated", ignore_errors=True)
                chance = random.Random(seed)
                level = chance.choice(("L1", "L2"))
                if chance.random() < 0.7:
                    damaged = json.dumps(mutated(chance, json.loads(texts[level]))).encode()
                else:
                    damaged = bitten(chance, texts[level])
                undamaged[level].write_bytes(damaged)
                self.run(f"annotations {seed}: {level}", server.url, data, "annotated")
                undamaged[level].write_bytes(texts[level])


def damaged_log(chance: random.Random, log: bytes) -> tuple[bytes, str]:
    """A log with one bit or line damaged, and what was done."""
    if chance.random() < 0.6:
        offset, bit = chance.randrange(len(log)), chance.randrange(8)
        flipped = bytes([log[offset] ^ (1 << bit)])
        return log[:offset] + flipped + log[offset + 1 :], f"bit {bit} of byte {offset} flipped"
    lines = log.splitlines(keepends=True)
    one, other, odd_line = (
        chance.randrange(len(lines)),
        chance.choice(lines),
        chance.choice(ODD_LINES),
    )
    edits: dict[str, Callable[[bytes], list[bytes]]] = {
        "cut": lambda line: [line[: len(line) // 2]],
        "dropped": lambda line: [],
        "doubled": lambda line: [line, line],
        "replaced": lambda line: [odd_line + b"\n"],
        "inserted": lambda line: [odd_line + b"\n", line],
        "overwritten": lambda line: [other],
    }
    name = chance.choice(sorted(edits))
    return b"".join(
        [*lines[:one], *edits[name](lines[one]), *lines[one + 1 :]]
    ), f"line {one} {name}"


def bitten(chance: random.Random, data: bytes) -> bytes:
    """Up to three bytes somewhere are others, gone or more."""
    offset, bite = chance.randrange(len(data)), chance.randbytes(chance.randrange(4))
    return data[:offset] + bite + data[offset + chance.randrange(4) :]


def mutated(chance: random.Random, value: Any) -> Any:
    """A copy in which one value somewhere is another, or a key is gone."""
    value = copy.deepcopy(value)
    container: Any = value
    while True:
        key = chance.choice(
            list(container) if isinstance(container, dict) else range(len(container))
        )
        if isinstance(container[key], (dict, list)) and container[key] and chance.random() < 0.8:
            container = container[key]
            continue
        if isinstance(container, dict) and chance.random() < 0.2:
            del container[key]
        else:
            container[key] = chance.choice(ODD)
        return value


def main() -> None:
    """Runs all three and prints what was found."""
    parser = argparse.ArgumentParser()
    for name in ("flips", "replies", "annotations"):
        parser.add_argument(f"--{name}", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        fuzz = Fuzz(Path(name), options.seed)
        fuzz.logs(options.flips)
        fuzz.replies(options.replies)
        fuzz.annotations(options.annotations)
    print(f"{dict(fuzz.counts)}; {len(fuzz.found)} found", *fuzz.found, sep="\n\n")


if __name__ == "__main__":
    main()

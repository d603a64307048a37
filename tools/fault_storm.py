"""A run through a server's bad night: what it costs, and that nothing else is stored than answers.

python -m tools.fault_storm [--pictures 120] [--in-flight 64]

20 % 429 with Retry-After 0.2, 10 % 500, 5 % reset, 5 % hang, 5 % HTML, broken JSON or no choices;
a pure function of sample and attempt, at most four in a row; `--retry 5`, `timeout_s` 5. Exits
with 1 if anything is not as it should be.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.support.faults import Storm
from tests.support.mock_server import MockServer
from tests.support.runs import api_model, make_data
from tests.support.stage import L1, L2, Stage
from tools.kill_everywhere import reply

ANSWERS = frozenset({"A", "B", "(0.2, 0.15)", "(0.9, 0.9)"})


def main() -> int:
    """A calm run, a storm, a comparison."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pictures", type=int, default=120, help="five samples each")
    parser.add_argument("--in-flight", default="64")
    options = parser.parse_args()
    samples, command = 5 * options.pictures, ("--api-nproc", options.in_flight, "--retry", "5")
    with tempfile.TemporaryDirectory() as name:
        home, other = Path(name) / "calm", Path(name) / "storm"
        make_data(home / "data", [("os_web", (40, 30))] * options.pictures)
        shutil.copytree(home / "data", other / "data")
        with MockServer(reply) as server:
            calm = Stage(home, server, {"m": api_model(server.url)})
            assert calm.run(*command).code == 0
        storm = Storm(reply, retry_after_s=0.2)
        with MockServer(storm) as server:
            stage = Stage(other, server, {"m": api_model(server.url, kwargs={"timeout_s": 5})})
            began_s = time.monotonic()
            ran = stage.run(*command)
            wall_s = time.monotonic() - began_s
            storm.over.set()
        records = [*stage.answers(L1), *stage.answers(L2)]
        equal = stage.both_scores() == calm.both_scores()
    ok = sum(record["status"] == "ok" for record in records)
    twice = sum(count - 1 for count in Counter(record["key"] for record in records).values())
    wrong = sum(record["raw"] not in ANSWERS for record in records)
    unsent = sum(record["attempts"] for record in records) - len(ran.requests)
    print(f"{samples} samples, {options.in_flight} in flight: {wall_s:.1f} s from start to end")
    print(
        f"{len(ran.requests)} requests, at most {storm.most_attempts} for one sample; faults: "
        + ", ".join(f"{count} {name}" for name, count in sorted(storm.met.items()))
    )
    print(
        f"exit code {ran.code}; {ok} answered, {twice} stored twice, {wrong} failure texts stored"
        f" as an answer, {unsent} attempts that never arrived, scores equal to the calm run's: "
        f"{equal}"
    )
    good = ran.code == 0 and ok == len(records) == samples and equal and not twice and not wrong
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

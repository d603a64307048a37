"""`--api-nproc auto` beside fixed numbers, against servers that refuse what is too much for them.

python -m perf.auto_concurrency [--samples 3000] [--latency 0.1] [--rounds 1]

Prints the inference part's wall time, the share of requests that were refused, and how the
throughput of `auto` compares with the best fixed number of the same round.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import urllib.request
from pathlib import Path

from perf.api_engine import run_ours, server
from perf.scale import make_data

SERVERS: dict[str, tuple[tuple[int, ...], list[int]]] = {
    # what it admits; with a second number from the middle of the run on; fixed numbers to try
    "admits 20": ((20,), [16, 20, 24]),
    "admits 90": ((90,), [80, 90, 100]),
    "admits 60, then 15": ((60, 15), [15, 30, 60]),
}


def run(
    admits: tuple[int, ...], in_flight: int | str, data: Path, given: argparse.Namespace
) -> dict[str, float]:
    """One run against a fresh server."""
    options = ["--admit", str(admits[0])]
    if len(admits) > 1:
        options += ["--then", str(admits[1]), "--after", str(given.samples // 2)]
    with tempfile.TemporaryDirectory() as folder, server(given.latency, *options) as url:
        measured = run_ours(url, data, in_flight, Path(folder))
        with urllib.request.urlopen(url.removesuffix("/v1") + "/stats") as reply:
            stats = json.load(reply)
    return {**measured, "requests": stats["requests"], "refused": stats["refused"],
            "most_in_flight": stats["most_in_flight"]}  # fmt: skip


def main() -> None:
    """Measures in turn and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=3000)
    parser.add_argument("--latency", type=float, default=0.1)
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = make_data(Path(folder), given.samples)
        for name, (admits, numbers) in SERVERS.items():
            print(f"\n{name}\n{'in flight':>9}  {'wall s':>7}  {'requests':>8}  refused")
            ratios = []
            for _ in range(given.rounds):
                found = {number: run(admits, number, data, given) for number in (*numbers, "auto")}
                for number, values in found.items():
                    share = values["refused"] / values["requests"]
                    print(f"{number:>9}  {values['wall_s']:7.2f}  {values['requests']:8}  "
                          f"{100 * share:.2f} %", flush=True)  # fmt: skip
                best = min(values["wall_s"] for number, values in found.items() if number != "auto")
                ratios.append(best / found["auto"]["wall_s"])
            print(f"throughput of auto / best fixed: {statistics.median(ratios):.3f}", flush=True)


if __name__ == "__main__":
    main()

"""`--api-nproc auto` beside fixed numbers, against servers that refuse what is too much for them.

python -m perf.auto_concurrency [--samples 3000] [--latency 0.1] [--rounds 1] [--only 90]

Prints the inference part's wall and CPU time, the share of requests that were refused, and how the
throughput of `auto` compares with the best fixed number of the same round; and the machine's load,
because other work on it takes more from many threads than from few.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import urllib.request
from pathlib import Path

from perf.api_engine import run_ours, server
from perf.scale import make_data

SERVERS: dict[str, tuple[tuple[int, ...], list[int]]] = {
    # what it admits; with a second number from the middle of the run on; fixed numbers to try
    "admits 20": ((20,), [16, 20, 24]),
    "admits 90": ((90,), [60, 80, 90, 100]),
    "admits 60, then 15": ((60, 15), [15, 30, 60]),
}


def run(
    admits: tuple[int, ...], in_flight: int | str, data: Path, arguments: argparse.Namespace
) -> dict[str, float]:
    """One run against a fresh server."""
    options = ["--admit", str(admits[0])]
    if len(admits) > 1:
        options += ["--then", str(admits[1]), "--after", str(arguments.samples // 2)]
    with tempfile.TemporaryDirectory() as folder, server(arguments.latency, *options) as url:
        measured = run_ours(url, data, in_flight, Path(folder))
        with urllib.request.urlopen(url.removesuffix("/v1") + "/stats") as reply:
            stats = json.load(reply)
    return {
        **measured,
        "requests": stats["requests"],
        "refused": stats["refused"],
        "most_in_flight": stats["most_in_flight"],
        "load": os.getloadavg()[0],
    }


def main() -> None:
    """Measures in turn and prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--samples", type=int, default=3000)
    parser.add_argument("--latency", type=float, default=0.1)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", default="", help="servers with this in their name")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = make_data(Path(folder), options.samples)
        for name, (admits, numbers) in SERVERS.items():
            if options.only not in name:
                continue
            print(
                f"\n{name}\n{'in flight':>9}  {'wall s':>7}  {'CPU s':>6}  {'requests':>8}  "
                f"{'refused':>7}  load"
            )
            ratios: list[float] = []
            concurrency_settings: list[int | str] = [*numbers, "auto"]
            walls: dict[int | str, list[float]] = {number: [] for number in concurrency_settings}
            for _ in range(options.rounds):
                runs_by_setting = {
                    number: run(admits, number, data, options) for number in concurrency_settings
                }
                for number, values in runs_by_setting.items():
                    walls[number].append(values["wall_s"])
                    share = values["refused"] / values["requests"]
                    print(
                        f"{number:>9}  {values['wall_s']:7.2f}  {values['cpu_s']:6.2f}  "
                        f"{values['requests']:8}  {100 * share:5.2f} %  {values['load']:.1f}",
                        flush=True,
                    )
                best = min(
                    values["wall_s"]
                    for number, values in runs_by_setting.items()
                    if number != "auto"
                )
                ratios.append(best / runs_by_setting["auto"]["wall_s"])
            raw = ", ".join(f"{ratio:.3f}" for ratio in ratios)
            print(
                f"throughput of auto / best fixed: {statistics.median(ratios):.3f} ({raw})",
                flush=True,
            )
            medians = {number: statistics.median(runs) for number, runs in walls.items()}
            auto_s = medians.pop("auto")
            fixed, fixed_s = min(medians.items(), key=lambda pair: pair[1])
            print(f"by medians: {fixed_s / auto_s:.3f} (of {fixed})", flush=True)


if __name__ == "__main__":
    main()

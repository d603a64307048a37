"""Does one of several servers answer differently from the others?

Samples go to whichever server is free, so each should have its share of hits, of replies that could
not be read and of those that were cut off. For each server and each of the three, the share among
its answers is compared with that among all others: a t test of the difference whose standard error
counts the samples of one image together, with Holm's correction over all of them.

Source of the standard error: Liang and Zeger (1986), Biometrika 73 (clustered, with the factor
G / (G - 1) for G images).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from utils.analysis.columns import AuditSettings, Row, SampleColumns, Section, percent
from utils.analysis.intervals import t_tails
from utils.analysis.paired import LARGEST_P, holm
from utils.contracts import Verdict
from utils.findings import Finding, warning
from utils.protocol import FEWEST_PICTURES
from utils.text import format_percent

TITLE = "Servers: does one answer differently?"
SMALLEST_DIFFERENCE = 0.02  # thousands of samples make the smallest one significant
SHARES = {"hits": "hits", "unparsed": "unparsed replies", "cut_off": "replies cut off"}


class ServerDifference(NamedTuple):
    """The share among a server's samples, compared with the share among all others."""

    share: float  # of the server's samples, 0..1
    others: float
    p_value: float | None  # None: too few images, or all samples alike


def server_audit(columns: SampleColumns, _settings: AuditSettings) -> Section | None:
    """Return the section; None where one server, or nobody knows which, has answered."""
    columns = columns.answered()
    servers = sorted({server for server in columns["server"] if server})
    if len(servers) < 2:
        return None
    columns = columns.where([bool(server) for server in columns["server"]])
    pictures = columns.pictures().tolist()
    events = {
        "hits": [float(hit) for hit in columns["hit"]],
        "unparsed": [float(verdict == Verdict.UNPARSED) for verdict in columns["verdict"]],
        "cut_off": [float(reason == "length") for reason in columns["finish_reason"]],
    }
    rows: list[Row] = []
    spans: dict[str, str] = {}
    tests: list[tuple[str, str, ServerDifference]] = []
    for server in servers:
        is_its = [name == server for name in columns["server"]]
        spans[server] = columns.spans(is_its)
        row: Row = {"name": server, "samples": sum(is_its)}
        is_mirrored = len(servers) == 2 and server == servers[1]  # one test of both is enough
        for name, values in events.items():
            difference = difference_of(values, is_its, pictures)
            row[f"{name.replace('_', ' ')} %"] = percent(difference.share)
            if not is_mirrored:
                tests.append((server, name, difference))
        rows.append(row)
    p_values = holm([difference.p_value for _, _, difference in tests])
    findings = [
        _finding(server, name, difference, p_value, servers)
        for (server, name, difference), p_value in zip(tests, p_values, strict=True)
        if p_value is not None
        and p_value < LARGEST_P
        and abs(difference.share - difference.others) >= SMALLEST_DIFFERENCE
    ]
    return {
        "title": TITLE,
        "rows": rows,
        "notes": [
            f"{len(columns)} answers of {len(servers)} servers. The test compares the share of "
            "each server with the share of all other servers, by image, with Holm's correction."
        ],
        "findings": findings,
        "at": spans,
    }


def difference_of(
    values: Sequence[float], is_its: Sequence[bool], pictures: Sequence[int]
) -> ServerDifference:
    """Compare the mean of some samples with the mean of the others.

    Args:
        values: of each sample, 0 or 1.
        is_its: marks those samples; neither none nor all.
        pictures: the image of each sample.
    """
    count = sum(is_its)
    counts = {True: count, False: len(is_its) - count}
    sums = {True: 0.0, False: 0.0}
    images: dict[bool, set[int]] = {True: set(), False: set()}
    for value, its, picture in zip(values, is_its, pictures, strict=True):
        sums[its] += value
        images[its].add(picture)
    means = {its: sums[its] / counts[its] for its in counts}
    by_image: dict[int, float] = defaultdict(float)
    for value, its, picture in zip(values, is_its, pictures, strict=True):
        by_image[picture] += (value - means[its]) / counts[its] * (1 if its else -1)
    variance = sum(part * part for part in by_image.values())
    fewest = min(map(len, images.values()))
    p_value = None
    if fewest >= FEWEST_PICTURES and variance > 0:
        variance *= len(by_image) / (len(by_image) - 1)
        p_value = t_tails((means[True] - means[False]) / math.sqrt(variance), fewest - 1)
    return ServerDifference(means[True], means[False], p_value)


def _finding(
    server: str, name: str, difference: ServerDifference, p_value: float, servers: Sequence[str]
) -> Finding:
    share, others = (
        format_percent(percent(part)) for part in (difference.share, difference.others)
    )
    start, rest, wrong, address, row = f"{server} answers", "the others", "it", server, server
    if len(servers) == 2:  # nobody knows which one is right; the weaker one's samples are shown
        start, rest = "the two servers answer", servers[1]
        wrong, address = "the wrong one", "ADDRESS"
        is_other_worse = (difference.share > difference.others) == (name == "hits")
        row = servers[1] if is_other_worse else server
    return warning(
        "server_audit",
        f"{start} differently: {share} % {SHARES[name]} on {server}, {others} % on {rest} "
        f"(p = {p_value:.2g})",
        fix="compare their versions and arguments. A server that was up for a short time only may "
        f"also have got easier or harder samples. Repair {wrong} or leave {wrong} out; then "
        f"--retry-server {address} queries its samples again",
        topic="servers",
        row=row,
    )

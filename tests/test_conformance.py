"""Every case of every conformance file, through this project's public functions."""

from __future__ import annotations

import pytest

from tests.support import (
    conformance_parsers,
    conformance_scores,
)
from tests.support.conformance import FILES, World, read_cases, replay

REPLAYS = conformance_parsers.REPLAYS | conformance_scores.REPLAYS


@pytest.fixture
def world(tmp_path, monkeypatch):
    for name in ("LMUData", "IMAGE_ROOT_DIR", "L2_USER_PROMPT", "L1_USE_WEIGHTED"):
        monkeypatch.delenv(name, raising=False)
    return World(tmp_path, monkeypatch)


@pytest.mark.parametrize("name", FILES)
def test_every_case_comes_out_as_the_reference_or_the_departures_page_says(name, world):
    tally = replay(name, REPLAYS[name], world)
    first_ten = "\n".join(tally.mismatches[:10])
    assert not tally.mismatches, (
        f"{name}: {len(tally.mismatches)} of {tally.in_file} differ\n{first_ten}"
    )

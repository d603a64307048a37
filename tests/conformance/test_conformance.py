"""Every case of every conformance file, through this project's public functions."""

import pytest

from tests.conformance import parsers, prompts, scores, wire
from tests.conformance.support import CRASH, DEPARTURE, FILES, ORDINARY, World, replay

REPLAYS = parsers.REPLAYS | prompts.REPLAYS | scores.REPLAYS | wire.REPLAYS

# Ordinary cases, departures, crashes of the reference: so that no case slips into another kind.
CASES = {
    "dataset_rows.json": (18, 0, 0),
    "endpoint_url.json": (15, 0, 0),
    "image_encoding.json": (75, 0, 0),
    "gpt_point_parser.json": (19, 22, 0),  # replies without the form x=..., y=...
    # changed by the reference's spreadsheet
    "l1_eval_samples.json": (160, 2, 0),
    "l1_eval_sets.json": (3, 3, 0),
    "l1_score_normal.json": (21, 0, 0),
    "l1_score_weighted.json": (19, 2, 0),  # NaN
    # a box with -1, a reply without the form, the spreadsheet
    "l2_eval_samples.json": (236, 28, 0),
    "l2_eval_sets.json": (2, 6, 3),
    "l2_score.json": (23, 0, 8),
    "option_parser.json": (853, 0, 0),
    "option_parser_wrappers.json": (14, 0, 0),
    "point_parser.json": (509, 0, 0),
    "reply_cutter.json": (58, 0, 0),
    "prediction_storage.json": (0, 64, 0),  # all: what is scored is the reply itself
    "prompts_custom.json": (22, 0, 1),
    "prompts_default.json": (165, 14, 0),  # templates with other braces
    "uitars_point_parser.json": (82, 0, 2),
    "uitars_resize.json": (44, 0, 0),
    "wire_requests.json": (68, 0, 25),
}


def test_every_file_is_replayed():
    assert set(FILES) == set(REPLAYS) == set(CASES)


@pytest.mark.parametrize("name", FILES)
def test_a_case_comes_out_as_reference_or_departures(name, tmp_path, monkeypatch, record_property):
    for variable in ("LMUData", "IMAGE_ROOT_DIR", "L2_USER_PROMPT", "L1_USE_WEIGHTED"):
        monkeypatch.delenv(variable, raising=False)
    counts, mismatches = replay(name, REPLAYS[name], World(tmp_path, monkeypatch))
    record_property("replayed", (dict(counts), len(mismatches)))
    assert not mismatches, f"{len(mismatches)} differ\n" + "\n".join(mismatches[:10])
    assert tuple(counts[kind] for kind in (ORDINARY, DEPARTURE, CRASH)) == CASES[name]

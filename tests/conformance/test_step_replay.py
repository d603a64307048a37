"""Recorded steps that the authors' own code judged, through the whole program."""

from functools import cache

import pytest

from tests.support import step_cases
from tests.support.step_replay import (
    ENTRIES,
    recorded_steps,
    replay_cross_table,
    replay_official,
    replay_real,
)

pytestmark = pytest.mark.skipif(
    not step_cases.FOLDER.is_dir(), reason=f"{step_cases.FOLDER} is not there"
)

FEW = 30  # cases of each file
FILES = list(ENTRIES)


@cache
def steps():
    return recorded_steps(step_cases.FOLDER)


def differences(comparisons):
    assert comparisons and all(comparison.equal for comparison in comparisons)
    return [text for comparison in comparisons for text in comparison.different]


@pytest.mark.parametrize("file", FILES)
def test_some_steps_are_judged_through_the_whole_program_as_the_official_code_does(file, tmp_path):
    path = step_cases.OFFICIAL / f"{file}.jsonl"
    assert differences(replay_official(path, tmp_path, steps(), FEW)) == []


@pytest.mark.parametrize("file", FILES)
def test_every_step_is_judged_through_the_whole_program_as_the_official_code_does(file, tmp_path):
    path = step_cases.OFFICIAL / f"{file}.jsonl"
    assert differences(replay_official(path, tmp_path, steps(), None)) == []


def test_one_answer_file_has_the_official_totals_in_the_score_files_of_a_run(tmp_path):
    path = step_cases.FOLDER / "cross_table.json"
    assert differences(replay_cross_table(path, tmp_path, steps())) == []


def test_real_replies_answer_with_the_published_kinds_of_actions(tmp_path):
    path = step_cases.FOLDER / "real" / "gpt4o_uground.json"
    assert differences(replay_real(path, tmp_path, steps())) == []

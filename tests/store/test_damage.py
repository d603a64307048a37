"""Random damage to logs, replies and annotations, a little of each; `tools/fuzz.py` does more."""

import pytest

from tests.support.stage import L2
from tools.fuzz import Fuzz


@pytest.mark.parametrize("what", ["logs", "replies", "annotations"])
def test_damage_ends_in_no_traceback_and_changes_no_score_in_silence(what, tmp_path, whole):
    fuzz = Fuzz(tmp_path, seed=345)
    getattr(fuzz, what)(30 if whole else 10)
    assert not fuzz.found, "\n\n".join(fuzz.found)


@pytest.mark.parametrize("is_torn", [False, True])
def test_a_log_that_lost_the_record_of_its_run_gives_no_full_score(is_torn, stage):
    stage.data = {L2: {"mode": "all"}}
    assert stage.run().code == 0
    full_scores, (begin, *others) = (
        stage.scores(L2),
        stage.log(L2).read_bytes().splitlines(keepends=True),
    )
    stage.log(L2).write_bytes(b"".join([begin[:99] * is_torn, *others]))
    again = stage.run("--mode", "eval")
    assert again.code == 1 and "record of the run is lost" in again.output
    assert stage.scores(L2) == full_scores
    assert (stage.folder() / f"m_{L2}_score_partial.json").exists()

"""Random damage to logs, replies and annotations, a little of each; `perf/fuzz.py` does more."""

import pytest

from perf.fuzz import Fuzz
from tests.support.bench import L2, Bench
from tests.support.mock_server import MockServer, Reply
from tests.support.runs import api_model, make_data


@pytest.mark.parametrize("what", ["logs", "replies", "annotations"])
def test_damage_ends_in_no_traceback_and_changes_no_score_in_silence(what, tmp_path):
    fuzz = Fuzz(tmp_path, seed=345)
    getattr(fuzz, what)(30)
    assert not fuzz.found, "\n\n".join(fuzz.found)


@pytest.mark.parametrize("is_torn", [False, True])
def test_a_log_that_lost_the_record_of_its_run_gives_no_full_score(is_torn, tmp_path):
    make_data(tmp_path / "data")
    with MockServer(lambda _: Reply("(0.2, 0.15)")) as server:
        bench = Bench(tmp_path, server, {"m": api_model(server.url)}, {L2: {"mode": "all"}})
        assert bench.run().code == 0
    whole, (begin, *others) = bench.scores(L2), bench.log(L2).read_bytes().splitlines(keepends=True)
    bench.log(L2).write_bytes(b"".join([begin[:99] * is_torn, *others]))
    again = bench.run("--mode", "eval")
    assert again.code == 1 and "record of the run is lost" in again.output
    assert bench.scores(L2) == whole
    assert (bench.folder() / f"m_{L2}_score_partial.json").exists()

"""Runs against several servers of one model."""

import csv
import json
import threading
import zipfile
from collections import Counter
from functools import partial

import pytest

from models.wrappers.api import servers as servers_module
from tests.support.browser import need_browser, tabs_of
from tests.support.mock_server import Reply
from tests.support.replicas import PATIENCE_S, Replica, address, asked, running
from tests.support.runs import evaluate
from tests.support.stage import L1, L2, Stage, answer_records, read_log_lines, some_right
from tests.support.stage import end_of as end_of_process

SAMPLES = 15  # of `make_data`, both data sets


@pytest.fixture
def stage(tmp_path):
    def make(*paths, **entry):
        made = Stage.make(tmp_path, Replica())
        made.model["m"] |= {"model_path": list(paths), **entry}
        return made

    return make


@pytest.fixture
def alone(tmp_path):
    """The scores that one server gives."""
    with Replica() as server:
        stage = Stage.make(tmp_path / "alone", server)
        assert stage.run().code == 0
        return stage.both_scores()


def end_of(stage, dataset=L2):
    return [r for r in read_log_lines(stage.log(dataset)) if r["kind"] == "end"][-1]


def records(stage):
    return [record for dataset in (L1, L2) for record in answer_records(stage.log(dataset))]


def test_servers_share_the_samples_and_scores_are_as_with_one(stage, alone):
    arrived = threading.Barrier(3)

    def answer(request):
        if len(asked(*servers)) <= 3:
            arrived.wait(PATIENCE_S)
        return some_right(request)

    servers = [Replica(answer) for _ in range(3)]
    with running(*servers) as paths:
        run = stage(*paths)
        ran = run.run("--api-nproc", "1")
    assert ran.code == 0, ran.output
    assert run.both_scores() == alone
    assert len(set(asked(*servers))) == len(asked(*servers)) == SAMPLES
    assert all(server.requests for server in servers)
    assert {record["server"] for record in records(run)} == {server.place for server in servers}
    rows = {row["server"]: row for row in end_of(run)["servers"]}
    for server in servers:
        row = rows[server.place]
        assert row["answers"] == len(server.requests)
        assert row["completion_tokens"] == 3 * len(server.requests)
        assert (row["state"], row["version"]) == ("serving", "vLLM 0.11.0")
        assert len(server.looks) == 2
    assert f"3 servers, {SAMPLES} answers in" in ran.output
    looked = evaluate("--look", run.folder(), cwd=run.home, env={"LMUData": "/nowhere"})
    assert looked.code == 0 and "6 of 6 have a reply" in looked.output, looked.output
    with need_browser().open_browser() as browser, tabs_of(browser) as open_tab:
        table = open_tab(run.folder() / "report" / "index.html").text(".servers")
    assert all(server.place in table for server in servers)


def test_requests_of_a_server_that_dies_go_elsewhere_and_cost_their_samples_no_retry(stage, alone):
    def dies(request):
        return dying.die() if len(dying.requests) > 2 else some_right(request)

    dying, other = Replica(dies), Replica()
    with running(dying, other) as paths:
        run = stage(*paths)
        ran = run.run("--api-nproc", "2", "--retry", "0")
    assert ran.code == 0, ran.output
    assert run.both_scores() == alone
    assert len(records(run)) == SAMPLES
    assert f"{dying.place} is down (connection failed" in ran.output
    assert "m: looked at 2 servers, 2 serving\n" in ran.output
    assert "1 of 2 servers serving" in ran.output
    [row] = [row for row in end_of(run)["servers"] if row["server"] == dying.place]
    assert (row["answers"], row["state"], bool(row["left_at"])) == (2, "down", True)
    assert row["moved"] >= 1
    page = (run.folder() / "report" / "data" / "summary_0.js").read_text()
    assert f"Of 2 servers, 1 stopped serving; {row['moved']} request" in page
    assert "retried" not in ran.stdout and " samples retried" not in page


def test_a_request_that_comes_back_to_its_server_has_not_moved_and_a_server_may_never_serve(stage):
    def breaks_one(request):
        return Reply(reset=True) if len(only.requests) == 3 else some_right(request)

    only, absent = Replica(breaks_one), Replica()
    absent.is_well = False
    with running(only, absent) as paths:
        run = stage(*paths)
        ran = run.run("--api-nproc", "1")
    assert ran.code == 0, ran.output
    assert len(only.requests) == SAMPLES + 1
    assert [row["moved"] for row in end_of(run)["servers"]] == [0, 0]
    page = (run.folder() / "report" / "data" / "summary_0.js").read_text()
    assert "Of 2 servers, 1 never served" in page and "went to" not in page


class Away(Replica):
    """A server that says when it was found not to be well."""

    def __init__(self, answer):
        super().__init__(answer)
        self.is_found_down = threading.Event()

    def offer(self, path):
        offered = super().offer(path)
        if offered[0] == 503:
            self.is_found_down.set()
        return offered


def test_an_outage_that_is_over_stands_in_the_tables_and_in_the_report(stage, monkeypatch):
    """One server fails a request and its checks; the other waits until it is back."""
    monkeypatch.setattr(servers_module, "SECONDS_BETWEEN_LOOKS", 0.1)
    monkeypatch.setattr(servers_module, "SECONDS_BETWEEN_READINGS", 0.1)
    serves_again = threading.Event()

    def fails_once(request):
        if len(failing.requests) == 2:
            failing.is_well = False
            return Reply(reset=True)
        if len(failing.looks) > 2:  # it was looked at again, and is asked again
            serves_again.set()
        return some_right(request)

    def waits(request):
        if not failing.is_well:
            assert failing.is_found_down.wait(PATIENCE_S)
            failing.is_well = True
        if failing.is_found_down.is_set():
            assert serves_again.wait(PATIENCE_S)
        return some_right(request)

    failing, other = Away(fails_once), Replica(waits)
    with running(failing, other) as paths:
        run = stage(*paths)
        ran = run.run("--api-nproc", "2")
    assert ran.code == 0, ran.output
    row = next(row for row in end_of(run)["servers"] if row["server"] == failing.place)
    assert (row["outages"], row["state"], row["left_at"]) == (1, "serving", "")
    assert row["outages_s"] >= 0
    assert "; 1 outage, " in ran.output
    page = (run.folder() / "report" / "data" / "summary_0.js").read_text()
    assert "Of 2 servers, 1 came back after an outage; " in page


def test_a_server_that_hangs_is_left_out_after_its_time_limit(stage, alone):
    released = threading.Event()

    def hangs(request):
        hanging.is_well = False
        released.wait(PATIENCE_S)
        return some_right(request)

    hanging, other = Replica(hangs), Replica()
    with running(hanging, other) as paths:
        run = stage(*paths, kwargs={"timeout_s": 0.5})
        ran = run.run("--api-nproc", "2", "--retry", "0")
        released.set()
    assert ran.code == 0, ran.output
    assert run.both_scores() == alone
    assert set(asked(other)) >= set(asked(hanging))
    assert f"{hanging.place} is down" in ran.output


POISON = "Question 1 medium?"


class Mortals:
    """Five servers that die of the poisonous sample.

    Attributes:
        by_poison: how many have, and how many may.
        by_chance: how many have died of another sample after the first death, and how many do.
        answered: all samples that were, in order.
    """

    def __init__(self, by_poison, by_chance):
        self.servers = [Replica() for _ in range(5)]
        for server in self.servers:
            server.answer = partial(self.answer, server)
        self.by_poison, self.by_chance = (0, by_poison), (0, by_chance)
        self.answered = []
        self._lock = threading.Lock()

    def answer(self, server, request):
        with self._lock:
            (poisoned, may_die), (killed, will_die) = self.by_poison, self.by_chance
            if POISON in request.text and poisoned < may_die:
                self.by_poison = poisoned + 1, may_die
                return server.die()
            if POISON not in request.text and poisoned and killed < will_die:
                self.by_chance = killed + 1, will_die
                return server.die()
            self.answered.append(request.text)
            return some_right(request)


@pytest.mark.parametrize(("in_flight"), ["1", "2"])
def test_a_sample_that_servers_die_of_costs_two_of_them(in_flight, stage):
    mortals = Mortals(by_poison=5, by_chance=0)
    with running(*mortals.servers) as paths:
        run = stage(*paths)
        ran = run.run("--api-nproc", in_flight)
    assert (ran.code, mortals.by_poison[0]) == (1, 2), ran.output
    assert (len(set(mortals.answered)), len(records(run))) == (SAMPLES - 1, SAMPLES)
    [failed] = [record for record in records(run) if record["status"] != "ok"]
    assert (failed["status"], failed["error"]["class"]) == ("failed", "connection")
    assert "2 times a server died while it had this sample" in failed["error"]["message"]


def test_a_sample_that_servers_may_have_died_of_by_chance_is_asked_when_others_are_over(stage):
    mortals = Mortals(by_poison=2, by_chance=1)  # who died without it shows that they do that
    with running(*mortals.servers) as paths:
        run = stage(*paths)
        ran = run.run("--api-nproc", "1")
    assert (ran.code, mortals.by_poison[0], mortals.by_chance[0]) == (0, 2, 1), ran.output
    assert len(mortals.answered) == len(records(run)) == SAMPLES
    assert POISON in mortals.answered[-1]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"id": "another"}, 'serves "another", not "mock"'),
        ({"status": 401}, "HTTP 401"),
        ({"status": 404}, "HTTP 404"),
    ],
    ids=["another-model", "key", "path"],
)
def test_a_server_that_will_not_answer_is_excluded_with_the_reason(change, reason, stage, alone):
    odd, other = Replica(**{k: v for k, v in change.items() if k == "id"}), Replica()
    if "status" in change:
        odd.answer = lambda request: Reply(status=change["status"], body=b'{"error": "no"}')
    with running(odd, other) as paths:
        run = stage(*paths)
        ran = run.run("--retry", "0")
    assert ran.code == 0, ran.output
    assert run.both_scores() == alone
    assert f"{odd.place} is excluded ({reason}" in ran.output
    if "id" in change:  # at the start
        assert "; of 2 servers, 1 failed and 1 is still being checked\n" in ran.output


def test_a_run_stops_where_no_server_is_left(stage):
    servers = [Replica(id="another"), Replica(id="another")]
    with running(*servers) as paths:
        run = stage(*paths)
        ran = run.run("--wait-for-server", "600")
    assert ran.code == 1
    assert asked(*servers) == []
    assert ran.output.count(f'{servers[0].place} is excluded (serves "another", not "mock")') == 2
    assert "no server is left" in ran.output


@pytest.mark.parametrize(
    ("attribute", "value", "words"),
    [
        ("version", "0.12.0", "version vLLM 0.12.0, not vLLM 0.11.0"),
        ("image_tokens", 1300, "prompt tokens of a test with an image 1320, not 2711"),
        ("served", {"id": "mock", "root": "/old", "max_model_len": 32768}, "root /old, not"),
        ("served", {"id": "mock", "root": "/weights", "max_model_len": 8192}, "len 8192, not"),
    ],
    ids=["version", "image", "checkpoint", "length"],
)
def test_servers_that_differ_are_an_error_before_anything_is_asked(attribute, value, words, stage):
    odd, other = Replica(), Replica()
    setattr(odd, attribute, value)
    with running(other, odd) as paths:
        run = stage(*paths)
        ran = run.run()
        assert ran.code == 1
        assert asked(odd, other) == []
        assert f"{odd.place} and {other.place} differ: " in ran.output
        assert words in ran.output
        run.model["m"]["servers_may_differ"] = True
        ran = run.run()
    assert ran.code == 0, ran.output
    assert len(asked(odd, other)) == SAMPLES


def test_servers_come_and_go_with_the_files_of_a_folder(stage, alone, tmp_path):
    """The first one is taken away while it has requests, which it answers; the second joins."""
    folder = tmp_path / "addresses"
    folder.mkdir()
    is_second_there = threading.Event()

    def first_answer(request):
        with lock:
            if not (folder / "second").exists():
                (folder / "second").write_text(f"# with a comment\n{second.url}\n")
                (folder / "first").unlink()
        assert is_second_there.wait(PATIENCE_S)
        return some_right(request)

    def second_answer(request):
        is_second_there.set()
        return some_right(request)

    lock = threading.Lock()
    first, second = Replica(first_answer), Replica(second_answer)
    with running(first, second):
        (folder / "first").write_text(first.url)
        run = stage("unused")
        run.model["m"] |= {"model_path": address(first), "servers": str(folder)}
        ran = run.run("--api-nproc", "1", "--retry", "0")
    assert ran.code == 0, ran.output
    assert run.both_scores() == alone
    assert len(asked(first)) == 1
    assert len(asked(first, second)) == SAMPLES
    assert f"{first.place} is draining (its address was taken away)" in ran.output
    assert [row["state"] for row in end_of(run)["servers"]] == ["drained", "serving"]


def test_stored_answers_count_for_other_servers_of_the_same_model(stage):
    with Replica() as one:
        run = stage()
        run.model["m"]["model_path"] = address(one)  # as before there were lists
        assert run.run("--limit", "2").code == 0
        replies = {record["key"]: record["raw"] for record in records(run)}
    several, others = [Replica(), Replica()], [Replica()]
    for servers in (several, others):
        with running(*servers) as paths:
            run.model["m"]["model_path"] = paths
            ran = run.run("--limit", "2")
            assert ran.code == 0, ran.output
        assert (asked(*servers), servers[0].looks) == ([], [])
        assert {record["key"]: record["raw"] for record in records(run)} == replies
    later = [Replica(), Replica()]
    with running(*later) as paths:
        run.model["m"]["model_path"] = paths
        assert run.run().code == 0
        run.model["m"]["model_path"] = paths[0]
        ran = run.run()
    assert ran.code == 0, ran.output
    assert len(set(asked(*later))) == len(asked(*later)) == SAMPLES - len(one.requests)


@pytest.mark.parametrize(
    ("attribute", "value", "words"),
    [
        ("image_tokens", 1300, "prompt tokens of a test with an image 1320, not 2711"),
        ("served", {"id": "mock", "root": "/new"}, "root /new, not /weights"),
    ],
    ids=["image", "checkpoint"],
)
def test_servers_that_serve_what_no_stored_answer_is_from_are_an_error(
    attribute, value, words, stage
):
    with Replica() as before:
        run = stage(address(before))
        assert run.run("--limit", "2").code == 0
    changed = Replica()
    setattr(changed, attribute, value)
    with running(changed) as paths:
        run.model["m"]["model_path"] = paths
        ran = run.run("--limit", "4")
        assert (ran.code, asked(changed)) == (1, [])
        assert "differs from the server that gave the stored answers" in ran.output
        assert words in ran.output
        ran = run.run("--limit", "4", "--fresh")
    assert ran.code == 0, ran.output
    assert len(asked(changed)) == 8


def handed_on(run):
    """The answers by server in exports: in the CSV file, in the bundle, and in its manifest."""
    for form in ("csv", "bundle"):
        exported = evaluate("--export", form, run.folder(), cwd=run.home)
        assert exported.code == 0, exported.output
    with (run.folder() / "export" / "m_samples.csv").open(encoding="utf-8-sig", newline="") as file:
        in_csv = Counter(row["server"] for row in csv.DictReader(file))
    in_rows, in_manifest = Counter(), Counter()
    with zipfile.ZipFile(run.folder() / "export" / "m_bundle.zip") as archive:
        for name in archive.namelist():
            if name.endswith("_answers.jsonl"):
                rows = map(json.loads, archive.read(name).splitlines())
                in_rows.update(row["server"] for row in rows)
        for entry in json.loads(archive.read("manifest.json"))["servers"].values():
            in_manifest.update(entry["answered_by"])
    return in_csv, in_rows, in_manifest


def test_answers_of_a_server_are_asked_again_where_the_user_says_so(stage):
    arrived = threading.Barrier(2)

    def answer(request):
        if len(asked(*servers)) <= 2:
            arrived.wait(PATIENCE_S)
        return some_right(request)

    servers = [Replica(answer), Replica(answer)]
    with running(*servers) as paths:
        run = stage(*paths)
        assert run.run("--api-nproc", "1").code == 0
        answered = len(servers[0].requests)
        run.model["m"]["model_path"] = paths[1:]
        for name in ("n9", "8813", "http://n9:8000/v1"):
            for more in ((), ("--check",)):
                refused = run.run("--retry-server", name, *more)
                assert refused.code == 2, refused.output
                assert all(f'"{server.place}"' in refused.output for server in servers)
        run.model["m"]["model_path"] = paths[1]
        refused = run.run("--retry-server", servers[0].place)
        assert refused.code == 2
        assert "model.m.model_path: is one address; with --retry-server, write" in refused.output
        run.model["m"]["model_path"] = paths[1:]
        assert len(asked(*servers)) == SAMPLES
        ran = run.run("--retry-server", f"http://{servers[0].place}/v1")
    assert ran.code == 0, ran.output
    assert len(asked(*servers)) == SAMPLES + answered
    assert "--retry-server" in ran.output
    newest = {record["key"]: record["server"] for record in records(run)}
    assert set(newest.values()) == {servers[1].place}
    assert handed_on(run) == (Counter(newest.values()),) * 3


def test_a_judge_is_not_asked_again_where_answers_of_a_server_of_the_model_are(stage):
    model = Replica(lambda request: Reply("It seems to be yes."))
    judges = [Replica(lambda request: Reply('{"choice": "B"}')) for _ in range(2)]
    with running(model) as model_paths, running(*judges) as judge_paths:
        run = stage(*model_paths)
        judge = {"model_path": judge_paths}
        run.data = {L1: {"mode": "all", "match_mode": "judge", "judge": judge}}
        runs = [run.run("--no-report", *more) for more in ((), ("--retry-server", "127.0.0.1"))]
    assert (len(asked(model)), len(asked(*judges))) == (18, 9)
    for ran in runs:
        assert "The judge read 9 of 9 replies" in ran.output


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"model_path": []}, "model_path: is an empty list"),
        (
            {"model_path": ["http://n1/v1?model=m", "http://n1/v1/?model=m"]},
            "model_path[1]: is the same address as item 1",
        ),
        (
            {"model_path": ["http://n1/v1?model=m", "n2:8000/v1"]},
            "model_path[1]: must begin with http:// or https://",
        ),
        (
            {"model_path": ["http://n1/v1?model=m", "http://n2/v1?model=other"]},
            'names several models, "m", "other"',
        ),
        (
            {"model_path": "http://n1/v1?model=m", "servers": "nowhere"},
            "servers: nowhere does not exist in /",
        ),
        (
            {"model_path": "http://n1/v1?model=m", "servers": ["http://n1/v1"]},
            "a list of addresses",
        ),
    ],
    ids=["empty", "twice", "scheme", "models", "folder", "key"],
)
def test_addresses_that_cannot_be_used_are_one_message_each(entry, message, stage):
    run = stage("unused")
    run.model["m"] = {**run.model["m"], **entry}
    ran = run.run()
    assert ran.code == 2
    assert ran.output.count(message) == 1, ran.output
    assert "1 problem. Nothing was run." in ran.output


def test_a_file_of_addresses_that_becomes_empty_stops_the_run_with_what_it_says(stage, tmp_path):
    file = tmp_path / "addresses"

    def answer(request):
        file.write_text("# nothing\nn2:8000\n")
        if len(server.requests) > 1:
            return server.die()
        return some_right(request)

    server = Replica(answer)
    with server:
        file.write_text(server.url)
        run = stage("unused")
        run.model["m"] |= {"model_path": address(server), "servers": str(file)}
        ran = run.run("--api-nproc", "1", "--outage", "3")
    assert ran.code == 1
    assert "m: no server is left. The run waits up to 3 s for one (--outage)\n" in ran.output
    assert f"no server is left: {server.place} has drained (its address was taken" in ran.output
    assert len(records(run)) >= 1


def test_manifest_analysis_report_and_summary_have_a_table_of_servers(stage):
    arrived = threading.Barrier(2)

    def answer(request):
        if len(asked(*servers)) <= 2:
            arrived.wait(PATIENCE_S)
        return some_right(request)

    servers = [Replica(answer), Replica(answer)]
    with running(*servers) as paths:
        run = stage(*paths)
        ran = run.run("--api-nproc", "1")
    assert ran.code == 0, ran.output
    folder = run.folder()
    manifest = json.loads((folder / "manifest.json").read_text())
    answered = Counter(record["server"] for record in records(run))
    in_manifest = Counter()
    for dataset in (L1, L2):
        entry = manifest["datasets"][dataset]
        in_manifest.update(entry["answered_by"])
        assert entry["served"]["root"] == "/weights"
        assert [row["server"] for row in entry["servers"]] == [server.place for server in servers]
        analysis = json.loads((folder / f"m_{dataset}_analysis.json").read_text())
        assert [row["answers"] for row in analysis["servers"]["rows"]] == [
            len(server.requests) for server in servers
        ]
        assert {row["name"] for row in analysis["server_audit"]["rows"]} <= set(answered)
    assert in_manifest == answered
    assert handed_on(run) == (answered, answered, answered)
    pages = "".join(
        path.read_text()
        for path in folder.rglob("*")
        if path.suffix in (".html", ".js", ".json", ".css")
    )
    assert all(server.place in pages for server in servers)
    summary = (folder / "report" / "data" / "summary_0.js").read_text()
    assert summary.count("answers/s") == 1
    assert "Servers (L1, L2)" in summary
    assert "Of 2 servers" not in summary
    assert "answers/s" in pages
    assert "test-key-123456" not in pages + json.dumps(manifest)


def test_a_rerun_that_asks_nothing_keeps_the_table_of_those_that_have_answered(stage):
    def answer(request):
        with lock:
            arrived.append(request)
        return dying.die() if len(arrived) > 4 else some_right(request)

    arrived, lock = [], threading.Lock()
    dying, other = Replica(answer), Replica()
    with running(dying, other) as paths:
        run = stage(*paths)
        assert run.run("--api-nproc", "1", "--retry", "0").code == 0
        manifest_path = run.folder() / "manifest.json"
        before = json.loads(manifest_path.read_text("utf-8"))["datasets"]
        assert run.run().code == 0
    assert len(asked(dying, other)) >= SAMPLES
    after = json.loads(manifest_path.read_text("utf-8"))["datasets"]
    assert len(after[L2]["servers"]) == 2
    for dataset in (L1, L2):
        for name in ("servers", "served", "answered_by"):
            assert after[dataset][name] == before[dataset][name]
    summary = (run.folder() / "report" / "data" / "summary_0.js").read_text("utf-8")
    assert "Of 2 servers, 1 stopped serving" in summary


def test_empty_replies_count_in_the_table_of_servers(stage):
    servers = [Replica(lambda request: Reply("")), Replica(lambda request: Reply(""))]
    with running(*servers) as paths:
        run = stage(*paths)
        assert run.run("--data", L2, "--no-report").code == 0
    rows = end_of(run)["servers"]
    assert [row["answers"] for row in rows] == [len(server.requests) for server in servers]
    assert sum(row["prompt_tokens"] for row in rows) == 7 * len(asked(*servers)) > 0


class ResponsesReplica(Replica):
    """A server of the Responses API alone."""

    def reply_to(self, request):
        if request.path != "/v1/responses":
            return Reply(status=404, body=b'{"error": "no such path"}')
        kinds = [part["type"] for item in request.body["input"] for part in item["content"]]
        output = [{"type": "message", "content": [{"type": "output_text", "text": "B"}]}]
        tokens = 20 + self.image_tokens * kinds.count("input_image")
        content = {"status": "completed", "output": output, "usage": {"input_tokens": tokens}}
        return Reply(body=json.dumps(content).encode())


def test_servers_of_the_responses_api_alone_are_looked_at_through_it(stage):
    servers = [ResponsesReplica(), ResponsesReplica()]
    with running(*servers) as paths:
        run = stage(*paths, api="responses", generate_cfg={})
        run.data = {L1: {"mode": "all"}}
        ran = run.run("--no-report")
        assert ran.code == 0, ran.output
        servers[1].image_tokens = 1300
        other = run.run("--no-report", "--fresh")
    assert "looked at 2 servers, 2 serving" in ran.output
    assert "prompt tokens of a test with an image 1320, not 2711" in other.output


def test_a_table_of_servers_is_missing_where_there_is_one(stage):
    with Replica() as server:
        run = stage()
        run.model["m"]["model_path"] = address(server)
        assert run.run("--limit", "1").code == 0
    assert server.looks == []
    assert "servers" not in end_of(run)
    assert not any("server" in record for record in records(run))


def test_one_server_is_asked_once_for_its_version_which_the_run_records(stage):
    with Replica() as server:
        run = stage()
        run.model["m"]["model_path"] = address(server)
        assert run.run("--limit", "1").code == 0
        assert server.gets == ["/version"]
        served = {"version": "vLLM 0.11.0"}
        manifest = json.loads((run.folder() / "manifest.json").read_text())
        assert manifest["datasets"][L2]["served"] == end_of(run)["served"] == served
        assert run.run("--limit", "1").code == 0  # nothing is asked: nobody is there for it
        assert server.gets == ["/version"]
        server.is_well = False  # what says nothing of itself answers all the same
        assert run.run("--limit", "2").code == 0
    assert "served" not in end_of(run)


def test_a_check_counts_stored_answers_of_other_servers_and_asks_nobody(stage):
    with Replica() as before:
        run = stage(address(before))
        assert run.run("--limit", "2").code == 0
    other = Replica()
    with running(other) as paths:
        run.model["m"]["model_path"] = paths
        ran = run.run("--check", "--limit", "2")
    assert (ran.code, asked(other), other.looks) == (0, [], [])
    assert ran.output.count("0 requests to send, 2 answers stored already") == 2


class Eight:
    """Of eight servers two die, one hangs, one serves another model, one drains, one joins late."""

    def __init__(self, folder):
        self.folder = folder
        self.released, self.has_joined = threading.Event(), threading.Event()
        self._lock = threading.Lock()
        self.dying = [Replica(self.dies), Replica(self.dies)]
        self.hanging, self.other_model = Replica(self.hangs), Replica(id="another")
        self.leaving, self.late = Replica(self.leaves), Replica(self.joins)
        self.well = [Replica(self.waits), Replica(self.waits)]
        self.all = [*self.dying, self.hanging, self.other_model, self.leaving, *self.well]
        folder.mkdir()

    def name_all(self):
        for server in self.all:
            name = "leaving" if server is self.leaving else f"server{server.port}"
            (self.folder / name).write_text(server.url)

    def dies(self, request):
        [server] = [server for server in self.dying if request in server.requests]
        return server.die() if len(server.requests) > 4 else some_right(request)

    def hangs(self, request):
        self.hanging.is_well = False
        self.released.wait(PATIENCE_S)
        return some_right(request)

    def leaves(self, request):
        with self._lock:
            if (self.folder / "leaving").exists():
                (self.folder / "leaving").unlink()
                (self.folder / "late").write_text(self.late.url)
        return some_right(request)

    def joins(self, request):
        self.has_joined.set()
        return some_right(request)

    def waits(self, request):
        if len(asked(*self.well)) > 60:
            assert self.has_joined.wait(PATIENCE_S)
        return some_right(request)


def test_of_eight_servers_of_which_most_fail_each_sample_has_one_answer(tmp_path):
    with Replica() as server:
        alone = Stage.make(tmp_path / "alone", server, 40)  # 200 samples
        assert alone.run("--api-nproc", "8").code == 0
    eight = Eight(tmp_path / "addresses")
    with running(*eight.all, eight.late):
        eight.name_all()
        run = Stage.make(tmp_path, eight.well[0], 40, kwargs={"timeout_s": 2})
        run.model["m"] |= {"model_path": address(eight.well[0]), "servers": str(eight.folder)}
        ran = run.run("--api-nproc", "2", "--retry", "0")
        eight.released.set()
    assert ran.code == 0, ran.output
    assert run.both_scores() == alone.both_scores()
    assert asked(eight.other_model) == []
    assert eight.late.requests
    assert len(records(run)) == len({record["key"] for record in records(run)}) == 200
    assert {record["status"] for record in records(run)} == {"ok"}


def test_a_server_that_comes_when_none_is_there_serves_what_stored_answers_are_from_or_stays_out(
    stage, tmp_path
):
    file = tmp_path / "addresses"
    changed, right = Replica(root="/new"), Replica()
    with running(right, changed):
        run = stage("unused")
        file.write_text(right.url)
        run.model["m"] |= {"model_path": address(right), "servers": str(file)}
        assert run.run("--limit", "2").code == 0
        answered = len(right.requests)
        file.write_text(f"{changed.url}\n")
        changed.is_well = False
        process = run.start("--limit", "4", "--wait-for-server", "60")
        assert any(f"{changed.place} is down" in line for line in process.stdout)
        changed.is_well = True
        assert any(f"{changed.place} is excluded" in line for line in process.stdout)
        code, output = end_of_process(process)
    assert code == 1
    assert "unlike what stored answers are from: root /new, not /weights" in output
    assert (asked(changed), len(right.requests)) == ([], answered)

"""`imp_type: "vllm"` in real runs of `evaluate.py`, with a stand-in for vLLM's interpreter."""

import json
import os
import signal
import subprocess
import time

import pytest

from tests.support import fake_vllm
from tests.support.stage import L1, L2, read_log_lines
from tests.support.vllm_stage import (
    SAMPLES,
    SECRETS,
    acting,
    all_end,
    all_gone,
    answers,
    handles_of,
    logs,
    started,
    vllm_stage,
    weights_file,
)

PATIENCE_S = 120  # a busy machine takes its time over each process


@pytest.fixture
def stage(tmp_path, monkeypatch):
    """Its model `m` is a checkpoint that the stand-in serves."""
    new_stage = vllm_stage(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", new_stage.env["TMPDIR"])  # read once in a process
    return new_stage


def test_a_checkpoint_is_evaluated_through_a_server_that_is_gone_afterwards(stage):
    stage.model["m"]["serve_args"] = {"max-num-seqs": 8, "enforce-eager": True}
    stage.model["m"]["kwargs"] = {"min_pixels": 3136, "max_pixels": 200704}
    stage.model["m"]["trust_remote_code"] = True
    proxy = {"HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": ""}
    ran = stage.run(env=proxy | acting("family"))
    assert ran.code == 0, ran.output
    assert [record["raw"] for record in answers(stage)] == ["B, says m"] * SAMPLES
    [server] = started(stage)
    assert server["argv"][:-1] == [
        "-m",
        "vllm.entrypoints.openai.api_server",
        "--max-num-seqs=8",
        "--enforce-eager",
        "--trust-remote-code",
        "--mm-processor-kwargs.min_pixels=3136",
        "--mm-processor-kwargs.max_pixels=200704",
        f"--model={stage.home}/checkpoint",
        "--served-model-name=m",
        "--host=127.0.0.1",
    ]
    assert (all_gone(stage), logs(stage)) == (True, [])
    # No secret reaches the server, and its key reaches nobody.
    key = server["environ"]["VLLM_API_KEY"]
    assert len(key) >= 32
    assert not set(SECRETS.values()) & set(server["environ"].values())
    assert not any(key in word for word in server["argv"])
    written = [path.read_bytes() for path in stage.written()]
    assert written and not any(key.encode() in content for content in written)
    assert key not in ran.output


def test_a_recipe_sets_the_limits_of_the_server_that_the_run_starts(stage):
    stage.model = {"m": {"recipe": "qwen3_vl", "model_path": "checkpoint", "imp_type": "vllm"}}
    stage.data = {L2: {"mode": "basic"}}
    stage.run(env=acting("family"))
    [server] = started(stage)
    limits = [word for word in server["argv"] if "mm-processor-kwargs" in word]
    assert limits == [
        "--mm-processor-kwargs.min_pixels=65536",
        "--mm-processor-kwargs.max_pixels=16777216",
    ]


USER_FUNCTIONS = """
    def pre(message, model, processor, **kwargs):
        assert (model, processor) == (None, None)
        return [{"role": "user", "content": kwargs["dataset_name"]}]

    def post(response, model, processor, **kwargs):
        assert (model, processor) == (None, None)
        return response[:1]
"""


def test_any_name_of_a_model_is_served_and_functions_have_the_form_for_api_models(stage):
    stage.module(USER_FUNCTIONS, "own")
    stage.model["m"] |= {"preprocess_function": "own.pre", "postprocess_function": "own.post"}
    names = ["m", "org/model 7B & co?x=1", "-dash", "ümläut"]
    stage.model = dict.fromkeys(names, stage.model["m"])
    ran = stage.run("--limit", "1")
    assert ran.code == 0, ran.output
    file = stage.folder() / f"m_{L1}_scores_partial.json"
    assert json.loads(file.read_text())["easy"]["level_score"] == 1
    asked_for = [f"--served-model-name={name}" for name in names]
    assert [server["argv"][3] for server in started(stage)] == asked_for
    assert "PYTHONPATH" not in started(stage)[0]["environ"]


@pytest.mark.parametrize(
    ("changed", "queries"),
    [
        ({}, 0),
        ({"serve_args": {"max-num-seqs": 4, "chat-template": "template.jinja"}}, 0),
        ({"kwargs": {"serve_timeout_s": 50, "timeout_s": 70}}, 0),
        ({"serve_args": ["--dtype", "float32", "--chat-template", "template.jinja"]}, SAMPLES),
        ({"serve_args": {}}, SAMPLES),
        ({"kwargs": {"max_pixels": 200704}}, SAMPLES),
        ({"generate_cfg": {"max_tokens": 17, "temperature": 0}}, SAMPLES),
        # overwritten in place
        ("checkpoint/model.safetensors", SAMPLES),
        ("template.jinja", SAMPLES),
    ],
)
def test_only_a_change_that_can_alter_answers_starts_another_server_and_asks_again(
    stage, changed, queries
):
    stage.model["m"]["serve_args"] = {"chat-template": "template.jinja"}
    assert stage.run().code == 0
    if isinstance(changed, str):
        is_weights = changed.endswith(".safetensors")
        content = weights_file("another") if is_weights else b"changed"
        (stage.home / changed).write_bytes(content)
    else:
        stage.model["m"] |= changed
    assert (stage.run().code, len(answers(stage))) == (0, SAMPLES + queries)
    keys = {server["environ"]["VLLM_API_KEY"] for server in started(stage)}
    assert len(keys) == len(started(stage)) == 1 + (queries > 0)  # to each server its own


def test_a_check_warns_of_a_vllm_that_does_not_know_the_model(stage):
    config = json.dumps({"model_type": "qwen3_vl"})
    (stage.home / "checkpoint" / "config.json").write_text(config)
    warning = "warning: vllm 0.10.0: it does not know this kind of model; 0.11.0 and later do"
    assert warning in stage.run("--check", env=acting("old")).output
    assert warning not in stage.run("--check").output


def test_a_check_starts_no_server_a_ping_starts_and_stops_one_and_scoring_needs_none(stage):
    brought = {"repetition_penalty": 1.05, "temperature": 0.7, "eos_token_id": 3}
    (stage.home / "checkpoint" / "generation_config.json").write_text(json.dumps(brought))
    checked = stage.run("--check")
    assert (checked.code, started(stage)) == (0, []), checked.output
    assert "9 requests to send" in checked.output
    note = "uses the checkpoint's settings: repetition_penalty 1.05 ("
    assert note in checked.output
    stage.model["m"]["serve_args"] = {"generation-config": "vllm"}
    assert note not in stage.run("--check").output
    pinged = stage.run("--check", "--ping")
    assert (pinged.code, len(started(stage))) == (0, 1), pinged.output
    assert "B, says m" in pinged.output
    assert all_gone(stage)
    assert stage.run().code == 0
    (stage.home / "checkpoint" / "config.json").unlink()
    scored = stage.run("--mode", "eval", env=acting("absent"))
    assert (scored.code, len(started(stage))) == (0, 2), scored.output


def test_all_problems_are_reported_together_before_anything_is_started(stage):
    (stage.home / "checkpoint" / "model.safetensors").unlink()
    typos = {
        "serve_args": {"port": 80, "dtype": "float32"},
        "dtype": "float32",
        "generate_cfg": {"max_new_tokens": 5},
    }
    for changed, how, problem in (
        ({}, "absent", ["checkpoint: no weight files in it", "vLLM is not installed there"]),
        (typos, "", ['serve_args: "--port"', 'model."m".dtype', 'API models call it "max_tokens"']),
    ):
        stage.model["m"] |= changed
        ran = stage.run(env=acting(how))
        assert (ran.code, started(stage)) == (2, [])
        assert [part for part in problem if part not in ran.stderr] == []


def test_a_server_that_fails_at_once_shows_the_end_of_its_log_and_where_the_rest_is(stage):
    ran = stage.run(env=acting("fail"))
    assert (ran.code, len(started(stage))) == (1, 1), ran.output
    assert "exited before it was ready (exit code 3)" in ran.stderr
    assert "ValueError: this architecture is not known" in ran.stderr
    assert "line 39 of its log" in ran.stderr and "line 5 of its log" not in ran.stderr
    [log] = logs(stage)
    assert str(log) in ran.stderr
    assert "line 5 of its log" in log.read_text()
    key = started(stage)[0]["environ"]["VLLM_API_KEY"]
    assert key not in ran.output and key not in log.read_text()
    assert "my key is [secret]" in log.read_text()
    assert log.stat().st_mode & 0o077 == 0


def test_a_server_that_never_answers_is_given_up_and_ended(stage, monkeypatch):
    clock, hangs = time.monotonic, []

    def monotonic():  # an hour later, once the server hangs
        if not hangs and any(b"loading" in log.read_bytes() for log in logs(stage)):
            hangs.append(True)
        return clock() + 3600 * len(hangs)

    monkeypatch.setattr(time, "monotonic", monotonic)
    stage.model["m"]["kwargs"] = {"serve_timeout_s": 600}
    ran = stage.run(env=acting("hang family"))
    assert (ran.code, all_gone(stage)) == (1, True), ran.output
    assert "was not ready after 600 s (kwargs.serve_timeout_s)" in ran.stderr
    assert "INFO loading" in ran.stderr


def test_a_failure_that_only_workers_meet_is_reported_once(stage):
    assert stage.run().code == 0
    # all samples are known: nothing is warmed up
    stage.model["m"]["generate_cfg"] = {"max_tokens": 3}
    ran = stage.run("--api-nproc", "16", env=acting("fail"))
    assert (ran.code, len(started(stage))) == (1, 2), ran.output
    assert ran.stderr.count("exited before it was ready") == 1


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        ("die:4 family", "the vLLM server exited while it was being queried (exit code 9)"),
        ("broken:4", "the vLLM server has stopped working"),
    ],
)
def test_a_lost_server_stops_the_run_and_the_same_command_goes_on(stage, behaviour, message):
    ran = stage.run("--api-nproc", "2", env=acting(behaviour))
    assert ran.code == 1, ran.output
    assert message in ran.stderr and "the same command continues from here" in ran.stderr
    assert ("CUDA error: an illegal memory access" in ran.stderr) is behaviour.startswith("die")
    assert [record["status"] for record in answers(stage)] == ["ok"] * 4
    assert (len(logs(stage)), all_gone(stage)) == (1, True)
    again = stage.run()
    assert (again.code, len(answers(stage))) == (0, SAMPLES), again.output


def begun(stage, process, until):
    """Handles of the server and all that belongs to it, once the server has noted something."""
    while not any(until in note for note in fake_vllm.notes(stage.home)):
        with pytest.raises(subprocess.TimeoutExpired):  # the run goes on meanwhile
            process.wait(0.05)
    return handles_of(started(stage)[-1]["pids"])


def stop(process, *signals):
    for number in signals:
        process.send_signal(number)
    stdout, stderr = process.communicate(timeout=PATIENCE_S)
    return process.returncode, stdout + stderr


@pytest.mark.parametrize("by", ["warming up", "a worker"])
def test_an_interrupt_while_the_server_starts_ends_both(stage, by):
    if by == "a worker":  # all samples are known: nothing is warmed up
        assert stage.run().code == 0
        stage.model["m"]["generate_cfg"] = {"max_tokens": 3}
        (stage.home / "vllm_notes.jsonl").unlink()
    process = stage.start("--api-nproc", "8", env=acting("hang"))
    handles = begun(stage, process, "pids")
    assert any("starting a vLLM server; its log is" in line for line in process.stderr)
    code, output = stop(process, signal.SIGINT)
    assert (code, logs(stage)) == (130, []), output
    assert all_end(handles)
    assert "Traceback" not in output
    statuses = {record["status"] for record in answers(stage)}
    assert statuses == ({"ok"} if by == "a worker" else set())


@pytest.mark.parametrize(
    ("behaviour", "until", "number"),
    [
        ("hold", "held", signal.SIGTERM),
        ("hang", "pids", signal.SIGKILL),  # while the server starts
        ("hold family", "held", signal.SIGKILL),
        ("hold family", "held", signal.SIGHUP),
    ],
)
def test_a_killed_run_takes_its_server_and_all_of_its_family_along(stage, behaviour, until, number):
    if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
        pytest.skip("under nohup nothing ends by that")
    process = stage.start(env=acting(behaviour))
    handles = begun(stage, process, until)
    assert not all_end(handles)
    # Ctrl-C at a terminal would not reach them.
    assert os.getsid(process.pid) not in map(os.getsid, started(stage)[0]["pids"])
    code, _ = stop(process, number)
    assert code == (130 if number == signal.SIGTERM else -number)
    assert all_end(handles, PATIENCE_S)


def test_a_server_whose_keeper_was_killed_ends_and_so_does_the_run(stage):
    process = stage.start(env=acting("hold"))
    server, keeper = begun(stage, process, "held")
    signal.pidfd_send_signal(keeper, signal.SIGKILL)
    code, output = stop(process)
    assert (code, all_end([server])) == (1, True), output
    assert "the vLLM server exited while it was being queried" in output


def test_replicas_share_the_samples_and_what_one_of_them_dies_of_goes_elsewhere(stage):
    stage.model["m"]["replicas"] = 2
    ran = stage.run("--api-nproc", "2", "--retry", "0", env=acting("first_dies:2"))
    assert ran.code == 0, ran.output
    assert len(answers(stage)) == SAMPLES
    assert len({record["server"] for record in answers(stage)}) == 2
    assert all_gone(stage)
    end = [r for r in read_log_lines(stage.log(L1)) if r["kind"] == "end"][-1]
    assert sum(row["answers"] for row in end["servers"]) == SAMPLES
    manifest = json.loads((stage.folder() / "manifest.json").read_text())
    assert sum(manifest["datasets"][L2]["answered_by"].values()) == 6


def test_a_replica_that_dies_is_started_again_and_waited_for(stage):
    stage.model["m"]["replicas"] = 1
    ran = stage.run("--api-nproc", "1", "--retry", "0", env=acting("first_dies:2"))
    assert ran.code == 0, ran.output
    assert len(answers(stage)) == SAMPLES
    assert len(started(stage)) == 2
    assert all_gone(stage)


def test_a_replica_that_dies_again_and_again_is_left_out(stage):
    stage.model["m"]["replicas"] = 1
    ran = stage.run("--api-nproc", "2", "--retry", "0", env=acting("die:2"))
    assert ran.code == 1, ran.output
    assert len(started(stage)) == 3
    assert "replica 0 is left out: it was started 3 times" in ran.output
    assert "no server is left" in ran.output
    assert len([record for record in answers(stage) if record["status"] == "ok"]) == 6
    assert all_gone(stage)


def test_answers_of_replicas_and_of_one_server_count_for_each_other(stage):
    assert stage.run("--limit", "2").code == 0
    before = len(started(stage))
    stage.model["m"]["replicas"] = 2
    assert stage.run("--limit", "2").code == 0
    assert len(started(stage)) == before


def test_replicas_that_cannot_be_started_end_the_run_with_the_end_of_a_log(stage):
    stage.model["m"]["replicas"] = 2
    ran = stage.run(env=acting("fail"))
    assert ran.code == 1
    assert "ValueError: this architecture is not known" in ran.output
    assert answers(stage) == []
    assert all_gone(stage)
    assert logs(stage)

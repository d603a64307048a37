"""`imp_type: "vllm"` in real runs of `evaluate.py`, with a stand-in for vLLM's interpreter."""

import contextlib
import json
import os
import select
import signal

import pytest

from tests.support import fake_vllm, runs
from tests.support.stage import read_log_lines

L1 = "GUIContentUnderstanding"
SAMPLES = 15
PATIENCE_S = 120  # a busy machine takes its time over each process
SECRETS = {"OPENAI_API_KEY": "sk-precious-openai-1", "WANDB_API_KEY": "precious-wandb-2"}


class Place:
    """A folder with a data root, a checkpoint, a config that tests change, and the stand-in."""

    def __init__(self, home):
        self.home, self.checkpoint = home, home / "checkpoint"
        runs.make_data(home / "data")
        for folder in (self.checkpoint, home / "tmp"):
            folder.mkdir()
        (self.checkpoint / "config.json").write_text("{}")
        (self.checkpoint / "model.safetensors").write_bytes(b"weights")
        (home / "template.jinja").write_text("{{ messages }}")
        self.python, self.names = fake_vllm.install(home), ["m"]
        self.model = {"model_path": "checkpoint", "imp_type": "vllm",
                      "generate_cfg": {"max_tokens": 16, "temperature": 0}}  # fmt: skip

    def run(self, *more, behaviour="", env=None, begin=runs.evaluate):
        entries = dict.fromkeys(self.names, self.model)
        config = runs.write_config(self.home / "c.json", model=entries)
        environ = {
            "LMUData": str(self.home / "data"), "VLLM_PYTHON": str(self.python),
            "TMPDIR": str(self.home / "tmp"), "FAKE_VLLM": behaviour,
            "FAKE_VLLM_NOTES": str(self.home / "vllm_notes.jsonl"), **SECRETS, **(env or {}),
        }  # fmt: skip
        arguments = ["--config", config, "--work-dir", self.home / "out", *more]
        return begin(*arguments, cwd=self.home, env=environ)

    @property
    def started(self):
        """The notes of every server that was started."""
        return [note for note in fake_vllm.notes(self.home) if "pids" in note]

    @property
    def logs(self):
        return list((self.home / "tmp").glob("vllm_*.log"))

    def answers(self):
        logs = (self.home / "out" / "m").glob("T*/*.jsonl")
        return [r for log in logs for r in read_log_lines(log) if r["kind"] == "answer"]

    def all_gone(self):
        """Whether the processes of all servers have ended."""
        return all_end([handle for note in self.started for handle in handles_of(note["pids"])])


def handles_of(pids):
    """Of the processes among these that are there."""
    found = []
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            found.append(os.pidfd_open(pid))
    return found


def all_end(handles, timeout_s=0):
    """Whether all these processes end in time; zombies have."""
    return all(select.select([handle], [], [], timeout_s)[0] for handle in handles)


@pytest.fixture
def place(tmp_path, monkeypatch):
    place = Place(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))  # read once in a process
    return place


def test_a_checkpoint_is_evaluated_through_a_server_that_is_gone_afterwards(place):
    place.model["serve_args"] = {"max-num-seqs": 8, "enforce-eager": True}
    place.model["kwargs"] = {"min_pixels": 3136, "max_pixels": 200704}
    ran = place.run(behaviour="family", env={"HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": ""})
    assert ran.code == 0, ran.output
    assert [record["raw"] for record in place.answers()] == ["B, says m"] * SAMPLES
    [server] = place.started
    assert server["argv"][:-1] == [
        "-m", "vllm.entrypoints.openai.api_server", "--max-num-seqs=8", "--enforce-eager",
        "--mm-processor-kwargs.min_pixels=3136", "--mm-processor-kwargs.max_pixels=200704",
        f"--model={place.checkpoint}", "--served-model-name=m", "--host=127.0.0.1",
    ]  # fmt: skip
    assert (place.all_gone(), place.logs) == (True, [])

    # No secret reaches the server, and its key reaches nobody.
    key = server["environ"]["VLLM_API_KEY"]
    assert len(key) >= 32
    assert not set(SECRETS.values()) & set(server["environ"].values())
    assert not any(key in word for word in server["argv"])
    written = [path for path in (place.home / "out").rglob("*") if path.is_file()]
    assert written and not any(key.encode() in path.read_bytes() for path in written)
    assert key not in ran.output


USER_FUNCTIONS = """
def pre(message, model, processor, **kwargs):
    assert (model, processor) == (None, None)
    return [{"role": "user", "content": kwargs["dataset_name"]}]

def post(response, model, processor, **kwargs):
    assert (model, processor) == (None, None)
    return response[:1]
"""


def test_any_name_of_a_model_is_served_and_functions_have_the_form_for_api_models(place):
    (place.home / "mine.py").write_text(USER_FUNCTIONS)
    place.model |= {"preprocess_function": "mine.pre", "postprocess_function": "mine.post"}
    place.names = ["m", "org/model 7B & co?x=1", "-dash", "ümläut"]
    ran = place.run("--limit", "1", env={"PYTHONPATH": str(place.home)})
    assert ran.code == 0, ran.output
    file = runs.run_folder(place.home / "out", "m") / f"m_{L1}_scores_partial.json"
    assert json.loads(file.read_text())["easy"]["level_score"] == 1
    names = [f"--served-model-name={name}" for name in place.names]
    assert [server["argv"][3] for server in place.started] == names
    assert "PYTHONPATH" not in place.started[0]["environ"]


@pytest.mark.parametrize(("changed", "asked"), [
    ({}, 0),
    ({"serve_args": {"max-num-seqs": 4, "chat-template": "template.jinja"}}, 0),
    ({"kwargs": {"serve_timeout_s": 50, "timeout_s": 70}}, 0),
    ({"serve_args": ["--dtype", "float32", "--chat-template", "template.jinja"]}, SAMPLES),
    ({"serve_args": {}}, SAMPLES),
    ({"kwargs": {"max_pixels": 200704}}, SAMPLES),
    ({"generate_cfg": {"max_tokens": 17, "temperature": 0}}, SAMPLES),
    ("checkpoint/model.safetensors", SAMPLES),  # overwritten in place
    ("template.jinja", SAMPLES),
])  # fmt: skip
def test_only_a_change_that_can_alter_answers_starts_another_server_and_asks_again(
    place, changed, asked
):
    place.model["serve_args"] = {"chat-template": "template.jinja"}
    assert place.run().code == 0
    if isinstance(changed, str):
        (place.home / changed).write_bytes(b"changed")
    else:
        place.model |= changed
    assert place.run().code == 0
    assert len(place.answers()) == SAMPLES + asked
    keys = {server["environ"]["VLLM_API_KEY"] for server in place.started}
    assert len(keys) == len(place.started) == 1 + (asked > 0)  # to each server its own


def test_a_check_starts_no_server_a_ping_starts_and_stops_one_and_scoring_needs_none(place):
    brought = {"repetition_penalty": 1.05, "temperature": 0.7, "eos_token_id": 3}
    (place.checkpoint / "generation_config.json").write_text(json.dumps(brought))
    checked = place.run("--check")
    assert (checked.code, place.started) == (0, []), checked.output
    assert "9 requests to send" in checked.output
    note = "takes from the checkpoint's settings: repetition_penalty 1.05 ("
    assert note in checked.output
    place.model["serve_args"] = {"generation-config": "vllm"}
    assert note not in place.run("--check").output
    pinged = place.run("--check", "--ping")
    assert (pinged.code, len(place.started)) == (0, 1), pinged.output
    assert "B, says m" in pinged.output
    assert place.all_gone()
    assert place.run().code == 0
    (place.checkpoint / "config.json").unlink()
    scored = place.run("--mode", "eval", behaviour="absent")
    assert (scored.code, len(place.started)) == (0, 2), scored.output


def test_all_problems_are_reported_together_before_anything_is_started(place):
    (place.checkpoint / "model.safetensors").unlink()
    typos = {"serve_args": {"port": 80, "dtype": "float32"}, "dtype": "float32",
             "generate_cfg": {"max_new_tokens": 5}}  # fmt: skip
    ran = place.run(behaviour="absent")
    place.model |= typos
    for finished, said in (
        (ran, ["checkpoint: no weight files in it", "vLLM is not installed there"]),
        (
            place.run(),
            ['serve_args: "--port"', 'model."m".dtype', 'API models call it "max_tokens"'],
        ),
    ):
        assert (finished.code, place.started) == (2, [])
        assert [part for part in said if part not in finished.stderr] == []


def test_a_server_that_fails_at_once_shows_the_end_of_its_log_and_where_the_rest_is(place):
    ran = place.run(behaviour="fail")
    assert (ran.code, len(place.started)) == (1, 1), ran.output
    assert "ended before it was ready (exit code 3)" in ran.stderr
    assert "ValueError: this architecture is not known" in ran.stderr
    assert "line 39 of its log" in ran.stderr and "line 5 of its log" not in ran.stderr
    [log] = place.logs
    assert str(log) in ran.stderr
    assert "line 5 of its log" in log.read_text()
    key = place.started[0]["environ"]["VLLM_API_KEY"]
    assert key not in ran.output and key not in log.read_text()
    assert "my key is [secret]" in log.read_text()
    assert log.stat().st_mode & 0o077 == 0
    assert "Traceback" not in ran.output


def test_a_server_that_never_answers_is_given_up_and_ended(place):
    place.model["kwargs"] = {"serve_timeout_s": 2}
    ran = place.run(behaviour="hang family")
    assert (ran.code, place.all_gone()) == (1, True), ran.output
    assert "was not ready after 2 s (kwargs.serve_timeout_s)" in ran.stderr
    assert "INFO loading" in ran.stderr


def test_a_failure_that_only_workers_meet_is_reported_once(place):
    assert place.run().code == 0
    place.model["generate_cfg"] = {"max_tokens": 3}  # all samples are known: nothing is warmed up
    ran = place.run("--api-nproc", "16", behaviour="fail")
    assert (ran.code, len(place.started)) == (1, 2), ran.output
    assert ran.stderr.count("ended before it was ready") == 1


@pytest.mark.parametrize(("behaviour", "message"), [
    ("die:4", "the vLLM server ended while it was asked (exit code 9)"),
    ("die:4 family", "the vLLM server ended while it was asked (exit code 9)"),
    ("broken:4", "the vLLM server no longer works"),
])  # fmt: skip
def test_a_lost_server_stops_the_run_and_the_same_command_goes_on(place, behaviour, message):
    ran = place.run("--api-nproc", "2", behaviour=behaviour)
    assert ran.code == 1, ran.output
    assert message in ran.stderr and "the same command goes on from here" in ran.stderr
    assert ("CUDA error: an illegal memory access" in ran.stderr) is behaviour.startswith("die")
    assert [record["status"] for record in place.answers()] == ["ok"] * 4
    assert len(place.logs) == 1
    assert place.all_gone()
    again = place.run()
    assert again.code == 0, again.output
    assert len(place.answers()) == SAMPLES


def begun(place, process, until):
    """Handles of the server and all that belongs to it, once the server has noted something."""
    while not any(until in note for note in fake_vllm.notes(place.home)):
        with pytest.raises(runs.subprocess.TimeoutExpired):  # the run goes on meanwhile
            process.wait(0.05)
    return handles_of(place.started[-1]["pids"])


def stop(process, *signals):
    for number in signals:
        process.send_signal(number)
    stdout, stderr = process.communicate(timeout=PATIENCE_S)
    return process.returncode, stdout + stderr


@pytest.mark.parametrize("by", ["warming up", "a worker"])
def test_an_interrupt_while_the_server_starts_ends_both(place, by):
    if by == "a worker":  # all samples are known: nothing is warmed up
        assert place.run().code == 0
        place.model["generate_cfg"] = {"max_tokens": 3}
        (place.home / "vllm_notes.jsonl").unlink()
    process = place.run("--api-nproc", "8", behaviour="hang", begin=runs.start)
    handles = begun(place, process, "pids")
    code, output = stop(process, signal.SIGINT)
    assert (code, place.logs) == (130, []), output
    assert all_end(handles)
    assert "starting a vLLM server; its log is" in output
    assert "Traceback" not in output
    statuses = {record["status"] for record in place.answers()}
    assert statuses == ({"ok"} if by == "a worker" else set())


@pytest.mark.parametrize(("behaviour", "until", "number"), [
    ("hold family", "held", signal.SIGKILL),
    ("hold family", "held", signal.SIGHUP),
    ("hold", "held", signal.SIGTERM),
    ("hang", "pids", signal.SIGKILL),  # while the server starts
])  # fmt: skip
def test_a_killed_run_takes_its_server_and_all_of_its_family_along(place, behaviour, until, number):
    process = place.run(behaviour=behaviour, begin=runs.start)
    handles = begun(place, process, until)
    assert not all_end(handles)
    # Ctrl-C at a terminal would not reach them.
    assert os.getsid(process.pid) not in map(os.getsid, place.started[0]["pids"])
    code, _ = stop(process, number)
    assert code == (130 if number == signal.SIGTERM else -number)
    assert all_end(handles, PATIENCE_S)


def test_a_server_whose_keeper_was_killed_ends_and_so_does_the_run(place):
    process = place.run(behaviour="hold", begin=runs.start)
    server, keeper = begun(place, process, "held")
    signal.pidfd_send_signal(keeper, signal.SIGKILL)
    code, output = stop(process)
    assert code == 1, output
    assert "the vLLM server ended while it was asked" in output
    assert all_end([server])

"""Whole runs of local models: in batches, without memory, on a lost device, told to end."""

import json
import re
import signal

import pytest
import torch

from tests.local.conftest import edited
from tests.support import runs, tiny_checkpoint
from tests.support.mock_server import MockServer
from tests.support.ranks import wait_until
from tests.support.runs import PICTURES, api_model, run_folder
from tests.support.stage import L2, Stage, right_answers
from utils.runs.folder import safe_name

TWO_TOKENS = {"max_new_tokens": 2}
OF_ALL = {L2: {"mode": "all"}}


@pytest.fixture
def stage(tmp_path):
    """One sample's data, and a place for a run."""
    with MockServer(right_answers) as server:
        yield Stage.make(tmp_path / "stage", server, [("os_web", (112, 84))] * 12)


def entry(folder, **settings):
    defaults = {"imp_type": "transformers", "model_path": str(folder), "generate_cfg": TWO_TOKENS}
    return {**defaults, **settings}


# ---- batches -------------------------------------------------------------------------------------

LIMITED = """
    from models.base import default_preprocess_function

    def preprocess(message, model, processor, **kwargs):
        if not hasattr(model, "room"):
            model.room, generate = kwargs["room"], model.generate
            def limited(**inputs):
                if len(inputs["input_ids"]) > model.room:
                    raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
                return generate(**inputs)
            model.generate = limited
        return default_preprocess_function(message, model, processor, **kwargs)
"""


@pytest.fixture(scope="module")
def runs_by_size(tmp_path_factory, lively):
    """The answers of whole runs, by batch size; the last one runs out of memory on the way."""
    sizes = {
        "one": (1, 99), "four": (4, 99), "auto": ("auto", 99), "little memory": ("auto", 3),
    }  # fmt: skip
    with MockServer() as server:
        pictures = [("os_web", (220, 150)), ("os_ios", (100, 180))] * 4
        stage = Stage.make(tmp_path_factory.mktemp("runs"), server, pictures)
        stage.module(LIMITED)
        models = {
            name: entry(
                lively["qwen2_5_vl"], batch_size=size, kwargs={"room": room},
                preprocess_function="mymodel.preprocess", generate_cfg={"max_new_tokens": 8},
            )
            for name, (size, room) in sizes.items()
        }  # fmt: skip
        return stage, stage.evaluate(models), list(sizes)


def test_a_run_in_batches_gives_the_answers_of_a_run_one_by_one(runs_by_size):
    stage, ran, names = runs_by_size
    assert ran.code == 0, ran.output

    answers = {
        name: [
            [a[field] for field in ("key", "raw", "reply", "sizes", "runs_with")]
            for a in stage.answers(L2, safe_name(name))
        ]
        for name in names
    }

    assert len(answers["one"]) == 16
    assert all(found == answers["one"] for found in answers.values())
    assert answers["one"][0][-1] == {"device": "cpu", "dtype": "float32", "attention": "sdpa"}


def test_what_a_model_ran_with_stands_in_the_manifest(runs_by_size):
    stage, _, _ = runs_by_size
    manifest = json.loads((run_folder(stage.work_dir, "four") / "manifest.json").read_text())

    assert manifest["datasets"][L2]["runs_with"] == {"cpu, float32, sdpa": 16}


def test_a_run_reports_memory_that_ran_out_once_and_how_long_the_model_waited(runs_by_size):
    _, ran, names = runs_by_size

    assert (
        len(re.findall(r"out of memory with \d+ samples at once .*; going on with", ran.output))
        == 1
    )
    assert len(re.findall(r"generated for [\d.]+ s in \d+ batches of [\d.]+ and waited", ran.output)) == len(names)  # fmt: skip


# ---- what fails every sample ---------------------------------------------------------------------

DYING = """
    import os
    import torch
    from models.base import default_preprocess_function

    def fail(*arguments):
        raise RuntimeError("CUDA error: device-side assert triggered\\nCUDA kernel errors might be")

    def work(stage):
        calls = int(os.environ.get(stage, "0")) + 1
        os.environ[stage] = str(calls)
        if stage == os.environ.get("DIES_IN") and calls > 5:
            # From then on whatever is asked of the device fails, as it is with CUDA.
            torch.cuda.is_available = torch.cuda.is_initialized = lambda: True
            torch.cuda.empty_cache = torch.cuda.synchronize = fail
            fail()

    def preprocess(message, model, processor, **kwargs):
        work("PREPROCESS")
        return default_preprocess_function(message, model, processor, **kwargs)

    def postprocess(outputs, model, processor, **kwargs):
        work("POSTPROCESS")
        return processor.decode(outputs[0][kwargs["input_length"]:], skip_special_tokens=True)
"""
SAMPLES = 24  # twice the failures that are taken for the function's own


@pytest.mark.parametrize("dies_in", ["PREPROCESS", "POSTPROCESS"])
def test_a_lost_device_ends_its_model_only_and_the_same_command_goes_on(dies_in, stage, folders):
    stage.module(DYING)
    functions = {"preprocess_function": "mymodel.preprocess", "postprocess_function": "mymodel.postprocess"}  # fmt: skip
    local = entry(folders["qwen2_5_vl"], batch_size=2, **functions)
    models = {"lost": local, "next": api_model(stage.server.url)}

    with pytest.MonkeyPatch.context() as whole:
        for name in ("is_available", "is_initialized", "empty_cache", "synchronize"):
            whole.setattr(torch.cuda, name, getattr(torch.cuda, name))
        ran = stage.evaluate(models, data=OF_ALL, env={"DIES_IN": dies_in})
    kept = stage.answers(L2, "lost")
    again = stage.evaluate(models, data=OF_ALL)

    assert ran.code == 1
    assert "Traceback" not in ran.output and "SKIP_ERR" not in ran.output, ran.output
    assert ran.stderr.count('model "lost": the device (cpu) failed') == 1, ran.output
    assert "CUDA error: device-side assert triggered. Everything answered" in ran.stderr
    assert {answer["status"] for answer in kept} <= {"ok"} and len(kept) <= 5
    assert dies_in == "PREPROCESS" or len(kept) >= 4
    assert len(stage.answers(L2, "next")) == SAMPLES
    assert (again.code, f"asked {SAMPLES - len(kept)}" in again.output) == (0, True), again.output


@pytest.mark.parametrize("generate_cfg", [
    {"max_new_tokens": 2, "no_such_argument": 1},
    {"max_new_tokens": 2, "bad_words_ids": "text"},
])  # fmt: skip
def test_a_generate_method_that_fails_on_everything_stops_the_run(generate_cfg, stage, llava):
    ran = stage.evaluate({"m": entry(llava, generate_cfg=generate_cfg)}, data=OF_ALL)

    assert ran.code == 1
    assert "the generate function failed 10 times in a row" in ran.output
    assert 10 <= len(stage.answers(L2, "m")) < SAMPLES
    assert all(answer["status"] == "failed" for answer in stage.answers(L2, "m"))


def test_a_checkpoint_with_missing_weights_asks_nothing_and_the_others_go_on(stage, llava, copy_of):
    from safetensors.torch import load_file, save_file

    folder = copy_of(llava)
    weights = load_file(folder / "model.safetensors")
    weights.popitem()
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})

    ran = stage.evaluate({"holes": entry(folder), "whole": entry(llava)}, data=OF_ALL)

    assert ran.code == 1, ran.output
    assert "1 weights of the checkpoint are missing" in ran.output
    assert stage.answers(L2, "holes") == []
    assert len(stage.answers(L2, "whole")) == SAMPLES


def test_a_check_finds_what_would_fail_every_sample_all_at_once(stage, llava, copy_of):
    folder = copy_of(llava)
    (folder / "processor_config.json").unlink()
    edited(folder / "config.json", auto_map={"AutoModel": "own.Own"}, model_type="own")
    models = {
        "blind": entry(folder),
        "foreign": entry(folder, preprocess_function="models.local_aguvis.preprocess_aguvis"),
        "hasty": entry(llava, generate_cfg={"max_time": 1}, batch_size="auto"),
        "right": entry(llava, generate_cfg={"logits_to_keep": 1}),
    }
    typo = {"typo": entry("no/such/folder", generate_cfg={"temprature": 0.5, "num_beams": "2"})}

    for entries, lines in (
        (models, ("its model takes no images", '"trust_remote_code": true',
                  "max_time 1 is the time of a whole batch", "3 problems. Nothing was run.")),
        (typo, ('"typo".generate_cfg.temprature: generate has no such argument; did you mean "temp',
                "generate_cfg.num_beams: must be a whole number from 1, not '2'")),
    ):  # fmt: skip
        ran = stage.evaluate(entries, "--check", data=OF_ALL)
        assert ran.code == 2 and "Traceback" not in ran.output, ran.output
        assert [line for line in lines if line not in ran.output] == [], ran.output


def test_a_run_and_its_check_show_the_checkpoints_own_settings(stage, llava, copy_of):
    folder = copy_of(llava)
    edited(folder / "generation_config.json", repetition_penalty=1.05)

    for arguments in (("--check",), ()):
        output = stage.evaluate({"m": entry(folder)}, *arguments, data=OF_ALL).output
        assert "repetition_penalty 1.05 (from the checkpoint)" in output, output


# ---- told to end ---------------------------------------------------------------------------------

ENDLESS = {"max_new_tokens": 100_000, "min_new_tokens": 100_000, "do_sample": False}
NOTING = """
    from models.base import default_preprocess_function

    def preprocess(message, model, processor, **kwargs):
        with open("prepared", "a") as file:
            file.write("x")
        return default_preprocess_function(message, model, processor, **kwargs)
"""


@pytest.fixture
def running(tmp_path):
    """A run whose first sample is being generated: the second one has been prepared meanwhile."""
    folder = tiny_checkpoint.build("qwen2_5_vl", tmp_path / "checkpoint", dtype="float32")
    with MockServer() as server:
        stage = Stage.make(tmp_path, server, PICTURES)
    stage.module(NOTING)
    model = entry(folder, generate_cfg=ENDLESS, preprocess_function="mymodel.preprocess")
    config = stage.config({"model": {"m": model}, "data": OF_ALL})
    env = {"LMUData": str(tmp_path / "data"), "PYTHONPATH": str(tmp_path / "mine")}
    run = runs.start("--config", config, "--work-dir", stage.work_dir, cwd=tmp_path, env=env)
    prepared = tmp_path / "prepared"
    wait_until(lambda: prepared.exists() and prepared.stat().st_size >= 2, run)
    yield run
    run.kill()
    run.communicate()


@pytest.mark.parametrize("signals", [(signal.SIGINT, signal.SIGINT), (signal.SIGTERM,)])
def test_a_generation_that_goes_on_does_not_abort_the_process(signals, running):
    first, *more = signals
    running.send_signal(first)
    while "top" not in running.stdout.readline():  # "Stopping ...", "stopping within ..."
        assert running.poll() is None
    for number in more:
        running.send_signal(number)
    output, errors = running.communicate(timeout=60)

    assert "terminate called" not in errors and "Traceback" not in errors
    assert "Interrupted. Nothing that was answered is lost" in output
    assert running.returncode == 130

"""Whole runs of local models: in batches, without memory, on a lost device, told to end."""

import json
import re
import signal
import zipfile

import pytest
import torch

from evaluate import load_run
from tests.local.conftest import runs_with_here, without_weights
from tests.support.ranks import wait_until
from tests.support.runs import api_model, evaluate, finish
from tests.support.stage import L2
from utils.store.folder import safe_name

TWO_TOKENS = {"max_new_tokens": 2}
OF_ALL = {L2: {"mode": "all"}}
SAMPLES = 24  # twice the failures that are taken for a function's own


@pytest.fixture
def stage(staged):
    """With pictures of three sizes."""
    return staged(
        pictures=[("os_web", (112, 84)), ("os_web", (220, 150)), ("os_ios", (100, 180))] * 4
    )


def entry(folder, **settings):
    own_entry = {"imp_type": "transformers", "model_path": str(folder)}
    return {**own_entry, "generate_cfg": TWO_TOKENS, **settings}


SIZES = {"one": (1, 99), "four": (4, 99), "auto": ("auto", 99), "little memory": ("auto", 3)}
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


def test_a_run_in_batches_gives_the_answers_of_a_run_one_by_one(stage, lively):
    stage.module(LIMITED)
    more = {"preprocess_function": "mymodel.preprocess", "generate_cfg": {"max_new_tokens": 8}}
    models = {
        name: entry(lively["qwen2_5_vl"], batch_size=size, kwargs={"room": room}, **more)
        for name, (size, room) in SIZES.items()
    }
    ran = stage.evaluate(models, data={L2: {"mode": "basic"}})
    answers = {
        name: [
            [a[field] for field in ("key", "raw", "reply", "sizes", "runs_with")]
            for a in stage.answers(L2, safe_name(name))
        ]
        for name in SIZES
    }
    manifest = json.loads((stage.folder("four") / "manifest.json").read_text())
    assert (ran.code, len(answers["one"])) == (0, SAMPLES / 2), ran.output
    assert all(records == answers["one"] for records in answers.values())
    runs_with = runs_with_here("float32")
    assert answers["one"][0][-1] == runs_with
    of_all_ranks = ", ".join(runs_with.values()).replace("cuda:0", "cuda")
    assert manifest["datasets"][L2]["runs_with"] == {of_all_ranks: SAMPLES / 2}
    short = r"out of memory with \d+ samples at once .*; continuing with"
    waited = r"generated for [\d.]+ s in \d+ batches of [\d.]+ \(at most \d+\) and waited"
    assert [len(re.findall(line, ran.output)) for line in (short, waited)] == [1, len(SIZES)]


POSTPROCESSING = """
    def postprocess(outputs, model, processor, **kwargs):
        ids = outputs[0][kwargs["input_length"]:].tolist()
        return "(0.2, 0.15)" if sum(ids) % 2 else f"token {ids[0]}"
"""


@pytest.mark.parametrize("form", ["bundle", "csv"])
def test_replies_of_a_postprocess_function_come_back_without_the_function(form, stage, lively):
    stage.module(POSTPROCESSING)
    function = {"postprocess_function": "mymodel.postprocess"}
    ran = stage.evaluate({"m": entry(lively["qwen2_5_vl"], **function)}, data=OF_ALL)
    assert ran.code == 0, ran.output
    before = load_run(stage.folder()).samples
    assert {*before["verdict"]} == {"hit", "unparsed"}
    there = stage.home / "there"
    there.mkdir()
    for name, file in (("bundle", "m.zip"), (form, "answers")):
        exported = evaluate("--export", name, stage.folder(), "--output", file, cwd=there)
        assert exported.code == 0, exported.output
        assert "in a folder with" not in exported.output
    with zipfile.ZipFile(there / "m.zip") as archive:
        archive.extract("config.json", there)
        assert "| `mymodel.postprocess` (has made the replies" in archive.read("HOW.md").decode()
    command = ("--config", "config.json", "--import", "answers", "--no-report")
    imported = evaluate(*command, cwd=there, env={"LMUData": str(stage.root)})
    assert imported.code == 0, imported.output
    after = load_run(next((there / "outputs").glob("*/I*"))).samples
    for column in ("key", "verdict", "prediction"):
        assert [*after[column]] == [*before[column]]


DYING = """
    import os
    import torch
    from models.base import default_preprocess_function

    def fail(*arguments):
        raise RuntimeError("CUDA error: device-side assert triggered\\nCUDA kernel errors might be")

    def work(stage):
        with open(stage, "ab") as calls:  # of several threads, each counted
            calls.write(b"x")
        if stage == os.environ.get("DIES_IN") and os.path.getsize(stage) > 5:
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


@pytest.mark.parametrize("dies_in", ["PREPROCESS", "POSTPROCESS"])
def test_a_lost_device_ends_its_model_only_and_the_same_command_goes_on(dies_in, stage, folders):
    stage.module(DYING)
    functions = {f"{name}_function": f"mymodel.{name}" for name in ("preprocess", "postprocess")}
    local = entry(folders["qwen2_5_vl"], batch_size=2, **functions)
    models = {"lost": local, "next": api_model(stage.server.url)}
    with pytest.MonkeyPatch.context() as patch:
        for name in ("is_available", "is_initialized", "empty_cache", "synchronize"):
            patch.setattr(torch.cuda, name, getattr(torch.cuda, name))
        ran = stage.evaluate(models, data=OF_ALL, env={"DIES_IN": dies_in})
    stored = stage.answers(L2, "lost")
    again = stage.evaluate(models, data=OF_ALL)
    assert ran.code == 1 and "Traceback" not in ran.output, ran.output
    lost = re.findall(r'model "lost": the device \((?:cpu|cuda:\d)\) failed', ran.stderr)
    assert len(lost) == 1, ran.output
    assert "CUDA error: device-side assert triggered. All answers so far are kept" in ran.stderr
    assert {answer["status"] for answer in stored} <= {"ok"} and len(stored) <= 5
    assert dies_in == "PREPROCESS" or len(stored) >= 4
    assert len(stage.answers(L2, "next")) == SAMPLES
    assert (again.code, f"queried {SAMPLES - len(stored)}" in again.output) == (0, True), (
        again.output
    )


@pytest.mark.parametrize("setting", [{"no_such_argument": 1}, {"bad_words_ids": "text"}])
def test_models_that_fail_throughout_or_lack_weights_end(setting, stage, llava, copy_of):
    holes = copy_of(llava)
    assert without_weights(holes, lambda name: "lm_head" in name) == 1
    failing = entry(llava, generate_cfg={**TWO_TOKENS, **setting})
    ran = stage.evaluate({"holes": entry(holes), "m": failing}, data=OF_ALL)
    assert ran.code == 1
    assert "1 weights of the checkpoint are missing" in ran.output
    assert stage.answers(L2, "holes") == []
    assert "the generate function failed 10 times in a row" in ran.output
    assert 10 <= len(stage.answers(L2, "m")) < SAMPLES
    assert all(answer["status"] == "failed" for answer in stage.answers(L2, "m"))


def test_a_check_finds_what_would_fail_and_shows_the_checkpoints_settings(stage, llava, copy_of):
    own_entry = {"repetition_penalty": 1.05, "do_sample": True}
    model = entry(folder := copy_of(llava, generation_config=own_entry))
    hasty = {**model, "generate_cfg": {"temperature": 0}}
    typo = entry("no/such/folder", generate_cfg={"temprature": 0.5, "num_beams": "2"})
    for entries, code, lines in (
        ({"m": model}, 0, ["repetition_penalty 1.05 (from the checkpoint)"]),
        (
            {"hasty": hasty},
            2,
            ["temperature 0 cannot be combined with do_sample true (from the checkpoint)"],
        ),
        (
            {"typo": typo},
            2,
            [
                "generate_cfg.num_beams: must be a whole number of at least 1, not '2'",
                '"typo".generate_cfg.temprature: generate has no such argument; did you mean "temp',
            ],
        ),
    ):
        ran = stage.evaluate(entries, "--check", data=OF_ALL)
        assert ran.code == code and "Traceback" not in ran.output, ran.output
        assert [line for line in lines if line not in ran.output] == [], ran.output
    (folder / "generation_config.json").unlink()
    assert "generation: greedy" in stage.evaluate({"m": entry(folder)}, data=OF_ALL).output


ENDLESS = {"max_new_tokens": 100_000, "min_new_tokens": 100_000, "do_sample": False}
NOTING = """
    from models.base import default_preprocess_function

    def preprocess(message, model, processor, **kwargs):
        with open("prepared", "a") as file:
            file.write("x")
        return default_preprocess_function(message, model, processor, **kwargs)
"""


@pytest.mark.parametrize("signals", [(signal.SIGINT, signal.SIGINT), (signal.SIGTERM,)])
def test_a_generation_that_goes_on_does_not_abort_the_process(signals, stage, lively):
    stage.module(NOTING)
    functions = {"preprocess_function": "mymodel.preprocess"}
    model = entry(lively["qwen2_5_vl"], generate_cfg=ENDLESS, **functions)
    stage.model, stage.data = {"m": model}, OF_ALL
    prepared, run = stage.home / "prepared", stage.start()
    # The first sample is being generated: the second one has been prepared meanwhile.
    wait_until(lambda: prepared.exists() and prepared.stat().st_size >= 2, run)
    first, *more = signals
    run.send_signal(first)
    while "top" not in run.stdout.readline():  # "Stopping ...", "stopping within ..."
        assert run.poll() is None
    for number in more:
        run.send_signal(number)
    results = finish(run)
    assert "terminate called" not in results.stderr and "Traceback" not in results.stderr
    assert "Interrupted. " in results.stdout
    assert results.code == 130


CLICKS = """
    def parse(response, meta):
        return {"kind": "click", "point": [0.2, 0.2]} if meta["step"] == 1 else {"kind": "done"}
"""


def test_a_checkpoint_acts_in_live_worlds_side_by_side_in_batches(stage, folders):
    from tests.support.standin import ENVIRONMENT

    stage.module(CLICKS, "clicks")
    live = {
        "environment": ENVIRONMENT,
        "tasks": ["environment/one"],
        "seeds": [0, 3, 6, 9],
        "parse_function": "clicks.parse",
    }
    models = {"m": entry(folders["qwen2_5_vl"], batch_size=2)}
    result = stage.evaluate(models, "--worlds", "4", data={"GUITaskAutomation": live})
    assert result.code == 0, result.output
    scores = json.loads((stage.folder() / "m_GUITaskAutomation_score.json").read_text())
    assert (scores["Max step 50"]["SR"], scores["Max step 50"]["Mean steps"]) == (100, 2)

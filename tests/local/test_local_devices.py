"""A model on a device: current in every thread that works with it; the end of the run when lost."""

import threading
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

pytest.importorskip("torch")

import torch

from models.wrappers.local.loading import Loaded
from models.wrappers.local.wrapper import LocalModelWrapper
from tests.support import tiny_checkpoint
from tests.support.mock_server import MockServer
from tests.support.runs import api_model
from tests.support.stage import L2, Stage, right_answers
from utils.contracts import CallError, Prepared, UserFunctionError
from utils.errors import StopRun

STAGES = ("preprocess", "generate", "postprocess")


def wrapper_on_cuda(do):
    """A model on the second CUDA device, as far as it says; `do(stage)` is called in each stage."""

    def preprocess(message, model, processor, **kwargs):
        do("preprocess")
        return {"text": "question"}

    def chat(text):
        do("generate")
        return "answer"

    def postprocess(outputs, model, processor, **kwargs):
        do("postprocess")
        return outputs

    wrapper = LocalModelWrapper(
        "m", model_path="nowhere", generate_function="chat",
        preprocess_function=preprocess, postprocess_function=postprocess,
    )  # fmt: skip
    model = SimpleNamespace(device=torch.device("cuda:1"), chat=chat)
    wrapper._loaded = Loaded(
        model=model, processor=None, patch_size=None, end_ids=frozenset(), attention="sdpa",
        generation={},
    )  # fmt: skip
    return wrapper


def ask(wrapper):
    try:
        return wrapper.generate(Prepared(L2, "fingerprint", {}, []))
    finally:
        wrapper.close()


@pytest.fixture
def current(monkeypatch):
    """CUDA's current device, one for each thread and the first in every new one."""
    state = threading.local()

    @contextmanager
    def device(wanted):
        before, state.index = getattr(state, "index", 0), torch.device(wanted).index
        yield
        state.index = before

    monkeypatch.setattr(torch.cuda, "device", device)
    return lambda: getattr(state, "index", 0)


def test_user_functions_and_the_generate_method_find_the_device_of_their_model(current):
    seen = {}
    wrapper = wrapper_on_cuda(lambda stage: seen.update({stage: current()}))

    generation = ask(wrapper)

    assert generation.reply == "answer"
    assert seen == dict.fromkeys(STAGES, 1)
    assert current() == 0  # as the thread had it


def raising(wanted, error):
    def do(stage):
        if stage == wanted:
            raise error

    return do


LOST = [
    "CUDA error: device-side assert triggered",
    "CUDA error: an illegal memory access was encountered",
    "CUDA error: unspecified launch failure",
    "CUDA error: uncorrectable ECC error encountered",
]


@pytest.mark.parametrize("text", LOST)
@pytest.mark.parametrize("stage", STAGES)
def test_a_lost_device_stops_the_model_wherever_it_shows(stage, text, current):
    error = RuntimeError(f"{text}\nCUDA kernel errors might be asynchronously reported.")

    with pytest.raises(StopRun) as raised:
        ask(wrapper_on_cuda(raising(stage, error)))

    [told] = raised.value.problems
    assert told.startswith('model "m": the device (cuda:1) failed')
    assert f"any more: {text}. Everything answered so far is kept; the same command" in told
    assert "asynchronously" not in told


@pytest.mark.parametrize("stage", STAGES)
def test_a_lost_device_is_seen_behind_what_a_function_made_of_it(stage, current):
    def do(reached):
        if reached == stage:
            try:
                raise torch.AcceleratorError("CUDA error: the launch timed out")
            except RuntimeError as error:
                raise ValueError("the picture is bad") from error

    with pytest.raises(StopRun, match="the launch timed out"):
        ask(wrapper_on_cuda(do))


@pytest.fixture
def answering(monkeypatch):
    """A device in use; what it is asked, and what to raise when asked."""
    device = SimpleNamespace(asked=[], error=None)

    def synchronize(which=None):
        device.asked.append(which)
        if device.error is not None:
            raise device.error

    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", synchronize)
    return device


@pytest.mark.parametrize("text", ["browser launch timed out", "there, a CUDA error: unknown error"])
def test_words_of_others_are_no_sign_of_a_lost_device(text, current):
    with pytest.raises(UserFunctionError, match=text):
        ask(wrapper_on_cuda(raising("preprocess", RuntimeError(text))))


@pytest.mark.parametrize("text", ["CUDA error: invalid device ordinal", "sizes do not match"])
def test_an_error_after_which_the_device_answers_is_the_samples_own(text, current, answering):
    error = RuntimeError(text)

    with pytest.raises(UserFunctionError):
        ask(wrapper_on_cuda(raising("preprocess", error)))
    with pytest.raises(CallError):
        ask(wrapper_on_cuda(raising("generate", error)))
    assert text in ask(wrapper_on_cuda(raising("postprocess", error))).postprocess_error

    assert answering.asked == [torch.device("cuda:1")] * 3


@pytest.mark.parametrize("text", [
    "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`",
    "CUDA error: unknown error",
    "sizes do not match",
])  # fmt: skip
def test_any_error_after_which_the_device_is_silent_stops_the_model(text, current, answering):
    answering.error = RuntimeError("CUDA error: device-side assert triggered")

    with pytest.raises(StopRun, match="device-side assert"):
        ask(wrapper_on_cuda(raising("generate", RuntimeError(text))))


# ---- whole runs --------------------------------------------------------------------------------------

# The device fails in one of the functions after so many calls, and from then on whatever is asked
# of it fails, as it is with CUDA.
DYING = """
    import os
    import torch
    from models.wrappers.local.defaults import default_preprocess_function

    def fail(*arguments):
        raise RuntimeError("CUDA error: device-side assert triggered\\nCUDA kernel errors might be")

    def work(stage):
        calls = int(os.environ.get(stage, "0")) + 1
        os.environ[stage] = str(calls)
        if stage == os.environ.get("DIES_IN") and calls > 5:
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
def test_a_lost_device_ends_its_model_only_and_the_same_command_goes_on(dies_in, tmp_path):
    pytest.importorskip("qwen_vl_utils")
    checkpoint = tiny_checkpoint.build("qwen2_5_vl", tmp_path / "checkpoint", dtype="float32")
    local = {
        "model_path": str(checkpoint), "imp_type": "transformers", "batch_size": 2,
        "generate_cfg": {"max_new_tokens": 2}, "preprocess_function": "mymodel.preprocess",
        "postprocess_function": "mymodel.postprocess",
    }  # fmt: skip
    with MockServer(right_answers) as server:
        stage = Stage.make(tmp_path, server, [("os_web", (112, 84))] * (SAMPLES // 2))
        stage.module(DYING)
        models, data = {"lost": local, "next": api_model(server.url)}, {L2: {"mode": "all"}}
        ran = stage.evaluate(models, data=data, env={"DIES_IN": dies_in})
        kept = stage.answers(L2, "lost")
        again = stage.evaluate(models, data=data)

    assert ran.code == 1
    assert "Traceback" not in ran.output and "SKIP_ERR" not in ran.output, ran.output
    assert ran.stderr.count('model "lost": the device (cpu) failed') == 1, ran.output
    assert "CUDA error: device-side assert triggered. Everything answered" in ran.stderr
    assert {answer["status"] for answer in kept} <= {"ok"} and len(kept) <= 5
    assert dies_in == "PREPROCESS" or len(kept) >= 4
    assert len(stage.answers(L2, "next")) == SAMPLES
    assert (again.code, f"asked {SAMPLES - len(kept)}" in again.output) == (0, True), again.output

"""A model on a device: current in every thread that works with it, full, lost, or not usable."""

import json
import threading
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import pytest
import torch

from models.wrappers.local.batches import OutOfMemory
from models.wrappers.local.generating import LoadedModel, free_memory
from models.wrappers.local.loading import Checkpoint, load
from tests.local.conftest import entry_of, of
from tests.support.stage import L2
from utils.contracts import CallError, Prepared, UserFunctionError
from utils.errors import StopRun, UserError

STAGES = ("preprocess", "generate", "postprocess")


GIB = 2**30


def ask(do, devices=("cuda:1",)):
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

    checkpoint = Checkpoint(SimpleNamespace(chat=chat), None, devices=devices)
    model = LoadedModel(
        "m", entry_of("", generate_function="chat"), checkpoint, preprocess, postprocess
    )
    return model.answer([model.encode(Prepared(L2, "fingerprint", {}, []))])[0]


def raising(requested, error):
    def do(stage):
        if stage == requested:
            raise error

    return do


@pytest.fixture
def device(monkeypatch):
    """CUDA in use: the current device of each thread; what is asked of it, and what it raises then."""
    state, current = SimpleNamespace(asked=[], error=None), threading.local()
    state.current = lambda: getattr(current, "index", 0)  # the first one in every new thread

    @contextmanager
    def changed(requested):
        before, current.index = state.current(), torch.device(requested).index
        yield
        current.index = before

    def synchronize(which=None):
        state.asked.append(str(which))
        if state.error is not None:
            raise state.error

    monkeypatch.setattr(torch.cuda, "device", changed)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", synchronize)
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda which: None)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda which: (GIB, GIB))
    for name in ("memory_allocated", "memory_reserved", "max_memory_allocated"):
        monkeypatch.setattr(torch.cuda, name, lambda which: 0)
    return state


def test_user_functions_and_the_generate_method_find_the_device_of_their_model(device):
    calls = {}
    assert ask(lambda stage: calls.update({stage: device.current()})).reply == "answer"
    assert calls == dict.fromkeys(STAGES, 1)
    assert device.current() == 0  # as the thread had it


ASSERTED = "CUDA error: device-side assert triggered"


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError(ASSERTED),
        RuntimeError("sizes do not match"),
        ValueError("the image is bad"),
        RuntimeError(
            "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`"
        ),
    ],
)
@pytest.mark.parametrize("stage", STAGES)
def test_any_error_after_which_the_device_is_silent_stops_the_model(stage, error, device):
    device.error = RuntimeError(f"{ASSERTED}\nCUDA kernel errors might")
    with pytest.raises(StopRun) as raised:
        ask(raising(stage, error))
    [line] = raised.value.problems
    assert line.startswith('model "m": the device (cuda:1) failed')
    assert "assert triggered. All answers so far are kept; the same command" in line
    assert "kernel errors" not in line


@pytest.mark.parametrize("text", ["CUDA error: invalid device ordinal", "browser launch timed out"])
def test_an_error_after_which_the_device_answers_is_the_samples_own(text, device):
    error = RuntimeError(text)
    with pytest.raises(UserFunctionError, match=text):
        ask(raising("preprocess", error))
    with pytest.raises(CallError, match=text):
        ask(raising("generate", error), devices=("cuda:0", "cuda:1", "cpu"))
    assert text in str(ask(raising("postprocess", error)).postprocess_error)
    assert device.asked == ["cuda:1", "cuda:0", "cuda:1", "cuda:1"]  # all that hold a part


NO_ROOM = (
    MemoryError("std::bad_alloc"),
    RuntimeError("std::bad_alloc"),
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    RuntimeError("CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported"),
    RuntimeError("[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate memory"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    RuntimeError("CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`"),
    RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
    RuntimeError("FIND was unable to find an engine to execute this computation"),
)
SOMETHING_ELSE = (
    ValueError("out of memory"),
    RuntimeError(ASSERTED),
    RuntimeError("CUDA error: uncorrectable ECC error encountered"),
    RuntimeError("CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasSgemm(...)`"),
    RuntimeError("cuDNN error: CUDNN_STATUS_INTERNAL_ERROR"),
    RuntimeError("The size of tensor a (3) must match the size of tensor b (4)"),
)


@pytest.mark.parametrize("error", [*NO_ROOM, *SOMETHING_ELSE])
def test_memory_that_runs_out_is_known_by_all_its_names_and_nothing_else_is(error):
    expected = (OutOfMemory, r"lower kwargs\.max_pixels") if error in NO_ROOM else (CallError, ".")
    with pytest.raises(expected[0], match=expected[1]):
        ask(raising("generate", error), devices=("cpu",))


def test_freeing_memory_of_a_device_that_has_failed_does_not_raise(monkeypatch):
    called = []
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: called.append(1) or 1 / 0)
    free_memory()
    assert called


@pytest.mark.parametrize(
    ("rank", "settings", "line"),
    [
        (None, {}, "loaded: cpu, float32, sdpa\n"),
        ("0", {"dtype": "bfloat16"}, "loaded by rank 0: cpu, bfloat16, sdpa\n"),
        ("3", {"attn_implementation": "eager"}, "loaded by rank 3: cpu, float32, eager\n"),
    ],
)
def test_the_run_says_where_and_how_it_runs(rank, settings, line, llava, capsys, monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    if rank:
        monkeypatch.setenv("RANK", rank)
    of(llava, device_map="cpu", **settings).warm_up()
    printed = capsys.readouterr()
    assert line in (printed.err if rank == "3" else printed.out)
    assert "CUDA" not in printed.err


@pytest.fixture
def gpus(monkeypatch, nvidia):
    """Sets how many CUDA devices torch sees; returns those chosen. Nothing can be put on them."""

    def make(count, local_rank="", capability=(8, 0)):
        chosen = []
        nvidia(capability)
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
        monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
        monkeypatch.setenv("LOCAL_RANK", local_rank)
        return chosen

    return make


@pytest.mark.parametrize(
    ("devices", "local_rank", "device_map", "chosen"),
    [
        (8, "5", None, ["cuda:5"]),
        (8, "5", "cuda", ["cuda:5"]),
        (4, "5", None, ["cuda:1"]),
        (1, "5", "cuda", ["cuda:0"]),  # each rank was shown one of its own
        (4, "", None, ["cuda:0"]),
        (4, "", "cpu", []),
    ],
)
def test_each_rank_takes_its_own_device(devices, local_rank, device_map, chosen, gpus, tmp_path):
    taken = gpus(devices, local_rank)
    with pytest.raises(UserError, match="cannot be loaded"):  # there is nothing in the folder
        load(entry_of(tmp_path, device_map=device_map))
    assert taken == chosen


AMPERE, TURING = (8, 0), (7, 5)


@pytest.mark.parametrize(
    ("stored", "of_text", "dtype", "capability", "is_half"),
    [
        ("bfloat16", None, None, AMPERE, True),
        (None, "bfloat16", None, AMPERE, True),
        (None, "float32", None, AMPERE, False),
        ("float32", None, None, AMPERE, False),
        ("float32", None, "float16", AMPERE, True),
        ("bfloat16", None, None, TURING, False),
    ],
)
def test_flash_attention_goes_by_the_text_part_and_the_device(
    stored, of_text, dtype, capability, is_half, gpus, folders, copy_of
):
    gpus(1, capability=capability)
    text = json.loads((folders["qwen3_vl"] / "config.json").read_text())["text_config"]
    changes = {"dtype": stored, "text_config": {**text, "dtype": of_text}}
    folder = copy_of(folders["qwen3_vl"], config=changes)
    with pytest.raises(UserError, match="cannot be loaded") as raised:
        load(entry_of(folder, attn_implementation="flash_attention_2", dtype=dtype))
    # Where it could be used, the library says that it is not installed here.
    needs = "needs half precision and a CUDA device, Ampere or newer"
    assert (needs in str(raised.value)) is not is_half


@pytest.mark.parametrize(
    ("device_map", "is_refused"),
    [(None, True), ("cuda", True), ("auto", True), ("cpu", False), ({"": "cpu"}, False)],
)
def test_a_gpu_torch_cannot_use_is_no_reason_to_be_slow(
    device_map, is_refused, llava, nvidia, monkeypatch
):
    nvidia()
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    refused = pytest.raises(StopRun, match="torch cannot use the CUDA device")
    with refused if is_refused else nullcontext():
        of(llava, device_map=device_map).warm_up()

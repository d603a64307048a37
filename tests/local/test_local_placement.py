"""Where a checkpoint goes: devices, ranks that share a machine, a driver that torch cannot use."""

from types import SimpleNamespace

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch

from models.wrappers.local import loading as local_loading
from models.wrappers.local.loading import device_of_this_rank
from models.wrappers.local.settings import placement_problems
from models.wrappers.local.wrapper import LocalModelWrapper
from tests.support import tiny_checkpoint
from utils.errors import StopRun, UserError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_checkpoint.build_llava(tmp_path_factory.mktemp("llava"))


@pytest.mark.parametrize(("device_map", "ranks_here", "devices", "is_refused"), [
    (None, "8", 8, False),
    ("cuda", "8", 8, False),  # transformers makes the local rank's of it
    ("cuda:0", "8", 8, True),
    (0, "8", 8, True),
    ({"": "cuda:1"}, "8", 8, True),
    ({"model.visual": 0, "model.language_model": 1}, "8", 8, True),
    ("cuda:0", "8", 1, False),  # each rank was shown one of its own
    ("cpu", "8", 8, False),
    ("cuda:0", "1", 8, False),  # several machines with one rank each
])  # fmt: skip
def test_a_fixed_device_goes_with_one_rank_on_a_machine(
    device_map, ranks_here, devices, is_refused, monkeypatch
):
    monkeypatch.setenv("WORLD_SIZE", "16")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", ranks_here)
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: devices)

    if is_refused:
        with pytest.raises(UserError, match="puts all 8 copies"):
            local_loading._is_for_cuda(torch, device_map)
    else:
        assert local_loading._is_for_cuda(torch, device_map) is (device_map != "cpu")


@pytest.mark.parametrize(("ranks_here", "problems"), [("8", 1), ("1", 0)])
def test_a_model_that_spreads_over_a_machine_is_alone_on_it(ranks_here, problems, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "16")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", ranks_here)

    assert len(placement_problems("auto", None, 1)) == problems


@pytest.mark.parametrize(("devices", "ranks_here", "is_told"), [
    (4, "8", True), (8, "8", False), (1, "8", False), (4, "1", False),
])  # fmt: skip
def test_more_ranks_than_devices_are_warned_of(devices, ranks_here, is_told, monkeypatch, capsys):
    class Torch:
        class cuda:
            device_count = staticmethod(lambda: devices)
            set_device = staticmethod(lambda device: None)

    monkeypatch.setenv("LOCAL_WORLD_SIZE", ranks_here)
    monkeypatch.setenv("LOCAL_RANK", "0")

    device_of_this_rank(Torch)

    assert (
        f"{ranks_here} ranks share {devices} CUDA devices" in capsys.readouterr().err
    ) is is_told


def test_the_run_says_where_and_how_the_model_runs(folder, capsys, monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    LocalModelWrapper("m", model_path=str(folder), device_map="cpu").warm_up()
    assert "loaded: cpu, float32, sdpa\n" in capsys.readouterr().out

    monkeypatch.setenv("RANK", "3")
    settings = {"device_map": "cpu", "dtype": "bfloat16", "attn_implementation": "eager"}
    LocalModelWrapper("m", model_path=str(folder), **settings).warm_up()
    assert "loaded by rank 3: cpu, bfloat16, eager\n" in capsys.readouterr().err


def test_a_model_on_several_devices_is_told_with_all_of_them():
    model = SimpleNamespace(hf_device_map={"a": 0, "b": 1, "c": "cpu"}, dtype=torch.bfloat16,
                            device=torch.device("cuda:0"))  # fmt: skip
    loaded = SimpleNamespace(model=model, attention="sdpa")

    assert local_loading.placement_of(loaded) == "cpu, cuda:0, cuda:1, bfloat16, sdpa"


# ---- a driver that is too old for the installed torch ----------------------------------------------


@pytest.fixture
def unusable_gpu(monkeypatch):
    monkeypatch.setattr(local_loading, "cuda_present", lambda: True)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)


def test_a_gpu_that_torch_cannot_use_is_warned_of(folder, unusable_gpu, capsys, monkeypatch):
    for name in ("WORLD_SIZE", "LOCAL_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)

    LocalModelWrapper("m", model_path=str(folder)).warm_up()

    assert "has a CUDA device that torch cannot use" in capsys.readouterr().err


@pytest.mark.parametrize(("ranks_here", "device_map"), [("2", None), ("1", "cuda")])
def test_it_is_no_reason_to_be_slow_where_a_gpu_was_meant(
    ranks_here, device_map, folder, unusable_gpu, monkeypatch
):
    monkeypatch.setenv("LOCAL_WORLD_SIZE", ranks_here)

    with pytest.raises(StopRun, match="torch cannot use"):
        LocalModelWrapper("m", model_path=str(folder), device_map=device_map).warm_up()


@pytest.mark.parametrize("device_map", ["cpu", {"": "cpu"}])
def test_on_the_cpu_by_choice_nothing_is_said(device_map, folder, unusable_gpu, capsys):
    LocalModelWrapper("m", model_path=str(folder), device_map=device_map).warm_up()

    assert "CUDA" not in capsys.readouterr().err

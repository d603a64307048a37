"""Where a checkpoint goes: devices, ranks that share a machine, a driver that torch cannot use."""

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from models import local_loading
from models.local_loading import device_of_this_rank
from models.local_settings import placement_problems
from models.local_wrapper import LocalModelWrapper
from tests.support import tiny_checkpoint
from utils.errors import StopRun


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_checkpoint.build_llava(tmp_path_factory.mktemp("llava"))


@pytest.fixture
def on_8_gpus(monkeypatch):
    """A machine with eight devices, as the config's check sees it."""
    monkeypatch.setattr("models.local_settings.cuda_present", lambda: True)


@pytest.mark.parametrize(("device_map", "ranks_here", "told"), [
    (None, "8", None),
    ("cuda", "8", None),  # transformers makes the local rank's of it
    ("cuda:0", "8", "puts all 8 copies"),
    (0, "8", "puts all 8 copies"),
    ({"": "cuda:1"}, "8", "puts all 8 copies"),
    ("auto", "8", "torchrun starts 8 copies"),
    ("cpu", "8", None),
    ("cuda:0", "1", None),  # several machines with one rank each
    ("auto", "1", None),
])  # fmt: skip
def test_a_fixed_device_goes_with_one_rank_on_a_machine(
    device_map, ranks_here, told, on_8_gpus, monkeypatch
):
    monkeypatch.setenv("WORLD_SIZE", "16")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", ranks_here)

    found = placement_problems(device_map, None, 1)

    assert [told in problem for problem in found] == ([True] if told else [])


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
    assert "loaded by rank 3: cpu, bfloat16, eager\n" in capsys.readouterr().out


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


def test_on_the_cpu_by_choice_nothing_is_said(folder, unusable_gpu, capsys):
    LocalModelWrapper("m", model_path=str(folder), device_map="cpu").warm_up()

    assert "CUDA" not in capsys.readouterr().err

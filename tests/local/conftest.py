"""Tiny checkpoints, built once for all tests of this room, and questions to ask them."""

import importlib.util
import json
import random
import shutil

import pytest
from PIL import Image

from models.wrappers.local.wrapper import LocalModelWrapper
from tests.support import tiny_checkpoint
from tests.support.stage import L2
from utils.config.schema import Local

NEEDED = ("torch", "transformers", "qwen_vl_utils")
collect_ignore_glob = [] if all(map(importlib.util.find_spec, NEEDED)) else ["test_*.py"]
without_cuda = pytest.mark.skipif("__import__('torch').cuda.is_available()", reason="has CUDA")


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    import torch

    torch.set_num_threads(1)  # with more, tiny calls take up to twenty times as long


def runs_with_here(stored_dtype):
    """What the record says of a checkpoint that ran where the hardware lets it."""
    import torch

    if not torch.cuda.is_available():
        return {"device": "cpu", "dtype": "float32", "attention": "sdpa"}
    device = f"cuda:0 ({torch.cuda.get_device_name(0)})"
    return {"device": device, "dtype": stored_dtype, "attention": "sdpa"}


def built(root, **more):
    families = tiny_checkpoint.FAMILIES
    return {name: tiny_checkpoint.build(name, root / name, **more) for name in families}


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """A random checkpoint of each family."""
    return built(tmp_path_factory.mktemp("checkpoints"))


@pytest.fixture(scope="session")
def lively(tmp_path_factory):
    """The same in float32, with weights large enough to react to every picture."""
    return built(tmp_path_factory.mktemp("lively"), dtype="float32", spread=6)


@pytest.fixture(scope="session")
def llava(tmp_path_factory):
    """A checkpoint of a family whose pictures are squares, cut to one size."""
    return tiny_checkpoint.build_llava(tmp_path_factory.mktemp("llava") / "llava")


@pytest.fixture
def nvidia(monkeypatch):
    """Lets NVIDIA's driver say that there is a device, of this compute capability."""

    def make(capability=(8, 0)):
        class Driver:
            def __init__(self, library):
                self.cuInit = lambda flags: 0

            def cuDeviceGetCount(self, count):
                count._obj.value = 1
                return 0

            def cuDeviceGetAttribute(self, value, attribute, device):
                value._obj.value = capability[0]
                return 0

        monkeypatch.setattr("ctypes.CDLL", Driver)

    return make


@pytest.fixture
def copy_of(tmp_path):
    """Copies a checkpoint, so that a test may change it."""

    def copy(folder, **settings):
        target = shutil.copytree(folder, tmp_path / "copy")
        for name, changes in settings.items():
            edited(target / f"{name}.json", **changes)
        return target

    return copy


def edited(file, **changes):
    """Changes keys of a JSON file; None takes one out."""
    content = {**json.loads(file.read_text()), **changes}
    file.write_text(json.dumps({k: v for k, v in content.items() if v is not None}))


@pytest.fixture
def picture(tmp_path):
    path = tmp_path / "screen.png"
    noise = random.Random(4).randbytes(300 * 200)  # the same in every run
    Image.frombytes("L", (300, 200), noise).convert("RGB").save(path)
    return path


def messages_of(path, text="Where is it?", system=None):
    first = [] if system is None else [{"role": "system", "type": "text", "value": system}]
    parts = {"image": str(path), "text": text}
    return [*first, *({"role": "user", "type": t, "value": value} for t, value in parts.items())]


def of(folder, preprocess_function=None, postprocess_function=None, **settings):
    """A model of this checkpoint."""
    entry, pre, post = entry_of(folder, **settings), preprocess_function, postprocess_function
    return LocalModelWrapper("m", entry, preprocess_function=pre, postprocess_function=post)


def entry_of(folder, **settings):
    return Local(model_path=str(folder), imp_type="transformers", **settings)


def encoded_all(wrapper, questions):
    return [wrapper.model().encode(wrapper.request(messages, L2)) for messages in questions]


def without_weights(folder, is_gone):
    """Takes some weights out of a checkpoint; returns how many."""
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    remaining = {name: value for name, value in weights.items() if not is_gone(name)}
    save_file(remaining, folder / "model.safetensors", metadata={"format": "pt"})
    return len(weights) - len(remaining)


OF_ONE_SIZE = 6


@pytest.fixture(scope="session")
def questions(tmp_path_factory):
    """Messages on pictures of many sizes, with texts of many lengths."""
    folder, dice = tmp_path_factory.mktemp("pictures"), random.Random(3)
    requests = []
    for number in range(48):
        wh = (dice.randrange(40, 500), dice.randrange(40, 400))
        wh = (200, 150) if number < OF_ONE_SIZE else wh
        noise = Image.frombytes("L", wh, dice.randbytes(wh[0] * wh[1]))  # the same in every run
        darker = noise.point(lambda value, least=5 * number: least + value * (250 - least) // 255)
        darker.convert("RGB").save(path := folder / f"{number}.png")
        requests.append(messages_of(path, "Where is " + "it " * dice.randrange(1, 30)))
    return requests

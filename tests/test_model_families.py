"""Checkpoints beyond the Qwen-VL families, and what a checkpoint's own settings mean for a run."""

import json

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("qwen_vl_utils")

import torch
from PIL import Image

from models.local_settings import generation_notes
from models.local_wrapper import LocalModelWrapper
from tests.support import tiny_checkpoint
from tests.support.mock_server import MockServer
from tests.support.stage import L2, Stage
from utils.errors import StopRun


@pytest.fixture(scope="module")
def llava(tmp_path_factory):
    torch.set_num_threads(1)
    return tiny_checkpoint.build_llava(tmp_path_factory.mktemp("llava"))


@pytest.fixture
def questions(tmp_path):
    found = []
    for number in range(6):
        path = tmp_path / f"{number}.png"
        Image.effect_noise((60 + 40 * number, 70 + 10 * number), 90).convert("RGB").save(path)
        found.append([
            {"role": "user", "type": "image", "value": str(path)},
            {"role": "user", "type": "text", "value": "Where? " * (number + 1)},
        ])  # fmt: skip
    return found


def test_a_model_with_a_chat_template_answers_through_the_default_functions(llava, questions):
    wrapper = LocalModelWrapper("llava", model_path=str(llava), generate_cfg={"max_new_tokens": 6})
    encoded = [wrapper.encode(wrapper.request(messages, L2)) for messages in questions]

    alone = [wrapper.generate_encoded([each])[0].text for each in encoded]

    assert len(set(alone)) > 3
    assert [generation.text for generation in wrapper.generate_encoded(encoded)] == alone
    assert encoded[0].sizes.seen_wh is None  # its grid says nothing about the whole picture


def test_a_checkpoint_without_a_chat_template_says_what_to_write(tmp_path):
    folder = tiny_checkpoint.build_llava(tmp_path / "bare")
    (folder / "chat_template.jinja").unlink()
    wrapper = LocalModelWrapper("bare", model_path=str(folder))

    with pytest.raises(StopRun) as raised:
        wrapper.warm_up()

    assert "has no chat template, so a preprocess_function of your own must write" in str(
        raised.value
    )


# ---- generation settings ---------------------------------------------------------------------------


@pytest.mark.parametrize(("configured", "brought", "notes"), [
    ({"max_new_tokens": 8}, {}, ["generation: greedy, at most 8 new tokens"]),
    ({"max_new_tokens": 8, "num_beams": 4}, {}, ["generation: 4 beams, at most 8 new tokens"]),
    ({"max_new_tokens": 8, "do_sample": False}, {"do_sample": True, "temperature": 0.1},
     ["generation: greedy, at most 8 new tokens"]),
    ({"max_new_tokens": 8, "temperature": 0.5}, {"do_sample": True, "top_p": 0.9},
     ["generation: sampling, temperature 0.5, top_p 0.9 (from the checkpoint), at most 8 new tokens",
      "warning: the checkpoint's generation_config turns sampling on"]),
    ({"max_new_tokens": 8}, {"repetition_penalty": 1.05},
     ["generation: greedy, repetition_penalty 1.05 (from the checkpoint), at most 8 new tokens",
      "warning: the checkpoint's generation_config sets repetition_penalty 1.05"]),
    ({"max_new_tokens": 8, "repetition_penalty": 1.0}, {"repetition_penalty": 1.05},
     ["generation: greedy, at most 8 new tokens"]),
    ({}, {}, ["generation: greedy, max_new_tokens is not set", "warning: without max_new_tokens"]),
])  # fmt: skip
def test_what_will_really_be_used_is_said(configured, brought, notes):
    told = generation_notes(configured, brought)

    assert [said[: len(note)] for said, note in zip(told, notes, strict=True)] == notes


def test_a_run_and_its_check_show_the_checkpoints_own_settings(llava, tmp_path):
    import shutil

    folder = tmp_path / "penalised"
    shutil.copytree(llava, folder)
    settings = json.loads((folder / "generation_config.json").read_text())
    (folder / "generation_config.json").write_text(
        json.dumps({**settings, "repetition_penalty": 1.05})
    )
    entry = {
        "model_path": str(folder),
        "imp_type": "transformers",
        "generate_cfg": {"max_new_tokens": 4},
    }
    with MockServer() as server:
        stage = Stage.make(tmp_path / "stage", server, [("os_web", (90, 60))])
        data = {L2: {"mode": "all"}}
        outputs = [stage.evaluate({"m": entry}, *more, data=data, env={"OMP_NUM_THREADS": "1"}).output
                   for more in (("--check",), ())]  # fmt: skip

    for output in outputs:
        assert "repetition_penalty 1.05 (from the checkpoint)" in output, output

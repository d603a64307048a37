"""Settings of a local model and its checkpoint's files: what is refused, and what is printed."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import transformers

from models.wrappers.local import settings as known
from models.wrappers.local.placement import placement_of
from models.wrappers.local.settings import generate_problems, generation_notes
from tests.local.conftest import entry_of, of, without_cuda
from utils.config.schema import model_entry


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        *(
            (name, value, f", not {value!r}")
            for name, value in (
                ("max_new_tokens", "6"),
                ("max_new_tokens", 0),
                ("max_new_tokens", True),
                ("num_beams", "2"),
                ("num_beams", 1.5),
                ("temperature", "hot"),
                ("temperature", -1),
                ("top_p", 2),
                ("top_k", -1),
                ("do_sample", "yes"),
                ("do_sample", 1),
                ("repetition_penalty", 0),
                ("max_length", 0),
                ("max_time", 0),
            )
        ),
        # names that generate does not know
        ("temprature", 1, 'did you mean "temperature"?'),
        ("seed", 1, "only for API models"),
        ("max_new_token", 1, 'did you mean "max_new_tokens"?'),
        ("max_tokens", 1, 'here it is "max_new_tokens"'),
        ("extra_body", 1, "only for API models"),
        *(
            (name, value, None)
            for name, value in (
                ("max_new_tokens", 1),
                ("num_beams", 1),
                ("do_sample", False),
                ("temperature", 0),
                ("top_p", 0.1),
                ("top_k", 0),
                ("eos_token_id", [5, 6]),
                ("stop_strings", ["a"]),
                ("temperature", None),
                ("max_time", None),
                ("length_penalty", -1.5),
                ("use_audio_in_video", True),
            )
        ),
    ],
)
def test_what_generate_cannot_use_is_named_before_the_run(name, value, message):
    actual = [
        (key_path, message in problem) for key_path, problem in generate_problems({name: value})
    ]
    assert actual == ([(("generate_cfg", name), True)] if message else [])


def test_nothing_that_the_installed_library_knows_is_taken_for_a_typing_error():
    config = transformers.GenerationConfig
    library_names = set(config().to_dict())
    assert library_names >= known.GENERATION_SETTINGS
    assert list(generate_problems(dict.fromkeys(library_names))) == []
    assert config._get_default_generation_params()["max_length"] == known.LIBRARY_LIMIT


@pytest.mark.parametrize(
    ("configured", "brought", "message"),
    [
        (
            {"do_sample": True, "temperature": 0},
            {},
            'do_sample true; for greedy decoding set "do_sa',
        ),
        ({"temperature": 0}, {"do_sample": True}, "do_sample true (from the checkpoint)"),
        ({"temperature": 0, "do_sample": False}, {"do_sample": True}, None),
    ],
)
def test_settings_that_do_not_go_together_are_named(configured, brought, message):
    problems = known.generation_problems(configured, brought)
    assert [message in problem for problem in problems] == ([] if message is None else [True])


GREEDY = "generation: greedy, at most 8 new tokens"


@pytest.mark.parametrize(
    ("configured", "brought", "notes"),
    [
        ({"max_new_tokens": 8}, {"max_length": 99}, [GREEDY]),
        ({"max_new_tokens": 8, "num_beams": 4}, {}, ["generation: 4 beams, at most 8 new tokens"]),
        (
            {"max_new_tokens": 8, "do_sample": False},
            {"do_sample": True, "temperature": 0.1},
            [GREEDY],
        ),
        (
            {"max_new_tokens": 8, "temperature": 0.5},
            {"do_sample": True, "top_p": 0.9},
            [
                "generation: sampling, temperature 0.5, top_p 0.9 (from the checkpoint), at most 8 new tokens",
                "warning: the checkpoint's generation_config turns sampling on",
            ],
        ),
        (
            {"max_new_tokens": 8},
            {"repetition_penalty": 1.05},
            [
                "generation: greedy, repetition_penalty 1.05 (from the checkpoint), at most 8 new tokens",
                "warning: the checkpoint's generation_config sets repetition_penalty 1.05",
            ],
        ),
        ({"max_new_tokens": 8, "repetition_penalty": 1.0}, {"repetition_penalty": 1.05}, [GREEDY]),
        ({}, {"max_new_tokens": 8}, [GREEDY + " (from the checkpoint)"]),
        (
            {},
            {},
            [
                "generation: greedy, at most 20 new tokens (the library's own limit)",
                "warning: max_new_tokens is not set, so replies are cut off: at most 20",
            ],
        ),
        (
            {"max_length": 330},
            {},
            [
                "generation: greedy, at most 330 tokens, prompt and image included",
                "warning: max_new_tokens is not set, so replies are cut off: at most 330",
            ],
        ),
        (
            {},
            {"max_length": 330},
            [
                "generation: greedy, at most 330 tokens, prompt and image included (from the checkpoint)",
                "warning: max_new_tokens is not set",
            ],
        ),
    ],
)
def test_what_will_really_be_used_is_printed(configured, brought, notes):
    printed = generation_notes(configured, brought)
    assert [line[: len(note)] for line, note in zip(printed, notes, strict=True)] == notes


FIVE = {"max_new_tokens": 5}


@pytest.mark.parametrize(
    ("used", "names"),
    [
        ({**FIVE, "max_length": 100}, ""),
        ({**FIVE, "max_time": 3}, "max_time"),
        ({"max_length": 100}, "max_length"),
        ({**FIVE, "min_length": 10}, "min_length"),
        ({**FIVE, "min_length": 10, "min_new_tokens": 1}, ""),
        ({**FIVE, "no_repeat_ngram_size": 2}, "no_repeat_ngram_size"),
        (
            {**FIVE, "encoder_repetition_penalty": 1.2, "repetition_penalty": 1.2},
            "encoder_repetition_penalty",
        ),
        ({**FIVE, "max_length": None, "min_length": 0}, ""),
    ],
)
def test_what_counts_the_prompt_keeps_lengths_apart(used, names):
    apart = [note for note in generation_notes(used, {}, 4) if "one at a time" in note]
    assert [names in note for note in apart] == ([True] if names else [])
    assert not [note for note in generation_notes(used, {}, 1) if "one at a time" in note]


def problems_of(folder, **settings):
    return of(folder, **settings).problems()


@without_cuda
@pytest.mark.parametrize(
    ("device_map", "ranks_here", "message"),
    [
        ("cuda", "1", "needs CUDA, and this machine has no usable CUDA device"),
        ({"": 0}, "1", "needs CUDA, and this machine has no usable CUDA device"),
        (
            {"visual": "cuda:0", "lm": "cpu"},
            "1",
            "needs CUDA, and this machine has no usable CUDA device",
        ),
        ("cpu", "1", None),
        # a fixed place is for one rank; several machines may have one rank each
        (None, "8", None),
        ("", "8", None),
        ("cpu", "8", None),
        ("auto", "8", "all 8 copies"),
        ({"": "cpu"}, "8", "all 8 copies"),
        ("auto", "1", None),
    ],
)
def test_places_that_cannot_be_meant_are_named(device_map, ranks_here, message, llava, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "16")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", ranks_here)
    actual = problems_of(llava, device_map=device_map)
    assert [message in problem_line for problem_line in actual] == ([True] if message else [])


@without_cuda
def test_flash_attention_needs_a_device_and_a_precision_for_it(llava):
    for dtype, message in ((None, "run on cpu in float32"), ("bfloat16", "run on cpu in bfloat16")):
        [problem] = problems_of(llava, attn_implementation="flash_attention_2", dtype=dtype)
        assert (
            message in problem and problems_of(llava, attn_implementation="sdpa", dtype=dtype) == []
        )


@without_cuda
@pytest.mark.parametrize(
    ("entry_settings", "expected"),
    [
        ((None, None, None), ("cpu", "float32", "sdpa")),
        (("auto", "bfloat16", "eager"), ("cpu", "bfloat16", "eager")),
        (("cuda:1", None, None), ("cuda", "auto", "sdpa")),
        (({"a": 0, "b": "cpu"}, "float32", None), ("cuda", "float32", "sdpa")),
        (("xpu:0", "auto", None), ("xpu", "auto", "sdpa")),
    ],
)
def test_what_a_model_will_run_with_is_known_without_loading_it(entry_settings, expected):
    device_map, dtype, attention = entry_settings
    entry = entry_of("no", device_map=device_map, dtype=dtype, attn_implementation=attention)
    actual = placement_of(entry, {})
    assert (actual.device, actual.dtype, actual.attention) == expected


HALF, FULL = {"text_config": {"dtype": "bfloat16"}}, {"torch_dtype": "float32"}


@pytest.mark.parametrize(
    ("config", "settings", "expected"),
    [
        (HALF, {}, ("cuda", "bfloat16", "sdpa")),
        (FULL, {}, ("cuda", "float32", "sdpa")),
        (FULL, {"dtype": "float16"}, ("cuda", "float16", "sdpa")),
        (HALF, {"device_map": "cpu"}, ("cpu", "float32", "sdpa")),
        (HALF, {"device_map": "cpu", "dtype": "auto"}, ("cpu", "bfloat16", "sdpa")),
    ],
)
def test_a_package_that_only_shares_flash_attentions_name_is_not_taken_for_it(
    config, settings, expected, nvidia, tmp_path, monkeypatch
):
    nvidia()
    (package := tmp_path / "flash_attn").mkdir()
    (package / "__init__.py").write_text("__version__ = '4.0.0'")
    monkeypatch.syspath_prepend(tmp_path)
    actual = placement_of(entry_of("no", **settings), config)
    assert (actual.device, actual.dtype, actual.attention) == expected


ROCM_TORCH = """
class cuda:
    @staticmethod
    def is_available():
        return True
"""


@without_cuda
def test_a_device_of_amd_is_cuda_for_torch_and_for_the_fingerprint(tmp_path):
    (package := tmp_path / "torch").mkdir()
    (package / "__init__.py").write_text(ROCM_TORCH)
    (package / "version.py").write_text("cuda = None\nhip = '6.4'")
    code = (
        "from models.wrappers.local.placement import placement_of\n"
        "from utils.config.schema import Local\n"
        "entry = Local(model_path='no', imp_type='transformers')\n"
        "print(placement_of(entry, {'dtype': 'bfloat16'}))"
    )
    path = f"{tmp_path}{os.pathsep}{Path(__file__).parents[2]}"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "device='cuda', dtype='bfloat16', attention='sdpa'" in done.stdout


@pytest.mark.parametrize(
    ("dtype", "device_map", "is_named"),
    [(None, None, True), ("auto", None, True), ("float32", None, False), (None, "cpu", False)],
)
def test_a_float32_checkpoint_on_a_gpu_is_named_with_what_to_set(
    dtype, device_map, is_named, llava, nvidia
):
    nvidia()
    notes = of(llava, dtype=dtype, device_map=device_map).notes_before()
    float32_notes = [note for note in notes if "float32" in note and '"dtype": "bfloat16"' in note]
    assert len(float32_notes) == is_named


@pytest.mark.parametrize(
    ("imp_type", "kwargs", "problem"),
    [
        ("transformers", {"load": []}, "kwargs.load: must be an object"),
        ("transformers", {"chat_template": "x"}, "kwargs.chat_template: must be an object"),
        ("vllm", {"load": {}}, 'kwargs.load: only for imp_type "transformers"'),
        ("vllm", {"chat_template": {}}, "extra_body.chat_template_kwargs"),
        ("transformers", {"load": {}, "chat_template": {}}, None),
    ],
)
def test_arguments_of_the_library_are_objects_of_a_checkpoints_entry(imp_type, kwargs, problem):
    _, findings = model_entry(imp_type, {"model_path": "a/b", "kwargs": kwargs})
    lines = [f"{'.'.join(key_path)}: {what}" for key_path, what in findings]
    assert [problem in line for line in lines] == ([True] if problem else [])


@pytest.mark.parametrize(
    ("kwargs", "problem"),
    [
        ({"load": {"dtype": "float16"}}, 'kwargs.load.dtype: set "dtype" beside kwargs'),
        ({"load": {"device_map": "auto"}}, "kwargs.load.device_map: it belongs beside kwargs"),
        ({"load": {"token": "x"}}, "kwargs.load.token: set HF_TOKEN"),
        ({"load": {"revision": "v1"}}, "kwargs.load.revision: only for a name on the"),
        ({"chat_template": {"tokenize": True}}, "kwargs.chat_template.tokenize: the program sets"),
        pytest.param(
            {"load": {"adapter": "some/adapter"}},
            "kwargs.load.adapter: needs the package peft",
            marks=pytest.mark.skipif(find_spec("peft") is not None, reason="peft is installed"),
        ),
        ({"load": {"max_memory": {"0": "1GB"}}, "chat_template": {"enable_thinking": False}}, None),
    ],
)
def test_what_cannot_be_passed_to_the_library_is_named(kwargs, problem, llava):
    actual = problems_of(llava, kwargs=kwargs)
    assert [problem in line for line in actual] == ([True] if problem else [])


WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
POINTER = "version https://git-lfs.github.com/spec/v1\noid x\n"
HEADER = b'{"__metadata__": {}, "x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}'
TENSORS = len(HEADER).to_bytes(8, "little") + HEADER + bytes(8)
OWN_CODE = json.dumps({"auto_map": {"AutoModel": "modeling_own.Own"}, "model_type": "own"})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, None),
        ({WEIGHTS: POINTER}, "git lfs pull"),
        ({WEIGHTS: TENSORS.decode()}, None),
        ({WEIGHTS: TENSORS[:-1].decode()}, "file not fully covered; download it again"),
        ({WEIGHTS: TENSORS[:20].decode()}, "invalid header length; download it again"),
        (
            {"config.json": OWN_CODE},
            """'own' is code that comes with the checkpoint; if you trust it, set "trust_""",
        ),
        (
            {"config.json": OWN_CODE.replace('"own"', '"qwen2_vl"')},
            None,
        ),  # the library's own class is taken
        (
            {"preprocessor_config.json": '{"image_processor_type": "Qwen2_5_VLImageProcessor"}'},
            'has no image_processor_type "Qwen2_5_VLImageProcessor"; write "Qwen2VLImageProcessor" into',
        ),
        (
            {
                "preprocessor_config.json": '{"image_processor_type": "Qwen2_5_VLImageProcessor"}',
                "processor_config.json": '{"image_processor": {"image_processor_type": "Qwen2VLImageProcessor"}}',
            },
            None,
        ),
        ({"config.json": None}, "no readable config.json in it"),
        ({WEIGHTS: None}, "no weight files in it"),
        ({INDEX: '{"weight_map": {"x": "model.safetensors", "y": "b.st"}}'}, "['b.st']"),
        ({INDEX: "{broken", "config.json": "{broken"}, "no readable config.json in it"),
        ({"tokenizer.json": None}, "no tokenizer files in it"),
        ({"chat_template.jinja": None}, "no chat template in it"),
        ({"chat_template.jinja": None, "tokenizer_config.json": '{"chat_template": "x"}'}, None),
    ],
)
def test_what_is_missing_in_a_checkpoints_folder_is_named(changes, message, tmp_path):
    complete = {
        "config.json": "{}",
        WEIGHTS: TENSORS.decode(),
        "tokenizer.json": "{}",
        "chat_template.jinja": "x",
    }
    for name, content in {**complete, **changes}.items():
        if content is not None:
            (tmp_path / name).write_text(content)
    assert [message in problem for problem in problems_of(tmp_path)] == ([True] if message else [])
    assert "no such folder" in problems_of(tmp_path / "no")[0]
    if "trust_" in (message or ""):
        assert problems_of(tmp_path, trust_remote_code=True) == []

"""Settings of a local model and its checkpoint's files: what is refused, and what is printed."""

import json

import pytest
import transformers

from models.wrappers.local.settings import (
    GENERATION_SETTINGS,
    LIBRARY_LIMIT,
    expected_placement,
    generate_findings,
    generation_notes,
    generation_problems,
)
from tests.local.conftest import edited, of, without_cuda


@pytest.mark.parametrize(("name", "value", "said"), [
    *((name, value, f", not {value!r}") for name, value in (
        ("max_new_tokens", "6"), ("max_new_tokens", 0), ("max_new_tokens", True), ("num_beams", "2"),
        ("num_beams", 1.5), ("temperature", "hot"), ("temperature", -1), ("top_p", 2), ("top_k", -1),
        ("do_sample", "yes"), ("do_sample", 1), ("repetition_penalty", 0), ("max_length", 0),
        ("max_time", 0),
    )),
    # names that generate does not know
    ("temprature", 1, 'did you mean "temperature"?'),
    ("max_new_token", 1, 'did you mean "max_new_tokens"?'), ("seed", 1, "generate has no seed"),
    ("max_tokens", 1, 'local models call it "max_new_tokens"'),
    ("extra_body", 1, "only for API models"),
])  # fmt: skip
def test_what_generate_cannot_use_is_named_before_the_run(name, value, said):
    [(place, problem)] = generate_findings({name: value})
    assert place == ("generate_cfg", name) and said in problem
    assert not said.startswith(", not") or problem.startswith("must be ")


@pytest.mark.parametrize("generate_cfg", [
    {"max_new_tokens": 1, "num_beams": 1, "do_sample": False, "temperature": 0, "top_p": 0.1},
    {"eos_token_id": [5, 6]}, {"stop_strings": ["a"]}, {"temperature": None, "max_time": None},
    {"length_penalty": -1.5}, {"use_audio_in_video": True}, {"top_k": 0},
])  # fmt: skip
def test_what_generate_takes_is_no_problem(generate_cfg):
    assert list(generate_findings(generate_cfg)) == []


def test_nothing_that_the_installed_library_knows_is_taken_for_a_typing_error():
    config = transformers.GenerationConfig
    theirs = set(config().to_dict())
    assert theirs >= GENERATION_SETTINGS
    assert list(generate_findings(dict.fromkeys(theirs))) == []
    assert config._get_default_generation_params()["max_length"] == LIBRARY_LIMIT


@pytest.mark.parametrize(("configured", "brought", "said"), [
    ({"do_sample": True, "temperature": 0}, {}, 'do_sample true; for greedy decoding set "do_sa'),
    ({"temperature": 0}, {"do_sample": True}, "do_sample true (from the checkpoint)"),
    ({"temperature": 0, "do_sample": False}, {"do_sample": True}, None),
])  # fmt: skip
def test_settings_that_do_not_go_together_are_named(configured, brought, said):
    problems = generation_problems(configured, brought)
    assert [said in problem for problem in problems] == ([] if said is None else [True])


GREEDY = "generation: greedy, at most 8 new tokens"


@pytest.mark.parametrize(("configured", "brought", "notes"), [
    ({"max_new_tokens": 8}, {"max_length": 99}, [GREEDY]),
    ({"max_new_tokens": 8, "num_beams": 4}, {}, ["generation: 4 beams, at most 8 new tokens"]),
    ({"max_new_tokens": 8, "do_sample": False}, {"do_sample": True, "temperature": 0.1}, [GREEDY]),
    ({"max_new_tokens": 8, "temperature": 0.5}, {"do_sample": True, "top_p": 0.9},
     ["generation: sampling, temperature 0.5, top_p 0.9 (from the checkpoint), at most 8 new tokens",
      "warning: the checkpoint's generation_config turns sampling on"]),
    ({"max_new_tokens": 8}, {"repetition_penalty": 1.05},
     ["generation: greedy, repetition_penalty 1.05 (from the checkpoint), at most 8 new tokens",
      "warning: the checkpoint's generation_config sets repetition_penalty 1.05"]),
    ({"max_new_tokens": 8, "repetition_penalty": 1.0}, {"repetition_penalty": 1.05}, [GREEDY]),
    ({}, {"max_new_tokens": 8}, [GREEDY + " (from the checkpoint)"]),
    ({}, {}, ["generation: greedy, at most 20 new tokens (the library's own limit)",
              "warning: max_new_tokens is not set, so replies are cut: at most 20"]),
    ({"max_length": 330}, {}, ["generation: greedy, at most 330 tokens, prompt and image included",
                               "warning: max_new_tokens is not set, so replies are cut: at most 330"]),
    ({}, {"max_length": 330},
     ["generation: greedy, at most 330 tokens, prompt and image included (from the checkpoint)",
      "warning: max_new_tokens is not set"]),
])  # fmt: skip
def test_what_will_really_be_used_is_printed(configured, brought, notes):
    printed = generation_notes(configured, brought)
    assert [line[: len(note)] for line, note in zip(printed, notes, strict=True)] == notes


@pytest.mark.parametrize(("used", "names"), [
    ({"max_new_tokens": 5, "max_length": 100}, ""),
    ({"max_new_tokens": 5, "max_time": 3}, "max_time"),
    ({"max_length": 100}, "max_length"),
    ({"max_new_tokens": 5, "min_length": 10}, "min_length"),
    ({"max_new_tokens": 5, "min_length": 10, "min_new_tokens": 1}, ""),
    ({"max_new_tokens": 5, "no_repeat_ngram_size": 2}, "no_repeat_ngram_size"),
    ({"max_new_tokens": 5, "encoder_repetition_penalty": 1.2, "repetition_penalty": 1.2},
     "encoder_repetition_penalty"),
    ({"max_new_tokens": 5, "max_length": None, "min_length": 0}, ""),
])  # fmt: skip
def test_what_counts_the_prompt_keeps_lengths_apart(used, names):
    apart = [note for note in generation_notes(used, {}, 4) if "one at a time" in note]
    assert [names in note for note in apart] == ([True] if names else [])
    assert not [note for note in generation_notes(used, {}, 1) if "one at a time" in note]


def problems_of(folder, **settings):
    return of(folder, **settings).problems()


@without_cuda
@pytest.mark.parametrize(("settings", "said"), [
    ({"device_map": "cuda"}, "asks for CUDA"), ({"device_map": {"": 0}}, "asks for CUDA"),
    ({"device_map": {"visual": "cuda:0", "lm": "cpu"}}, "asks for CUDA"),
    ({"attn_implementation": "flash_attention_2"}, "the model would run on cpu in float32"),
    ({"attn_implementation": "flash_attention_2", "dtype": "bfloat16"}, "run on cpu in bfloat16"),
    ({"device_map": "auto"}, None), ({"device_map": "cpu", "attn_implementation": "sdpa"}, None),
])  # fmt: skip
def test_places_that_cannot_be_meant_are_named(settings, said, llava):
    assert [said in each for each in problems_of(llava, **settings)] == ([True] if said else [])


@pytest.mark.parametrize(("device_map", "ranks_here", "is_refused"), [
    (None, "8", False), ("", "8", False), ("cuda", "8", False), ("cpu", "8", False),
    ("auto", "8", True), ("cuda:0", "8", True), (0, "8", True), ({"": "cuda:1"}, "8", True),
    ("auto", "1", False), ("cuda:0", "1", False),  # several machines with one rank each
])  # fmt: skip
def test_a_fixed_place_is_for_one_rank(device_map, ranks_here, is_refused, llava, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "16")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", ranks_here)
    found = [each for each in problems_of(llava, device_map=device_map) if "for CUDA" not in each]
    assert ["all 8 copies" in each for each in found] == [True] * is_refused


@without_cuda
@pytest.mark.parametrize(("given", "expected"), [
    ((None, None, None), ("cpu", "float32", "sdpa")),
    (("auto", "bfloat16", "eager"), ("cpu", "bfloat16", "eager")),
    (("cuda:1", None, None), ("cuda", "auto", "sdpa")),
    (({"a": 0, "b": "cpu"}, "float32", None), ("cuda", "float32", "sdpa")),
    (("xpu:0", "auto", None), ("xpu", "auto", "sdpa")),
])  # fmt: skip
def test_what_a_model_will_run_with_is_known_without_loading_it(given, expected):
    assert tuple(expected_placement(*given).values()) == expected


@pytest.fixture
def complete(tmp_path):
    """A folder with everything but weights that say something."""
    for name in ("config", "tokenizer", "preprocessor_config", "tokenizer_config"):
        (tmp_path / f"{name}.json").write_text("{}")
    (tmp_path / "chat_template.jinja").write_text("{{ messages }}")
    header = json.dumps({"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    whole = len(header).to_bytes(8, "little") + header + bytes(8)
    (tmp_path / "model.safetensors").write_bytes(whole)
    return tmp_path


WEIGHTS, INDEX, TEMPLATE = (
    "model.safetensors",
    "model.safetensors.index.json",
    "chat_template.jinja",
)
POINTER = "version https://git-lfs.github.com/spec/v1\noid x\n"
OF_TEXTS = {
    "no chat template in it",
    "its model takes no images",
}  # not with a function of one's own


@pytest.mark.parametrize(("changes", "said"), [
    ({}, None),
    ({"tokenizer.json": None}, "no tokenizer in it"),
    ({"preprocessor_config.json": None}, "its model takes no images"),
    ({TEMPLATE: None}, "no chat template in it"),
    ({"config.json": None}, "no config.json in it"), ({WEIGHTS: None}, "no weight files in it"),
    ({WEIGHTS: POINTER}, "git lfs pull"),
    ({WEIGHTS: -1}, "cut off after"), ({WEIGHTS: 20}, "cut off after 20 of"),
    ({WEIGHTS: 4}, None),  # transformers says it better
    ({INDEX: '{"weight_map": {"x": "model.safetensors", "y": "b.st"}}'}, "['b.st']"),
    ({INDEX: "{broken", "config.json": "{broken"}, "no config.json in it that can be read"),
    *(({TEMPLATE: None, name: '{"chat_template": "{{ messages }}"}'}, None) for name in (
        "tokenizer_config.json", "processor_config.json", "chat_template.json",
        "additional_chat_templates/default.jinja")),
    *(({"tokenizer.json": None, name: "{}"}, None) for name in (
        "tokenizer.model", "qwen.tiktoken", "vocab.json", "spiece.model")),
])  # fmt: skip
def test_what_is_missing_in_a_checkpoints_folder_is_named(changes, said, complete):
    for name, content in changes.items():
        (file := complete / name).parent.mkdir(exist_ok=True)
        if content is None:
            file.unlink()
        elif isinstance(content, int):  # the first bytes alone
            file.write_bytes(file.read_bytes()[:content])
        else:
            file.write_text(content)
    found = problems_of(complete)
    assert [said in problem for problem in found] == [True] * (said is not None)
    assert problems_of(complete, preprocess_function=len) == ([] if said in OF_TEXTS else found)
    assert "no such folder" in problems_of(complete / "no")[0]


def test_code_of_a_checkpoints_own_must_be_trusted_where_the_library_has_no_model(complete):
    auto_map = {"AutoConfig": "configuration_own.OwnConfig", "AutoModel": "modeling_own.Own"}
    edited(complete / "config.json", auto_map=auto_map, model_type="own")
    [problem] = problems_of(complete)
    assert "'own'" in problem and '"trust_remote_code": true' in problem
    assert problems_of(complete, trust_remote_code=True) == []
    edited(complete / "config.json", model_type="qwen2_vl")
    assert problems_of(complete) == []

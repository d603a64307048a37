"""Checkpoints beyond the Qwen-VL families, and what a checkpoint's own settings mean for a run."""

import json
import re
import shutil

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("qwen_vl_utils")

import torch
from PIL import Image

from models.wrappers.local.settings import generation_notes
from models.wrappers.local.wrapper import LocalModelWrapper
from tests.support import tiny_checkpoint
from tests.support.mock_server import MockServer
from tests.support.stage import L2, Stage
from utils.contracts import UserFunctionError
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


# Forms in which checkpoints of other families write their turns.
FOR_EVERY_PART = (
    "{% for message in messages %}{{ message['role'] | upper }}: "
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<|image_pad|>{% endif %}{% if part['type'] == 'text' %}"
    "{{ part['text'] | trim }}{% endif %}{% endfor %}\n{% endfor %}ASSISTANT:"
)
INDEXED = FOR_EVERY_PART.replace("{% for part", "{{ message['content'][0].type[0] }}{% for part")
WITHOUT_SYSTEM = FOR_EVERY_PART.replace(
    "in messages %}", "in messages if message['role'] != 'system' %}"
)
REFUSING = (
    "{{ raise_exception('System role not supported') if messages[0]['role'] == 'system' }}"
    + FOR_EVERY_PART
)
ONLY_TEXTS = "{% for message in messages %}{{ message['role'] if message['content'] is iterable }}{% endfor %}<|image_pad|>"


def with_template(llava, tmp_path, template):
    folder = copied(llava, tmp_path / "other")
    (folder / "chat_template.jinja").write_text(template)
    return LocalModelWrapper("m", model_path=str(folder), generate_cfg={"max_new_tokens": 2})


def prompt_of(wrapper, messages):
    ids = wrapper.encode(wrapper.request(messages, L2)).inputs["input_ids"][0]
    return wrapper._loaded.processor.tokenizer.decode(ids)


SYSTEM = {"role": "system", "type": "text", "value": "You are  a GUI agent.\n"}


@pytest.mark.parametrize("template", [FOR_EVERY_PART, INDEXED])
def test_a_template_that_reads_parts_only_gets_the_system_prompt_too(
    template, llava, questions, tmp_path
):
    wrapper = with_template(llava, tmp_path, template)

    shown = prompt_of(wrapper, [SYSTEM, *questions[0]])

    assert "You are  a GUI agent." in shown
    assert "Where?" in shown


@pytest.mark.parametrize(("template", "why"), [
    (WITHOUT_SYSTEM, 'leaves out the text of the system message; set kwargs.system_prompt to "model_default"'),
    (REFUSING, "System role not supported"),
])  # fmt: skip
def test_a_system_prompt_that_a_template_has_no_place_for_is_never_dropped_silently(
    template, why, llava, questions, tmp_path
):
    wrapper = with_template(llava, tmp_path, template)

    with pytest.raises(UserFunctionError, match=why):
        prompt_of(wrapper, [SYSTEM, *questions[0]])

    assert "Where?" in prompt_of(wrapper, questions[0])


def test_a_template_that_leaves_out_the_question_says_what_to_write(llava, questions, tmp_path):
    wrapper = with_template(llava, tmp_path, ONLY_TEXTS)

    with pytest.raises(UserFunctionError, match=r"of the user message; write a preprocess_functio"):
        prompt_of(wrapper, questions[0])


@pytest.mark.parametrize("template_begins", [True, False])
def test_a_prompt_begins_with_one_token_of_beginning(template_begins, llava, questions, tmp_path):
    from tokenizers import Tokenizer, processors

    folder = copied(llava, tmp_path / "bos")
    begin = "<|im_start|>"
    inner = Tokenizer.from_file(str(folder / "tokenizer.json"))
    inner.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A", special_tokens=[(begin, inner.token_to_id(begin))]
    )
    inner.save(str(folder / "tokenizer.json"))
    edited(folder / "tokenizer_config.json", bos_token=begin)
    template = ("{{ bos_token }}" if template_begins else "") + FOR_EVERY_PART
    (folder / "chat_template.jinja").write_text(template)
    wrapper = LocalModelWrapper("m", model_path=str(folder))

    shown = prompt_of(wrapper, questions[0])

    assert shown.startswith(begin + "USER: ")
    assert shown.count(begin) == 1


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_pictures_come_in_the_precision_of_the_model(dtype, llava, questions):
    wrapper = LocalModelWrapper("m", model_path=str(llava), dtype=dtype, device_map="cpu")

    inputs = wrapper.encode(wrapper.request(questions[0], L2)).inputs

    assert inputs["pixel_values"].dtype == getattr(torch, dtype)
    assert inputs["input_ids"].dtype == torch.int64


def test_a_checkpoint_without_a_chat_template_says_what_to_write(tmp_path):
    folder = tiny_checkpoint.build_llava(tmp_path / "bare")
    (folder / "chat_template.jinja").unlink()
    wrapper = LocalModelWrapper("bare", model_path=str(folder))

    with pytest.raises(StopRun) as raised:
        wrapper.warm_up()

    assert "has no chat template, so a preprocess_function of your own must write" in str(
        raised.value
    )


def copied(source, folder):
    shutil.copytree(source, folder)
    return folder


def edited(file, **changes):
    """Changes keys of a JSON file; None takes one out."""
    content = {**json.loads(file.read_text()), **changes}
    file.write_text(json.dumps({k: v for k, v in content.items() if v is not None}))


def stopped_by(folder, **settings):
    with pytest.raises(StopRun) as raised:
        LocalModelWrapper("m", model_path=str(folder), **settings).warm_up()
    return str(raised.value)


def test_a_checkpoint_with_missing_weights_is_not_asked(llava, tmp_path):
    from safetensors.torch import load_file, save_file

    file = copied(llava, tmp_path / "holes") / "model.safetensors"
    weights = load_file(file)
    left = {k: v for k, v in weights.items() if "vision" in k or ".layers.1." not in k}
    assert len(weights) - len(left) == 9
    save_file(left, file, metadata={"format": "pt"})

    told = stopped_by(tmp_path / "holes")

    assert re.search(r"9 weights of the checkpoint are missing \(\S*layers\.1\.\S+, ", told), told
    assert told.endswith("is it complete?")


def test_weights_that_are_tied_to_others_may_be_missing(llava, tmp_path):
    from safetensors.torch import load_file, save_file

    folder = copied(llava, tmp_path / "tied")
    config = json.loads((folder / "config.json").read_text())
    edited(folder / "config.json", tie_word_embeddings=True,
           text_config={**config["text_config"], "tie_word_embeddings": True})  # fmt: skip
    weights = load_file(folder / "model.safetensors")
    left = {name: value for name, value in weights.items() if "lm_head" not in name}
    assert len(left) == len(weights) - 1
    save_file(left, folder / "model.safetensors", metadata={"format": "pt"})

    LocalModelWrapper("m", model_path=str(folder)).warm_up()


def test_a_checkpoint_without_a_padding_token_answers(llava, questions, tmp_path):
    folder = copied(llava, tmp_path / "nopad")
    edited(folder / "tokenizer_config.json", pad_token=None)
    edited(folder / "generation_config.json", pad_token_id=None)
    wrapper = LocalModelWrapper("m", model_path=str(folder), generate_cfg={"max_new_tokens": 4})

    encoded = [wrapper.encode(wrapper.request(messages, L2)) for messages in questions]

    alone = [wrapper.generate_encoded([each])[0].text for each in encoded]
    assert [generation.text for generation in wrapper.generate_encoded(encoded)] == alone


def test_a_model_without_eyes_is_refused(llava, tmp_path):
    import transformers

    folder = tmp_path / "text"
    tokenizer = tiny_checkpoint._tokenizer()
    transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=len(tokenizer), hidden_size=64, intermediate_size=64, num_hidden_layers=1,
            num_attention_heads=2, num_key_value_heads=1,
        )
    ).save_pretrained(folder)  # fmt: skip
    tokenizer.chat_template = "{{ messages }}"
    tokenizer.save_pretrained(folder)

    told = stopped_by(folder)

    assert "takes no pictures" in told
    assert "has no image_processor" in told
    LocalModelWrapper("m", model_path=str(folder), preprocess_function=len).warm_up()


def test_an_argument_that_the_model_does_not_take_is_told_when_it_is_loaded(llava):
    told = stopped_by(llava, generate_cfg={"max_new_tokens": 4, "pixel_valus": 1, "foo": 2})

    assert 'pixel_valus: LlavaForConditionalGeneration.generate has no such argument; did you mean "pixel_values"?' in told  # fmt: skip
    assert "foo: LlavaForConditionalGeneration.generate has no such argument" in told
    known = {"max_new_tokens": 4, "logits_to_keep": 1, "vision_feature_layer": -1}
    LocalModelWrapper("m", model_path=str(llava), generate_cfg=known).warm_up()


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
    ({}, {}, ["generation: greedy, at most 20 new tokens (the library's own limit)",
              "warning: without max_new_tokens"]),
])  # fmt: skip
def test_what_will_really_be_used_is_said(configured, brought, notes):
    told = generation_notes(configured, brought)

    assert [said[: len(note)] for said, note in zip(told, notes, strict=True)] == notes


def test_a_run_and_its_check_show_the_checkpoints_own_settings(llava, tmp_path):
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


def test_settings_that_show_only_when_the_checkpoint_is_loaded_are_said_then(
    llava, tmp_path, capsys, monkeypatch
):
    folder = copied(llava, tmp_path / "late")
    edited(folder / "generation_config.json", do_sample=True, temperature=0.7)
    wrapper = LocalModelWrapper("m", model_path=str(folder), generate_cfg={"max_new_tokens": 4})
    wrapper.warm_up()
    assert "as it was loaded" not in capsys.readouterr().out

    monkeypatch.setattr("models.wrappers.local.checkpoint.read_generation_config", lambda path: {})
    wrapper = LocalModelWrapper("m", model_path=str(folder), generate_cfg={"max_new_tokens": 4})
    wrapper.warm_up()

    told = capsys.readouterr().out.splitlines()
    assert told[0] == "with the settings of the checkpoint as it was loaded:"
    assert told[1].startswith("generation: sampling, temperature 0.7 (from the checkpoint)")
    assert "do_sample true (which the checkpoint" in stopped_by(
        folder, generate_cfg={"temperature": 0}
    )


@pytest.mark.parametrize("legacy", [
    {"do_sample": True, "temperature": 0.7, "repetition_penalty": 1.3},
    {"text_config": {"top_p": 0.5, "do_sample": True}},
    {"max_length": 300, "num_beams": 2},
])  # fmt: skip
def test_what_a_config_json_holds_is_announced_as_transformers_takes_it(
    legacy, llava, tmp_path, capsys
):
    folder = copied(llava, tmp_path / "legacy")
    (folder / "generation_config.json").unlink()
    text = json.loads((folder / "config.json").read_text())["text_config"]
    nested = {"text_config": {**text, **legacy["text_config"]}} if "text_config" in legacy else {}
    edited(folder / "config.json", **{**legacy, **nested})
    wrapper = LocalModelWrapper("m", model_path=str(folder))

    notes = wrapper.notes_before()
    wrapper.warm_up()

    assert notes != LocalModelWrapper("m", model_path=str(llava)).notes_before()
    assert "as it was loaded" not in capsys.readouterr().out


def test_a_check_finds_what_would_fail_every_sample_all_at_once(llava, tmp_path):
    bare, blind = copied(llava, tmp_path / "bare"), copied(llava, tmp_path / "blind")
    (bare / "chat_template.jinja").unlink()
    (blind / "processor_config.json").unlink()
    entry = {"imp_type": "transformers", "model_path": str(llava)}
    models = {
        "typo": {**entry, "generate_cfg": {"temprature": 0.5, "num_beams": "2"}},
        "bare": {**entry, "model_path": str(bare)},
        "blind": {**entry, "model_path": str(blind)},
        "hasty": {**entry, "generate_cfg": {"max_time": 1}, "batch_size": "auto"},
        "foreign": {**entry, "generate_cfg": {"max_new_tokens": 2, "fancy_arg": 2}},
        "other": {**entry, "generate_function": "chat"},
        "right": {**entry, "generate_cfg": {"logits_to_keep": 1}},
    }
    with MockServer() as server:
        stage = Stage.make(tmp_path / "stage", server, [("os_web", (90, 60))])
        ran = stage.evaluate(models, "--check", data={L2: {"mode": "all"}})

    assert ran.code == 2, ran.output
    assert "Traceback" not in ran.output
    for told in (
        'generate_cfg.temprature: generate has no such argument; did you mean "temperature"?',
        "generate_cfg.num_beams: must be a whole number from 1, not '2'",
        "no chat template in it",
        "its model takes no pictures",
        "max_time 1 is the time of a whole batch",
        "generate_cfg.fancy_arg: LlavaForConditionalGeneration.generate has no such argument",
        "generate_function 'chat' is no method of LlavaForConditionalGeneration",
        "7 problems. Nothing was run.",
    ):
        assert told in ran.output


def test_a_run_of_a_checkpoint_with_missing_weights_asks_nothing_and_the_others_go_on(
    llava, tmp_path
):
    from safetensors.torch import load_file, save_file

    file = copied(llava, tmp_path / "holes") / "model.safetensors"
    weights = load_file(file)
    weights.popitem()
    save_file(weights, file, metadata={"format": "pt"})
    entry = {"imp_type": "transformers", "generate_cfg": {"max_new_tokens": 2}}
    models = {
        "holes": {**entry, "model_path": str(file.parent)},
        "whole": {**entry, "model_path": str(llava)},
    }
    with MockServer() as server:
        stage = Stage.make(tmp_path / "stage", server, [("os_web", (90, 60))])
        ran = stage.evaluate(models, data={L2: {"mode": "all"}}, env={"OMP_NUM_THREADS": "1"})

    assert ran.code == 1, ran.output
    assert "1 weights of the checkpoint are missing" in ran.output
    assert stage.answers(L2, "holes") == []
    assert len(stage.answers(L2, "whole")) == 2

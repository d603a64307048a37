"""Checkpoints beyond the Qwen-VL families: templates, tokenizers, code and weights of many kinds."""

import json
import re
import shutil
from contextlib import nullcontext

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.local.conftest import edited, encoded_all, of, without_weights
from utils.contracts import UserFunctionError
from utils.errors import StopRun


def texts(wrapper, batch):
    return [generation.text for generation in wrapper.model().answer(batch)]


@pytest.mark.parametrize("nothing", [{}, {"pad_token": None, "pad_token_id": None}])
def test_a_model_with_a_chat_template_needs_no_padding_token(nothing, llava, copy_of, questions):
    folder = copy_of(llava, tokenizer_config=nothing, generation_config=nothing)
    wrapper = of(folder, generate_cfg={"max_new_tokens": 6})
    encoded = encoded_all(wrapper, questions[8:14])
    alone = [texts(wrapper, [item])[0] for item in encoded]
    assert len(set(alone)) > 3
    assert texts(wrapper, encoded) == alone
    assert encoded[0].image_sizes[0].seen_wh is None  # its grid says nothing about the whole image


# Forms in which checkpoints of other families write their turns.
FOR_EVERY_PART = (
    "{% for message in messages %}{{ message['role'] | upper }}: "
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<|image_pad|>{% endif %}{% if part['type'] == 'text' %}"
    "{{ part['text'] | trim }}{% endif %}{% endfor %}\n{% endfor %}ASSISTANT:"
)
INDEXED = FOR_EVERY_PART.replace("{% for part", "{{ message['content'][0].type[0] }}{% for part")
WITHOUT_SYSTEM = FOR_EVERY_PART.replace("messages %}", "messages if message['role'] != 'system' %}")
REFUSAL = "{{ raise_exception('No system role') if messages[0]['role'] == 'system' }}"
ONLY_TEXTS = (
    "{% for message in messages %}{{ message['role'] if message['content'] is iterable }}"
    "{% endfor %}<|image_pad|>"
)
SYSTEM = {"role": "system", "type": "text", "value": "You are  a GUI agent.\n"}


def prompt_of(wrapper, messages):
    [encoded] = encoded_all(wrapper, [messages])
    return wrapper.model().checkpoint.tokenizer.decode(encoded.inputs["input_ids"][0])


@pytest.mark.parametrize(
    ("template", "why", "template_file"),
    [
        (FOR_EVERY_PART, None, "chat_template"),
        (INDEXED, None, "additional_chat_templates/default"),
        (
            WITHOUT_SYSTEM,
            'text of the system message; set kwargs.system_prompt to "model_default"',
            "chat_template",
        ),
        (REFUSAL + FOR_EVERY_PART, "No system role", "chat_template"),
        (ONLY_TEXTS, "of the user message; write a preprocess_functio", "chat_template"),
    ],
)
def test_a_system_prompt_is_shown_or_refused(
    template, why, template_file, llava, copy_of, questions
):
    folder = copy_of(llava)
    (folder / "chat_template.jinja").unlink()
    (file := folder / f"{template_file}.jinja").parent.mkdir(exist_ok=True)
    file.write_text(template)
    wrapper, messages_asked = of(folder), questions[0]
    if template != ONLY_TEXTS:
        assert "Where" in prompt_of(wrapper, messages_asked)
        messages_asked = [SYSTEM, *messages_asked]
    with pytest.raises(UserFunctionError, match=why) if why else nullcontext():
        prompt = prompt_of(wrapper, messages_asked)
        assert "You are  a GUI agent." in prompt and "Where" in prompt


def test_a_chat_template_that_only_the_tokenizer_has_will_do(llava, copy_of, questions):
    folder = copy_of(llava, tokenizer_config={"chat_template": FOR_EVERY_PART})
    (folder / "chat_template.jinja").unlink()
    assert of(folder).problems() == []
    assert prompt_of(of(folder), questions[0]).startswith("USER: ")


@pytest.mark.parametrize("template_begins", [True, False])
def test_a_prompt_begins_with_one_token_of_beginning(template_begins, llava, copy_of, questions):
    from tokenizers import Tokenizer, processors

    begin = "<|im_start|>"
    folder = copy_of(llava, tokenizer_config={"bos_token": begin})
    inner = Tokenizer.from_file(str(folder / "tokenizer.json"))
    special = [(begin, inner.token_to_id(begin))]
    inner.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A", special_tokens=special
    )
    inner.save(str(folder / "tokenizer.json"))
    template = ("{{ bos_token }}" if template_begins else "") + FOR_EVERY_PART
    (folder / "chat_template.jinja").write_text(template)
    prompt = prompt_of(of(folder), questions[0])
    assert prompt.startswith(begin + "USER: ") and prompt.count(begin) == 1


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_images_come_in_the_precision_of_the_model_and_wait_on_the_cpu(dtype, llava, questions):
    [encoded] = encoded_all(of(llava, dtype=dtype), questions[:1])
    assert encoded.inputs["pixel_values"].dtype == getattr(torch, dtype)
    assert encoded.inputs["input_ids"].dtype == torch.int64
    assert {value.device.type for value in encoded.inputs.values()} == {"cpu"}


def stopped_by(folder, **settings):
    with pytest.raises(StopRun) as raised:
        of(folder, **settings).warm_up()
    return str(raised.value)


def test_a_checkpoint_with_missing_weights_is_not_queried_unless_they_are_tied(llava, copy_of):
    folder = copy_of(llava)
    assert without_weights(folder, lambda n: "vision" not in n and ".layers.1." in n) == 9
    line = stopped_by(folder)
    assert re.search(r"9 weights of the checkpoint are missing \(\S*layers\.1\.\S+, ", line), line
    assert line.endswith("Is the checkpoint complete?")
    shutil.rmtree(folder)
    text = json.loads((llava / "config.json").read_text())["text_config"]
    tied = {"tie_word_embeddings": True}
    folder = copy_of(llava, config={**tied, "text_config": {**text, **tied}})
    assert without_weights(folder, lambda name: "lm_head" in name) == 1
    of(folder).warm_up()


def test_a_checkpoint_without_images_or_chat_template_needs_a_users_function(
    llava, copy_of, tmp_path
):
    import transformers

    (bare := copy_of(llava)).joinpath("chat_template.jinja").unlink()
    tokenizer = transformers.AutoTokenizer.from_pretrained(llava)
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(blind := tmp_path / "blind")
    tokenizer.chat_template = "{{ messages }}"
    tokenizer.save_pretrained(blind)
    edited(blind / "tokenizer_config.json", processor_class=None)
    assert "has no chat template" in stopped_by(bare)
    assert "takes no images: its processor" in stopped_by(blind)
    for folder in (bare, blind):
        of(folder, preprocess_function=len).warm_up()


OWN_MODEL = """
from transformers import LlavaConfig, LlavaForConditionalGeneration

class OwnConfig(LlavaConfig):
    model_type = "own"

class Own(LlavaForConditionalGeneration):
    config_class = OwnConfig
    def chat(self, question, **inputs):
        return f"{question} {sorted(inputs)}"
"""
OWN_CONFIG = {
    "auto_map": {"AutoConfig": "own.OwnConfig", "AutoModelForCausalLM": "own.Own"},
    "model_type": "own",
    "architectures": ["Own"],
}


@pytest.fixture
def with_own_code(llava, copy_of, monkeypatch, tmp_path):
    """Makes a checkpoint whose classes come with it."""
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))

    def make(source):
        folder = copy_of(llava, config=OWN_CONFIG)
        (folder / "own.py").write_text(source)
        weights = load_file(file := folder / "model.safetensors")
        renamed = {name.replace("language_model.lm", "lm"): item for name, item in weights.items()}
        save_file(renamed, file, metadata={"format": "pt"})
        return folder

    return make


def test_a_checkpoints_own_code_runs_where_the_config_trusts_it(with_own_code, questions):
    folder = with_own_code(OWN_MODEL)
    assert "trust_remote_code" in stopped_by(folder)
    trusted = of(
        folder,
        trust_remote_code=True,
        generate_function="chat",
        generate_cfg={"question": "Why?"},
        preprocess_function=lambda message, model, processor, **kwargs: {"picture": "here"},
    )
    assert trusted.generate(trusted.request(questions[0], "any")).reply == "Why? ['picture']"


def test_weights_that_quantised_layers_miss_are_a_warning(with_own_code, capsys):
    folder = with_own_code(OWN_MODEL + "\n    hf_quantizer = 'of some library'\n")
    assert without_weights(folder, lambda name: name == "lm_head.weight") == 1
    of(folder, trust_remote_code=True).warm_up()
    line = r"warning: .*1 weights of the checkpoint are missing .*quantised"
    assert re.search(line, capsys.readouterr().err)

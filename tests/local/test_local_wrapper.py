"""A checkpoint as a model: prompts, images, replies, fingerprints. On tiny real checkpoints."""

import gc
import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch
from PIL import Image

from models import local_aguvis, local_uitars
from models.base import default_preprocess_function
from models.wrappers.local.loading import load
from models.wrappers.local.wrapper import LocalModelWrapper
from tests.local.conftest import messages_of
from tests.support import tiny_checkpoint
from utils.contracts import CallError, UserFunctionError
from utils.coordinates import smart_resize
from utils.errors import StopRun, UserError

L1, L2 = "GUIContentUnderstanding", "GUIElementGrounding"
ANSWER = "click(x=0.25, y=0.75)"


@pytest.fixture
def make(folders):
    """Builds a wrapper of a tiny checkpoint."""

    def build(family="qwen2_5_vl", **settings):
        defaults = {"generate_cfg": {"max_new_tokens": 4}, "model_path": str(folders[family])}
        return LocalModelWrapper("tiny", **{**defaults, **settings})

    return build


@pytest.fixture
def ask(picture):
    """Asks a wrapper about the picture."""
    return lambda wrapper, **more: wrapper.generate(
        wrapper.request(messages_of(picture, **more), L2)
    )


@pytest.fixture
def encode(picture):
    """Makes the inputs of a question about the picture, or about another one."""
    return lambda wrapper, path=picture, dataset=L2, **more: wrapper.model().encode(
        wrapper.request(messages_of(path, **more), dataset)
    )


# ---- what the model reads ------------------------------------------------------------------------


@pytest.mark.parametrize("system", [None, "You are a GUI agent."])
@pytest.mark.parametrize("family", tiny_checkpoint.FAMILIES)
def test_the_prompt_is_what_the_chat_template_writes(family, system, make, encode):
    wrapper = make(family)
    content = [{"type": "image"}, {"type": "text", "text": "Where is it?"}]
    turns = [] if system is None else [{"role": "system", "content": system}]
    turns.append({"role": "user", "content": content})

    inputs = encode(wrapper, system=system).inputs

    processor = wrapper.model().checkpoint.processor
    expected = processor.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    read = processor.tokenizer.decode(inputs["input_ids"][0])
    before, _, after = read.partition("<|image_pad|>")
    assert before + "<|image_pad|>" + after.replace("<|image_pad|>", "") == expected


@pytest.mark.parametrize("limits", [
    {}, {"min_pixels": 78400, "max_pixels": 12845056}, {"max_pixels": 50176}, {"min_pixels": 400000},
])  # fmt: skip
@pytest.mark.parametrize("family", tiny_checkpoint.FAMILIES)
def test_a_picture_is_resized_once_within_the_limits_of_the_config(family, limits, make, encode):
    # The processors of these checkpoints have limits of their own: 3136 to 1003520 pixels.
    sizes = encode(make(family, kwargs=limits)).sizes
    factor = 32 if family == "qwen3_vl" else 28
    least, most = limits.get("min_pixels", 3136), limits.get("max_pixels", 1003520)

    assert sizes.seen_wh == smart_resize(200, 300, factor, least, most)[::-1]
    assert sizes.file_wh == sizes.sent_wh == (300, 200)


@pytest.mark.parametrize("family", tiny_checkpoint.FAMILIES)
def test_a_large_picture_is_not_resized_by_the_processor_again(family, make, encode, tmp_path):
    Image.new("RGB", (1920, 1080), "white").save(path := tmp_path / "large.png")

    seen = encode(make(family, kwargs={"max_pixels": 12845056}), path).sizes.seen_wh

    assert seen == ((1920, 1088) if family == "qwen3_vl" else (1932, 1092))


def test_limits_reach_the_processor_that_a_users_function_calls(make, encode):
    def naive(message, model, processor, **kwargs):
        with Image.open(message[0]["value"]) as image:
            text = "<|vision_start|><|image_pad|><|vision_end|>?"
            return processor(text=[text], images=[image], return_tensors="pt")

    wrapper = make(preprocess_function=naive, kwargs={"min_pixels": 3136, "max_pixels": 20000})

    assert encode(wrapper).sizes.seen_wh == smart_resize(200, 300, 28, 3136, 20000)[::-1]


def test_a_picture_is_shrunk_before_anything_sees_it(make, encode):
    paths = []

    def spy(message, model, processor, **kwargs):
        with Image.open(message[0]["value"]) as image:
            paths.append(image.size)
        return default_preprocess_function(message, model, processor, **kwargs)

    wrapper = make(preprocess_function=spy, kwargs={"img_size": 150})
    sizes = encode(wrapper).sizes

    assert paths == [(150, 100)]
    assert (sizes.file_wh, sizes.sent_wh) == ((300, 200), (150, 100))
    assert sizes.seen_wh == smart_resize(100, 150, 28, 3136, 1003520)[::-1]
    with pytest.raises(UserError, match="img_size 150 needs an image file"):
        wrapper.request(messages_of("https://example.org/screen.png"), L2)
    wrapper.close()


@pytest.mark.parametrize(("dataset", "ending"), [
    (L2, "<|im_start|>assistant<|recipient|>os\n"),
    (L1, "<|im_start|>assistant<|recipient|>all\n"),
    ("GUITaskAutomation", "<|im_start|>assistant<|recipient|>"),
])  # fmt: skip
def test_the_aguvis_example_reads_its_own_ending_within_its_own_limits(
    dataset, ending, make, encode
):
    wrapper = make("qwen2_vl", preprocess_function=local_aguvis.preprocess_aguvis)
    encoded = encode(wrapper, dataset=dataset)

    text = wrapper.model().checkpoint.tokenizer.decode(encoded.inputs["input_ids"][0])
    assert text.startswith("<|im_start|>user\n<|vision_start|>")
    assert text.endswith("Where is it?<|im_end|>\n" + ending)
    assert encoded.sizes.seen_wh == smart_resize(200, 300, 28, 200704, 937664)[::-1]


def test_the_uitars_example_resizes_within_the_limits_that_its_points_assume(make, encode):
    wrapper = make(preprocess_function=local_uitars.preprocess_uitars)

    assert encode(wrapper).sizes.seen_wh == smart_resize(200, 300)[::-1]


# ---- what comes back -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def taught(folders, tmp_path_factory):
    """A Qwen2.5-VL that says ANSWER, whatever it is asked."""
    folder = tmp_path_factory.mktemp("taught")
    return tiny_checkpoint.teach(folders["qwen2_5_vl"], folder, ANSWER, steps=300)


def test_the_reply_is_the_completion_without_prompt_and_special_tokens(taught, make, ask):
    def said(**generate_cfg):
        wrapper = make(model_path=str(taught), generate_cfg=generate_cfg)
        generation = ask(wrapper, system="Be brief.")
        assert wrapper.postprocess(generation.reply, L2) == generation.text == generation.reply
        return generation

    whole = said(max_new_tokens=40)
    assert (whole.text, whole.finish_reason) == (ANSWER, "stop")
    assert whole.usage["completion_tokens"] == len(ANSWER) + 1  # with the end token
    assert whole.usage["prompt_tokens"] > 100
    assert whole.runs_with == {"device": "cpu", "dtype": "float32", "attention": "sdpa"}
    cut = said(max_new_tokens=5)
    assert (cut.text, cut.finish_reason) == (ANSWER[:5], "length")
    stopped = said(max_new_tokens=40, stop_strings=["x="])
    assert (stopped.text, stopped.finish_reason) == ("click(x=", "stop")


@pytest.mark.parametrize(
    "function", [local_uitars.postprocess_uitars, local_aguvis.postprocess_aguvis]
)
def test_the_examples_postprocess_gives_the_reply_alone(function, taught, make, ask):
    settings = {"generate_cfg": {"max_new_tokens": 40}, "postprocess_function": function}

    assert ask(make(model_path=str(taught), **settings)).reply == ANSWER


def test_outputs_may_be_an_object_with_sequences(make, ask):
    rich = make(generate_cfg={"max_new_tokens": 4, "return_dict_in_generate": True})

    assert ask(rich).text == ask(make()).text


def test_a_generate_method_of_the_models_own_may_return_text_or_the_completion_alone(make, ask):
    plain = ask(make()).reply

    def with_methods(message, model, processor, **kwargs):
        def completion_only(**inputs):
            return model.generate(**inputs)[:, inputs["input_ids"].shape[1] :]

        model.chat = lambda **inputs: ("said", "history")
        model.short, model.odd = completion_only, lambda **inputs: {"answer": "A"}
        return default_preprocess_function(message, model, processor, **kwargs)

    def own(name, **settings):
        # "forward" is a method of every model, so the check of the name passes; then ours comes.
        wrapper = make(generate_function="forward", preprocess_function=with_methods, **settings)
        model = wrapper.model().checkpoint.model
        model.forward = lambda **inputs: getattr(model, name)(**inputs)
        return wrapper

    with pytest.raises(CallError, match=r"forward returned dict"):
        ask(own("odd"))
    assert ask(own("chat")).reply == "said"
    read = own("odd", postprocess_function=lambda out, *_, **kwargs: out["answer"])
    assert ask(read).reply == "A"
    assert plain


def test_functions_as_the_guide_shows_them_say_what_the_defaults_do(make, ask, monkeypatch):
    monkeypatch.setenv("LMUData", "where it is")  # it looks it up when it is imported
    from tests.support import documented_uitars

    limits = {"min_pixels": 3136, "max_pixels": 1003520}
    documented = make(
        preprocess_function=documented_uitars.preprocess_uitars,
        postprocess_function=documented_uitars.postprocess_uitars,
        kwargs=limits,
    )

    generation, plain = ask(documented, system="Be brief."), ask(make(kwargs=limits), system="Be brief.")  # fmt: skip

    assert (generation.reply, generation.text) == (plain.reply, plain.text)
    assert generation.sizes == plain.sizes


@pytest.mark.parametrize(("returned", "problem"), [
    (lambda kwargs: kwargs["no_such_key"], "KeyError: 'no_such_key'"),
    (lambda kwargs: ["a"], "it returned list; expected the reply as text"),
])  # fmt: skip
def test_a_postprocess_function_that_fails_keeps_the_raw_reply(returned, problem, make, ask):
    def broken(outputs, model, processor, **kwargs):
        return returned(kwargs)

    generation = ask(make(postprocess_function=broken))

    assert generation.reply is None and problem in generation.postprocess_error
    assert generation.text == ask(make()).text


def test_a_model_that_raises_is_a_failed_call_with_its_traceback(make, ask):
    with pytest.raises(CallError, match=r"no_such_argument") as caught:
        ask(make(generate_cfg={"max_new_tokens": 4, "no_such_argument": 1}))

    assert caught.value.kind == "model" and "Traceback" in caught.value.trace


# ---- careless user functions ---------------------------------------------------------------------


def test_what_a_preprocess_function_does_to_its_arguments_reaches_no_other_sample(make, picture):
    def careless(message, model, processor, **kwargs):
        inputs = default_preprocess_function(message, model, processor, **kwargs)
        assert (kwargs["list"], kwargs["dataset_name"]) == ([], L2)
        message.clear()
        kwargs["list"].append("mine")
        return inputs

    # "stage" and "function" are names of our own arguments, too.
    settings = {"list": [], "stage": 1, "function": 2}
    wrapper = make(preprocess_function=careless, kwargs=settings)
    prepared = wrapper.request(messages := messages_of(picture), L2)

    first, second = wrapper.model().encode(prepared), wrapper.model().encode(prepared)

    assert first.inputs["input_ids"].equal(second.inputs["input_ids"])
    assert len(messages) == len(prepared.payload) == 2
    assert wrapper.kwargs == {"list": [], "stage": 1, "function": 2}


def test_a_user_function_that_exits_fails_its_sample_only(make, ask):
    def leave(message, model, processor, **kwargs):
        sys.exit(3)

    with pytest.raises(UserFunctionError, match=r"SystemExit: 3") as caught:
        ask(make(preprocess_function=leave))
    assert caught.value.stage == "preprocess"


class Odd:
    """Raises wherever one looks."""

    @property
    def nbytes(self):
        raise ValueError("odd")


@pytest.mark.parametrize(("returned", "problem"), [
    (None, "TypeError: it returned NoneType; expected a dict"),
    ("text", "TypeError: it returned str; expected a dict"),
    ({"input_ids": [[1, 2]]}, r"input_ids is a list, no tensor; expected input_ids of shape"),
    ({"input_ids": (2, 3)}, r"expected input_ids of shape \(1, n\) with n > 0, not \(2, 3\)"),
    ({"input_ids": (1, 0)}, r"not \(1, 0\)"),
    ({"input_ids": (3,)}, r"not \(3,\)"),
    ({"input_ids": (1, 3), "image_grid_thw": [5]}, "raised"),
    ({"input_ids": (1, 3), "image_grid_thw": 5}, "TypeError"),
    ({"input_ids": (1, 3), "pixel_values": Odd()}, "ValueError: odd"),
])  # fmt: skip
def test_inputs_that_no_model_takes_are_named(returned, problem, make, encode):
    def preprocess(message, model, processor, **kwargs):
        if not isinstance(returned, dict):
            return returned
        return {key: torch.zeros(value, dtype=torch.long) if isinstance(value, tuple) else value
                for key, value in returned.items()}  # fmt: skip

    with pytest.raises(UserFunctionError, match=problem) as caught:
        encode(make(preprocess_function=preprocess))
    assert caught.value.stage == "preprocess"


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has CUDA")
def test_cuda_in_a_users_function_gets_a_hint(make, encode):
    def documented(message, model, processor, **kwargs):
        return default_preprocess_function(message, model, processor, **kwargs).to("cuda")

    with pytest.raises(UserFunctionError, match=r"model\.device"):
        encode(make(preprocess_function=documented))


# ---- fingerprints --------------------------------------------------------------------------------


def fingerprint(wrapper, path, dataset=L2):
    return wrapper.request(messages_of(path), dataset).fingerprint


def test_a_moved_data_root_costs_nothing_and_another_picture_is_noticed(make, picture, tmp_path):
    before = make().request(messages_of(picture), L2)
    (tmp_path / "elsewhere").mkdir()
    moved = tmp_path / "elsewhere" / "renamed.png"
    moved.write_bytes(picture.read_bytes())
    assert fingerprint(make(), moved) == before.fingerprint

    Image.new("RGB", (300, 200), "red").save(moved)
    after = make().request(messages_of(moved), L2)
    assert {part for part in before.parts if before.parts[part] != after.parts[part]} == {"picture"}


@pytest.mark.parametrize("target", [
    "model.safetensors", "tokenizer.json", "config.json", "chat_template.jinja", "modeling_own.py",
    "additional_chat_templates/default.jinja",
])  # fmt: skip
def test_a_checkpoint_overwritten_in_place_is_noticed(target, folders, copy_of, make, picture):
    folder = copy_of(folders["qwen2_vl"])
    (folder / "additional_chat_templates").mkdir()
    for name in ("modeling_own.py", "additional_chat_templates/default.jinja"):
        (folder / name).write_text("LIMIT = 1")
    before = fingerprint(make(model_path=str(folder)), picture)
    assert fingerprint(make(model_path=str(folder)), picture) == before

    content = bytearray((folder / target).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / target).write_bytes(content)

    assert fingerprint(make(model_path=str(folder)), picture) != before


def test_large_weight_files_are_sampled_from_end_to_end(tmp_path, make, picture):
    size, block = 3_000_000, 64 * 1024
    (tmp_path / "config.json").write_text("{}")
    weights = tmp_path / "model.bin"

    def with_content(size, *changed):
        content = bytearray(size)
        for position in changed:
            content[position] = 1
        weights.write_bytes(content)
        return fingerprint(make(model_path=str(tmp_path)), picture)

    before = with_content(size)
    for position in (0, size - 1, (size - block) * 7 // 15):
        assert with_content(size, position) != before
    assert with_content(size + 1) != before


def test_the_folder_of_a_checkpoint_does_not_count_and_an_identity_replaces_its_files(
    folders, make, picture
):
    def of(family, **settings):
        return fingerprint(make(model_path=str(folders[family]), **settings), picture)

    assert of("qwen2_vl") != of("qwen3_vl")
    assert of("qwen2_vl", model_identity="v1") == of("qwen3_vl", model_identity="v1")
    assert of("qwen2_vl", model_identity="v1") != of("qwen2_vl", model_identity="v2")


@pytest.mark.parametrize(("changed", "counts"), [
    ({"generate_cfg": {"max_new_tokens": 5}}, True),
    ({"dtype": "bfloat16"}, True),
    ({"attn_implementation": "eager"}, True),
    ({"generate_function": "other"}, True),
    ({"trust_remote_code": True}, True),
    ({"device_map": "cuda"}, True),
    ({"device_map": "auto", "dtype": "float32", "attn_implementation": "sdpa"}, False),  # here: yes
    ({"kwargs": {"max_pixels": 50000}}, True),
    ({"kwargs": {"img_size": 100}}, True),
    ({"kwargs": {"img_size": -1}}, False),
    ({"kwargs": {"timeout_s": 3}}, False),
    ({"kwargs": {"system_prompt": "model_default"}}, False),  # it is in the messages
    ({"kwargs": {"img_detail": "low"}}, False),  # no function here reads it
    ({"device_map": "cpu"}, False),
    ({"batch_size": 8}, False),
])  # fmt: skip
@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has CUDA")
def test_what_can_change_an_answer_counts_and_nothing_else(changed, counts, make, picture):
    whole, real = ({"do_sample": True, "temperature": number} for number in (1, 1.0))
    assert fingerprint(make(generate_cfg=whole), picture) == fingerprint(make(generate_cfg=real), picture)  # fmt: skip
    assert (fingerprint(make(), picture) != fingerprint(make(**changed), picture)) is counts


CALLS = []


def counting_preprocess(message, model, processor, **kwargs):
    """A user's, with a global that changes from call to call."""
    CALLS.append(1)
    return default_preprocess_function(message, model, processor, **kwargs)


def test_a_function_that_counts_its_calls_asks_for_the_same_answers_all_along(make, picture):
    CALLS.clear()
    wrapper = make(preprocess_function=counting_preprocess)
    untouched = fingerprint(make(preprocess_function=counting_preprocess), picture)

    wrapper.generate(wrapper.request(messages_of(picture), L1))

    assert CALLS and fingerprint(wrapper, picture) == untouched


def reads_system_prompt(message, model, processor, **kwargs):
    return default_preprocess_function(message, model, processor, text=kwargs["system_prompt"])


def reads_nothing(outputs, model, processor, **kwargs):
    return "reply"


@pytest.mark.parametrize(("functions", "counts"), [
    ({"preprocess_function": reads_system_prompt}, True),
    ({"postprocess_function": reads_nothing}, False),
])  # fmt: skip
def test_functions_count_and_the_system_prompt_where_one_of_them_reads_it(
    functions, counts, make, picture
):
    plain, one, other = (
        fingerprint(make(kwargs={"system_prompt": text}, **more), picture)
        for text, more in (("a", {}), ("a", functions), ("b", functions))
    )
    assert one != plain and (one != other) is counts


def test_a_request_loads_nothing(folders, picture):
    code = f"""
import sys
from models.wrappers.local.wrapper import LocalModelWrapper
wrapper = LocalModelWrapper("m", model_path={str(folders["qwen2_vl"])!r})
assert wrapper.problems() == [], wrapper.problems()
wrapper.request([{{"role": "user", "type": "image", "value": {str(picture)!r}}}], "{L2}")
wrapper.close()
print(sorted({{"torch", "transformers", "qwen_vl_utils", "numpy"}} & set(sys.modules)))
"""
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=root
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_a_hub_name_is_allowed_and_identified_by_its_commit(tmp_path, monkeypatch, make, picture):
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    hub = {"model_path": "some-org/some-model"}
    assert make(**hub).problems() == []
    assert "is not in the cache" in make(**hub).notes_before()[-1]
    with pytest.raises(UserError, match=r"no such folder.*hub"):
        make(**hub).request(messages_of(picture), L2)

    prints, cached = [], tmp_path / "models--some-org--some-model"
    (cached / "refs").mkdir(parents=True)
    for commit in ("a" * 40, "b" * 40):
        (cached / "refs" / "main").write_text(commit)
        (cached / "snapshots" / commit).mkdir(parents=True)
        (cached / "snapshots" / commit / "config.json").write_text("{}")
        settings = json.dumps({"do_sample": True, "temperature": 0.7})
        (cached / "snapshots" / commit / "generation_config.json").write_text(settings)
        prints.append(fingerprint(make(**hub), picture))
    assert prints[0] != prints[1]
    assert "sampling, temperature 0.7 (from the checkpoint)" in make(**hub).notes_before()[0]


# ---- loading -------------------------------------------------------------------------------------


def test_a_missing_picture_is_named(make, tmp_path):
    with pytest.raises(UserError, match=r"gone\.png"):
        make().request(messages_of(tmp_path / "gone.png"), L2)


def test_what_does_not_go_with_the_config_is_loaded_once_and_not_kept(make, ask):
    def in_memory():
        gc.collect()
        return sum(type(each).__name__.startswith("Qwen2_5_VLFor") for each in gc.get_objects())

    before, wrapper = in_memory(), make(generate_function="genrate")
    for _ in range(2):  # remembered, not loaded again
        with pytest.raises(StopRun, match=r"genrate.*Qwen2_5_VL"):
            ask(wrapper)

    assert in_memory() <= before


def test_a_broken_checkpoint_is_a_clear_error(folders, copy_of, make, ask):
    folder = copy_of(folders["qwen2_vl"])
    (folder / "model.safetensors").write_bytes(b"\0" * 5000)

    with pytest.raises(UserError, match=r"cannot be loaded"):
        ask(make(model_path=str(folder)))


def test_a_checkpoint_is_loaded_once_in_float32_with_left_padding_on_the_cpu(make, ask, capsys):
    wrapper = make("qwen3_vl", device_map="cpu")
    assert wrapper.runs_with() == {}
    threads = [threading.Thread(target=wrapper.warm_up) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert capsys.readouterr().out == "loaded: cpu, float32, sdpa\n"
    assert wrapper.runs_with() == {"device": "cpu", "dtype": "float32", "attention": "sdpa"}
    assert wrapper.model().checkpoint.tokenizer.padding_side == "left"


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has CUDA")
def test_flash_attention_that_cannot_be_used_is_an_error_and_no_other_kind_is_taken(make, folders):
    settings = {"dtype": "bfloat16", "attn_implementation": "flash_attention_2"}

    [problem] = make(**settings).problems()
    assert "flash_attention_2' needs a CUDA device and half precision" in problem
    with pytest.raises(UserError, match=r"(?i)flash"):
        load(str(folders["qwen2_vl"]), **settings)

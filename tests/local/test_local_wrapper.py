"""A checkpoint as a model: prompts, pictures, replies, fingerprints. On tiny real checkpoints."""

import importlib
import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("qwen_vl_utils")

from PIL import Image

from models import local_aguvis, local_uitars
from models.wrappers.local import loading as local_loading
from models.wrappers.local.wrapper import LocalModelWrapper, default_preprocess_function
from tests.support import tiny_checkpoint
from utils.contracts import CallError, UserFunctionError
from utils.coordinates import smart_resize
from utils.errors import StopRun, UserError

L1, L2 = "GUIContentUnderstanding", "GUIElementGrounding"
ANSWER = "click(x=0.25, y=0.75)"


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """A random checkpoint of each family."""
    import torch

    torch.set_num_threads(1)  # with more, tiny calls take up to twenty times as long
    root = tmp_path_factory.mktemp("checkpoints")
    return {
        family: tiny_checkpoint.build(family, root / family) for family in tiny_checkpoint.FAMILIES
    }


@pytest.fixture(scope="session")
def loaded(folders):
    """Each family in memory, loaded once; wrappers of the tests share it."""
    return {
        family: local_loading.load(
            str(folder), dtype=None, attn_implementation=None, device_map=None, limits={}
        )
        for family, folder in folders.items()
    }


@pytest.fixture
def make(folders, loaded):
    """Builds a wrapper; `share` saves the loading, where a test does not look at it."""

    def build(family="qwen2_5_vl", *, share=True, **settings):
        settings = {
            "generate_cfg": {"max_new_tokens": 4},
            "model_path": str(folders[family]),
            **settings,
        }
        wrapper = LocalModelWrapper("tiny", **settings)
        if share:
            wrapper._loaded = loaded[family]
        return wrapper

    return build


@pytest.fixture
def picture(tmp_path):
    path = tmp_path / "screen.png"
    Image.effect_noise((300, 200), 80).convert("RGB").save(path)
    return path


def messages_of(path, text="Where is it?", system=None):
    messages = [
        {"role": "user", "type": "image", "value": str(path)},
        {"role": "user", "type": "text", "value": text},
    ]
    if system is not None:
        messages.insert(0, {"role": "system", "type": "text", "value": system})
    return messages


# ---- what the model reads ------------------------------------------------------------------------


@pytest.mark.parametrize("system", [None, "You are a GUI agent."])
@pytest.mark.parametrize("family", tiny_checkpoint.FAMILIES)
def test_the_prompt_is_what_the_chat_template_writes(family, system, make, picture, loaded):
    wrapper = make(family)
    inputs = wrapper.encode(wrapper.request(messages_of(picture, system=system), L2)).inputs
    processor = loaded[family].processor
    turns = [
        {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Where is it?"}]}
    ]
    if system is not None:
        turns.insert(0, {"role": "system", "content": system})
    expected = processor.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    read = processor.tokenizer.decode(inputs["input_ids"][0])
    before, _, after = read.partition("<|image_pad|>")
    assert before + "<|image_pad|>" + after.replace("<|image_pad|>", "") == expected


@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"min_pixels": 78400, "max_pixels": 12845056},
        {"max_pixels": 50176},
        {"min_pixels": 400000},
    ],
)
@pytest.mark.parametrize("family", tiny_checkpoint.FAMILIES)
def test_a_picture_is_resized_once_within_the_limits_of_the_config(family, limits, make, picture):
    # The processors of these checkpoints have limits of their own: 3136 to 1003520 pixels.
    wrapper = make(family, kwargs=limits)
    encoded = wrapper.encode(wrapper.request(messages_of(picture), L2))
    factor = 32 if family == "qwen3_vl" else 28
    least = limits.get("min_pixels", 3136)
    most = limits.get("max_pixels", 1003520)
    height, width = smart_resize(200, 300, factor, least, most)
    assert encoded.sizes.seen_wh == (width, height)
    assert encoded.sizes.file_wh == encoded.sizes.sent_wh == (300, 200)


@pytest.mark.parametrize("family", tiny_checkpoint.FAMILIES)
def test_a_large_picture_is_not_resized_by_the_processor_again(family, make, tmp_path):
    Image.new("RGB", (1920, 1080), "white").save(path := tmp_path / "large.png")
    wrapper = make(family, kwargs={"max_pixels": 12845056})
    seen = wrapper.encode(wrapper.request(messages_of(path), L2)).sizes.seen_wh
    assert seen == ((1920, 1088) if family == "qwen3_vl" else (1932, 1092))


def test_limits_reach_the_processor_that_a_users_function_calls(make, picture):
    def naive(message, model, processor, **kwargs):
        with Image.open(message[0]["value"]) as image:
            text = "<|vision_start|><|image_pad|><|vision_end|>?"
            return processor(text=[text], images=[image], return_tensors="pt")

    wrapper = make(
        share=False, preprocess_function=naive, kwargs={"min_pixels": 3136, "max_pixels": 20000}
    )
    seen = wrapper.encode(wrapper.request(messages_of(picture), L2)).sizes.seen_wh
    assert seen == smart_resize(200, 300, 28, 3136, 20000)[::-1]


def test_a_picture_is_shrunk_before_anything_sees_it(make, picture):
    paths = []

    def spy(message, model, processor, **kwargs):
        with Image.open(message[0]["value"]) as image:
            paths.append(image.size)
        return default_preprocess_function(message, model, processor, **kwargs)

    wrapper = make(preprocess_function=spy, kwargs={"img_size": 150})
    prepared = wrapper.request(messages_of(picture), L2)
    assert (prepared.sizes.file_wh, prepared.sizes.sent_wh) == ((300, 200), (150, 100))
    encoded = wrapper.encode(prepared)
    assert paths == [(150, 100)]
    assert encoded.sizes.seen_wh == smart_resize(100, 150, 28, 3136, 1003520)[::-1]
    wrapper.close()


@pytest.mark.parametrize(
    ("dataset", "ending"),
    [
        (L2, "<|im_start|>assistant<|recipient|>os\n"),
        (L1, "<|im_start|>assistant<|recipient|>all\n"),
        ("GUITaskAutomation", "<|im_start|>assistant<|recipient|>"),
    ],
)
def test_the_aguvis_example_reads_its_own_ending_within_its_own_limits(
    dataset, ending, make, picture, loaded
):
    wrapper = make("qwen2_vl", preprocess_function=local_aguvis.preprocess_aguvis)
    encoded = wrapper.encode(wrapper.request(messages_of(picture), dataset))
    text = loaded["qwen2_vl"].processor.tokenizer.decode(encoded.inputs["input_ids"][0])
    assert text.startswith("<|im_start|>user\n<|vision_start|>")
    assert text.endswith("Where is it?<|im_end|>\n" + ending)
    assert encoded.sizes.seen_wh == smart_resize(200, 300, 28, 200704, 937664)[::-1]


def test_the_uitars_example_resizes_within_the_limits_that_its_points_assume(make, picture):
    wrapper = make(preprocess_function=local_uitars.preprocess_uitars)
    encoded = wrapper.encode(wrapper.request(messages_of(picture), L2))
    assert encoded.sizes.seen_wh == smart_resize(200, 300)[::-1]


# ---- what comes back -----------------------------------------------------------------------------


@pytest.fixture(scope="session")
def taught(folders, tmp_path_factory):
    """A Qwen2.5-VL that says ANSWER, whatever it is asked."""
    return tiny_checkpoint.teach(
        folders["qwen2_5_vl"], tmp_path_factory.mktemp("taught"), ANSWER, steps=300
    )


def test_the_reply_is_the_completion_without_prompt_and_special_tokens(taught, picture):
    wrapper = LocalModelWrapper("tiny", model_path=str(taught), generate_cfg={"max_new_tokens": 40})
    generation = wrapper.generate(wrapper.request(messages_of(picture, system="Be brief."), L2))
    assert generation.text == generation.reply == ANSWER
    assert generation.finish_reason == "stop"
    assert generation.usage["completion_tokens"] == len(ANSWER) + 1  # with the end token
    assert generation.usage["prompt_tokens"] > 100
    assert wrapper.postprocess(generation.reply, L2) == ANSWER

    short = LocalModelWrapper("tiny", model_path=str(taught), generate_cfg={"max_new_tokens": 5})
    cut = short.generate(short.request(messages_of(picture), L2))
    assert (cut.reply, cut.finish_reason) == (ANSWER[:5], "length")


def test_the_examples_postprocess_gives_the_reply_alone(taught, picture):
    for function in (local_uitars.postprocess_uitars, local_aguvis.postprocess_aguvis):
        wrapper = LocalModelWrapper(
            "tiny",
            model_path=str(taught),
            generate_cfg={"max_new_tokens": 40},
            postprocess_function=function,
        )
        assert wrapper.generate(wrapper.request(messages_of(picture), L2)).reply == ANSWER


def test_outputs_may_be_an_object_with_sequences(make, picture):
    plain = make()
    prepared = plain.request(messages_of(picture), L2)
    rich = make(generate_cfg={"max_new_tokens": 4, "return_dict_in_generate": True})
    assert rich.generate(prepared).text == plain.generate(prepared).text


def test_a_generate_method_of_the_models_own_may_return_text_or_the_completion_alone(
    make, picture, loaded, monkeypatch
):
    model = loaded["qwen2_5_vl"].model
    prepared = make().request(messages_of(picture), L2)
    plain = make().generate(prepared)

    def completion_only(**inputs):
        return model.generate(**inputs)[:, inputs["input_ids"].shape[1] :]

    monkeypatch.setattr(model, "chat", lambda **inputs: ("said", "history"), raising=False)
    monkeypatch.setattr(model, "short", completion_only, raising=False)
    monkeypatch.setattr(model, "odd", lambda **inputs: {"answer": "A"}, raising=False)
    assert make(generate_function="chat").generate(prepared).reply == "said"
    assert make(generate_function="short").generate(prepared).reply == plain.reply
    with pytest.raises(CallError, match=r"odd returned dict"):
        make(generate_function="odd").generate(prepared)
    read = make(
        generate_function="odd", postprocess_function=lambda out, *_, **kwargs: out["answer"]
    )
    assert read.generate(prepared).reply == "A"


def test_functions_as_the_documentation_shows_them_work(make, picture):
    def prepare_content(message):
        return [
            {"type": "image", "image": "file://" + part["value"]}
            if part["type"] == "image"
            else {"type": "text", "text": part["value"]}
            for part in message
        ]

    def preprocess(message, model, processor, **kwargs):
        from qwen_vl_utils import process_vision_info

        messages = []
        if "system" == message[0]["role"]:  # noqa: SIM300 - as it is documented
            messages.append({"role": "system", "content": message[0]["value"]})
            message = message[1:]
        messages.append({"role": "user", "content": prepare_content(message)})
        text = processor.apply_chat_template([messages], tokenize=False, add_generation_prompt=True)
        images, videos = process_vision_info([messages])
        inputs = processor(
            text=text, images=images, videos=videos, padding=True, return_tensors="pt"
        )
        return inputs.to(model.device)

    def postprocess(outputs, model, processor, **kwargs):
        import torch

        if isinstance(outputs, tuple):
            outputs = outputs[0]
        if isinstance(outputs, torch.Tensor):
            outputs = outputs.cpu().numpy()
        out = processor.batch_decode(
            outputs, skip_special_tokens=True, clean_up_tokenization_spaces=True
        )
        return out[0].split("assistant\n")[-1]

    messages = messages_of(picture, system="Be brief.")
    documented = make(preprocess_function=preprocess, postprocess_function=postprocess)
    generation = documented.generate(documented.request(messages, L2))
    plain = make().generate(make().request(messages, L2))
    assert (generation.reply, generation.text) == (plain.reply, plain.text)
    assert generation.sizes == plain.sizes


CALLS = []


def counting_preprocess(message, model, processor, **kwargs):
    """A user's, with a global that changes from call to call."""
    CALLS.append(1)
    return default_preprocess_function(message, model, processor, **kwargs)


def test_a_function_that_counts_its_calls_asks_for_the_same_answers_all_along(make, picture):
    CALLS.clear()
    wrapper = make(preprocess_function=counting_preprocess)
    untouched = make(preprocess_function=counting_preprocess).request(messages_of(picture), L2)

    wrapper.generate(wrapper.request(messages_of(picture), L1))

    assert CALLS
    assert wrapper.request(messages_of(picture), L2).fingerprint == untouched.fingerprint


@pytest.mark.parametrize(("ranks", "problems"), [("1", 0), ("2", 1)])
def test_a_model_that_spreads_over_all_gpus_goes_with_one_rank_only(
    ranks, problems, make, monkeypatch
):
    monkeypatch.setenv("WORLD_SIZE", ranks)

    found = make(device_map="auto").problems()

    assert [problem[:18] for problem in found] == ["device_map 'auto' "] * problems


def test_a_load_that_failed_keeps_nothing_alive(make, monkeypatch):
    import gc
    import weakref

    class HalfLoaded:
        """What was in memory when it failed."""

    left = []

    def failing(*_, **__):
        weights = HalfLoaded()
        left.append(weakref.ref(weights))
        raise UserError("out of memory")

    monkeypatch.setattr("models.wrappers.local.wrapper.load", failing)
    wrapper = make(share=False)
    for _ in range(2):
        with pytest.raises(StopRun, match="out of memory"):
            wrapper.warm_up()
    gc.collect()

    assert [each() for each in left] == [None]


def test_inputs_may_be_made_in_a_thread_while_the_model_generates(make, picture):
    from concurrent.futures import ThreadPoolExecutor

    wrapper = make()
    prepared = [wrapper.request(messages_of(picture, f"question {i}"), L2) for i in range(8)]
    alone = [wrapper.encode(request) for request in prepared]
    replies = [wrapper.generate_encoded([encoded])[0].text for encoded in alone]
    overlapped = []
    with ThreadPoolExecutor(2) as pool:
        for encoded in pool.map(wrapper.encode, prepared):
            overlapped.append((encoded, wrapper.generate_encoded([encoded])[0].text))
    assert [text for _, text in overlapped] == replies
    for ours, (theirs, _) in zip(alone, overlapped, strict=True):
        assert ours.inputs["input_ids"].equal(theirs.inputs["input_ids"])
        assert ours.inputs["pixel_values"].equal(theirs.inputs["pixel_values"])


def test_a_postprocess_function_that_raises_keeps_the_raw_reply(make, picture):
    def broken(outputs, model, processor, **kwargs):
        return kwargs["no_such_key"]

    wrapper = make(postprocess_function=broken)
    generation = wrapper.generate(wrapper.request(messages_of(picture), L2))
    assert generation.reply is None
    assert "KeyError: 'no_such_key'" in generation.postprocess_error
    assert generation.text == make().generate(make().request(messages_of(picture), L2)).text


def test_a_postprocess_function_that_returns_no_text_is_an_error_of_that_sample(make, picture):
    wrapper = make(postprocess_function=lambda outputs, model, processor, **kwargs: ["a"])
    generation = wrapper.generate(wrapper.request(messages_of(picture), L2))
    assert generation.reply is None
    assert "list" in generation.postprocess_error


def test_a_model_that_raises_is_a_failed_call(make, picture):
    wrapper = make(generate_cfg={"max_new_tokens": 4, "no_such_argument": 1})
    with pytest.raises(CallError, match=r"no_such_argument") as caught:
        wrapper.generate(wrapper.request(messages_of(picture), L2))
    assert caught.value.kind == "model"


# ---- careless user functions ---------------------------------------------------------------------


def test_what_a_preprocess_function_does_to_its_arguments_reaches_no_other_sample(make, picture):
    def careless(message, model, processor, **kwargs):
        inputs = default_preprocess_function(message, model, processor, **kwargs)
        assert kwargs["list"] == []
        assert kwargs["dataset_name"] == L2
        message.clear()
        kwargs["list"].append("mine")
        return inputs

    wrapper = make(preprocess_function=careless, kwargs={"list": []})
    messages = messages_of(picture)
    prepared = wrapper.request(messages, L2)
    first, second = wrapper.encode(prepared), wrapper.encode(prepared)
    assert first.inputs["input_ids"].equal(second.inputs["input_ids"])
    assert len(messages) == len(prepared.payload) == 2
    assert wrapper.kwargs == {"list": []}


def test_a_user_function_that_exits_fails_its_sample_only(make, picture):
    def leave(message, model, processor, **kwargs):
        sys.exit(3)

    wrapper = make(preprocess_function=leave)
    with pytest.raises(UserFunctionError, match=r"SystemExit: 3") as caught:
        wrapper.generate(wrapper.request(messages_of(picture), L2))
    assert caught.value.stage == "preprocess"


class Odd:
    """Raises wherever one looks."""

    nbytes = "many"

    def to(self, device):
        raise ValueError("odd")


@pytest.mark.parametrize(
    ("returned", "problem"),
    [
        (None, "TypeError: it returned NoneType; expected a dict"),
        ("text", "TypeError: it returned str; expected a dict"),
        ({"input_ids": [[1, 2]]}, r"input_ids is a list, no tensor; expected input_ids of shape"),
        ({"input_ids": (2, 3)}, r"expected input_ids of shape \(1, n\) with n > 0, not \(2, 3\)"),
        ({"input_ids": (1, 0)}, r"not \(1, 0\)"),
        ({"input_ids": (3,)}, r"not \(3,\)"),
        ({"input_ids": (1, 3), "image_grid_thw": [5]}, "raised"),
        ({"input_ids": (1, 3), "image_grid_thw": 5}, "TypeError"),
        ({"input_ids": (1, 3), "pixel_values": Odd()}, "ValueError: odd"),
    ],
)
def test_inputs_that_no_model_takes_are_named(returned, problem, make, picture):
    import torch

    def preprocess(message, model, processor, **kwargs):
        if not isinstance(returned, dict):
            return returned
        return {key: torch.zeros(value, dtype=torch.long) if isinstance(value, tuple) else value
                for key, value in returned.items()}  # fmt: skip

    wrapper = make(preprocess_function=preprocess)
    with pytest.raises(UserFunctionError, match=problem) as caught:
        wrapper.encode(wrapper.request(messages_of(picture), L2))
    assert caught.value.stage == "preprocess"


@pytest.mark.parametrize("where", ["function", "to"])
def test_memory_that_runs_out_for_good_while_inputs_are_made_fails_that_sample(
    where, make, picture
):
    tries = []

    class Large:
        def to(self, device):
            raise RuntimeError("CUDA out of memory. Tried to allocate 20 MiB")

    def preprocess(message, model, processor, **kwargs):
        tries.append(1)
        if where == "function":
            Large().to("cuda")
        return {"input_ids": None, "pixel_values": Large()}

    wrapper = make(preprocess_function=preprocess)
    with pytest.raises(CallError, match=r"preparing the inputs: .*out of memory") as caught:
        wrapper.generate(wrapper.request(messages_of(picture), L2))
    assert caught.value.kind == "model"
    assert len(tries) == 2


def test_stop_strings_end_a_reply(taught, picture):
    wrapper = LocalModelWrapper(
        "tiny", model_path=str(taught), generate_cfg={"max_new_tokens": 40, "stop_strings": ["x="]}
    )
    generation = wrapper.generate(wrapper.request(messages_of(picture), L2))
    assert (generation.text, generation.finish_reason) == ("click(x=", "stop")


def test_cuda_in_a_users_function_gets_a_hint(make, picture):
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has CUDA")

    def documented(message, model, processor, **kwargs):
        return default_preprocess_function(message, model, processor, **kwargs).to("cuda")

    wrapper = make(preprocess_function=documented)
    with pytest.raises(UserFunctionError, match=r"model\.device"):
        wrapper.encode(wrapper.request(messages_of(picture), L2))


def test_kwargs_may_have_the_names_of_our_own_arguments(make, picture):
    wrapper = make(
        preprocess_function=lambda message, model, processor, **kwargs: default_preprocess_function(
            message, model, processor
        ),
        kwargs={"stage": 1, "function": 2},
    )
    assert wrapper.encode(wrapper.request(messages_of(picture), L2)).input_length > 0


# ---- fingerprints --------------------------------------------------------------------------------


def fingerprint(wrapper, path, dataset=L2):
    return wrapper.request(messages_of(path), dataset).fingerprint


def test_a_moved_data_root_costs_nothing_and_another_picture_is_noticed(make, picture, tmp_path):
    wrapper = make(share=False)
    before = wrapper.request(messages_of(picture), L2)
    moved = tmp_path / "elsewhere" / "renamed.png"
    moved.parent.mkdir()
    moved.write_bytes(picture.read_bytes())
    assert fingerprint(wrapper, moved) == before.fingerprint
    Image.new("RGB", (300, 200), "red").save(moved)
    after = wrapper.request(messages_of(moved), L2)
    changed = {part for part in before.parts if before.parts[part] != after.parts[part]}
    assert changed == {"picture"}


@pytest.mark.parametrize(
    "target", ["model.safetensors", "tokenizer.json", "config.json", "chat_template.jinja"]
)
def test_a_checkpoint_overwritten_in_place_is_noticed(target, folders, picture, tmp_path):
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    for file in folders["qwen2_vl"].iterdir():
        (folder / file.name).write_bytes(file.read_bytes())

    def current():
        return fingerprint(LocalModelWrapper("m", model_path=str(folder)), picture)

    before = current()
    assert current() == before
    content = bytearray((folder / target).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / target).write_bytes(content)
    assert current() != before


def test_large_weight_files_are_sampled_from_end_to_end(tmp_path, monkeypatch, picture):
    from models.wrappers.local import checkpoint

    monkeypatch.setattr(checkpoint, "BLOCK_BYTES", 16)
    (tmp_path / "config.json").write_text("{}")
    weights = tmp_path / "model.safetensors"
    content = bytearray(10_000)
    weights.write_bytes(content)
    before = checkpoint.checkpoint_identity(str(tmp_path))
    for position in (0, 9_999, (10_000 - 16) * 7 // 15):
        changed = bytearray(content)
        changed[position] = 1
        weights.write_bytes(changed)
        assert checkpoint.checkpoint_identity(str(tmp_path)) != before
    weights.write_bytes(bytes(10_001))
    assert checkpoint.checkpoint_identity(str(tmp_path)) != before


def test_the_folder_of_a_checkpoint_does_not_count_and_an_identity_replaces_its_files(
    folders, picture
):
    def of(**settings):
        return fingerprint(LocalModelWrapper("m", **settings), picture)

    a, b = (str(folders[family]) for family in ("qwen2_vl", "qwen3_vl"))
    assert of(model_path=a) != of(model_path=b)
    assert of(model_path=a, model_identity="v1") == of(model_path=b, model_identity="v1")
    assert of(model_path=a, model_identity="v1") != of(model_path=a, model_identity="v2")


@pytest.mark.parametrize(
    ("changed", "counts"),
    [
        ({"generate_cfg": {"max_new_tokens": 5}}, True),
        ({"dtype": "bfloat16"}, True),
        ({"attn_implementation": "eager"}, True),
        ({"generate_function": "other"}, True),
        ({"kwargs": {"max_pixels": 50000}}, True),
        ({"kwargs": {"img_size": 100}}, True),
        ({"kwargs": {"img_size": -1}}, False),
        ({"kwargs": {"timeout_s": 3}}, False),
        ({"kwargs": {"system_prompt": "model_default"}}, False),  # it is in the messages
        ({"kwargs": {"img_detail": "low"}}, False),  # no function here reads it
        ({"device_map": "cpu"}, False),
        ({"batch_size": 8}, False),
    ],
)
def test_what_can_change_an_answer_counts_and_nothing_else(changed, counts, make, picture):
    base, other = make(), make(**changed)
    assert (fingerprint(base, picture) != fingerprint(other, picture)) is counts


def import_version(folder, source, monkeypatch):
    """A user's model file in its next version: same module name, other folder."""
    folder.mkdir()
    (folder / "my_model.py").write_text(source)
    monkeypatch.syspath_prepend(str(folder))
    sys.modules.pop("my_model", None)
    importlib.invalidate_caches()
    return importlib.import_module("my_model")


SOURCE = """
LIMIT = 3

def helper(text):
    return text[:LIMIT]

def pre(message, model, processor, **kwargs):
    return helper(message)
"""


@pytest.mark.parametrize(
    ("old", "new", "counts"),
    [
        ("return helper(message)", "# a comment\n    return helper(message)", False),
        ("def helper(text):", 'def helper(text):\n    """Cuts."""', False),
        ("text[:LIMIT]", "text[:LIMIT + 1]", True),
        ("LIMIT = 3", "LIMIT = 4", True),
        ("return helper(message)", "return helper(message[1:])", True),
    ],
)
def test_the_code_of_a_users_function_counts_and_its_comments_do_not(
    old, new, counts, make, picture, tmp_path, monkeypatch
):
    one = import_version(tmp_path / "one", SOURCE, monkeypatch)
    before = fingerprint(make(preprocess_function=one.pre), picture)
    two = import_version(tmp_path / "two", SOURCE.replace(old, new), monkeypatch)
    after = fingerprint(make(preprocess_function=two.pre), picture)
    sys.modules.pop("my_model", None)
    assert (before != after) is counts


@pytest.mark.parametrize("reads_it", [False, True])
def test_a_users_function_that_reads_the_system_prompt_makes_it_count(
    reads_it, make, picture, tmp_path, monkeypatch
):
    source = SOURCE.replace("text[:LIMIT]", "text['system_prompt']") if reads_it else SOURCE
    module = import_version(tmp_path / "m", source, monkeypatch)
    a, b = (
        fingerprint(make(preprocess_function=module.pre, kwargs={"system_prompt": text}), picture)
        for text in "ab"
    )
    sys.modules.pop("my_model", None)
    assert (a != b) is reads_it


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


# ---- before the run, and loading -----------------------------------------------------------------


def test_what_stands_in_the_way_is_said_before_the_run(tmp_path, make, monkeypatch):
    assert make().problems() == []
    [missing] = LocalModelWrapper("m", model_path=str(tmp_path / "no")).problems()
    assert "no such folder" in missing
    empty = " ".join(LocalModelWrapper("m", model_path=str(tmp_path)).problems())
    assert "config.json" in empty
    assert "weight files" in empty
    [dtype] = make(dtype="float99").problems()
    assert "bfloat16" in dtype
    [hot] = make(generate_cfg={"do_sample": True, "temperature": 0}).problems()
    assert '"do_sample": false' in hot
    monkeypatch.setattr("models.wrappers.local.settings.cuda_present", lambda: False)
    for device_map in ("cuda", "cuda:1", {"": 0}, {"visual": "cuda:0", "lm": "cpu"}, 0):
        [cuda] = make(device_map=device_map).problems()
        assert "CUDA" in cuda
    assert make(device_map="auto").problems() == []
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "requirements/local.txt" in make().problems()[0]


def test_sampling_that_the_checkpoint_brings_along_meets_temperature_0(folders, tmp_path):
    for file in folders["qwen2_vl"].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "generation_config.json").write_text(
        json.dumps({"do_sample": True, "temperature": 0.1})
    )
    wrapper = LocalModelWrapper("m", model_path=str(tmp_path), generate_cfg={"temperature": 0})
    assert "checkpoint" in wrapper.problems()[0]
    greedy = LocalModelWrapper(
        "m", model_path=str(tmp_path), generate_cfg={"temperature": 0, "do_sample": False}
    )
    assert greedy.problems() == []


def test_missing_shards_and_pointers_to_weights_are_noticed(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "a.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid x\n")
    index = {"weight_map": {"x": "a.safetensors", "y": "b.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    pointer, missing, *_ = LocalModelWrapper("m", model_path=str(tmp_path)).problems()
    assert "git lfs pull" in pointer
    assert "b.safetensors" in missing


def test_a_hub_name_is_allowed_and_identified_by_its_commit(tmp_path, monkeypatch, picture):
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    wrapper = LocalModelWrapper("m", model_path="some-org/some-model")
    assert wrapper.problems() == []
    with pytest.raises(UserError, match=r"no such folder.*hub"):
        wrapper.request(messages_of(picture), L2)
    refs = tmp_path / "models--some-org--some-model" / "refs"
    refs.mkdir(parents=True)
    prints = []
    for commit in ("aaa", "bbb"):
        (refs / "main").write_text(commit)
        prints.append(
            fingerprint(LocalModelWrapper("m", model_path="some-org/some-model"), picture)
        )
    assert prints[0] != prints[1]


def test_a_missing_picture_is_named(make, tmp_path):
    with pytest.raises(UserError, match=r"gone\.png"):
        make().request(messages_of(tmp_path / "gone.png"), L2)


def test_a_wrong_generate_function_is_said_when_the_model_is_there(make, picture):
    wrapper = make(share=False, generate_function="genrate")
    prepared = wrapper.request(messages_of(picture), L2)
    for _ in range(2):  # remembered, not loaded again
        with pytest.raises(UserError, match=r"genrate.*Qwen2_5_VL"):
            wrapper.generate(prepared)


def test_a_broken_checkpoint_is_a_clear_error(folders, picture, tmp_path):
    for file in folders["qwen2_vl"].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "model.safetensors").write_bytes(b"\0" * 5000)
    wrapper = LocalModelWrapper("m", model_path=str(tmp_path))
    with pytest.raises(UserError, match=r"cannot be loaded"):
        wrapper.generate(wrapper.request(messages_of(picture), L2))


def test_a_checkpoint_is_loaded_once_in_float32_with_left_padding_on_the_cpu(
    folders, picture, monkeypatch
):
    import torch

    calls = []

    def counting(*args, **kwargs):
        calls.append(1)
        return local_loading.load(*args, **kwargs)

    monkeypatch.setattr("models.wrappers.local.wrapper.load", counting)
    wrapper = LocalModelWrapper("m", model_path=str(folders["qwen3_vl"]), device_map="cpu")
    prepared = wrapper.request(messages_of(picture), L2)
    threads = [threading.Thread(target=wrapper.encode, args=(prepared,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
    assert wrapper._loaded.model.dtype == torch.float32
    assert wrapper._loaded.processor.tokenizer.padding_side == "left"
    assert wrapper._loaded.attention == "sdpa"


def test_flash_attention_that_is_not_there_falls_back_with_a_warning(folders, capsys):
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has CUDA")
    loaded = local_loading.load(
        str(folders["qwen2_vl"]),
        dtype="bfloat16",
        attn_implementation="flash_attention_2",
        device_map=None,
        limits={},
    )
    assert loaded.attention == "sdpa"
    assert loaded.model.dtype == torch.bfloat16
    assert "flash_attention_2 is not usable" in capsys.readouterr().err

"""A checkpoint as a model: prompts, images, replies, fingerprints. On tiny real checkpoints."""

import gc
import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from PIL import Image

from models import local_aguvis, local_uitars
from models.base import default_preprocess_function
from models.wrappers.local.inputs import ShrunkImages
from tests.local.conftest import messages_of, of, runs_with_here, without_cuda
from tests.support import tiny_checkpoint
from tests.support.stage import L1, L2
from utils.contracts import CallError, UserFunctionError
from utils.coordinates import smart_resize
from utils.errors import StopRun, UserError

ANSWER = "click(x=0.25, y=0.75)"


@pytest.fixture
def make(folders):
    """Builds a wrapper of a tiny checkpoint."""

    def build(family="qwen2_5_vl", **settings):
        defaults = {"generate_cfg": {"max_new_tokens": 4}, "folder": folders[family]}
        return of(**{**defaults, **settings})

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


def prompt_of(wrapper, encoded):
    return wrapper.model().checkpoint.tokenizer.decode(encoded.inputs["input_ids"][0])


@pytest.mark.parametrize("system", [None, "You are a GUI agent."])
@pytest.mark.parametrize("family", tiny_checkpoint.FAMILIES)
def test_the_prompt_is_what_the_chat_template_writes(family, system, make, encode):
    wrapper = make(family)
    content = [{"type": "image"}, {"type": "text", "text": "Where is it?"}]
    turns = [{"role": "system", "content": system}, {"role": "user", "content": content}]
    read = prompt_of(wrapper, encode(wrapper, system=system))
    processor = wrapper.model().checkpoint.processor
    expected = processor.apply_chat_template(
        turns[system is None :], tokenize=False, add_generation_prompt=True
    )
    before, _, after = read.partition("<|image_pad|>")
    assert before + "<|image_pad|>" + after.replace("<|image_pad|>", "") == expected


@pytest.mark.parametrize(
    ("wh", "limits"),
    [
        ((300, 200), {}),
        ((300, 200), {"min_pixels": 78400, "max_pixels": 12845056}),
        ((1920, 1080), {"max_pixels": 12845056}),  # which the processor would make small again
        ((300, 200), {"max_pixels": 50176}),
        ((300, 200), {"min_pixels": 400000}),
    ],
)
@pytest.mark.parametrize("family", tiny_checkpoint.FAMILIES)
def test_an_image_is_resized_once_within_the_limits(family, wh, limits, make, encode, tmp_path):
    Image.new("RGB", wh, "white").save(path := tmp_path / "any.png")
    sizes = encode(make(family, kwargs=limits), path).image_sizes[0]
    # The processors of these checkpoints have limits of their own: 3136 to 1003520 pixels.
    least, largest = limits.get("min_pixels", 3136), limits.get("max_pixels", 1003520)
    factor = 32 if family in ("qwen3_vl", "qwen3_5") else 28
    assert sizes.seen_wh == smart_resize(*wh[::-1], factor, least, largest)[::-1]
    assert sizes.file_wh == sizes.sent_wh == wh


@pytest.mark.parametrize(
    ("wh", "limits"), [((1920, 1080), {}), ((60, 50), {}), ((300, 200), {"max_pixels": 30000})]
)
def test_limits_of_a_video_are_halved_for_an_image(
    wh, limits, folders, copy_of, make, encode, tmp_path
):
    wrapper = {
        "image_processor_type": "Glm4vImageProcessor",
        "patch_size": 14,
        "merge_size": 2,
        "temporal_patch_size": 2,
        "size": {"shortest_edge": 12544, "longest_edge": 3000000},
    }
    folder = copy_of(folders["qwen2_5_vl"], processor_config={"image_processor": wrapper})
    Image.new("RGB", wh, "white").save(path := tmp_path / "any.png")
    for function in ({}, {"preprocess_function": naive}):  # as its own processor has it
        actual_wh = (
            encode(make(folder=folder, kwargs=limits, **function), path).image_sizes[0].seen_wh
        )
        largest = limits.get("max_pixels", 1500000)
        assert actual_wh == smart_resize(*wh[::-1], 28, 6272, largest)[::-1]


def naive(message, model, processor, **kwargs):
    with Image.open(message[0]["value"]) as image:
        text = "<|vision_start|><|image_pad|><|vision_end|>?"
        return processor(text=[text], images=[image], return_tensors="pt")


@pytest.mark.parametrize(
    ("function", "wh", "limits", "expected"),
    [
        (local_uitars.preprocess_uitars, (300, 200), {}, ()),  # those that its points assume
        (local_uitars.preprocess_uitars, (1920, 1080), {}, ()),  # beyond the processor's own
        (naive, (300, 200), {"min_pixels": 3136, "max_pixels": 20000}, (28, 3136, 20000)),
    ],
)
def test_limits_of_a_function_and_those_of_the_config_both_hold(
    function, wh, limits, expected, make, encode, tmp_path
):
    Image.new("RGB", wh, "white").save(path := tmp_path / "any.png")
    seen_size = (
        encode(make(preprocess_function=function, kwargs=limits), path).image_sizes[0].seen_wh
    )
    assert seen_size == smart_resize(*wh[::-1], *expected)[::-1]


def last_only(message, model, processor, **kwargs):
    return default_preprocess_function(message[1:], model, processor, **kwargs)


def doubled(message, model, processor, **kwargs):
    return default_preprocess_function([message[0], *message], model, processor, **kwargs)


@pytest.mark.parametrize(
    ("function", "seen_wh"),
    [
        (None, [(308, 196), (560, 280)]),
        (last_only, [None, (560, 280)]),
        (doubled, [(308, 196), (560, 280)]),
    ],
)
def test_every_image_of_a_prompt_has_its_own_sizes(function, seen_wh, make, tmp_path):
    sizes_wh = [(300, 200), (560, 280)]
    messages = []
    for number, wh in enumerate(sizes_wh):
        Image.new("RGB", wh, "white").save(path := tmp_path / f"{number}.png")
        messages.append({"role": "user", "type": "image", "value": str(path)})
    messages.append({"role": "user", "type": "text", "value": "Where?"})
    wrapper = make(preprocess_function=function)
    answer = wrapper.generate(wrapper.request(messages, L2))
    assert [sizes.file_wh for sizes in answer.image_sizes] == sizes_wh
    assert [sizes.seen_wh for sizes in answer.image_sizes] == seen_wh


def test_a_screenshot_with_several_questions_is_decoded_once(make, picture, monkeypatch):
    decoded = []
    open_image = Image.open
    monkeypatch.setattr(Image, "open", lambda path: decoded.append(path) or open_image(path))
    wrapper = make()
    requests = [wrapper.request(messages_of(picture, text), L2) for text in ("a", "b", "c")]
    decoded.clear()  # headers were read
    first, *others = [wrapper.model().encode(request) for request in requests]
    assert len(decoded) == 1
    for other in others:
        assert other.inputs["pixel_values"].equal(first.inputs["pixel_values"])
    Image.new("RGB", (300, 200), "red").save(picture)
    changed = wrapper.model().encode(wrapper.request(messages_of(picture), L2))
    assert not changed.inputs["pixel_values"].equal(first.inputs["pixel_values"])


@pytest.mark.parametrize("family", ["qwen2_5_vl", "llava"])
@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_what_is_transparent_is_white_for_every_family(mode, family, make, encode, llava, tmp_path):
    colours = {"RGBA": (0, 0, 0, 0), "LA": (0, 0), "P": 0}
    clear = Image.new(mode, (112, 112), colours[mode])
    options = {"transparency": 0} if mode == "P" else {}
    clear.save(path := tmp_path / "clear.png", **options)
    Image.new("RGB", (112, 112), "white").save(white := tmp_path / "white.png")
    wrapper = make(folder=llava) if family == "llava" else make(family)
    one, other = encode(wrapper, path), encode(wrapper, white)
    assert one.inputs["pixel_values"].equal(other.inputs["pixel_values"])


def test_a_prompt_beyond_the_models_context_is_a_failed_sample(folders, copy_of, make, encode):
    text = json.loads((folders["qwen2_5_vl"] / "config.json").read_text())["text_config"]
    short = {"text_config": {**text, "max_position_embeddings": 64}}
    wrapper = make(folder=copy_of(folders["qwen2_5_vl"], config=short))
    with pytest.raises(CallError, match=r"prompt has \d+ tokens, and the model takes 64; lower"):
        encode(wrapper)


def test_a_shrunk_image_is_made_once_and_exists_as_long_as_it_is_used_or_there_is_room(tmp_path):
    shrunk = ShrunkImages(64)
    folder = Path(shrunk.folder.name)
    files = []
    for number in range(3):
        Image.new("RGB", (200, 100 + number), "white").save(file := tmp_path / f"{number}.png")
        files.append(file)
    copies = [shrunk.apply(messages_of(file)) for file in files]
    again = shrunk.apply(messages_of(files[0]))
    assert again == copies[0] and len(list(folder.iterdir())) == 3
    shrunk.folder.cleanup()
    crowded = ShrunkImages(64, idle_bytes=1)
    [copy] = crowded.apply(messages_of(files[0]))
    path = copy.path
    crowded.apply(messages_of(files[1]))
    assert path.exists()
    del copy
    assert list(Path(crowded.folder.name).iterdir()) == []
    crowded.folder.cleanup()


def test_an_image_is_shrunk_before_anything_sees_it(make, encode, tmp_path):
    paths = []

    def spy(message, model, processor, **kwargs):
        with Image.open(message[0]["value"]) as image:
            paths.append(image.size)
        return default_preprocess_function(message, model, processor, **kwargs)

    wrapper = make(preprocess_function=spy, kwargs={"img_size": 150})
    sizes = encode(wrapper).image_sizes[0]
    assert (paths, sizes.file_wh, sizes.sent_wh) == ([(150, 100)], (300, 200), (150, 100))
    assert sizes.seen_wh == smart_resize(100, 150, 28, 3136, 1003520)[::-1]
    with pytest.raises(UserError, match="img_size 150 needs an image file"):
        wrapper.request(messages_of("https://example.org/screen.png"), L2)
    wrapper.close()
    with pytest.raises(UserError, match=r"gone\.png"):
        make().request(messages_of(tmp_path / "gone.png"), L2)


@pytest.mark.parametrize(
    ("dataset", "ending"), [(L2, "os\n"), (L1, "all\n"), ("GUITaskAutomation", "")]
)
def test_the_aguvis_example_has_its_own_ending_and_limits(dataset, ending, make, encode):
    wrapper = make("qwen2_vl", preprocess_function=local_aguvis.preprocess_aguvis)
    encoded = encode(wrapper, dataset=dataset)
    text = prompt_of(wrapper, encoded)
    assert text.startswith("<|im_start|>user\n<|vision_start|>")
    assert text.endswith(f"it?<|im_end|>\n<|im_start|>assistant<|recipient|>{ending}")
    assert encoded.image_sizes[0].seen_wh == smart_resize(200, 300, 28, 200704, 937664)[::-1]


@pytest.fixture(scope="module")
def taught(folders, tmp_path_factory):
    """A checkpoint that always says `ANSWER`."""
    folder = tmp_path_factory.mktemp("taught") / "taught"
    return tiny_checkpoint.teach(folders["qwen2_5_vl"], folder, ANSWER)


def test_what_training_left_in_the_generation_settings_does_no_harm(
    taught, copy_of, make, ask, capsys
):
    leftovers = {"eos_token_id": None, "use_cache": False, "max_length": 4096}
    folder = copy_of(taught, generation_config=leftovers)
    wrapper = make(folder=folder, generate_cfg={"max_new_tokens": 40})
    generation, loaded = ask(wrapper), wrapper.model().checkpoint
    assert (generation.text, generation.finish_reason) == (ANSWER, "stop")
    assert generation.usage["completion_tokens"] == len(ANSWER) + 1
    assert loaded.generation["eos_token_id"] == loaded.tokenizer.eos_token_id
    assert not {"use_cache", "max_length"} & loaded.generation.keys()
    printed = capsys.readouterr().out
    assert "end token" in printed and "use_cache" in printed


def test_the_reply_is_the_completion_without_prompt_and_end_tokens(taught, make, ask):

    def printed(**generate_cfg):
        wrapper = make(folder=taught, generate_cfg=generate_cfg)
        generation = ask(wrapper, system="Be brief.")
        assert wrapper.postprocess(L2)(generation.reply) == generation.text == generation.reply
        return generation

    full = printed(max_new_tokens=40)
    assert (full.text, full.finish_reason) == (ANSWER, "stop")
    assert full.usage["completion_tokens"] == len(ANSWER) + 1  # with the end token
    assert full.usage["prompt_tokens"] > 100
    assert full.runs_with == runs_with_here("bfloat16")
    cut = printed(max_new_tokens=5)
    assert (cut.text, cut.finish_reason) == (ANSWER[:5], "length")
    stopped = printed(max_new_tokens=40, stop_strings=["x="])
    assert (stopped.text, stopped.finish_reason) == ("click(x=", "stop")
    for function in (local_uitars.postprocess_uitars, local_aguvis.postprocess_aguvis):
        settings = {"generate_cfg": {"max_new_tokens": 40}, "postprocess_function": function}
        assert ask(make(folder=taught, **settings)).reply == ANSWER


def test_a_generate_method_of_the_models_own_may_return_text_or_what_postprocess_reads(make, ask):
    def with_methods(message, model, processor, **kwargs):
        model.chat = lambda **inputs: ("said", "history")
        model.odd = lambda **inputs: {"answer": "A"}
        return default_preprocess_function(message, model, processor, **kwargs)

    def wrapper(name, **settings):
        # "forward" is a method of every model, so the check of the name passes; then ours comes.
        wrapper = make(generate_function="forward", preprocess_function=with_methods, **settings)
        model = wrapper.model().checkpoint.model
        model.forward = lambda **inputs: getattr(model, name)(**inputs)
        return wrapper

    rich = make(generate_cfg={"max_new_tokens": 4, "return_dict_in_generate": True})
    assert ask(rich).text == ask(make()).text  # from an object with sequences
    with pytest.raises(CallError, match=r"forward returned dict"):
        ask(wrapper("odd"))
    assert ask(wrapper("chat")).reply == "said"
    read = wrapper("odd", postprocess_function=lambda out, *_, **kwargs: out["answer"])
    assert ask(read).reply == "A"


@pytest.mark.parametrize(
    ("returned", "problem"),
    [
        (lambda kwargs: kwargs["no_such_key"], "KeyError: 'no_such_key'"),
        (lambda kwargs: ["a"], "returned list; expected the reply as text"),
    ],
)
def test_a_postprocess_function_that_fails_keeps_the_raw_reply(returned, problem, make, ask):
    generation = ask(make(postprocess_function=lambda *_, **kwargs: returned(kwargs)))
    assert generation.reply is None and problem in str(generation.postprocess_error)
    assert generation.text == ask(make()).text


def test_what_a_preprocess_function_does_to_its_arguments_reaches_no_other_sample(make, picture):
    def careless(message, model, processor, **kwargs):
        inputs = default_preprocess_function(message, model, processor, **kwargs)
        assert (kwargs["list"], kwargs["dataset_name"]) == ([], L2)
        message.clear()
        kwargs["list"].append("mine")
        return inputs

    # "stage" and "function" are names of our own arguments, too.
    wrapper = make(preprocess_function=careless, kwargs={"list": [], "stage": 1, "function": 2})
    prepared = wrapper.request(messages := messages_of(picture), L2)
    first, second = wrapper.model().encode(prepared), wrapper.model().encode(prepared)
    assert first.inputs["input_ids"].equal(second.inputs["input_ids"])
    assert len(messages) == len(prepared.payload) == 2
    assert wrapper.entry.kwargs == {"list": [], "stage": 1, "function": 2}


class Odd:
    """Raises wherever one looks."""

    @property
    def nbytes(self):
        raise ValueError("odd")


def on_cuda(*arguments, **kwargs):
    return default_preprocess_function(*arguments, **kwargs).to("cuda")


@pytest.mark.parametrize(
    ("returned", "problem"),
    [
        (None, "TypeError: it returned NoneType; expected a dict"),
        ("text", "TypeError: it returned str; expected a dict"),
        ({"input_ids": [[1, 2]]}, r"must be a tensor of shape \(1, n\) with n > 0, not list"),
        ({"input_ids": (2, 3)}, r"not \(2, 3\)"),
        ({"input_ids": (1, 0)}, r"not \(1, 0\)"),
        ({"input_ids": (3,)}, r"not \(3,\)"),
        ({"input_ids": (1, 3), "image_grid_thw": [5]}, "raised"),
        ({"input_ids": (1, 3), "image_grid_thw": 5}, "TypeError"),
        ({"input_ids": (1, 3), "pixel_values": Odd()}, "ValueError: odd"),
        pytest.param(on_cuda, r"model\.device", marks=without_cuda),  # as the guide had it
        (lambda *arguments, **kwargs: sys.exit(3), "SystemExit: 3"),
    ],
)
def test_inputs_that_no_model_takes_are_named(returned, problem, make, encode):
    if isinstance(returned, dict):
        returned = {
            key: torch.zeros(value, dtype=torch.long) if isinstance(value, tuple) else value
            for key, value in returned.items()
        }
    function = returned if callable(returned) else lambda *arguments, **kwargs: returned
    with pytest.raises(UserFunctionError, match=problem) as caught:
        encode(make(preprocess_function=function))
    assert caught.value.stage == "preprocess"


@pytest.fixture
def fingerprint(make, picture):
    """The fingerprint of a question about the picture to a model with these settings."""
    return lambda **settings: make(**settings).request(messages_of(picture), L2).fingerprint


def test_a_moved_data_root_costs_nothing_and_another_image_is_noticed(make, picture, tmp_path):
    before = make().request(messages_of(picture), L2)
    moved = picture.rename(tmp_path / "renamed.png")
    assert make().request(messages_of(moved), L2).fingerprint == before.fingerprint
    Image.new("RGB", (300, 200), "red").save(moved)
    after = make().request(messages_of(moved), L2)
    assert {part for part in before.parts if before.parts[part] != after.parts[part]} == {"picture"}


@pytest.mark.parametrize(
    "target",
    [
        "model.safetensors",
        "tokenizer.json",
        "config.json",
        "chat_template.jinja",
        "modeling_own.py",
        "additional_chat_templates/default.jinja",
    ],
)
def test_a_checkpoint_overwritten_in_place_is_noticed(target, folders, copy_of, fingerprint):
    folder = copy_of(folders["qwen2_vl"])
    (folder / "additional_chat_templates").mkdir()
    for name in ("modeling_own.py", "additional_chat_templates/default.jinja"):
        (folder / name).write_text("LIMIT = 1")
    before = fingerprint(folder=folder)
    assert fingerprint(folder=folder) == before
    content = bytearray((folder / target).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / target).write_bytes(content)
    assert fingerprint(folder=folder) != before


def test_large_weight_files_are_sampled_from_end_to_end(tmp_path, fingerprint):
    size, block = 3_000_000, 64 * 1024
    (tmp_path / "config.json").write_text("{}")

    def with_content(size, *changed):
        content = bytearray(size)
        for position in changed:
            content[position] = 1
        (tmp_path / "model.bin").write_bytes(content)
        return fingerprint(folder=tmp_path)

    before = with_content(size)
    for position in (0, size - 1, (size - block) * 7 // 15):
        assert with_content(size, position) != before
    assert with_content(size + 1) != before


def reads_system_prompt(message, model, processor, **kwargs):
    return default_preprocess_function(message, model, processor, text=kwargs["system_prompt"])


def reads_nothing(outputs, model, processor, **kwargs):
    return "reply"


READING = {"preprocess_function": reads_system_prompt}
NOT_READING = {"postprocess_function": reads_nothing}
V1 = {"model_identity": "v1"}  # stands for the files
PROMPT_A, PROMPT_B = {"kwargs": {"system_prompt": "a"}}, {"kwargs": {"system_prompt": "b"}}


@pytest.mark.parametrize(
    ("one", "other", "counts"),
    [
        *(
            ({}, setting, True)
            for setting in (
                {"generate_cfg": {"max_new_tokens": 5}},
                {"dtype": "bfloat16"},
                {"attn_implementation": "eager"},
                {"generate_function": "other"},
                {"trust_remote_code": True},
                {"device_map": "cuda"},
                {"family": "qwen3_vl"},
                {"kwargs": {"max_pixels": 50000}},
                {"kwargs": {"img_size": 100}},
                {"kwargs": {"load": {"attn_implementation": {"text_config": "eager"}}}},
                {"kwargs": {"load": {"max_memory": {"0": "1GB"}}}},
                {"kwargs": {"chat_template": {"enable_thinking": False}}},
            )
        ),
        (V1, {**V1, "family": "qwen3_vl"}, False),
        (V1, {"model_identity": "v2"}, True),
        (
            {},
            {"device_map": "auto", "dtype": "float32", "attn_implementation": "sdpa"},
            False,
        ),  # here
        ({}, {"kwargs": {"img_size": -1}}, False),
        ({}, {"kwargs": {"timeout_s": 3}}, False),
        ({}, {"kwargs": {"system_prompt": "model_default"}}, False),  # it is in the messages
        ({}, {"kwargs": {"img_detail": "low"}}, False),  # no function here reads it
        ({}, {"device_map": "cpu"}, False),
        ({}, {"batch_size": 8}, False),
        ({"generate_cfg": {"temperature": 1}}, {"generate_cfg": {"temperature": 1.0}}, False),
        (PROMPT_A, {**PROMPT_A, **READING}, True),
        ({**PROMPT_A, **READING}, {**PROMPT_B, **READING}, True),
        (PROMPT_A, {**PROMPT_A, **NOT_READING}, True),
        ({**PROMPT_A, **NOT_READING}, {**PROMPT_B, **NOT_READING}, False),
    ],
)
@without_cuda
def test_what_can_change_an_answer_counts_and_nothing_else(one, other, counts, fingerprint):
    assert (fingerprint(**one) != fingerprint(**other)) is counts


CALLS = []


def counting_preprocess(message, model, processor, **kwargs):
    CALLS.append(1)  # a global that changes from call to call
    return default_preprocess_function(message, model, processor, **kwargs)


def test_a_function_that_counts_its_calls_keeps_its_fingerprint(make, ask, picture, fingerprint):
    untouched = fingerprint(preprocess_function=counting_preprocess)
    ask(wrapper := make(preprocess_function=counting_preprocess))
    assert CALLS and wrapper.request(messages_of(picture), L2).fingerprint == untouched


def test_a_request_loads_nothing(folders, picture):
    code = f"""
import sys
from tests.local.conftest import of
wrapper = of({str(folders["qwen2_vl"])!r})
assert wrapper.problems() == [], wrapper.problems()
wrapper.request([{{"role": "user", "type": "image", "value": {str(picture)!r}}}], "{L2}")
wrapper.close()
print(sorted({{"torch", "transformers", "qwen_vl_utils"}} & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_a_hub_that_fails_silently_is_named_by_its_error(tmp_path, monkeypatch, fingerprint):
    import huggingface_hub

    def fails(*_: object, **__: object) -> None:
        raise TimeoutError

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", fails)
    with pytest.raises(UserError, match=r"hub: TimeoutError$"):
        fingerprint(folder="some-org/some-model")


def test_a_hub_name_is_identified_by_its_commit(tmp_path, monkeypatch, make, fingerprint):
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    hub = {"folder": "some-org/some-model"}
    assert make(**hub).problems() == []
    assert "is not in the cache" in make(**hub).notes_before()[-1]
    with pytest.raises(UserError, match=r"no such folder.*hub"):
        fingerprint(**hub)
    prints, cached = set(), tmp_path / "models--some-org--some-model"
    (cached / "refs").mkdir(parents=True)
    for commit in ("a" * 40, "b" * 40):
        (cached / "refs" / "main").write_text(commit)
        (snapshot := cached / "snapshots" / commit).mkdir(parents=True)
        for name in ("config", "generation_config"):
            (snapshot / f"{name}.json").write_text('{"do_sample": true, "temperature": 0.7}')
        prints.add(fingerprint(**hub))
    assert len(prints) == 2
    assert "sampling, temperature 0.7 (from the checkpoint)" in make(**hub).notes_before()[0]


def test_the_commit_of_the_fingerprint_is_the_one_that_is_loaded(
    folders, tmp_path, monkeypatch, make, encode
):
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    repository = tmp_path / "models--some-org--some-model"
    (repository / "refs").mkdir(parents=True)
    templates = {"a" * 40: "first", "b" * 40: "second"}
    for commit, words in templates.items():
        snapshot = shutil.copytree(folders["qwen2_vl"], repository / "snapshots" / commit)
        template = (snapshot / "chat_template.jinja").read_text()
        (snapshot / "chat_template.jinja").write_text(words + template)
    (repository / "refs" / "main").write_text("a" * 40)
    (repository / "refs" / "v2").write_text("b" * 40)
    wrapper = make(folder="some-org/some-model")
    other = make(folder="some-org/some-model", kwargs={"load": {"revision": "v2"}})
    assert wrapper.settings_digest() != other.settings_digest()
    (repository / "refs" / "main").write_text("b" * 40)  # somebody pushes
    assert prompt_of(wrapper, encode(wrapper)).startswith("first")
    assert prompt_of(other, encode(other)).startswith("second")


def test_settings_of_the_config_reach_the_library(folders, copy_of, make, encode):
    folder = copy_of(folders["qwen2_5_vl"])
    template = (folder / "chat_template.jinja").read_text()
    (folder / "chat_template.jinja").write_text(template + "{{ 'quiet' if not enable_thinking }}")
    parts = {"text_config": "eager", "vision_config": "sdpa"}
    wrapper = make(
        folder=folder,
        kwargs={
            "load": {"attn_implementation": parts, "max_memory": {"0": "1GB", "cpu": "8GB"}},
            "chat_template": {"enable_thinking": False},
        },
    )
    assert prompt_of(wrapper, encode(wrapper)).endswith("quiet")
    loaded = wrapper.model().checkpoint
    assert loaded.model.config.text_config._attn_implementation == "eager"
    assert loaded.model.config.vision_config._attn_implementation == "sdpa"
    assert loaded.runs_with["attention"] == json.dumps(parts)
    with pytest.raises(StopRun, match="cannot be loaded"):
        make(kwargs={"load": {"quantization_config": {"quant_method": "no such"}}}).warm_up()


def test_what_cannot_be_loaded_or_used_is_a_clear_error_and_not_kept(folders, copy_of, make, ask):
    def in_memory():
        gc.collect()
        return sum(
            type(candidate).__name__.startswith("Qwen2_5_VLFor") for candidate in gc.get_objects()
        )

    before, wrapper = in_memory(), make(generate_function="genrate")
    for _ in range(2):  # remembered, not loaded again
        with pytest.raises(StopRun, match=r"Qwen2_5_VL.*no method .genrate."):
            ask(wrapper)
    assert in_memory() <= before
    folder = copy_of(folders["qwen2_vl"])
    (folder / "model.safetensors").write_bytes(b"\0" * 5000)
    with pytest.raises(UserError, match=r"cannot be loaded"):
        ask(make(folder=folder))
    with pytest.raises(CallError, match=r"no_such_argument") as caught:
        ask(make(generate_cfg={"max_new_tokens": 4, "no_such_argument": 1}))
    assert caught.value.kind == "model" and "Traceback" in caught.value.trace


def test_a_checkpoint_is_loaded_once_in_float32_with_left_padding_on_the_cpu(make, capsys):
    wrapper = make("qwen3_vl", device_map="cpu")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: wrapper.warm_up(), range(4)))
    assert capsys.readouterr().out == "loaded: cpu, float32, sdpa\n"
    runs_with = {"device": "cpu", "dtype": "float32", "attention": "sdpa"}
    assert wrapper.model().checkpoint.runs_with == runs_with
    assert wrapper.model().checkpoint.tokenizer.padding_side == "left"

"""A checkpoint whose config names a recipe gets what transformers makes of the authors' messages."""

import pytest
from PIL import Image

from models.recipes import all_recipes
from models.wrappers.local.wrapper import LocalModelWrapper
from tests.support.stage import L2
from utils.config.recipes import fill_in
from utils.config.schema import model_entry
from utils.geometry.resizing import sent_wh
from utils.import_utils import resolve

INSTRUCTION = "open the <b>settings</b> menu"
FILE_WH = (300, 200)


def entry_of(recipe, folder, **changes):
    raw = {"recipe": recipe, "model_path": str(folder), "imp_type": "transformers", **changes}
    filled_in = fill_in(raw, "transformers", {L2: L2})
    entry, problems = model_entry("transformers", filled_in.entry)
    assert problems == []
    return entry


def wrapper_of(entry):
    paths = [entry.preprocess_function, entry.postprocess_function]
    pre, post = (resolve(path, role="function") if path else None for path in paths)
    return LocalModelWrapper("m", entry, preprocess_function=pre, postprocess_function=post)


def encoded(entry, picture):
    """The inputs that the program makes of one sample, and its wrapper."""
    wrapper = wrapper_of(entry)
    line = {"image_path": str(picture), "instruction": INSTRUCTION}
    sizes = {"file_size": FILE_WH, "sent_size": sent_wh(entry.kwargs, FILE_WH)}
    build_prompt = resolve(entry.custom_prompt[L2], role="prompt")
    prompt = build_prompt(line, L2, **entry.kwargs, **sizes)
    return wrapper.model().encode(wrapper.request(prompt, L2)), wrapper


def of_the_library(recipe, picture, processor, named_wh):
    """The inputs that transformers makes of the messages of the authors' code."""
    form = next(iter(all_recipes()[recipe].prompts.values()))
    image = Image.open(picture).convert("RGB")
    chat = []
    for message in form.messages(INSTRUCTION, named_wh):
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        is_image = [part["type"] == "image" for part in parts]
        parts = [
            {**part, "image": image} if is_one else part
            for part, is_one in zip(parts, is_image, strict=True)
        ]
        chat.append({"role": message["role"], "content": parts})
    text = processor.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    return processor(text=[text], images=[image], return_tensors="pt")


@pytest.mark.parametrize(
    ("recipe", "family"),
    [("qwen2_5_vl", "qwen2_5_vl"), ("qwen3_vl", "qwen3_vl"), ("qwen3_5", "qwen3_5")],
)
def test_text_and_image_are_those_of_the_library(recipe, family, folders, picture):
    from transformers import AutoProcessor

    entry = entry_of(recipe, folders[family])
    request, _ = encoded(entry, picture)
    smallest, largest = (entry.kwargs[key] for key in ("min_pixels", "max_pixels"))
    size = {"shortest_edge": smallest, "longest_edge": largest}
    processor = AutoProcessor.from_pretrained(folders[family], size=size)
    recipe_limits = all_recipes()[recipe].limits
    sent = next((copy.path for copy in request.copies), picture)  # resized by the recipe's rule
    expected = of_the_library(recipe, sent, processor, recipe_limits.grid_wh(FILE_WH))
    assert request.inputs["image_grid_thw"].tolist() == expected["image_grid_thw"].tolist()
    assert request.inputs["input_ids"].tolist() == expected["input_ids"].tolist()
    # Pillow's filter here, torchvision's there; the image is noise.
    difference = request.inputs["pixel_values"].float() - expected["pixel_values"].float()
    assert difference.abs().mean() < 0.02


def test_a_family_with_images_of_one_size_gets_the_librarys_text_and_image(llava, picture):
    from transformers import AutoProcessor

    request, _ = encoded(entry_of("kimi_vl", llava), picture)
    processor = AutoProcessor.from_pretrained(llava)
    expected = of_the_library("kimi_vl", picture, processor, (0, 0))
    assert request.inputs["input_ids"].tolist() == expected["input_ids"].tolist()
    assert request.inputs["pixel_values"].shape == expected["pixel_values"].shape


def test_an_image_is_resized_by_the_authors_rule_first(folders, picture):
    request, wrapper = encoded(entry_of("gta1", folders["qwen2_5_vl"]), picture)
    [copy] = request.copies
    assert Image.open(copy.path).size == (308, 196)
    assert request.image_sizes[0].sent_wh == request.image_sizes[0].seen_wh == (308, 196)
    text = wrapper.model().checkpoint.tokenizer.decode(request.inputs["input_ids"][0])
    assert "height 196 and width 308" in text


def test_a_reply_that_the_authors_code_begins_is_continued(folders, picture):
    prompt_of_ssp = {"custom_prompt": {L2: "models.recipes.qwen2_5_vl.build_prompt_ssp"}}
    request, wrapper = encoded(
        entry_of("qwen2_5_vl", folders["qwen2_5_vl"], **prompt_of_ssp), picture
    )
    text = wrapper.model().checkpoint.tokenizer.decode(request.inputs["input_ids"][0])
    assert text.endswith(
        '<|im_start|>assistant\n<tool_call>\n{"name": "computer_use", "arguments"'
        ': {"action": "left_click", "coordinate": ['
    )


def test_settings_are_in_the_words_of_the_library(folders):
    greedy = entry_of("qwen3_vl", folders["qwen3_vl"])
    assert greedy.generate_cfg == {"max_new_tokens": 512, "do_sample": False}
    sampling = entry_of("gui_owl_1_5", folders["qwen3_vl"])
    assert sampling.generate_cfg == {
        "max_new_tokens": 2048,
        "do_sample": True,
        "temperature": 0.01,
        "top_p": 0.01,
        "top_k": 1,
    }
    entry = entry_of("qwen3_vl", folders["qwen3_vl"], generate_cfg={"temperature": 0.7})
    assert entry.generate_cfg == {"max_new_tokens": 512, "temperature": 0.7}
    assert entry_of("holo2", folders["qwen3_vl"]).kwargs["chat_template"] == {"thinking": False}
    atlas_entry = entry_of("os_atlas_base_7b", folders["qwen2_vl"])
    assert atlas_entry.postprocess_function == "models.recipes.base.with_special_tokens"


@pytest.mark.parametrize("recipe", ["aguvis", "os_atlas_base_7b"])
def test_a_checkpoint_of_a_recipe_with_functions_of_its_own_answers(recipe, folders, picture):
    family = {"aguvis": "qwen2_vl", "os_atlas_base_7b": "qwen2_vl"}[recipe]
    entry = entry_of(recipe, folders[family], generate_cfg={"max_new_tokens": 4})
    wrapper = wrapper_of(entry)
    prompt = resolve(entry.custom_prompt[L2], role="prompt")(
        {"image_path": str(picture), "instruction": INSTRUCTION}, L2
    )
    generation = wrapper.generate(wrapper.request(prompt, L2))
    assert generation.postprocess_error is None
    wrapper.close()

"""The functions of the user's guide, typed in as they stand there.

What the guide refers to but does not show (`prepare_content`, `uitars_postprocess`, the prompt's
text, the image folder) is written here; `.to("cuda")` is `.to(model.device)`. Its prompts of L1 are
left out: they lie behind `line["instruction"]`, which no question has.
"""

# ruff: noqa

import ast
import os
import re

import torch

from utils.coordinates import smart_resize

GROUNDING_user_prompt = "Where would you click? {instruction}"
IMAGE_FOLDER = os.path.join(os.environ["LMUData"], "MMBench-GUI", "offline_images")


def prepare_content(message, processor, **kwargs):
    limits = {name: kwargs[name] for name in ("min_pixels", "max_pixels") if name in kwargs}
    return [
        {"type": "image", "image": f"file://{part['value']}", **limits}
        if part["type"] == "image"
        else {"type": "text", "text": part["value"]}
        for part in message
    ]


def uitars_postprocess(click_point, image_size):
    width, height = image_size
    grid_height, grid_width = smart_resize(height, width, min_pixels=3136, max_pixels=2116800)
    return [click_point[0] / grid_width, click_point[1] / grid_height]


def build_custom_prompt(line, dataset):
    msgs = []
    tgt_path = os.path.join(IMAGE_FOLDER, line["image_path"])
    instruction = line["instruction"]
    if dataset == "GUIElementGrounding":
        msgs.append({"role": "user", "type": "image", "value": f"{tgt_path}"})
        text = GROUNDING_user_prompt.format(instruction=instruction)
        msgs.append({"role": "user", "type": "text", "value": text})
        return msgs


def preprocess_uitars(message, model, processor, **kwargs):
    from qwen_vl_utils import process_vision_info

    messages = []
    if "system" == message[0]["role"]:
        messages.append({"role": "system", "content": message[0]["value"]})
        message = message[1:]
    messages.append({"role": "user", "content": prepare_content(message, processor, **kwargs)})
    text = processor.apply_chat_template([messages], tokenize=False, add_generation_prompt=True)
    images, videos = process_vision_info([messages])
    inputs = processor(text=text, images=images, videos=videos, padding=True, return_tensors="pt")
    inputs = inputs.to(model.device)
    return inputs


def postprocess_uitars(outputs, model, processor, **kwargs):
    if isinstance(outputs, tuple):
        outputs = outputs[0]
    if isinstance(outputs, torch.Tensor):
        outputs = outputs.cpu().numpy()
    out = processor.batch_decode(
        outputs, skip_special_tokens=True, clean_up_tokenization_spaces=True
    )
    response = out[0]
    resp = response.split("assistant\n")[-1]
    return resp


def parse_grounding_response(response, meta):
    click_point = re.findall(r"\d+", response)
    if len(click_point) == 2:
        click_point = [int(x) for x in click_point]
        return uitars_postprocess(click_point, ast.literal_eval(meta["image_size"]))
    else:
        return None

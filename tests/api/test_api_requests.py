"""What goes over the wire: request bodies of real runs, compared whole with bodies made here."""

import base64
import io
import json
import re
from collections import namedtuple
from dataclasses import dataclass
from importlib import import_module

import pytest
from PIL import Image

from models.api_gpt import GROUNDING_PROMPT
from models.wrappers.api.responses import input_items
from models.wrappers.api.wire import ImageStyle
from tests.support.mock_server import MockServer
from tests.support.runs import PROJECT, make_data
from tests.support.stage import L1, L2, Ran, Stage
from utils.config.text import read_plain
from utils.errors import UserError

Asked = namedtuple(
    "Asked", "dataset picture text instruction", defaults=[""]
)  # a sample, as far as it is sent
# Protocol texts as the specification prints them, not as the program holds them.
SYSTEM = {
    L1: "You are a GUI agent. You are given a screenshot of an application, a question and "
    "corresponding options. You need to choose one option as your answer for the question. "
    "Finally, you are ONLY allowed to return the single letter of your choice.",
    L2: "You are a GUI agent. You are given a task and a screenshot of the screen. You need to finish "
    "this task following instructions from users.",
}
L2_TEXT = (
    "Output only the coordinate (x,y) of one point in your response. "
    "What element matches the following task: "
)
END = (
    "\nOptions:\nA. no\nB. yes\nC. maybe\n"
    "Please select the correct answer from the options above. \n"
)

# File name, format, mode: what a data set holds, and names that do not fit the content.
PICTURES = [
    ("plain.png", "PNG", "RGB"),
    ("alpha.png", "PNG", "RGBA"),
    ("palette.png", "PNG", "P"),
    ("jpeg_in_disguise.png", "JPEG", "RGB"),
    ("camera.JPG", "JPEG", "RGB"),
    ("print.jpg", "JPEG", "CMYK"),
]  # which no PNG can hold
DEEP = ("deep.png", "PNG", "I;16")  # 16 bits a pixel: no JPEG can hold it
WH = (320, 180)


def draw(path, picture_format, mode):
    """An image whose pixels differ, so that shrinking and re-encoding show."""
    gradient = Image.linear_gradient("L").resize(WH)
    image = Image.merge("RGB", (gradient, gradient.rotate(180), gradient.point(lambda v: v // 2)))
    if mode == "RGBA":
        image.putalpha(gradient)
    deep, palette = Image.new("I;16", WH, 700), image.quantize(16) if mode == "P" else None
    converted = {"P": palette, "I;16": deep, "CMYK": image.convert("CMYK")}.get(mode, image)
    converted.save(path, format=picture_format)


def make_pictures(root, pictures):
    """The made data root with these images in the place of its own."""
    make_data(root, [("os_web", WH)] * len(pictures))
    home = root / "MMBench-GUI"
    folder = home / "offline_images" / "os_web"
    for number, (name, picture_format, mode) in enumerate(pictures):
        (folder / f"pic{number}.png").unlink()
        draw(folder / name, picture_format, mode)
        for level in ("L1", "L2"):
            file = home / f"{level}_annotations.json"
            file.write_text(file.read_text().replace(f'"pic{number}.png"', f'"{name}"'))


def samples_of(root):
    """Every sample of a data root with its default prompt text, from the annotation files."""
    home = root / "MMBench-GUI"
    folder = home / "offline_images" / "os_web"
    files = (home / f"{level}_annotations.json" for level in ("L1", "L2"))
    l1, l2 = (json.loads(file.read_text()) for file in files)
    questions = [
        Asked(L1, folder / image["image_path"], f"Question: {group['question']}{END}")
        for image in l1
        for group in image["groups"]
    ]
    return questions + [
        Asked(L2, folder / line["image_path"], L2_TEXT + line["instruction"], line["instruction"])
        for line in l2
    ]


def file_url(picture):
    """The file's own bytes; the MIME type is that of its content."""
    with Image.open(picture) as opened:
        mime = {"PNG": "image/png", "JPEG": "image/jpeg"}[opened.format]
    return f"data:{mime};base64,{base64.b64encode(picture.read_bytes()).decode()}"


def reference_url(picture, img_size=-1):
    """JPEG of quality 75 under a MIME type made of the file's extension."""
    with Image.open(picture) as opened:
        pixels = opened.convert("RGB") if opened.mode in ("RGBA", "P", "LA") else opened.copy()
    if img_size > 0:
        pixels.thumbnail((img_size, img_size))
    buffer = io.BytesIO()
    pixels.save(buffer, format="JPEG", quality=75)
    mime = "image/" + picture.suffix[1:].lower()
    return f"data:{mime};base64,{base64.b64encode(buffer.getvalue()).decode()}"


def text_part(text):
    return {"type": "text", "text": text}


def image_part(url, detail=None):
    picture = {"url": url} if detail is None else {"url": url, "detail": detail}
    return {"type": "image_url", "image_url": picture}


def documented(sample, text, *, system=None, detail=None):
    head = [{"role": "system", "content": [text_part(system)]}] if system else []
    parts = [image_part(file_url(sample.picture), detail), text_part(text)]
    return [*head, {"role": "user", "content": parts}]


def reference(sample, text, *, system=None, detail="low", img_size=-1):
    """Messages of the reference's payload: each part a message of its own."""
    head = [{"role": "system", "content": system + "\n"}] if system else []
    parts = [image_part(reference_url(sample.picture, img_size), detail), text_part(text)]
    return [*head, *({"role": "user", "content": [part]} for part in parts)]


def canonical(bodies):
    """A set of bodies in a form that can be compared; the order of keys does not matter."""
    return sorted(json.dumps(body, sort_keys=True) for body in bodies)


def shipped_body(config, form, sample):
    """What the documents say that a shipped config sends for a sample."""
    is_gpt, is_l2, more = config == "gpt", sample.dataset == L2, {}
    prompt = GROUNDING_PROMPT if is_gpt else import_module("ui_tars.prompt").GROUNDING_DOUBAO
    if is_gpt:
        more = {"detail": "low", "system": None if is_l2 else SYSTEM[L1]}
    text = prompt.replace("{instruction}", sample.instruction) if is_l2 else sample.text
    return {
        "model": "gpt-4o" if is_gpt else "UI-TARS-1.5-7B",
        "temperature": 0,
        "max_tokens": 512,
        "messages": form(sample, text, **more),
    }


def shipped(config, url, wire_format, swapped):
    """A shipped config with another URL, wire format and order of data sets."""
    text = (PROJECT / f"configs/config_api_{config}.json").read_text("utf-8")
    original = read_plain(text, {"OPENAI_API_KEY": "sk-test-1234567890"}).value
    [entry] = original["model"].values()
    entry["model_path"] = f"{url}?{entry['model_path'].partition('?')[2]}"
    entry["kwargs"]["wire_format"] = wire_format
    assert list(original["data"]) == [L2, L1]
    return original | ({"data": dict(reversed(original["data"].items()))} if swapped else {})


@pytest.mark.parametrize("swapped", [False, True], ids=["L2-first", "L1-first"])
@pytest.mark.parametrize("wire_format", ["documented", "reference"])
@pytest.mark.parametrize("config", ["gpt", "uitars"])
def test_a_shipped_config_sends_what_the_documents_say(config, wire_format, swapped, tmp_path):
    if config == "uitars":
        pytest.importorskip("ui_tars")
    with MockServer() as server:
        stage = Stage(tmp_path, server, **shipped(config, server.url, wire_format, swapped))
        make_pictures(stage.root, PICTURES)
        ran = stage.run()
    assert ran.code == 0, ran.output
    assert {request.path for request in ran.requests} == {"/v1/chat/completions"}
    form = documented if wire_format == "documented" else reference
    expected = canonical(shipped_body(config, form, sample) for sample in samples_of(stage.root))
    assert canonical(request.body for request in ran.requests) == expected


USER_FUNCTIONS = '''
def own_prompt(line, dataset):
    """A custom prompt with a system message and text in front of the picture."""
    asked = str(line.get("instruction") or line["question"])
    return [{"role": "system", "type": "text", "value": "Own system."},
            {"role": "user", "type": "text", "value": "Before " + asked},
            {"role": "user", "type": "image", "value": line["image_path"]}]
def no_prompt(line, dataset): return None
def payload_list(message, model, processor, **kwargs):
    return [{"role": "user", "content": kwargs["dataset_name"] + " " + message[-1]["value"]}]
def payload_dict(message, model, processor, **kwargs):
    return {"messages": [{"role": "user", "content": message[-1]["value"]}],
            "temperature": 0.7, "top_p": 0.5}
def payload_over_extra_body(message, model, processor, **kwargs):
    return {"messages": [{"role": "user", "content": message[-1]["value"]}],
            "top_k": 3, "extra_body": {"min_p": 0.2}}
'''


def user(*content):
    return {"role": "user", "content": content[0] if isinstance(content[0], str) else list(content)}


def own_text(sample):
    question = sample.text.removeprefix("Question: ").split("\n")[0]
    return "Before " + (sample.instruction or question)


def usual(form=documented, system=SYSTEM, **changes):
    """Messages of a sample as the default prompt has them."""
    return lambda s: {"messages": form(s, s.text, system=system[s.dataset], **changes)}


def kwargs(**settings):
    return {"kwargs": settings}


BOTH_OWN, BOTH_NONE = (
    {"custom_prompt": dict.fromkeys((L1, L2), f"wire_functions.{name}_prompt")}
    for name in ("own", "no")
)
EXTRA = {
    "temperature": 0.5,
    "max_tokens": 9,
    "stop": ["\n\n", "ü"],
    "extra_body": {"top_k": 1, "deep": {"list": [1, None]}, "max_tokens": 11, "timeout": 7},
    "extra_headers": {"X-Project": "mmbench"},
    "extra_query": {"tier": "flex"},
}
OWN_SYSTEM = {"role": "system", "content": [text_part("Own system.")]}
TERSE = dict.fromkeys((L1, L2), "You are {terse}.")
REFERENCE = {"wire_format": "reference"}
# What is set → what is sent beside the model's name and `"temperature": 0`; None: looked at below.
SETTINGS = {
    # the file's own bytes and the system text that is set
    "plain": ({}, usual()),
    "empty": (kwargs(system_prompt=""), usual()),
    "named": (kwargs(system_prompt="benchmark_default"), usual()),
    "original": (kwargs(image_format="original", img_size=0), usual()),
    "large": (kwargs(img_size=320), usual()),
    "none": (kwargs(system_prompt="model_default"), usual(system={L1: None, L2: None})),
    "text": (kwargs(system_prompt=TERSE[L1]), usual(system=TERSE)),
    "asks-for-default": ({**BOTH_NONE, **kwargs(system_prompt=TERSE[L1])}, usual(system=TERSE)),
    "high": (kwargs(img_detail="high"), usual(detail="high")),
    "small": (kwargs(img_size=100), None),
    "png": (kwargs(image_format="png"), None),
    "jpeg": (kwargs(image_format="jpeg"), None),
    # the reference body is the one of the published results
    "ref": (kwargs(**REFERENCE), usual(reference)),
    "ref-jpeg-is-jpeg": (kwargs(**REFERENCE, image_format="png"), usual(reference)),
    "ref-high": (kwargs(**REFERENCE, img_detail="high"), usual(reference, detail="high")),
    "ref-small": (kwargs(**REFERENCE, img_size=100), usual(reference, img_size=100)),
    "ref-text": (kwargs(**REFERENCE, system_prompt=TERSE[L1]), usual(reference, system=TERSE)),
    # a custom prompt keeps its order and its system message, as a list of parts in both formats
    "own": (
        {**BOTH_OWN, **kwargs(system_prompt="without effect")},
        lambda s: {
            "messages": [OWN_SYSTEM, user(text_part(own_text(s)), image_part(file_url(s.picture)))]
        },
    ),
    "ref-own": (
        {**BOTH_OWN, **kwargs(**REFERENCE)},
        lambda s: {
            "messages": [
                OWN_SYSTEM,
                user(text_part(own_text(s))),
                user(image_part(reference_url(s.picture), "low")),
            ]
        },
    ),
    # parameters, extra_body on top of them, and what a preprocess function returns on top of all
    "extra": (
        {"generate_cfg": EXTRA},
        lambda s: (
            usual()(s)
            | {
                "temperature": 0.5,
                "max_tokens": 11,
                "stop": ["\n\n", "ü"],
                "top_k": 1,
                "deep": {"list": [1, None]},
                "timeout": 7,
            }
        ),
    ),  # the server's own; the client's stands beside extra_body
    "payload-list": (
        {"preprocess_function": "wire_functions.payload_list"},
        lambda s: {"messages": [user(f"{s.dataset} {s.text}")]},
    ),
    "payload-dict": (
        {"preprocess_function": "wire_functions.payload_dict"},
        lambda s: {"messages": [user(s.text)], "temperature": 0.7, "top_p": 0.5},
    ),
    "payload-over-extra-body": (
        {
            "preprocess_function": "wire_functions.payload_over_extra_body",
            "generate_cfg": {"seed": 1, "extra_body": {"top_k": 50, "min_p": 0.1, "top_a": 1}},
        },
        lambda s: {"messages": [user(s.text)], "seed": 1, "top_k": 3, "min_p": 0.2, "top_a": 1},
    ),
}


@dataclass
class WireRun:
    """One run of all the settings above over all images."""

    stage: Stage
    ran: Ran

    def of(self, setting):
        """The requests that a setting sent; each setting has a model name of its own."""
        return [request for request in self.ran.requests if request.body["model"] == setting]

    def pictures(self, setting):
        """File name → (declared MIME type, decoded picture), through the text of the request."""
        images = {}
        for request in self.of(setting):
            [sample] = [s for s in samples_of(self.stage.root) if s.text in request.text]
            [url] = request.pictures
            head, data = url.split(";base64,")
            picture = Image.open(io.BytesIO(base64.b64decode(data)))
            images[sample.picture.name] = (head.removeprefix("data:"), picture)
        return images


@pytest.fixture(scope="module")
def wire(tmp_path_factory):
    env = {
        "OPENAI_API_KEY": "sk-of-openai-alone",
        "OPENAI_ORG_ID": "org-1234",
        "OPENAI_PROJECT_ID": "proj-1234",
        "OPENAI_ADMIN_KEY": "sk-admin-1234",
        "OPENAI_CUSTOM_HEADERS": "Authorization: Bearer sk-header-1234\nX-Team: team-1234",
    }
    with MockServer() as server:
        models = {
            name: {
                "imp_type": "openai",
                "generate_cfg": {"temperature": 0},
                "model_path": f"{server.url}?api_key=key-of-{name}&model={name}",
                **changes,
            }
            for name, (changes, _) in SETTINGS.items()
        }
        data = {L1: {"mode": "easy"}, L2: {"mode": "basic"}}
        stage = Stage(tmp_path_factory.mktemp("wire"), server, models, data, env)
        make_pictures(stage.root, [*PICTURES, DEEP])
        stage.code.mkdir()
        stage.module(USER_FUNCTIONS, "wire_functions")
        return WireRun(stage, stage.run())


@pytest.mark.parametrize("setting", [name for name, (_, body) in SETTINGS.items() if body])
def test_a_setting_sends_what_the_documents_say(wire, setting):
    # The modes of the run; an image that JPEG cannot hold is not sent in the reference format.
    every = samples_of(wire.stage.root)
    of_modes = [s for s in every if re.search(r" easy\?| basic target ", s.text)]
    samples = [s for s in of_modes if not setting.startswith("ref") or s.picture.name != DEEP[0]]
    temperature = {} if setting == "payload-over-extra-body" else {"temperature": 0}
    expected = [{"model": setting} | temperature | SETTINGS[setting][1](s) for s in samples]
    assert canonical(request.body for request in wire.of(setting)) == canonical(expected)


def test_each_model_sends_its_own_key_and_headers_and_nothing_of_the_openai_environment(wire):
    keys = {r.body["model"]: r.headers["authorization"] for r in wire.ran.requests}
    assert keys == {name: f"Bearer key-of-{name}" for name in SETTINGS}
    sent = json.dumps([request.headers for request in wire.ran.requests])
    assert [text for text in ("1234", "sk-of-openai-alone") if text in sent] == []
    assert {r.headers.get("x-project") for r in wire.of("extra")} == {"mmbench"}
    assert {r.path for r in wire.of("extra")} == {"/v1/chat/completions?tier=flex"}


def test_images_are_sent_as_it_is_set_if_they_can_be_and_the_size_is_recorded(wire):
    kinds = {"small": ("png", (100, 56)), "png": ("png", WH), "jpeg": ("jpeg", WH)}
    for setting, (kind, wh) in kinds.items():
        sent = wire.pictures(setting)
        facts = {name: (mime, image.format, image.size) for name, (mime, image) in sent.items()}
        assert {facts[name] for name, *_ in PICTURES} == {(f"image/{kind}", kind.upper(), wh)}
    sizes, count = [r["sizes"] for r in wire.stage.answers(L1, "small")], len(PICTURES) + 1
    assert [(s["file"], s["sent"]) for s in sizes] == [([320, 180], [100, 56])] * count
    [block] = re.findall(rf"{L1} · small ·.*?\n\n", wire.ran.output, flags=re.DOTALL)
    assert f"the images of {count} samples were resized before sending: 320x180 → 100x56" in block
    # What JPEG cannot hold fails its sample in the reference format alone.
    failed = [r for r in wire.stage.answers(L2, "ref") if r["status"] == "failed"]
    assert [record["line"]["image_path"] for record in failed] == [f"os_web/{DEEP[0]}"]
    assert wire.ran.code == 1


@pytest.mark.parametrize("name", ["plain.png", "alpha.png", "jpeg_in_disguise.png", "camera.JPG"])
def test_conversion_to_png_and_shrinking_lose_nothing_else(wire, name):
    folder = wire.stage.root / "MMBench-GUI" / "offline_images" / "os_web"
    with Image.open(folder / name) as original:
        mode, small = original.mode, original.copy()
        assert wire.pictures("png")[name][1].convert(mode).tobytes() == original.tobytes()
    small.thumbnail((100, 100))
    assert wire.pictures("small")[name][1].convert(mode).tobytes() == small.tobytes()


def test_the_responses_api_gets_the_url_of_an_image_as_the_prompt_has_it():
    url = "https://example.org/a.png"
    message = {"role": "user", "type": "image", "value": url}
    part = {"type": "input_image", "image_url": url, "detail": "auto"}
    assert input_items([message], ImageStyle()) == [{"role": "user", "content": [part]}]


def test_the_responses_api_takes_no_image_of_the_assistant():
    message = {"role": "assistant", "type": "image", "value": "https://example.org/a.png"}
    with pytest.raises(UserError, match="an image of the assistant"):
        input_items([message], ImageStyle())

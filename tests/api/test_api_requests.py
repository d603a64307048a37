"""What goes over the wire: request bodies of real runs, compared whole with bodies made here."""

import base64
import io
import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from PIL import Image

from models.api_gpt import GROUNDING_PROMPT
from tests.support.bench import L1, L2, dataset_of
from tests.support.mock_server import MockServer, Request
from tests.support.runs import PROJECT, evaluate, make_data, run_folder

# Protocol texts as the specification prints them, not as the program holds them.
L1_SYSTEM = (
    "You are a GUI agent. You are given a screenshot of an application, a question and "
    "corresponding options. You need to choose one option as your answer for the question. "
    "Finally, you are ONLY allowed to return the single letter of your choice."
)
L2_SYSTEM = (
    "You are a GUI agent. You are given a task and a screenshot of the screen. You need to finish "
    "this task following instructions from users."
)
SYSTEM = {L1: L1_SYSTEM, L2: L2_SYSTEM}
L2_TEXT = (
    "Output only the coordinate (x,y) of one point in your response. What element matches the "
    "following task: {instruction}"
)
OPTIONS = {"A": "no", "B": "yes", "C": "maybe"}

# File name, format, mode: what a data set holds, and names that do not fit the content.
PICTURES = [
    ("plain.png", "PNG", "RGB"),
    ("alpha.png", "PNG", "RGBA"),
    ("palette.png", "PNG", "P"),
    ("jpeg_in_disguise.png", "JPEG", "RGB"),
    ("camera.JPG", "JPEG", "RGB"),
    ("print.jpg", "JPEG", "CMYK"),  # which no PNG can hold
]
DEEP = ("deep.png", "PNG", "I;16")  # 16 bits a pixel: no JPEG can hold it
WH = (320, 180)


def draw(path, picture_format, mode):
    """A picture whose pixels differ, so that shrinking and re-encoding show."""
    gradient = Image.linear_gradient("L").resize(WH)
    picture = Image.merge("RGB", (gradient, gradient.rotate(180), gradient.point(lambda v: v // 2)))
    if mode == "RGBA":
        picture.putalpha(gradient)
    elif mode == "P":
        picture = picture.quantize(16)
    elif mode == "CMYK":
        picture = picture.convert("CMYK")
    elif mode == "I;16":
        picture = Image.new("I;16", WH, 700)
    picture.save(path, format=picture_format)


def make_pictures(root, pictures):
    """The made data root with these pictures in the place of its own."""
    make_data(root, [("os_web", WH)] * len(pictures))
    home = root / "MMBench-GUI"
    folder = home / "offline_images" / "os_web"
    for number, (name, picture_format, mode) in enumerate(pictures):
        (folder / f"pic{number}.png").unlink()
        draw(folder / name, picture_format, mode)
        for level in ("L1", "L2"):
            file = home / f"{level}_annotations.json"
            file.write_text(file.read_text().replace(f'"pic{number}.png"', f'"{name}"'))
    return root


@dataclass(frozen=True)
class Asked:
    """One sample, as far as a request depends on it."""

    dataset: str
    picture: Path
    text: str
    instruction: str = ""


def samples_of(root):
    """Every sample of a data root with its default prompt text, from the annotation files."""
    home = root / "MMBench-GUI"
    folder = home / "offline_images" / "os_web"
    found = []
    for image in json.loads((home / "L1_annotations.json").read_text()):
        for group in image["groups"]:
            options = "".join(f"{letter}. {text}\n" for letter, text in OPTIONS.items())
            text = (
                f"Question: {group['question']}\nOptions:\n{options}"
                "Please select the correct answer from the options above. \n"
            )
            found.append(Asked(L1, folder / image["image_path"], text))
    for line in json.loads((home / "L2_annotations.json").read_text()):
        text = L2_TEXT.replace("{instruction}", line["instruction"])
        found.append(Asked(L2, folder / line["image_path"], text, line["instruction"]))
    return found


def file_url(picture, mime=None):
    """The file's own bytes; the MIME type is that of its content."""
    with Image.open(picture) as opened:
        mime = mime or {"PNG": "image/png", "JPEG": "image/jpeg"}[opened.format]
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
    """Messages of the documented payload."""
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


# ---- the shipped configs -------------------------------------------------------------------------


def uitars_text(instruction):
    prompt = pytest.importorskip("ui_tars.prompt")
    return prompt.GROUNDING_DOUBAO.replace("{instruction}", instruction)


def expected_bodies(config, wire_format, root):
    """What the documents say that a shipped config sends."""
    fixed = {"temperature": 0, "max_tokens": 512}
    form = documented if wire_format == "documented" else reference
    bodies = []
    for sample in samples_of(root):
        if config == "gpt":
            text = GROUNDING_PROMPT.replace("{instruction}", sample.instruction)
            asked = (
                {"text": text}
                if sample.dataset == L2
                else {"text": sample.text, "system": L1_SYSTEM}
            )
            messages = form(sample, detail="low", **asked)
            bodies.append({"model": "gpt-4o", **fixed, "messages": messages})
        else:
            text = uitars_text(sample.instruction) if sample.dataset == L2 else sample.text
            bodies.append({"model": "UI-TARS-1.5-7B", **fixed, "messages": form(sample, text)})
    return bodies


def shipped(config, url, wire_format, swapped):
    """A shipped config with another URL; where the order changes, as plain JSON."""
    text = (PROJECT / "configs" / f"config_api_{config}.json").read_text(encoding="utf-8")
    before = {"gpt": "https://api.openai.com/v1", "uitars": "http://127.0.0.1:8000/v1"}[config]
    assert text.count(before) == 1
    text = text.replace(before, url)
    if wire_format != "documented":
        text = text.replace('"kwargs": {', f'"kwargs": {{ "wire_format": "{wire_format}",')
    if not swapped:
        return text  # with its comments and trailing commas, as a user would have it
    plain = re.sub(r",(\s*[}\]])", r"\1", re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))
    whole = json.loads(plain)
    assert list(whole["data"]) == [L2, L1]
    return json.dumps({**whole, "data": dict(reversed(whole["data"].items()))})


@pytest.mark.parametrize("swapped", [False, True], ids=["L2-first", "L1-first"])
@pytest.mark.parametrize("wire_format", ["documented", "reference"])
@pytest.mark.parametrize("config", ["gpt", "uitars"])
def test_a_shipped_config_sends_what_the_documents_say_in_either_order_of_data_sets(
    config, wire_format, swapped, tmp_path
):
    if config == "uitars":
        pytest.importorskip("ui_tars")
    root = make_pictures(tmp_path / "data", PICTURES)
    file = tmp_path / "config.json"
    with MockServer() as server:
        file.write_text(shipped(config, server.url, wire_format, swapped), encoding="utf-8")
        env = {"LMUData": str(root), "OPENAI_API_KEY": "sk-test-1234567890"}
        ran = evaluate("--config", file, "--work-dir", tmp_path / "out", cwd=tmp_path, env=env)

    assert ran.code == 0, ran.output
    assert {request.path for request in server.requests} == {"/v1/chat/completions"}
    expected = canonical(expected_bodies(config, wire_format, root))
    assert canonical(request.body for request in server.requests) == expected


# ---- one model for each setting, all in one run --------------------------------------------------

USER_FUNCTIONS = '''
def own_prompt(line, dataset):
    """A custom prompt with a system message and text in front of the picture."""
    return [
        {"role": "system", "type": "text", "value": "Own system."},
        {"role": "user", "type": "text", "value": "Before " + str(line.get("instruction") or line["question"])},
        {"role": "user", "type": "image", "value": line["image_path"]},
    ]

def no_prompt(line, dataset):
    return None

def payload_list(message, model, processor, **kwargs):
    return [{"role": "user", "content": kwargs["dataset_name"] + " " + message[-1]["value"]}]

def payload_dict(message, model, processor, **kwargs):
    return {"messages": [{"role": "user", "content": message[-1]["value"]}],
            "temperature": 0.7, "top_p": 0.5}

def payload_over_extra_body(message, model, processor, **kwargs):
    return {"messages": [{"role": "user", "content": message[-1]["value"]}],
            "top_k": 3, "extra_body": {"min_p": 0.2}}
'''
BOTH_OWN = {"custom_prompt": {L1: "wire_functions.own_prompt", L2: "wire_functions.own_prompt"}}
BOTH_NONE = {"custom_prompt": {L1: "wire_functions.no_prompt", L2: "wire_functions.no_prompt"}}
EXTRA = {
    "temperature": 0.5,
    "max_tokens": 9,
    "stop": ["\n\n", "ü"],
    "extra_body": {"top_k": 1, "deep": {"list": [1, None]}, "max_tokens": 11, "timeout": 7},
    "extra_headers": {"X-Project": "mmbench"},
    "extra_query": {"tier": "flex"},
}
SETTINGS = {
    "plain": {},
    "empty": {"kwargs": {"system_prompt": ""}},
    "none": {"kwargs": {"system_prompt": "model_default"}},
    "named": {"kwargs": {"system_prompt": "benchmark_default"}},
    "text": {"kwargs": {"system_prompt": "You are {terse}."}},
    "high": {"kwargs": {"img_detail": "high"}},
    "original": {"kwargs": {"image_format": "original", "img_size": 0}},
    "large": {"kwargs": {"img_size": 320}},
    "small": {"kwargs": {"img_size": 100}},
    "png": {"kwargs": {"image_format": "png"}},
    "jpeg": {"kwargs": {"image_format": "jpeg"}},
    "ref": {"kwargs": {"wire_format": "reference"}},
    "ref-high": {"kwargs": {"wire_format": "reference", "img_detail": "high"}},
    "ref-small": {"kwargs": {"wire_format": "reference", "img_size": 100}},
    "ref-jpeg-is-jpeg": {"kwargs": {"wire_format": "reference", "image_format": "png"}},
    "ref-text": {"kwargs": {"wire_format": "reference", "system_prompt": "You are {terse}."}},
    "extra": {"generate_cfg": EXTRA},
    "own": {**BOTH_OWN, "kwargs": {"system_prompt": "without effect"}},
    "ref-own": {**BOTH_OWN, "kwargs": {"wire_format": "reference"}},
    "asks-for-default": {**BOTH_NONE, "kwargs": {"system_prompt": "You are {terse}."}},
    "payload-list": {"preprocess_function": "wire_functions.payload_list"},
    "payload-dict": {"preprocess_function": "wire_functions.payload_dict"},
    "payload-over-extra-body": {
        "preprocess_function": "wire_functions.payload_over_extra_body",
        "generate_cfg": {"seed": 1, "extra_body": {"top_k": 50, "min_p": 0.1, "top_a": 1}},
    },
}


@dataclass
class WireRun:
    """One run of all the settings above over all pictures."""

    code: int
    output: str
    root: Path
    work_dir: Path
    requests: list[Request]

    def of(self, setting):
        """The requests that a setting sent; each setting has a model name of its own."""
        return [request for request in self.requests if request.body["model"] == setting]

    def bodies(self, setting):
        return canonical(request.body for request in self.of(setting))

    def pictures(self, setting):
        """File name → (declared MIME type, decoded picture), through the text of the request."""
        found = {}
        for request in self.of(setting):
            [sample] = [s for s in samples_of(self.root) if s.text in request.text]
            [url] = request.pictures
            head, data = url.split(";base64,")
            picture = Image.open(io.BytesIO(base64.b64decode(data)))
            found[sample.picture.name] = (head.removeprefix("data:"), picture)
        return found


@pytest.fixture(scope="module")
def wire(tmp_path_factory):
    home = tmp_path_factory.mktemp("wire")
    root = make_pictures(home / "data", [*PICTURES, DEEP])
    (home / "code").mkdir()
    (home / "code" / "wire_functions.py").write_text(USER_FUNCTIONS)
    with MockServer() as server:
        entry = {"imp_type": "openai", "generate_cfg": {"temperature": 0}}
        models = {
            name: {
                **entry,
                "model_path": f"{server.url}?api_key=key-of-{name}&model={name}",
                **changes,
            }
            for name, changes in SETTINGS.items()
        }
        data = {L1: {"mode": "easy"}, L2: {"mode": "basic"}}
        file = home / "config.json"
        file.write_text(json.dumps({"model": models, "data": data}))
        env = {
            "LMUData": str(root), "PYTHONPATH": str(home / "code"),
            "OPENAI_API_KEY": "sk-of-openai-alone", "OPENAI_ORG_ID": "org-1234",
            "OPENAI_PROJECT_ID": "proj-1234", "OPENAI_ADMIN_KEY": "sk-admin-1234",
            "OPENAI_CUSTOM_HEADERS": "Authorization: Bearer sk-header-1234\nX-Team: team-1234",
        }  # fmt: skip
        ran = evaluate("--config", file, "--work-dir", home / "out", cwd=home, env=env)
    return WireRun(ran.code, ran.output, root, home / "out", server.requests)


def asked_samples(root, *, deep=True):
    """The samples of the modes above: the easy question and the basic target of each picture."""
    wanted = [s for s in samples_of(root) if " easy?" in s.text or " basic target " in s.text]
    return [s for s in wanted if deep or s.picture.name != DEEP[0]]


def user(*content):
    return {"role": "user", "content": content[0] if isinstance(content[0], str) else list(content)}


def own_text(sample):
    question = sample.text.removeprefix("Question: ").split("\n")[0]
    return "Before " + (sample.instruction or question)


OWN_SYSTEM = {"role": "system", "content": [text_part("Own system.")]}
TERSE = {L1: "You are {terse}.", L2: "You are {terse}."}


def usual(form=documented, system=SYSTEM, **changes):
    """Messages of a sample as the default prompt has them."""
    return lambda s: {"messages": form(s, s.text, system=system[s.dataset], **changes)}


# What each setting sends beside the model's name and `"temperature": 0`.
BODIES = {
    # the file's own bytes and the system text asked for
    **dict.fromkeys(("plain", "empty", "named", "original", "large"), usual()),
    "none": usual(system={L1: None, L2: None}),
    **dict.fromkeys(("text", "asks-for-default"), usual(system=TERSE)),
    "high": usual(detail="high"),
    # the reference body is the one of the published results
    **dict.fromkeys(("ref", "ref-jpeg-is-jpeg"), usual(reference)),
    "ref-high": usual(reference, detail="high"),
    "ref-small": usual(reference, img_size=100),
    "ref-text": usual(reference, system=TERSE),
    # a custom prompt keeps its order and its system message, as a list of parts in both formats
    "own": lambda s: {"messages": [
        OWN_SYSTEM, user(text_part(own_text(s)), image_part(file_url(s.picture)))]},
    "ref-own": lambda s: {"messages": [
        OWN_SYSTEM, user(text_part(own_text(s))),
        user(image_part(reference_url(s.picture), "low"))]},
    # parameters, extra_body on top of them, and what a preprocess function returns on top of all
    "extra": lambda s: usual()(s) | {
        "temperature": 0.5, "max_tokens": 11, "stop": ["\n\n", "ü"], "top_k": 1,
        "deep": {"list": [1, None]},
        "timeout": 7},  # the server's own; the client's stands beside extra_body
    "payload-list": lambda s: {"messages": [user(f"{s.dataset} {s.text}")]},
    "payload-dict": lambda s: {"messages": [user(s.text)], "temperature": 0.7, "top_p": 0.5},
    "payload-over-extra-body": lambda s: {
        "messages": [user(s.text)], "seed": 1, "top_k": 3, "min_p": 0.2, "top_a": 1},
}  # fmt: skip


@pytest.mark.parametrize("setting", BODIES)
def test_a_setting_sends_what_the_documents_say(wire, setting):
    samples = asked_samples(wire.root, deep=not setting.startswith("ref"))
    fixed = {"model": setting}
    if setting != "payload-over-extra-body":
        fixed["temperature"] = 0
    assert wire.bodies(setting) == canonical(fixed | BODIES[setting](s) for s in samples)


def test_a_picture_that_jpeg_cannot_hold_fails_its_sample_in_the_reference_format_alone(wire):
    folder = run_folder(wire.work_dir, "ref")
    log = (folder / f"ref_{L2}.jsonl").read_text().splitlines()
    failed = [r for r in map(json.loads, log) if r.get("status") == "failed"]
    assert [record["line"]["image_path"] for record in failed] == [f"os_web/{DEEP[0]}"]
    assert wire.code == 1


def test_extra_headers_and_extra_query_are_sent(wire):
    requests = wire.of("extra")
    assert {request.headers.get("x-project") for request in requests} == {"mmbench"}
    assert {request.path for request in requests} == {"/v1/chat/completions?tier=flex"}


def test_each_model_sends_its_own_key_and_nothing_of_the_openai_environment(wire):
    keys = {request.body["model"]: request.headers["authorization"] for request in wire.requests}
    assert keys == {name: f"Bearer key-of-{name}" for name in SETTINGS}
    sent = json.dumps([request.headers for request in wire.requests])
    assert [text for text in ("1234", "sk-of-openai-alone") if text in sent] == []


@pytest.mark.parametrize(
    ("setting", "mime", "picture_format", "wh"),
    [
        ("small", "image/png", "PNG", (100, 56)),
        ("png", "image/png", "PNG", WH),
        ("jpeg", "image/jpeg", "JPEG", WH),
    ],
)
def test_pictures_are_sent_in_the_format_and_size_asked_for(
    wire, setting, mime, picture_format, wh
):
    sent = wire.pictures(setting)
    convertible = {name for name, *_ in PICTURES}
    facts = {
        name: (sent[name][0], sent[name][1].format, sent[name][1].size) for name in convertible
    }
    assert facts == dict.fromkeys(convertible, (mime, picture_format, wh))


@pytest.mark.parametrize("name", ["plain.png", "alpha.png", "jpeg_in_disguise.png", "camera.JPG"])
def test_conversion_to_png_and_shrinking_lose_nothing_else(wire, name):
    folder = wire.root / "MMBench-GUI" / "offline_images" / "os_web"
    with Image.open(folder / name) as whole:
        mode, small = whole.mode, whole.copy()
        assert wire.pictures("png")[name][1].convert(mode).tobytes() == whole.tobytes()
    small.thumbnail((100, 100))
    assert wire.pictures("small")[name][1].convert(mode).tobytes() == small.tobytes()


def test_the_size_sent_is_recorded_and_a_shrunk_picture_is_mentioned(wire):
    log = (run_folder(wire.work_dir, "small") / f"small_{L1}.jsonl").read_text().splitlines()
    sizes = [record["sizes"] for record in map(json.loads, log) if record["kind"] == "answer"]
    assert [(s["file"], s["sent"]) for s in sizes] == [([320, 180], [100, 56])] * len(sizes)
    [block] = re.findall(rf"{L1} · small ·.*?Files:", wire.output, flags=re.DOTALL)
    assert f"{len(PICTURES) + 1} pictures were sent in another size than the file's" in block


def test_both_data_sets_were_asked_completely(wire):
    refusing = {name for name in SETTINGS if name.startswith("ref")}
    counts = {
        name: sorted(dataset_of(request) for request in wire.of(name))
        for name in set(SETTINGS) - refusing - {"payload-list", "jpeg"}
    }
    assert counts == dict.fromkeys(counts, [L1] * (len(PICTURES) + 1) + [L2] * (len(PICTURES) + 1))

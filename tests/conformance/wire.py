"""Replays of what leaves this program and what it keeps: requests, pictures, stored replies."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from PIL import Image

from benchmarks import BENCHMARK
from models import build_model
from models.wrappers.api.wire import ImageSlot, ImageStyle, encode_body
from tests.conformance.prompts import DATASETS, set_template
from tests.conformance.support import Case, Departs, Replay, World, equal
from tests.support.runs import write_config
from utils.config.read import ConfigSource, read_config
from utils.functions.prompting import prompt_builder
from utils.geometry.images import encode, shrink
from utils.import_utils import resolve
from utils.scoring.scorer import FAILED_TEXT, Scorer
from utils.scoring.sheets import cell_text, open_sheet
from utils.store.log import RunLog
from utils.store.view import LogView

BUILDERS = {"uitars": "models.api_uitars.build_custom_prompt"}
FILE_FORMATS = {  # a file format that keeps the mode; none keeps HSV
    "1": "PNG",
    "L": "PNG",
    "LA": "PNG",
    "P": "PNG",
    "RGB": "PNG",
    "RGBA": "PNG",
    "I;16": "PNG",
    "I": "TIFF",
    "F": "TIFF",
    "CMYK": "TIFF",
    "YCbCr": "TIFF",
    "LAB": "TIFF",
}


def _request(case: Case, world: World) -> Any:
    """The body on the wire, after the run's other data sets were asked through the same wrapper."""
    case_input = case.input
    root = world.folder / f"{case.is_crash}-{case.number}"
    world.patch.setenv("IMAGE_ROOT_DIR", str(root))
    root.mkdir()
    set_template(case_input, world)
    _draw_plain(root / case_input["row"]["image_path"], case_input["picture"])
    config = _config(world.folder / "config.json", case_input)
    reading = read_config(ConfigSource(config, {}), BENCHMARK)
    assert not reading.problems, reading.problems
    assert reading.config is not None
    entry = reading.config.model["m"]
    model = build_model("m", entry, connections=1)
    bodies = {}
    for name in case_input["dataset_order"]:
        row = (
            case_input["row"]
            if name == DATASETS[case_input["level"]]
            else _another(name, case_input["row"])
        )
        dotted, system = (entry.custom_prompt or {}).get(name), entry.kwargs.get("system_prompt")
        custom = resolve(dotted, role="custom_prompt") if dotted else None
        benchmark = BENCHMARK[name](world.folder, root)
        prompt = prompt_builder(benchmark, system_prompt=system, custom=custom)(row)
        prepared = model.request(prompt.messages, name, is_custom_prompt=prompt.is_custom)
        bodies[name] = json.loads(encode_body(prepared.payload.body))
    body = bodies[DATASETS[case_input["level"]]]
    return {
        "params": {key: body[key] for key in body if key != "messages"},
        "messages": [_described(message) for message in body["messages"]],
    }


def _config(path: Path, case_input: Mapping[str, Any]) -> Path:
    kwargs = {key: case_input[key] for key in ("img_size", "img_detail") if key in case_input}
    if case_input["system_prompt_setting"] != {"absent": True}:
        kwargs["system_prompt"] = case_input["system_prompt_setting"]
    entry = {
        "imp_type": "openai",
        "model_path": "http://127.0.0.1:1/v1?api_key=k&model=mock-model",
        "generate_cfg": case_input["generate_cfg"],
        "kwargs": {**kwargs, "wire_format": "reference"},
        "custom_prompt": {
            name: BUILDERS[builder] for name, builder in (case_input["custom_prompt"] or {}).items()
        },
    }
    data = {name: {"mode": "all"} for name in case_input["dataset_order"]}
    return write_config(path, model={"m": entry}, data=data)


def _another(name: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """A sample of the run's other data set, on the same picture."""
    line = {"index": 0, **{key: row[key] for key in ("image_path", "image_size", "platform")}}
    if name == DATASETS["L2"]:
        return {**line, "instruction": "Click it.", "bbox": [0, 0, 1, 1]}
    return {**line, "question": "Which?", "options": {"A": "this", "B": "that"}, "answer": "A"}


def _described(value: Any) -> Any:
    """The message with every data URL replaced by what is compared of a picture."""
    if isinstance(value, str) and value.startswith("data:"):
        head, _, data = value.partition(";base64,")
        with Image.open(io.BytesIO(base64.b64decode(data, validate=True))) as picture:
            return {
                "mime": head.removeprefix("data:"),
                "format": picture.format,
                "width": picture.width,
                "height": picture.height,
                "mode": picture.mode,
            }
    if isinstance(value, dict):
        return {key: _described(item) for key, item in value.items()}
    return [_described(item) for item in value] if isinstance(value, list) else value


def _comparable(value: Any) -> Any:
    """The expected body: pictures without bytes and hash, in the place where the URL stands."""
    if isinstance(value, dict) and "image" in value:
        others = {key: item for key, item in value.items() if key != "image"}
        compared = value["image"].keys() - {"bytes", "sha256"}
        return {"url": {key: value["image"][key] for key in compared}, **others}
    if isinstance(value, dict):
        return {key: _comparable(item) for key, item in value.items()}
    return [_comparable(item) for item in value] if isinstance(value, list) else value


def _draw_plain(path: Path, picture: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    size = (picture["width"], picture["height"])
    options = {"compress_level": 1} if picture["format"] == "PNG" else {}
    Image.new(picture["mode"], size).save(path, format=picture["format"], **options)


def _encoded(case: Case, world: World) -> Any:
    """What is sent of a picture file; of HSV, which no file holds, what the encoder says."""
    case_input = case.input
    picture = drawn(case_input["mode"], case_input["width"], case_input["height"])
    if case_input["mode"] == "HSV":
        data = encode(shrink(picture, case_input["target_size"]), "JPEG", quality=75)
    else:
        style = ImageStyle(is_reference=True, img_size=case_input["target_size"])
        path = _saved(picture, world.folder / f"{case.number}")
        data = base64.b64decode(ImageSlot.of(path, style).encoded()[0])
    with Image.open(io.BytesIO(data)) as sent:
        width, height = sent.size
        rgb = sent.convert("RGB")
        places = ((0, 0), ((width - 1) // 2, (height - 1) // 2), (width - 1, height - 1))
        return {
            "format": sent.format,
            "mode": sent.mode,
            "width": width,
            "height": height,
            "bytes": len(data),
            "corner_mid_corner_rgb": [rgb.getpixel(pixel) for pixel in places],
            "shrunk": (width, height) != (case_input["width"], case_input["height"]),
        }


def _saved(picture: Image.Image, stem: Path) -> Path:
    """The picture in a file that keeps its mode; whatever fails here is no failure to send it."""
    path = stem.with_suffix(f".{FILE_FORMATS[picture.mode].lower()}")
    try:
        picture.save(path)
        with Image.open(path) as reopened:
            reopened.load()
            mode = reopened.mode
    except OSError as error:
        raise AssertionError(f"{picture.mode} cannot be saved as {path.suffix}") from error
    assert mode == picture.mode, f"{picture.mode} came back as {mode}"
    return path


@cache
def drawn(mode: str, width: int, height: int) -> Image.Image:
    """The picture that the file describes: two ramps and a pattern, converted to the mode."""
    red = Image.frombytes("L", (width, 1), bytes(x * 255 // (width - 1) for x in range(width)))
    green = Image.frombytes("L", (1, height), bytes(y * 255 // (height - 1) for y in range(height)))
    stripes = [bytes((x // 8 + y) * 16 % 256 for x in range(width)) for y in range(16)]
    rows = b"".join(stripes[y // 8 % 16] for y in range(height))
    blue = Image.frombytes("L", (width, height), rows)
    ramps = [ramp.resize((width, height), Image.Resampling.NEAREST) for ramp in (red, green)]
    rgb = Image.merge("RGB", [*ramps, blue])
    if mode == "RGBA":
        rgba = rgb.convert("RGBA")
        rgba.putalpha(rgb.convert("L"))
        return rgba
    if mode == "P":
        return rgb.convert("P", palette=Image.Palette.ADAPTIVE, colors=64)
    if mode == "I;16":
        return Image.new("I;16", (width, height), 40000)
    if mode == "LAB":  # Pillow converts to it by colour profiles only; it is refused by any content
        return Image.new("LAB", (width, height))
    return rgb.convert(mode)


def _same_picture(got: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
    exact = all(equal(got[key], expected[key]) for key in ("format", "mode", "width", "height"))
    channel, size = (20, 0.1) if got["shrunk"] else (3, 0.02)
    near = abs(got["bytes"] - expected["bytes"]) <= size * expected["bytes"]
    own_values, expected_values = (
        chain(*side["corner_mid_corner_rgb"]) for side in (got, expected)
    )
    return (
        exact
        and near
        and all(abs(a - b) <= channel for a, b in zip(own_values, expected_values, strict=True))
    )


def _stored(case: Case, world: World) -> Any:
    """The text that is scored after the reply went through log and spreadsheet.

    A failure text is a status here: such a record is never parsed, the sheet shows the text.
    """
    reply, others = case.input["prediction"], case.input["other_predictions"]
    others = [reply if other == "(same)" else other for other in others]
    texts = [reply, *others]
    keys = [f"k{n}" for n in range(len(texts))]
    with closing(RunLog(world.folder / f"{case.number}.jsonl")) as log:
        log.append({"kind": "run", "seq": 1, "started_at": "", "asking": {}, "samples": keys})
        for number, text in enumerate(texts):
            log.append(_record(number, text))
    parsed: list[str] = []
    benchmark = BENCHMARK["GUIElementGrounding"](world.folder, world.folder)
    scorer = Scorer(
        benchmark,
        postprocess=lambda text: text,
        parse=lambda text, meta: parsed.append(text),
        kwargs={},
        skip_errors=True,
    )
    predictions = [scorer.judge(record).prediction for record in LogView(log.path).records()]
    cell = _cell(world.folder / "sheet.xlsx", predictions)
    return {"scored": parsed[0] if parsed else None, "shown": predictions[0], "cell": cell}


def _record(number: int, text: str) -> dict[str, Any]:
    line = {
        "index": number,
        "image_path": "os_web/x.png",
        "instruction": "Click it.",
        "platform": "os_web",
        "bbox": [0, 0, 1, 1],
        "grounding_type": "basic",
        "data_type": "icon",
    }
    failed = text == FAILED_TEXT
    return {
        "kind": "answer",
        "key": f"k{number}",
        "trial": 0,
        "status": "failed" if failed else "ok",
        "raw": None if failed else text,
        "line": line,
        "sizes": {"file": [10, 10]},
        "fingerprint": "",
        "parts": {},
        "asked_at": "",
    }


def _cell(path: Path, texts: Sequence[str]) -> str | None:
    """The first reply as Excel would read it from the sheet; a formula would show as a formula."""
    from openpyxl import load_workbook
    from openpyxl.utils.escape import unescape

    with open_sheet(path, ["prediction"]) as add:
        for text in texts:
            add({"prediction": text})
    cell = load_workbook(path).active.cell(row=2, column=1)
    assert cell.data_type in ("s", "n"), f"a cell of type {cell.data_type}"
    return unescape(cell.value) if cell.value else None


def _reply_itself(case: Case) -> Departs:
    reply = case.input["prediction"]
    scored = None if reply == FAILED_TEXT else reply
    return Departs({"scored": scored, "shown": reply, "cell": cell_text(reply) or None})


REPLAYS = {
    "wire_requests.json": Replay(
        _request, same=lambda got, expected: equal(got, _comparable(expected))
    ),
    "image_encoding.json": Replay(_encoded, same=_same_picture),
    "prediction_storage.json": Replay(_stored, departs=_reply_itself),
}

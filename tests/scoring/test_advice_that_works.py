"""What a warning says about a parse function, done to the letter, mends the score."""

import json
import re

import pytest

from evaluate import run
from tests.support.mock_server import Reply
from tests.support.stage import L1, L2, dataset_of
from utils.findings import findings_in

POINTS = {L2: {"mode": "all"}}
ADVICE = re.compile(r"set ([\w.\"-]+): \"([\w.]+)\"")
URL = "{url}?api_key=test-key-123456&model=mock"
OTHER = "{url}?api_key=test-key-123456&model=other"
PLAIN = {"model_path": URL, "imp_type": "openai", "generate_cfg": {"temperature": 0}}
YX = "utils.coordinates.parse_yx_fractions"
TWELVE = [("os_web", (400, 300 + number)) for number in range(12)]


def recipe(name, **entry):
    return {"recipe": name, "model_path": URL, **entry}


def in_tags(coordinate):
    return f'<grounding_think>There.</grounding_think>\n<answer>\n{{"coordinate": {coordinate}}}\n</answer>'


def box(text):
    return f"It is at <|box_start|>{text}<|box_end|>"


def xml_call(coordinate):
    return (
        "<tool_call>\n<function=computer_use>\n<parameter=action>\nleft_click\n</parameter>\n"
        f"<parameter=coordinate>\n{coordinate}\n</parameter>\n</function>\n</tool_call>"
    )


def a_reply(text):
    """The server says this to whatever it is asked; other models are right in fractions."""
    return lambda request: Reply(text if request.body["model"] == "mock" else "(0.2, 0.15)")


CASES = {
    "a recipe whose parser is too strict": ("m", recipe("mai_ui"), in_tags("[200, 150]"), 2),
    "a recipe and another frame": ("m", recipe("mai_ui"), in_tags("[0.2,0.15]"), 12),
    "a name with signs": ("mai-ui", recipe("mai_ui"), in_tags("[200, 150]"), 12),
    "a recipe and plain numbers": ("m", recipe("qwen3_vl"), "[200, 150]", 12),
    "a recipe and a call in XML": ("m", recipe("qwen3_5"), xml_call("[200, 150]"), 12),
    "a recipe, few images": ("m", recipe("ui_tars_1_5"), "0.2, 0.15 of the screen", 3),
    "a recipe and x after y": ("m", recipe("qwen3_vl"), "(120, 280)", 12),
    "the parser of the benchmark": ("m", PLAIN, '{"x": 0.2, "y": 0.15}', 12),
    "the parser of the benchmark, per mille": ("m", PLAIN, "(200, 150)", 12),
    "a parser of the model": ("m", {**PLAIN, "parse_function": {L2: YX}}, "(0.28, 0.12)", 12),
    "a recipe with a parser of the model": (
        "m",
        recipe("mai_ui", parse_function={L2: YX}),
        in_tags("[200,150]"),
        12,
    ),
}


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside another model"])
@pytest.mark.parametrize(("name", "entry", "text", "images"), CASES.values(), ids=CASES)
def test_advice_followed_to_the_letter_mends_the_score(staged, name, entry, text, images, beside):
    stage = staged(answer=a_reply(text), pictures=TWELVE[:images])
    models = {name: entry}
    if beside:
        models["other"] = {**PLAIN, "model_path": OTHER}
    first = stage.evaluate(models, "--no-report", data=POINTS)
    assert stage.scores(L2, name)["Average accuracy"] == 0, first.output
    advices = set(ADVICE.findall(first.stdout))
    assert advices, first.stdout
    assert len({value.startswith("models.recipes.") for _, value in advices}) == 1  # no rivals
    for key, value in advices:
        again = stage.evaluate(
            models, "--no-report", "--mode", "eval", "--set", f"{key}={value}", data=POINTS
        )
        assert stage.scores(L2, name)["Average accuracy"] == 100, (key, value, again.output)
        assert again.requests == [] and "parse_function" not in again.stdout
        if beside:
            assert stage.scores(L2, "other")["Average accuracy"] == 100


def test_advice_for_letters_mends_the_score(staged):
    stage = staged(
        "def strict(response, meta):\n    return {'[B]': 'B'}.get(response)\n",
        answer=lambda _: Reply("The correct answer is **B**."),
        pictures=4,
    )
    model = {**PLAIN, "parse_function": {L1: "mymodel.strict"}}
    data = {L1: {"mode": "all"}}
    first = stage.evaluate({"m": model}, data=data)
    [(key, value)] = set(ADVICE.findall(first.stdout))
    assert key == f'model."m".parse_function.{L1}'
    stage.evaluate({"m": model}, "--mode", "eval", "--set", f"{key}={value}", data=data)
    assert stage.scores(L1)["easy"]["level_score"] == 1


def test_it_stands_in_every_place_where_people_look(staged, capsys, monkeypatch):
    stage = staged(answer=a_reply(in_tags("[200, 150]")), pictures=TWELVE)
    models = {"mai-ui": recipe("mai_ui"), "other": {**PLAIN, "model_path": OTHER}}
    advice = f'set model."mai-ui".parse_function.{L2}: "'
    console = stage.evaluate(models, data=POINTS)
    quiet = stage.evaluate(models, "--quiet", data=POINTS)
    for output in (console.stdout, quiet.stdout):
        lines = [line for line in output.splitlines() if advice in line]
        assert lines and all(line.startswith(f"warning: mai-ui, {L2}: ") for line in lines)
    for name, value in stage._env({}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(stage.home)
    config = json.loads(stage.config({"model": models, "data": POINTS}).read_text())
    run(config, work_dir=str(stage.work_dir), quiet=True, mode="eval")
    assert advice in capsys.readouterr().out
    analysis = json.loads((stage.folder("mai-ui") / f"mai-ui_{L2}_analysis.json").read_text())
    findings = [finding for _, finding in findings_in(analysis)]
    assert {finding.setting for finding in findings if "parse_function" in finding.setting} == {
        f'model."mai-ui".parse_function.{L2}'
    }
    report = "".join(
        path.read_text("utf-8")
        for path in (stage.folder("mai-ui") / "report").rglob("*")
        if path.suffix in (".html", ".js")
    )
    assert "parse_function." in report and "models.recipes.mai_ui.parse_point_of_999" in report
    page = (stage.work_dir / "index.html").read_text("utf-8")
    assert "models.recipes.mai_ui.parse_point_of_999" in page


@pytest.mark.parametrize(
    "text", ["I cannot see it.", "", "There are 12 of them.", "Step 3 of 10: look.", "(-1, -1)"]
)
def test_where_no_reader_finds_the_point_no_function_is_named(staged, text):
    stage = staged(answer=a_reply(text), pictures=TWELVE)
    ran = stage.evaluate({"m": recipe("mai_ui")}, data=POINTS)
    assert ADVICE.findall(ran.stdout) == [], ran.stdout


@pytest.mark.parametrize(("right", "is_advised"), [(2, False), (4, False), (6, True)])
def test_a_function_that_reads_all_and_hits_hardly_any_is_not_advised(staged, right, is_advised):
    def in_another_frame(request):
        number = int(re.search(r"target (\d+)", request.text)[1])
        return Reply('{"x": 200, "y": 150}' if 2 * number < right else '{"x": 700, "y": 820}')

    stage = staged(answer=in_another_frame, pictures=TWELVE[:10])
    ran = stage.evaluate({"m": PLAIN}, "--no-report", data=POINTS)
    warnings = [line for line in ran.stdout.splitlines() if "are unparsed" in line]
    assert ["first 20" in line for line in warnings] == [True, False], ran.stdout
    for line in warnings:
        assert bool(ADVICE.search(line)) == is_advised, line
        assert ("no ready-made function fits: the best one, utils." in line) != is_advised, line
        if not is_advised:
            assert f"reads 20 of 20, {right} rightly" in line
            assert "write one for the frame of this model (docs/functions.md)" in line


def test_datasets_are_named_beside_models(staged):
    stage = staged(
        answer=lambda request: Reply("?" if dataset_of(request) == L1 else "(200, 150)"),
        pictures=TWELVE,
    )
    stage.model = {name: {**PLAIN, "model_path": URL} for name in ("m", "n")}
    warnings = [
        line
        for line in stage.run("--quiet").stdout.splitlines()
        if "audit" in line or "unparsed" in line
    ]
    heads = {line.split(": ")[1] for line in warnings}
    assert heads == {f"{name}, {dataset}" for name in "mn" for dataset in (L1, L2)}


def test_of_several_functions_that_read_the_replies_none_is_advised_for_a_hit_by_chance(staged):
    def answer(request):
        number = int(re.search(r"target (\d+)", request.text)[1])
        return Reply('{"x": 200, "y": 150}' if number == 0 else '{"x": 990, "y": 990}')

    stage = staged(answer=answer, pictures=TWELVE)
    result = stage.evaluate({"m": PLAIN}, "--no-report", data=POINTS)
    [*_, warning] = [line for line in result.stdout.splitlines() if "are unparsed" in line]
    assert "no ready-made function fits: the best one" in warning
    assert not ADVICE.findall(warning), result.stdout


def test_an_example_of_replies_that_were_cut_off_shows_whether_they_are_rubbish(staged):
    rubbish = Reply("Q Q Q Q", finish_reason="length")
    stage = staged(answer=lambda _: rubbish, pictures=TWELVE[:2])
    result = stage.evaluate({"m": PLAIN}, "--no-report", data=POINTS)
    assert (
        "4 of 4 replies were cut off at the token limit; raise generate_cfg.max_tokens. 4 of them "
        "are unparsed. The first one begins 'Q Q Q Q'" in result.stdout
    )

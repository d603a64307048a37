"""The user's own functions in real runs: how they are called, and what happens when they fail."""

import json
import shutil
import threading

import pytest
from PIL import Image

from tests.support.mock_server import Reply
from tests.support.stage import API, L1, L2, answer_records, l2_counts, right_answers

ONLY_L2, EASY = {L2: {"mode": "all"}}, {L1: {"mode": "easy"}}
UNPARSED = "unparsed: counted as wrong"
FAILED = "failed: counted as wrong, queried again by the same command"
SPOILT = "failed in the postprocess function: counted as wrong; a repaired function needs no new requests"
STAGES = ["prompt", "preprocess", "generate", "postprocess", "parse"]
LABELS = {stage: f"{stage} function" for stage in STAGES} | {"generate": "model: generate function"}
NOTE = """
import json
def note(value):
    with open("seen.jsonl", "a") as file:
        file.write(json.dumps(value, default=repr) + "\\n")
"""
CALM = """
class Model:
    def generate(self, message, *, dataset_name, **generate_cfg):
        return "(0.2, 0.15)" if dataset_name == "GUIElementGrounding" else "B"
"""


def summary(answered, total, *what_went_wrong):
    """The summary of a data set up to what went wrong; `(count, what)` has a line each."""
    lines = [f"  {count} ({100 * count / total:.1f} %) {what}" for count, what in what_went_wrong]
    return "\n".join(["", f"{answered} of {total} have a reply", *lines, ""])


def seen_by(stage):  # what a function wrote down with `note`
    return [json.loads(line) for line in (stage.home / "seen.jsonl").read_text().splitlines()]


def custom(name="Model", **changes):
    return {"imp_type": "custom", "model_path": f"mymodel.{name}", **changes}


def entry_with(stage_name, function, **entry):
    """A model entry with a function of `mymodel` at this place, for L2."""
    if stage_name == "generate":
        return custom(function, **entry)
    path = f"mymodel.{function}"
    places = {"parse": {}, "prompt": {"custom_prompt": {L2: path}}}
    return {**API, **places.get(stage_name, {f"{stage_name}_function": path}), **entry}


def run_with(stage, stage_name, *arguments, data=ONLY_L2, env=None, **entry):
    """A run with the function (or `Model`) of `mymodel` that is called like the place."""
    model = entry_with(stage_name, "Model" if stage_name == "generate" else stage_name, **entry)
    if stage_name == "parse":
        data = {**data, L2: {**data[L2], "parse_function": "mymodel.parse"}}
    return stage.evaluate({"m": model}, *arguments, data=data, env=env)


def test_functions_that_scribble_on_their_arguments_do_not_touch_other_samples(staged):
    stage = staged("""
        def prompt(line, dataset):
            parts = ("image", line["image_path"]), ("text", line["instruction"])
            line["image_size"].append("scribble")
            line["bbox"].clear()
            line.clear()
            return [{"role": "user", "type": kind, "value": value} for kind, value in parts]
        def preprocess(message, model, processor, **kwargs):
            assert (model, processor) == (None, None)
            words = kwargs["words"]
            text = f"{message[-1]['value']} {words} {len(message)}"
            words.append("scribble")
            message.clear()
            kwargs.clear()
            return [{"role": "user", "content": text}]
        def postprocess(response, model, processor, **kwargs):
            kwargs["words"].append("scribble")
            return f"{response} {len(kwargs['words'])}"
        def parse(response, meta):
            size = meta["image_size"]
            meta.clear()
            return (0.2, 0.15) if size.startswith("[") and response.endswith(" 2") else None
    """)
    result = run_with(
        stage,
        "parse",
        preprocess_function="mymodel.preprocess",
        postprocess_function="mymodel.postprocess",
        kwargs={"words": ["one"]},
        custom_prompt={L2: "mymodel.prompt"},
    )
    assert result.code == 0, result.output
    assert sorted(request.text for request in result.requests) == sorted(
        f"Click {kind} target {n}. ['one'] 2" for kind in ("basic", "advanced") for n in range(3)
    )
    assert l2_counts(stage.scores(L2))["Correct num"] == 6
    assert [record["line"]["bbox"] for record in stage.answers(L2)] == [[0.1, 0.1, 0.3, 0.2]] * 6


@pytest.mark.parametrize("form", ["{path}", "{root}/{path}", "file://{root}/{path}"])
def test_a_prompt_names_an_image_as_the_line_does_or_by_its_whole_path_or_url(staged, form):
    stage = staged("""
        import os
        def prompt(line, dataset):
            root = os.environ["LMUData"] + "/MMBench-GUI/offline_images"
            image = os.environ["FORM"].format(root=root, path=line["image_path"])
            return [{"role": "user", "type": "image", "value": image}]
    """)
    result = run_with(stage, "prompt", env={"FORM": form})
    assert result.code == 0, result.output
    assert {len(request.pictures) for request in result.requests} == {1}


BY_URL = """
def prompt(line, dataset):
    image = {"role": "user", "type": "image", "value": URL}
    return [image, {"role": "user", "type": "text", "value": line["instruction"]}]
"""


@pytest.mark.parametrize("url", ["https://example.org/a.png", "data:image/png;base64,iVBORw0K"])
def test_an_endpoint_gets_the_url_of_an_image_as_the_prompt_has_it(staged, url):
    stage = staged(BY_URL.replace("URL", repr(url)))
    result = run_with(stage, "prompt")
    assert result.code == 0, result.output
    assert [request.pictures for request in result.requests] == [[url]] * 6


def test_the_image_of_a_url_is_not_resized_and_says_so(staged):
    stage = staged(BY_URL.replace("URL", repr("https://example.org/a.png")))
    result = run_with(stage, "prompt", "--check", kwargs={"img_size": 200})
    assert (result.code, result.requests) == (2, [])
    assert "kwargs.img_size 200 needs an image file, not 'https://example.org/a.png'" in (
        result.stderr
    )


def test_a_prompt_that_ends_with_an_image_of_the_assistant_fails_its_samples(staged):
    stage = staged("""
        def prompt(line, dataset):
            return [{"role": "assistant", "type": "image", "value": line["image_path"]}]
    """)
    checked = run_with(stage, "prompt", "--check")
    assert (checked.code, "an image of the assistant" in checked.stderr) == (2, True)
    result = run_with(stage, "prompt", "--limit", "2")
    assert (result.code, result.requests) == (1, [])
    assert summary(0, 2, (2, FAILED)).strip() in result.output


def test_an_image_whose_name_begins_with_http_and_is_no_address_is_a_file(staged):
    stage = staged("""
        def prompt(line, dataset):
            image = "http_" + line["image_path"]
            return [{"role": "user", "type": "image", "value": image}]
    """)
    images = stage.root / "MMBench-GUI" / "offline_images"
    for folder in list(images.iterdir()):
        shutil.copytree(folder, images / f"http_{folder.name}")
    result = run_with(stage, "prompt")
    assert result.code == 0, result.output
    assert {len(request.pictures) for request in result.requests} == {1}


def test_preprocess_runs_once_for_each_sample_even_if_it_returns_the_same_list_each_time(staged):
    others_asked, first_sample = threading.Event(), []

    def answer(request):
        if "basic target 0." in request.text:
            first_sample.append(request.text)
            if len(first_sample) == 1:
                others_asked.wait(20)
                return Reply(status=500, body=b"{}", headers={"retry-after-ms": "0"})
        elif "advanced target 2." in request.text:
            others_asked.set()
        return Reply("(0.2, 0.15)")

    stage = staged(
        answer=answer,
        module=NOTE
        + """
MESSAGES = []
def preprocess(message, model, processor, **kwargs):
    note(message[-1]["value"])
    MESSAGES[:] = [{"role": "user", "content": message[-1]["value"]}]
    return MESSAGES
""",
    )
    result = run_with(stage, "preprocess", "--api-nproc", "2")
    assert (result.code, len(result.requests)) == (0, 7), result.output
    assert len(first_sample) == 2, [request.text[-22:] for request in result.requests]
    assert len(seen_by(stage)) == len(set(seen_by(stage))) == 6


RAISING = """
    def check(is_bad):
        if is_bad: RAISE
    def prompt(line, dataset):
        check(line["platform"] == "os_ios")
    def preprocess(message, model, processor, **kwargs):
        check("target 1." in message[-1]["value"])
        return [{"role": "user", "content": message[-1]["value"]}]
    class Model:
        def generate(self, message, *, dataset_name):
            check("target 1." in message[-1]["value"])
            return "(0.2, 0.15)" if dataset_name == "GUIElementGrounding" else "B"
    def postprocess(response, model, processor, **kwargs):
        check("special" in response)
        return response
    def parse(response, meta):
        check(meta["platform"] == "os_ios")
        return 0.2, 0.15
"""


@pytest.mark.parametrize(
    ("statement", "error", "verbose"),
    [
        ("raise ValueError('cannot do this one')", "ValueError: cannot do this one", False),
        ("import sys; sys.exit('enough')", "SystemExit: enough", True),
    ],
)
@pytest.mark.parametrize(
    ("stage_name", "request_count", "expected_text"),
    [
        ("prompt", 4, summary(4, 6, (2, FAILED))),
        ("preprocess", 4, summary(4, 6, (2, FAILED))),
        ("generate", 0, summary(4, 6, (2, FAILED))),
        ("postprocess", 6, summary(4, 6, (2, SPOILT))),
        ("parse", 6, summary(6, 6, (2, UNPARSED))),
    ],
)
def test_a_failure_costs_its_samples(
    stage_name, request_count, expected_text, statement, error, verbose, staged
):
    special = Reply("(0.2, 0.15) special")
    stage = staged(
        RAISING.replace("RAISE", statement),
        lambda request: special if "target 1." in request.text else right_answers(request),
    )
    result = run_with(stage, stage_name, *["--verbose"] * verbose)
    assert (result.code, len(result.requests)) == (1, request_count)
    assert expected_text in result.output
    assert ("queried again" in result.output) is (FAILED in expected_text)
    assert f"\n2 x {LABELS[stage_name]} raised {error} (" in result.output
    assert l2_counts(stage.scores(L2)) == {
        "Total num": 6,
        "Correct num": 4,
        "Wrong num": 0,
        "Error format num": 2,
    }
    # The traceback is printed at --verbose only, and once for each kind.
    assert result.output.count("Traceback (most recent call last)") == verbose
    assert (f"in {stage_name}\n" in result.output) is verbose
    if stage_name == "postprocess":  # what it spoilt is in the log and the spreadsheet
        raw = [record["raw"] for record in stage.answers(L2)]
        assert raw == ["(0.2, 0.15)"] * 2 + ["(0.2, 0.15) special"] * 2 + ["(0.2, 0.15)"] * 2
        predictions = {row["index"]: row["prediction"] for row in stage.sheet(L2)}
        assert [predictions[index] for index in sorted(predictions)] == raw
    stage.module(RAISING.replace("RAISE", "pass"))
    result = run_with(stage, stage_name)
    assert (result.code, len(result.requests)) == (0, {4: 2, 6: 0, 0: 0}[request_count]), (
        result.output
    )
    assert ("2 failed last time" in result.output) is (request_count == 4)
    # Another prompt or preprocess function is another experiment, with a folder of its own.
    newest = json.loads((stage.work_dir / "m" / f"m_{L2}_score.json").read_text("utf-8"))
    assert l2_counts(newest)["Correct num"] == 6


# The same functions for every sample of L2: all its images are of the web there.
ALWAYS = RAISING.replace("RAISE", "raise ValueError('never works')").replace("os_ios", "os_web")
ALWAYS = ALWAYS.replace("target 1.", "Click").replace("special", "(")


@pytest.mark.parametrize(
    ("data", "pictures"),
    [
        ({**ONLY_L2, **EASY}, 6),
        ({**EASY, **ONLY_L2}, 6),
        ({**ONLY_L2, **EASY}, 30),
    ],
    ids=["first", "last", "large"],
)
@pytest.mark.parametrize("stage_name", STAGES)
def test_ten_failures_in_a_row_stop_that_data_set_alone(stage_name, data, pictures, staged):
    stage = staged(ALWAYS, pictures=pictures)
    result = run_with(stage, stage_name, "--api-nproc", "1", data=data)
    # What goes wrong after the request is found before all of a large data set are asked.
    early = stage_name in ("postprocess", "parse") and pictures == 30
    when = "after the first 20 answers " * early
    function = f"{stage_name} function" + f" mymodel.{stage_name}" * (stage_name != "generate")
    for expected_text in (
        f"{L2}: {when}the {function} failed 10 times in a row",
        "Traceback (most recent call last)",
        f"in {stage_name}\n",
        "SKIP_ERR=1",
    ):
        assert expected_text in result.stderr
    assert stage.scores(L1)["easy"]["level_score"] == 1.0
    # Requests that were on their way when the tenth one failed may still be made.
    assert sum("Click" in request.text for request in result.requests) <= 25
    assert not list(stage.work_dir.rglob(f"*{L2}_score.json"))
    assert result.code == 1


@pytest.mark.parametrize(
    ("stage_name", "request_count", "warnings"),
    [
        *[(stage_name, 0, []) for stage_name in ("prompt", "preprocess", "generate")],
        ("postprocess", 60, ["the postprocess function failed on 20 of the first 20 answers"]),
        ("parse", 60, ["20 of the first 20 answers are unparsed"]),
    ],
)
def test_with_skip_err_a_run_goes_on_however_often_a_function_fails(
    stage_name, request_count, warnings, staged
):
    stage = staged(ALWAYS, pictures=30)
    result = run_with(stage, stage_name, env={"SKIP_ERR": "1"})
    for text in (f"60 x {LABELS[stage_name]} raised ValueError: never works (", *warnings):
        assert text in result.stdout
    assert "Traceback" not in result.stderr and "in a row" not in result.stderr
    counts = l2_counts(stage.scores(L2))
    assert (counts["Total num"], counts["Error format num"]) == (60, 60)
    assert (result.code, len(result.requests)) == (1, request_count)


def test_nine_failures_in_a_row_do_not_stop_a_run_and_each_data_set_is_counted_by_itself(staged):
    stage = staged(
        pictures=6,
        module="""
        def prompt(line, dataset):  # fails for the last six of L1 and the first nine of L2
            if line["index"] >= 12 if dataset == "GUIContentUnderstanding" else line["index"] not in (9, 11):
                raise ValueError("this one not")
    """,
    )
    model = {**API, "custom_prompt": {L1: "mymodel.prompt", L2: "mymodel.prompt"}}
    output = stage.evaluate({"m": model}, "--api-nproc", "1").output
    findings = [
        expected_text in output
        for expected_text in (
            summary(12, 18, (6, FAILED)),
            summary(2, 12, (10, FAILED)),
            "in a row",
        )
    ]
    assert findings == [True, True, False], output
    assert l2_counts(stage.scores(L2))["Correct num"] == 2


def test_a_prompt_function_that_returns_none_gets_the_default_with_its_system_prompt(staged):
    stage = staged("""
        def prompt(line, dataset):
            if line["platform"] == "os_web":
                return [{"role": "user", "type": "text", "value": "own words"}]
    """)
    result = run_with(stage, "prompt", kwargs={"system_prompt": "Be brief."})
    assert result.code == 0, result.output
    own_requests = [request for request in result.requests if request.text == "own words"]
    default = [request for request in result.requests if "Output only" in request.text]
    assert (len(own_requests), len(default)) == (2, 4)
    assert all(len(request.body["messages"]) == 1 for request in own_requests)
    for request in default:
        system, user = request.body["messages"]
        assert (user["role"], len(request.pictures)) == ("user", 1)
        assert (system["role"], system["content"][0]["text"]) == ("system", "Be brief.")


MESSAGES = "'messages': [{'role': 'user', 'content': 'hi'}]"
TEXT = "expected the reply as text"
RETURNED = {
    "prompt": [
        ("'just a text'", "returned 'just a text'; expected a list of messages"),
        ("[]", "returned []; expected a list of messages"),
        ("['text']", "returned ['text']; expected a list of messages {"),
        ("[{'role': 'user', 'content': 'hi'}]", '{"role", "type", "value"}'),
        ("[{'role': 'user', 'type': 'text', 'value': None}]", "value"),
        ("[{'role': 'user', 'type': 'video', 'value': 'a.mp4'}]", "video"),
        ("[{'role': 'user', 'type': 'image', 'value': 'nowhere.png'}]", "nowhere.png"),
    ],
    "preprocess": [
        *[
            (code, "expected a list of chat messages")
            for code in ("None", "'text'", "{'prompt': 'hi'}", "{'messages': 'hi'}", "[]", "['hi']")
        ],
        *[
            (
                f"{{{MESSAGES}, {more}}}",
                f"6 x preprocess function returned a payload whose {problem}",
            )
            for more, problem in (
                ("'timeout': '60s'", "timeout must be a number of seconds greater than 0"),
                ("'extra_body': ['x']", "extra_body must be an object"),
                ("'extra_body': {'messages': 5}", "extra_body.messages"),
                ("'extra_headers': {'X': 5}", "extra_headers.X must be one line"),
                ("'extra_query': 'a=b'", "extra_query must be an object"),
                ("'extra_query': {5: 1}", "extra_query"),
            )
        ],
    ],
    "postprocess": [
        ("None", f"6 x postprocess function returned NoneType; {TEXT}"),
        ("(0.2, 0.15)", f"6 x postprocess function returned tuple; {TEXT}"),
    ],
    "generate": [
        ("None", "6 x model: generate returned NoneType; expected str"),
        ("('B', 0.9)", "6 x model: generate returned tuple; expected str"),
        ("refuse()", "6 x http: HTTP 418: teapot"),
    ],  # an error of the call is what it says
}
FORMS = {
    "prompt": "def f{}(line, dataset): return {}\n",
    "preprocess": "def f{}(message, model, processor, **kwargs): return {}\n",
    "postprocess": "def f{}(response, model, processor, **kwargs): return {}\n",
    "generate": "class f{}:\n    def generate(self, message, *, dataset_name): return {}\n",
}
REFUSE = """
from utils.contracts import CallError
def refuse(): raise CallError("http", "HTTP 418: teapot", status_code=418)
"""


def test_a_function_that_returns_what_it_should_not_fails_its_samples(staged):
    source, models, expected = CALM + REFUSE, {}, {}
    cases = [
        (stage_name, *case) for stage_name, stage_cases in RETURNED.items() for case in stage_cases
    ]
    for number, (stage_name, code, problem) in enumerate(cases):
        source += FORMS[stage_name].format(number, code)
        name = f"f{number}"
        models[name] = entry_with(stage_name, name)
        if stage_name == "postprocess":  # of a model that asks no server
            models[name] |= custom()
        expected[name] = problem, SPOILT if stage_name == "postprocess" else FAILED
    result = staged(source).evaluate(models, "--retry", "0", data=ONLY_L2)
    sections = {part.partition('"')[0]: part for part in result.stdout.split('\nmodel "')}
    for name, (problem, expected_text) in expected.items():
        assert problem in sections[name].partition("\n")[2], name
        assert summary(0, 6, (6, expected_text)) in sections[name]
    assert "Traceback" not in result.output and "internal error" not in result.output
    assert (result.code, result.requests) == (1, [])


def test_prompt_functions_get_the_line_in_its_own_types_and_parse_functions_sizes_as_texts(staged):
    stage = staged(
        NOTE + "def prompt(line, dataset): note([dataset, line])\n"
        "def parse(response, *, meta): note(dict(meta))\n"
    )
    names, pixels = (L1, L2), {"min_pixels": 3136, "max_pixels": 2116800}
    model = {**API, "kwargs": {"img_size": 320, **pixels}}
    model["custom_prompt"] = dict.fromkeys(names, "mymodel.prompt")
    data = {name: {"mode": "all", "parse_function": "mymodel.parse"} for name in names}
    stage.evaluate({"m": model}, data=data)
    lines = [arguments for arguments in seen_by(stage) if isinstance(arguments, list)]
    metas = [arguments for arguments in seen_by(stage) if isinstance(arguments, dict)]
    l1, l2 = (next(line for dataset, line in lines if dataset == name) for name in names)
    l1_meta, l2_meta = metas[0], next(meta for meta in metas if "bbox" in meta)
    assert l1 == {
        "index": 0,
        "image_path": "os_windows/pic0.png",
        "image_size": [640, 360],
        "platform": "os_windows",
        "app_name": "App",
        "question": "Question 0 easy?",
        "options": {"A": "no", "B": "yes", "C": "maybe"},
        "answer": "B",
        "explanation": "because",
        "difficulty": "easy",
    }
    assert l2["image_size"] == [640, 360]
    assert l2["bbox"] == l2_meta["bbox"] == [0.1, 0.1, 0.3, 0.2]
    assert l1_meta["options"] == "{'A': 'no', 'B': 'yes', 'C': 'maybe'}"
    expected = {
        "image_size": "[640, 360]",
        "sent_size": "[320, 180]",
        **pixels,
        "image_path": "os_windows/pic0.png",
    }
    for meta in (l1_meta, l2_meta):
        assert {name: meta[name] for name in expected} == expected


@pytest.mark.parametrize("order", ["[EXAMPLE, image]", "[image, EXAMPLE]"])
def test_parse_functions_get_the_size_of_the_samples_own_image_beside_examples(staged, order):
    stage = staged(
        NOTE + "from utils.images import image_path_of\n"
        "def prompt(line, dataset):\n"
        "    image = image_path_of(line)\n"
        "    parts = [{'role': 'user', 'type': 'image', 'value': str(path)} for path in ORDER]\n"
        "    return [*parts, {'role': 'user', 'type': 'text', 'value': line['instruction']}]\n"
        "def parse(response, meta): note([meta['file_size'], meta['sent_size']])\n"
    )
    example = stage.code / "example.png"
    Image.new("RGB", (300, 600), "white").save(example)
    code = stage.code / "mymodel.py"
    code.write_text(code.read_text().replace("ORDER", order.replace("EXAMPLE", repr(str(example)))))
    model = {**API, "kwargs": {"img_size": 320}, "custom_prompt": {L2: "mymodel.prompt"}}
    data = {L2: {"mode": "all", "parse_function": "mymodel.parse"}}
    result = stage.evaluate({"m": model}, data=data)
    assert {len(request.pictures) for request in result.requests} == {2}, result.output
    of_first = next(size for size in seen_by(stage) if size[0] == "[640, 360]")
    assert of_first == ["[640, 360]", "[320, 180]"]
    records = answer_records(stage.folder() / f"m_{L2}.jsonl")
    record = next(record for record in records if record["sizes"]["file"] == [640, 360])
    assert record["sizes"]["sent"] == [320, 180]
    assert sorted(sizes["sent"] for sizes in record["image_sizes"]) == [[160, 320], [320, 180]]


def test_a_parse_function_without_an_answer_is_a_format_error_and_nonsense_is_named(staged):
    stage = staged("""
        NONSENSE = ["somewhere", (1, 2, 3), {}, (float("nan"), 0.1), 7, ("left", "top")]
        def letter(response, meta): return 2
        def parse(response, line): return NONSENSE[line["index"]]
    """)
    data = {L1: {"mode": "all", "parse_function": "mymodel.letter"}, **ONLY_L2}
    result = run_with(stage, "parse", data=data)
    assert "9 x parse function returned 2; expected a letter" in result.output
    for value_text in ("'somewhere'", "(1, 2, 3)", "{}", "(nan, ", "7"):
        assert f"1 x parse function returned {value_text}" in result.output
    for expected_text in (summary(9, 9, (9, UNPARSED)), summary(6, 6, (6, UNPARSED))):
        assert expected_text in result.output
    assert (result.code, "Traceback" in result.output) == (1, False)
    assert l2_counts(stage.scores(L2))["Error format num"] == 6
    stage.module("def parse(response): return None")
    result = run_with(stage, "parse")
    assert summary(6, 6, (6, UNPARSED)) in result.output
    assert (result.code, "parse function" in result.output) == (0, False)


def test_an_infinite_point_is_a_miss_that_every_file_can_hold(staged):
    source = "def parse(reply): return tuple(map(float, reply.strip('()').split(',')))"
    stage = staged(
        source, lambda request: Reply("(0.2, inf)" if "basic" in request.text else "(0.2, 0.15)")
    )
    result = run_with(stage, "parse")
    assert result.code == 0, result.output
    folder = stage.folder()
    assert not [path for path in folder.glob("*.json*") if "Infinity" in path.read_text("utf-8")]
    lines = (folder / f"m_{L2}_samples.jsonl").read_text("utf-8").splitlines()[1:]
    sample_facts = [(s["split"], s["verdict"], s["point_frac"]) for s in map(json.loads, lines)]
    assert sample_facts == [("basic", "miss", None), ("advanced", "hit", [0.2, 0.15])] * 3
    assert (folder / "report" / "index.html").exists()


def test_a_custom_class_is_built_once_with_kwargs_and_asked_with_messages_and_generate_cfg(staged):
    stage = staged(
        NOTE
        + """
class Bare:
    def __init__(self): note(["bare", {}])
    def generate(self, message, *, dataset_name, **generate_cfg):
        note([message, dataset_name, generate_cfg])
        message.clear()
        generate_cfg["stop"].append("x")
        return "(0.2, 0.15)"
class Named(Bare):
    def __init__(self, size): note(["named", {"size": size}])
class Open(Bare):
    def __init__(self, **kwargs): note(["open", kwargs])
"""
    )
    more = {"kwargs": {"size": 3}, "generate_cfg": {"stop": ["a"]}}
    models = {name: custom(name, **more) for name in ("Bare", "Named", "Open")}
    result = stage.evaluate(models, data=ONLY_L2)
    assert (result.code, result.requests) == (0, []), result.output
    built = [call for call in seen_by(stage) if len(call) == 2]
    assert built == [["bare", {}], ["named", {"size": 3}], ["open", {"size": 3}]]
    calls = [call for call in seen_by(stage) if len(call) == 3]
    assert len(calls) == 3 * 6
    for message, dataset, generate_cfg in calls:
        assert [part["type"] for part in message] == ["text", "image", "text"]
        assert (dataset, generate_cfg) == (L2, {"stop": ["a"]})
    assert l2_counts(stage.scores(L2, "Bare"))["Correct num"] == 6


def test_a_changed_constant_of_a_custom_class_queries_it_again(staged):
    stage, request_counts = staged(), []
    for constant in ("0.2", "0.2", "0.21"):
        source = CALM.replace("class", f"K = '({constant}, 0.15)'\nclass")
        stage.module(NOTE + source.replace("return", "note(K); return K or"))
        assert stage.evaluate({"m": custom()}, data=ONLY_L2).code == 0
        request_counts.append(len(seen_by(stage)))
    assert request_counts == [6, 6, 12]


def test_a_custom_class_is_called_one_at_a_time_unless_it_says_otherwise(staged):
    stage = staged("""
        import threading
        busy, together = threading.Lock(), threading.Barrier(3, timeout=60)
        class Model:
            def generate(self, message, *, dataset_name):
                assert busy.acquire(blocking=False), "two calls at once"
                busy.release()
                return "(0.2, 0.15)"
        class Wide:
            max_concurrency = 3
            def generate(self, message, *, dataset_name):
                together.wait()  # returns only when three calls are here
                return "(0.2, 0.15)"
    """)
    models = {"one": custom(), "three": custom("Wide")}
    result = stage.evaluate(models, "--api-nproc", "6", data=ONLY_L2)
    assert result.code == 0, result.output


def test_a_custom_model_has_left_its_memory_when_the_next_one_is_asked(staged):
    stage = staged(
        CALM
        + """
import gc, weakref
class Large(Model):
    def __init__(self):
        gc.disable()  # nothing but the end of this model is to look for garbage
        self.itself, Next.before = self, weakref.ref(self)
class Next(Model):
    def __init__(self):
        gc.freeze()  # as the import of a client does, once it is needed
    def generate(self, message, **named):
        gc.enable()
        assert self.before() is None, "is still here"
        return super().generate(message, **named)
"""
    )
    stage.env["PYTHONMALLOC"] = "default"  # so in a process of its own: memory is about all of it
    result = stage.evaluate({"large": custom("Large"), "next": custom("Next")}, data=ONLY_L2)
    assert result.code == 0, result.output

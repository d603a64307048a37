"""The user's own functions in real runs: how they are called, and what happens when they fail."""

from __future__ import annotations

import json
import threading

import pytest

from tests.support.bench import read_sheet
from tests.support.mock_server import MockServer, Reply
from tests.support.runs import PICTURES, run_folder
from tests.support.stage import API, L1, L2, TWELVE_L2_SAMPLES, Stage, l2_counts, right_answers

ONLY_L2 = {L2: {"mode": "all"}}
UNPARSED = "without a readable answer: wrong in the score"
FAILED = "failed: wrong in the score, asked again by the same command"
SPOILT = "spoilt by the postprocess function: wrong in the score; mend it, nothing is asked anew"
STAGES = ["prompt", "preprocess", "postprocess", "parse"]
NOTE = """
import json, os

def note(value):
    with open("seen.jsonl", "a") as file:
        file.write(json.dumps(value, default=repr) + "\\n")
"""
CALM = """
class Model:
    def generate(self, message, *, dataset_name, **generate_cfg):
        return "(0.2, 0.15)" if dataset_name == "GUIElementGrounding" else "B"
"""
CALM_MODEL = {"imp_type": "custom", "model_path": "calm.Model"}


def summary(answered, total, *what_went_wrong):
    """The summary of a data set up to what went wrong; `(count, what)` has a line each."""
    lines = [f"  {count} ({100 * count / total:.1f} %) {what}" for count, what in what_went_wrong]
    return "\n".join(["", f"{answered} of {total} answered", *lines, ""])


@pytest.fixture
def staged(tmp_path):
    """Makes a stage: three pictures, so nine questions of L1 and six instructions of L2."""
    servers = []

    def make(answer=right_answers, pictures=PICTURES, module="", **modules):
        servers.append(MockServer(answer).__enter__())
        stage = Stage.make(tmp_path, servers[-1], pictures)
        for name, source in {"mymodel": module, **modules}.items():
            stage.module(source, name)
        return stage

    yield make
    for server in servers:
        server.__exit__()


@pytest.fixture
def stage(staged):
    return staged(calm=CALM)


def seen_by(stage):
    """What a function wrote down with `note`."""
    lines = (stage.home / "seen.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def config_with(stage_name, function, **more):
    """Model section and data section with one user function for L2."""
    model, data = {**API, **more}, {L2: {"mode": "all"}}
    if stage_name == "prompt":
        model["custom_prompt"] = {L2: function}
    elif stage_name == "parse":
        data[L2]["parse_function"] = function
    else:
        model[f"{stage_name}_function"] = function
    return {"m": model}, data


# -- careless functions ---------------------------------------------------------------------------


def test_functions_that_scribble_on_their_arguments_do_not_touch_other_samples(stage):
    stage.module("""
        def prompt(line, dataset):
            picture, instruction = line["image_path"], line["instruction"]
            line["image_size"].append("scribble")
            line["bbox"].clear()
            line.clear()
            return [{"role": "user", "type": "image", "value": picture},
                    {"role": "user", "type": "text", "value": instruction}]

        def preprocess(message, model, processor, **kwargs):
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
    model = {**API, "custom_prompt": {L2: "mymodel.prompt"}, "kwargs": {"words": ["one"]},
             "preprocess_function": "mymodel.preprocess",
             "postprocess_function": "mymodel.postprocess"}  # fmt: skip
    result = stage.evaluate({"m": model}, data=config_with("parse", "mymodel.parse")[1])
    assert result.code == 0, result.output
    assert sorted(request.text for request in stage.server.requests) == sorted(
        f"Click {kind} target {number}. ['one'] 2"
        for kind in ("basic", "advanced") for number in range(3)
    )  # fmt: skip
    assert l2_counts(stage.scores(L2))["Correct num"] == 6
    assert [record["line"]["bbox"] for record in stage.answers(L2)] == [[0.1, 0.1, 0.3, 0.2]] * 6


def test_a_preprocess_function_that_returns_the_same_list_each_time_asks_each_its_own(staged):
    others_asked, first_sample = threading.Event(), []

    def answer(request):
        if "target 0." in request.text and "basic" in request.text:
            first_sample.append(request.text)
            if len(first_sample) == 1:
                others_asked.wait(20)
                return Reply(status=500, body=b"{}", headers={"retry-after-ms": "0"})
        elif "advanced target 2." in request.text:
            others_asked.set()
        return Reply("(0.2, 0.15)")

    stage = staged(answer, module="""
        MESSAGES = []

        def preprocess(message, model, processor, **kwargs):
            MESSAGES.clear()
            MESSAGES.append({"role": "user", "content": message[-1]["value"]})
            return MESSAGES
    """)  # fmt: skip
    model, data = config_with("preprocess", "mymodel.preprocess")
    result = stage.evaluate(model, "--api-nproc", "2", data=data)
    assert result.code == 0, result.output
    assert len(first_sample) == 2, [request.text[-22:] for request in stage.server.requests]


# -- functions that raise -------------------------------------------------------------------------

RAISING = """
    import sys

    def fail(kind):
        if kind == "exit":
            sys.exit("enough")
        raise ValueError("cannot do this one")
""" + "".join(
    f"""
    def prompt_{how}(line, dataset):
        return fail("{how}") if line["platform"] == "os_ios" else None

    def preprocess_{how}(message, model, processor, **kwargs):
        text = message[-1]["value"]
        return fail("{how}") if "target 1." in text else [{{"role": "user", "content": text}}]

    def postprocess_{how}(response, model, processor, **kwargs):
        return fail("{how}") if "special" in response else response

    def parse_{how}(response, meta):
        return fail("{how}") if meta["platform"] == "os_ios" else (0.2, 0.15)
"""
    for how in ("raise", "exit")
)
MENDED = """
    def prompt_raise(line, dataset):
        return None

    def preprocess_raise(message, model, processor, **kwargs):
        return [{"role": "user", "content": message[-1]["value"]}]

    def postprocess_raise(response, model, processor, **kwargs):
        return response
"""


def one_special(request):
    return Reply("(0.2, 0.15) special") if "target 1." in request.text else right_answers(request)


@pytest.mark.parametrize(
    ("how", "error"),
    [("raise", "ValueError: cannot do this one"), ("exit", "SystemExit: enough")],
)
@pytest.mark.parametrize("where", STAGES)
def test_a_function_that_fails_costs_its_samples_and_no_others(where, how, error, staged):
    stage = staged(one_special, module=RAISING)
    model, data = config_with(where, f"mymodel.{where}_{how}")
    result = stage.evaluate(model, *["--verbose"] * (how == "exit"), data=data)
    told = {
        "prompt": summary(4, 6, (2, FAILED)),
        "preprocess": summary(4, 6, (2, FAILED)),
        "postprocess": summary(4, 6, (2, SPOILT)),
        "parse": summary(6, 6, (2, UNPARSED)),
    }[where]
    assert result.code == 1
    assert told in result.output
    assert f"\n2 x {where} function: {error}\n" in result.output
    counts = l2_counts(stage.scores(L2))
    assert counts == {
        "Total num": 6, "Correct num": 4, "Wrong num": 0, "Error format num": 2}  # fmt: skip
    assert len(stage.server.requests) == (4 if where in ("prompt", "preprocess") else 6)
    # The traceback is printed at --verbose only, and once for each kind.
    assert result.output.count("Traceback (most recent call last)") == (how == "exit")
    assert (f"in {where}_exit" in result.output) is (how == "exit")


def test_a_reply_that_postprocess_spoilt_is_in_the_log_and_the_spreadsheet(staged):
    stage = staged(one_special, module=RAISING)
    model, data = config_with("postprocess", "mymodel.postprocess_raise")
    result = stage.evaluate(model, data=data)
    raw = [record["raw"] for record in stage.answers(L2)]
    assert raw == ["(0.2, 0.15)"] * 2 + ["(0.2, 0.15) special"] * 2 + ["(0.2, 0.15)"] * 2
    path = run_folder(stage.work_dir, "m") / f"m_{L2}.xlsx"
    shown = sorted((row["index"], row["prediction"]) for row in read_sheet(path))
    assert [text for _, text in shown] == raw
    assert "asked again" not in result.output  # the answers are there


@pytest.mark.parametrize(("where", "asked_first"), [
    ("prompt", 4), ("preprocess", 4), ("postprocess", 6)])  # fmt: skip
def test_a_mended_function_asks_what_failed_before_the_model_and_nothing_else(
    where, asked_first, staged
):
    stage = staged(one_special, module=RAISING)
    model, data = config_with(where, f"mymodel.{where}_raise")
    stage.evaluate(model, data=data)
    assert len(stage.server.requests) == asked_first
    stage.module(MENDED)
    result = stage.evaluate(model, data=data)
    assert (result.code, len(stage.server.requests)) == (0, 6), result.output
    assert ("2 failed last time" in result.output) is (asked_first == 4)
    # Another prompt or preprocess function is another experiment, with a folder of its own.
    newest = json.loads((stage.work_dir / "m" / f"m_{L2}_score.json").read_text("utf-8"))
    assert l2_counts(newest)["Correct num"] == 6


@pytest.mark.parametrize("entry", [API, CALM_MODEL])
@pytest.mark.parametrize(("returned", "kind"), [("None", "NoneType"), ("(0.2, 0.15)", "tuple")])
def test_a_postprocess_function_that_returns_no_text_is_reported(returned, kind, entry, stage):
    stage.module(f"def function(response, model, processor, **kwargs): return {returned}")
    model = {**entry, "postprocess_function": "mymodel.function"}
    result = stage.evaluate({"m": model}, data=ONLY_L2)
    assert f"6 x postprocess function: returned {kind}; expected str" in result.output
    assert "Traceback" not in result.output
    assert result.code == 1


# -- ten in a row ---------------------------------------------------------------------------------

ALWAYS = """
    def prompt(line, dataset): raise ValueError("never works")
    def preprocess(message, model, processor, **kwargs):
        if kwargs["dataset_name"] == "GUIElementGrounding":
            raise ValueError("never works")
        return [{"role": "user", "content": message[-1]["value"]}]
    def postprocess(response, model, processor, **kwargs):
        if kwargs["dataset_name"] == "GUIElementGrounding":
            raise ValueError("never works")
        return response
    def parse(response, meta): raise ValueError("never works")
"""


@pytest.mark.parametrize("l2_comes", ["first", "last"])
@pytest.mark.parametrize("where", STAGES)
def test_ten_failures_in_a_row_stop_that_data_set_and_the_other_one_is_scored(
    where, l2_comes, staged
):
    stage = staged(pictures=TWELVE_L2_SAMPLES, module=ALWAYS)
    model, data = config_with(where, f"mymodel.{where}")
    both = {L1: {"mode": "easy"}, **data} if l2_comes == "last" else {**data, L1: {"mode": "easy"}}
    result = stage.evaluate(model, data=both)
    assert f"{L2}: the {where} function failed 10 times in a row" in result.stderr, result.output
    assert "Traceback (most recent call last)" in result.stderr
    assert f"in {where}\n" in result.stderr
    assert "SKIP_ERR=1" in result.stderr
    assert stage.scores(L1)["easy"]["level_score"] == 1.0
    # Requests that were on their way when the tenth one failed may still be made.
    assert not list(stage.work_dir.rglob(f"*{L2}_score.json"))
    assert result.code == 1


@pytest.mark.parametrize("skips_errors", [False, True])
@pytest.mark.parametrize(("where", "warning"), [
    ("postprocess", "the postprocess function failed on 20 of the first 20 answers"),
    ("parse", "20 of the first 20 answers could not be read by the parse function"),
])  # fmt: skip
def test_a_function_that_reads_no_answer_is_found_before_all_are_asked(
    where, warning, skips_errors, staged
):
    stage = staged(pictures=[("os_web", (64, 48))] * 30, module=ALWAYS)  # 60 samples of L2
    model, data = config_with(where, f"mymodel.{where}")
    env = {"SKIP_ERR": "1"} if skips_errors else {}
    result = stage.evaluate(model, "--api-nproc", "1", "--data", L2, data=data, env=env)
    told = (
        f"{L2}: stopped after the first 20 answers: the {where} function failed 10 times in a row"
    )
    assert (told in result.stderr) is not skips_errors, result.output
    assert ("Traceback" in result.stderr) is not skips_errors
    asked = len(stage.server.requests)
    assert asked == 60 if skips_errors else asked <= 25
    assert result.code == 1
    assert (warning in result.stdout) is skips_errors


@pytest.mark.parametrize("where", STAGES)
def test_with_skip_err_a_run_goes_on_however_often_a_function_fails(where, staged):
    stage = staged(pictures=TWELVE_L2_SAMPLES, module=ALWAYS)
    model, data = config_with(where, f"mymodel.{where}")
    result = stage.evaluate(model, data=data, env={"SKIP_ERR": "1"})
    assert f"12 x {where} function: ValueError: never works" in result.output
    counts = l2_counts(stage.scores(L2))
    assert (counts["Total num"], counts["Error format num"]) == (12, 12)
    assert result.code == 1


def test_nine_failures_in_a_row_do_not_stop_a_run(staged):
    stage = staged(pictures=TWELVE_L2_SAMPLES, module="""
        def prompt(line, dataset):
            if line["index"] not in (9, 11):
                raise ValueError("this one not")
    """)  # fmt: skip
    model, data = config_with("prompt", "mymodel.prompt")
    result = stage.evaluate(model, "--api-nproc", "1", data=data)
    assert "in a row" not in result.output
    assert l2_counts(stage.scores(L2))["Correct num"] == 2


def test_failures_in_a_row_are_counted_for_each_data_set_by_itself(staged):
    stage = staged(pictures=TWELVE_L2_SAMPLES, module="""
        def prompt(line, dataset):  # fails for the last six of L1 and the first six of L2
            if 12 <= line["index"] if dataset == "GUIContentUnderstanding" else line["index"] < 6:
                raise ValueError("this one not")
    """)  # fmt: skip
    model = {**API, "custom_prompt": {L1: "mymodel.prompt", L2: "mymodel.prompt"}}
    result = stage.evaluate({"m": model}, "--api-nproc", "1")
    assert "in a row" not in result.output
    assert summary(12, 18, (6, FAILED)) in result.output
    assert summary(6, 12, (6, FAILED)) in result.output
    assert l2_counts(stage.scores(L2))["Correct num"] == 6


# -- prompts --------------------------------------------------------------------------------------

DEFAULT = (
    "You are a GUI agent. You are given a task and a screenshot of the screen. You need to finish "
    "this task following instructions from users."
)


@pytest.mark.parametrize(("setting", "system"), [
    ({}, DEFAULT),
    ({"system_prompt": "benchmark_default"}, DEFAULT),
    ({"system_prompt": "model_default"}, None),
    ({"system_prompt": "Be brief."}, "Be brief."),
])  # fmt: skip
def test_a_prompt_function_that_returns_none_gets_the_default_with_its_system_prompt(
    setting, system, stage
):
    stage.module("""
        def prompt(line, dataset):
            if line["platform"] != "os_web":
                return None
            return [{"role": "user", "type": "text", "value": "own words"}]
    """)
    model, data = config_with("prompt", "mymodel.prompt", kwargs=setting)
    result = stage.evaluate(model, data=data)
    assert result.code == 0, result.output
    own = [request for request in stage.server.requests if request.text == "own words"]
    default = [request for request in stage.server.requests if "Output only" in request.text]
    assert (len(own), len(default)) == (2, 4)
    assert all(len(request.pictures) == 1 for request in default)
    assert all(len(request.body["messages"]) == 1 for request in own)
    roles = [[message["role"] for message in request.body["messages"]] for request in default]
    assert roles == [["system", "user"] if system else ["user"]] * 4
    if system:
        assert {r.body["messages"][0]["content"][0]["text"] for r in default} == {system}


NO_PROMPT = {
    "text": ("'just a text'", "returned 'just a text'; expected a list of messages"),
    "nothing": ("[]", "returned []; expected a list of messages"),
    "texts": ("['text']", "returned 'text'; expected {"),
    "chat": ("[{'role': 'user', 'content': 'hi'}]", '{"role", "type", "value"}'),
    "no_value": ("[{'role': 'user', 'type': 'text', 'value': None}]", "value"),
    "video": ("[{'role': 'user', 'type': 'video', 'value': 'a.mp4'}]", "video"),
    "no_file": ("[{'role': 'user', 'type': 'image', 'value': 'nowhere.png'}]", "nowhere.png"),
}
EXPECTED = "expected a list of chat messages"
BY_SIDE = "6 x preprocess function: returned a payload whose "
NO_PAYLOAD = {
    "none": ("None", EXPECTED),
    "a_text": ("'text'", EXPECTED),
    "prompt": ("{'prompt': 'hi'}", EXPECTED),
    "no_list": ("{'messages': 'hi'}", EXPECTED),
    "empty": ("[]", EXPECTED),
    "some_texts": ("['hi']", EXPECTED),
    **{
        name: (f"{{'messages': [{{'role': 'user', 'content': 'hi'}}], {more}}}", BY_SIDE + problem)
        for name, (more, problem) in {
            "timeout": ("'timeout': '60s'", "timeout must be a number of seconds greater than 0"),
            "body": ("'extra_body': ['x']", "extra_body must be an object"),
            "body_of_ours": ("'extra_body': {'messages': 5}", "extra_body.messages"),
            "headers": (
                "'extra_headers': {'X': 5}",
                "extra_headers.X must be a text",
            ),
            "header_name": ("'extra_headers': {5: 'X'}", "extra_headers"),
            "query": ("'extra_query': 'a=b'", "extra_query must be an object"),
            "query_name": ("'extra_query': {5: 1}", "extra_query"),
        }.items()
    },
}


@pytest.fixture(scope="module")
def odd_returns(tmp_path_factory):
    """One run of a model for each: models that were asked, the output by model, and the run."""
    source = [f"def {n}(line, dataset): return {code}" for n, (code, _) in NO_PROMPT.items()]
    source += [f"def {name}(message, model, processor, **kwargs): return {code}"
               for name, (code, _) in NO_PAYLOAD.items()]  # fmt: skip
    models = {name: {"custom_prompt": {L2: f"mymodel.{name}"}} for name in NO_PROMPT}
    models |= {name: {"preprocess_function": f"mymodel.{name}"} for name in NO_PAYLOAD}
    with MockServer(right_answers) as server:
        stage = Stage.make(tmp_path_factory.mktemp("each"), server)
        stage.module("\n".join(source))
        named = {
            name: {**API, "model_path": f"{{url}}?api_key=test-key-123456&model={name}", **changes}
            for name, changes in models.items()
        }
        result = stage.evaluate(named, "--retry", "0", data=ONLY_L2)
        asked = [request.body["model"] for request in server.requests]
        sections = {part.partition('"')[0]: part for part in result.stdout.split('\nmodel "')}
        return asked, sections, result


@pytest.mark.parametrize("name", [*NO_PROMPT, *NO_PAYLOAD])
def test_a_function_that_returns_no_prompt_or_no_payload_fails_its_samples(name, odd_returns):
    asked, sections, result = odd_returns
    assert {**NO_PROMPT, **NO_PAYLOAD}[name][1] in sections[name].partition("\n")[2]
    assert summary(0, 6, (6, FAILED)) in sections[name]
    assert "Traceback" not in result.output
    assert "internal error" not in result.output
    assert name not in asked
    assert result.code == 1


def test_a_prompt_function_gets_the_line_in_its_own_types_and_the_name_of_the_data_set(stage):
    stage.module(NOTE + "def prompt(line, dataset): note([dataset, line])\n")
    model = {**API, "custom_prompt": {L1: "mymodel.prompt", L2: "mymodel.prompt"}}
    stage.evaluate({"m": model}, "--limit", "1")
    (first, l1), (second, l2) = seen_by(stage)
    assert (first, second) == (L1, L2)
    assert l1 == {
        "index": 0, "image_path": "os_windows/pic0.png", "image_size": [640, 360],
        "platform": "os_windows", "app_name": "App", "question": "Question 0 easy?",
        "options": {"A": "no", "B": "yes", "C": "maybe"}, "answer": "B",
        "explanation": "because", "difficulty": "easy",
    }  # fmt: skip
    assert (l2["image_size"], l2["bbox"]) == ([640, 360], [0.1, 0.1, 0.3, 0.2])


# -- preprocess, postprocess, parse ---------------------------------------------------------------


def test_what_preprocess_returns_beside_messages_wins_over_generate_cfg(stage):
    stage.module("""
        def preprocess(message, model, processor, **kwargs):
            assert (model, processor) == (None, None)
            return {"messages": [{"role": "user", "content": message[-1]["value"]}],
                    "max_tokens": kwargs["tokens"], "top_p": 0.5}
    """)
    model, data = config_with("preprocess", "mymodel.preprocess", kwargs={"tokens": 99})
    result = stage.evaluate(model, data=data)
    assert result.code == 0, result.output
    for request in stage.server.requests:
        assert set(request.body) == {"model", "messages", "max_tokens", "temperature", "top_p"}
        assert [request.body[k] for k in ("max_tokens", "temperature", "top_p")] == [99, 0, 0.5]


def test_preprocess_runs_once_for_a_sample_however_often_it_is_asked(staged):
    asked = []

    def answer(request):
        asked.append(request.text)
        if asked.count(request.text) < 3:
            return Reply(status=500, body=b"{}", headers={"retry-after-ms": "0"})
        return Reply("(0.2, 0.15)")

    stage = staged(answer, module=NOTE + """
def preprocess(message, model, processor, **kwargs):
    note(message[-1]["value"])
    return [{"role": "user", "content": message[-1]["value"]}]
""")  # fmt: skip
    model, data = config_with("preprocess", "mymodel.preprocess")
    result = stage.evaluate(model, data=data)
    assert (result.code, len(asked)) == (0, 18), result.output
    assert len(seen_by(stage)) == len(set(seen_by(stage))) == 6


def test_a_changed_postprocess_function_asks_nothing_and_is_applied_anew(stage):
    model, data = config_with("postprocess", "mymodel.postprocess")
    stage.module("def postprocess(response, model, processor, **kwargs): return 'nothing'")
    stage.evaluate(model, data=data)
    assert l2_counts(stage.scores(L2))["Error format num"] == 6
    stage.module("def postprocess(response, model, processor, **kwargs): return '(0.25, 0.12)'")
    result = stage.evaluate(model, data=data)
    assert (result.code, len(stage.server.requests)) == (0, 6), result.output
    assert l2_counts(stage.scores(L2))["Correct num"] == 6
    assert {record["raw"] for record in stage.answers(L2)} == {"(0.2, 0.15)"}


@pytest.mark.parametrize(("signature", "noted"), [
    ("parse(response)", "'Click basic target 0.'"),
    ("parse(response, meta)", "meta['instruction']"),
    ("parse(response, *, meta)", "meta['instruction']"),
    ("parse(response, line)", "line['instruction']"),
    ("parse(text, **kwargs)", "kwargs['meta']['instruction']"),
    ("parse(*everything)", "everything[1]['instruction']"),
])  # fmt: skip
def test_a_parse_function_gets_meta_by_keyword_or_position_or_not_at_all(signature, noted, stage):
    stage.module(f"{NOTE}def {signature}:\n    note({noted})\n    return 0.2, 0.15\n")
    data = config_with("parse", "mymodel.parse")[1]
    result = stage.evaluate({"m": CALM_MODEL}, "--limit", "1", data=data)
    assert result.code == 0, result.output
    assert seen_by(stage) == ["Click basic target 0."]


def test_meta_has_sizes_and_options_as_texts_that_literal_eval_reads(stage):
    stage.module(NOTE + "def parse(response, meta): note(dict(meta))\n")
    model = {**API, "kwargs": {"img_size": 320, "min_pixels": 3136, "max_pixels": 2116800}}
    data = {name: {"mode": "all", "parse_function": "mymodel.parse"} for name in (L1, L2)}
    stage.evaluate({"m": model}, "--limit", "1", data=data)
    l1, l2 = seen_by(stage)
    assert l1["options"] == "{'A': 'no', 'B': 'yes', 'C': 'maybe'}"
    for meta in (l1, l2):
        assert (meta["image_size"], meta["sent_size"]) == ("[640, 360]", "[320, 180]")
        assert (meta["min_pixels"], meta["max_pixels"]) == (3136, 2116800)
        assert meta["image_path"] == "os_windows/pic0.png"
    assert l2["bbox"] == [0.1, 0.1, 0.3, 0.2]


def test_ready_made_parse_functions_go_by_the_size_of_the_file_not_of_the_annotations(staged):
    stage = staged(lambda request: Reply("(128, 54)"), [("os_web", (640, 360))] * 2)
    stage.change_annotations(
        "L2", lambda items: [item.update(image_size=[320, 180]) for item in items]
    )
    model, data = config_with("parse", "utils.coordinates.parse_pixels")
    result = stage.evaluate(model, data=data)
    assert result.code == 0, result.output
    assert l2_counts(stage.scores(L2))["Correct num"] == 4


def test_a_parse_function_that_returns_no_answer_is_a_format_error_and_reported(stage):
    stage.module("""
        NONSENSE = ["somewhere", (1, 2, 3), {}, (float("nan"), 0.1), 7, ("left", "top")]

        def letter(response, meta): return 2
        def point(response, meta): return NONSENSE[meta["index"]]
    """)
    data = {L1: {"mode": "all", "parse_function": "mymodel.letter"},
            L2: {"mode": "all", "parse_function": "mymodel.point"}}  # fmt: skip
    result = stage.evaluate({"m": CALM_MODEL}, data=data)
    assert "9 x parse function: returned 2; expected a letter" in result.output
    for shown in ("'somewhere'", "(1, 2, 3)", "{}", "a point with NaN", "7"):
        assert f"1 x parse function: returned {shown}" in result.output
    assert summary(9, 9, (9, UNPARSED)) in result.output
    assert summary(6, 6, (6, UNPARSED)) in result.output
    assert "Traceback" not in result.output
    assert result.code == 1
    assert l2_counts(stage.scores(L2))["Error format num"] == 6


def test_a_parse_function_that_finds_nothing_is_a_format_error_but_no_failure(stage):
    stage.module("def parse(response, meta): return None")
    model, data = config_with("parse", "mymodel.parse")
    result = stage.evaluate(model, data=data)
    assert summary(6, 6, (6, UNPARSED)) in result.output
    assert "parse function" not in result.output
    assert l2_counts(stage.scores(L2))["Error format num"] == 6
    assert result.code == 0


def test_an_infinite_point_is_a_miss_that_every_file_can_hold(staged):
    def answer(request):
        return Reply("(0.2, inf)") if "basic target" in request.text else right_answers(request)

    stage = staged(answer, module="""
        def parse(response, meta):
            x, y = response.strip("()").split(",")
            return float(x), float(y)
    """)  # fmt: skip
    model, data = config_with("parse", "mymodel.parse")
    result = stage.evaluate(model, data=data)
    assert result.code == 0, result.output
    folder = run_folder(stage.work_dir, "m")
    for path in [*folder.glob("*.json"), *folder.glob("*.jsonl")]:
        assert "Infinity" not in path.read_text("utf-8"), path
    lines = (folder / f"m_{L2}_samples.jsonl").read_text("utf-8").splitlines()[1:]
    samples = [json.loads(line) for line in lines]
    told = [(s["split"], s["verdict"], s["point_frac"]) for s in samples]
    assert told == [("basic", "miss", None), ("advanced", "hit", [0.2, 0.15])] * 3
    assert (folder / "report" / "index.html").exists()


# -- custom classes -------------------------------------------------------------------------------


def custom(name="Model", **changes):
    return {"m": {"imp_type": "custom", "model_path": f"mymodel.{name}", **changes}}


def test_a_custom_class_is_asked_with_messages_data_set_and_generate_cfg(stage):
    stage.module(NOTE + """
class Model:
    def generate(self, message, *, dataset_name, **generate_cfg):
        note([message, dataset_name, generate_cfg])
        message.clear()
        generate_cfg["stop"].append("x")
        return "(0.2, 0.15)"
""")  # fmt: skip
    result = stage.evaluate(custom(generate_cfg={"stop": ["a"]}), data=ONLY_L2)
    assert result.code == 0, result.output
    assert l2_counts(stage.scores(L2))["Correct num"] == 6
    calls = seen_by(stage)
    assert len(calls) == 6
    for message, dataset, generate_cfg in calls:
        assert [part["type"] for part in message] == ["text", "image", "text"]
        assert (dataset, generate_cfg) == (L2, {"stop": ["a"]})
    assert stage.server.requests == []


def test_a_custom_class_is_built_once_with_the_kwargs_block_where_it_takes_it(stage):
    stage.module(NOTE + """
class Base:
    def generate(self, message, *, dataset_name):
        return "B"

class Bare(Base):
    def __init__(self): note(["bare", {}])

class Named(Base):
    def __init__(self, size): note(["named", {"size": size}])

class Open(Base):
    def __init__(self, **kwargs): note(["open", kwargs])
""")  # fmt: skip
    models = {name: custom(name, kwargs={"size": 3})["m"] for name in ("Bare", "Named", "Open")}
    result = stage.evaluate(models)
    assert result.code == 0, result.output
    assert seen_by(stage) == [["bare", {}], ["named", {"size": 3}], ["open", {"size": 3}]]


@pytest.mark.parametrize("constant", [
    "numpy.array([0.2, {y}])", "types.SimpleNamespace(y={y})", "string.Template('{y}')",
    "range(int(100 * {y}))", "open(os.devnull), {y}",
])  # fmt: skip
def test_a_changed_constant_of_a_custom_class_queries_it_again(constant, stage):
    source = (
        NOTE
        + """
import numpy, os, string, types
K = CONSTANT

class Model:
    def generate(self, message, *, dataset_name):
        note(repr(K))
        return "(0.2, 0.15)"
"""
    )
    asked = []
    for y in (0.15, 0.15, 0.16):
        stage.module(source.replace("CONSTANT", constant.format(y=y)))
        assert stage.evaluate(custom(), data=ONLY_L2).code == 0
        asked.append(len(seen_by(stage)))
    assert asked == [6, 6, 12]


def test_a_custom_class_is_called_one_at_a_time_unless_it_says_otherwise(stage):
    stage.module("""
        import threading

        busy, together = threading.Lock(), threading.Barrier(3, timeout=60)

        class Model:
            def generate(self, message, *, dataset_name):
                assert busy.acquire(blocking=False), "two calls at once"
                try:
                    return "(0.2, 0.15)"
                finally:
                    busy.release()

        class Wide:
            max_concurrency = 3
            def generate(self, message, *, dataset_name):
                together.wait()  # returns only when three calls are here
                return "(0.2, 0.15)"
    """)
    models = {"one": custom()["m"], "three": custom("Wide")["m"]}
    result = stage.evaluate(models, "--api-nproc", "6", data=ONLY_L2)
    assert result.code == 0, result.output


def test_a_custom_class_that_fails_on_a_sample_fails_that_sample(stage):
    stage.module("""
        import sys

        class Model:
            def generate(self, message, *, dataset_name):
                text = message[-1]["value"]
                if "basic target 0." in text: raise ValueError("odd picture")
                if "basic target 1." in text: sys.exit("enough")
                if "basic target 2." in text: return None
                if "advanced target 0." in text: return ("B", 0.9)
                return "(0.2, 0.15)"
    """)
    result = stage.evaluate(custom(), data=ONLY_L2)
    assert summary(2, 6, (4, FAILED)) in result.output
    for error in (
        "ValueError: odd picture",
        "SystemExit: enough",
        "generate returned NoneType; expected str",
        "generate returned tuple; expected str",
    ):
        assert f"1 x model: {error}" in result.output, result.output
    assert "Traceback" not in result.output
    assert l2_counts(stage.scores(L2))["Correct num"] == 2
    assert result.code == 1
    verbose = stage.evaluate(custom(), "--verbose", data=ONLY_L2).output
    assert "in generate" in verbose
    assert "ValueError: odd picture" in verbose


FAILING_CLASS = """
    from utils.contracts import CallError

    class Model:
        def generate(self, message, *, dataset_name):
            if "Click" in message[-1]["value"]: raise ValueError("boom")
            return "B"

    class Silent:
        def generate(self, message, *, dataset_name):
            return None if "Click" in message[-1]["value"] else "B"

    class Remote:
        def generate(self, message, *, dataset_name):
            raise CallError("http", "HTTP 418: teapot", status_code=418)
"""


@pytest.mark.parametrize(("name", "parts"), [
    ("Model", ["the generate function failed 10 times in a row", "in generate\n", "ValueError: boom"]),
    ("Silent", ["10 times in a row", "generate returned NoneType; expected str"]),
])  # fmt: skip
def test_ten_failures_in_a_row_of_a_custom_class_stop_that_data_set(name, parts, staged):
    stage = staged(pictures=TWELVE_L2_SAMPLES, module=FAILING_CLASS)
    result = stage.evaluate(custom(name), data={L2: {"mode": "all"}, L1: {"mode": "easy"}})
    assert [part for part in parts if part not in result.stderr] == [], result.output
    assert stage.scores(L1)["easy"]["level_score"] == 1.0
    assert not list(stage.work_dir.rglob(f"*{L2}_score.json"))
    assert result.code == 1


@pytest.mark.parametrize(("name", "env", "error"), [
    ("Model", {"SKIP_ERR": "1"}, "12 x model: ValueError: boom"),
    ("Remote", {}, "12 x http: HTTP 418: teapot"),  # an error of the call is what it says
])  # fmt: skip
def test_a_custom_class_that_fails_on_all_is_asked_everything_where_it_should(
    name, env, error, staged
):
    stage = staged(pictures=TWELVE_L2_SAMPLES, module=FAILING_CLASS)
    result = stage.evaluate(custom(name), data=ONLY_L2, env=env)
    assert error in result.output
    assert "in a row" not in result.output
    assert l2_counts(stage.scores(L2))["Error format num"] == 12


# -- several models and data sets -----------------------------------------------------------------


def test_one_combination_that_fails_leaves_the_others_scored(staged):
    stage = staged(pictures=TWELVE_L2_SAMPLES, module=ALWAYS, calm=CALM)
    models = {
        "broken": {**API, "custom_prompt": {L2: "mymodel.prompt"}},
        "whole": API,
        "own": CALM_MODEL,
    }
    result = stage.evaluate(models)
    assert f"{L2}: the prompt function failed 10 times in a row" in result.stderr
    assert not list(stage.work_dir.rglob(f"broken_{L2}_score.json"))
    for model in models:
        assert stage.scores(L1, model)["total_sample_num"] == 18
        assert stage.scores(L1, model)["easy"]["level_score"] == 1.0
    for model in ("whole", "own"):
        assert stage.scores(L2, model)["Average accuracy"] == 100.0
    assert result.code == 1


def test_a_model_whose_key_is_refused_leaves_the_next_model_scored(staged):
    def answer(request):
        if request.headers["authorization"] == "Bearer wrong-key-1234":
            return Reply(status=401, body=b'{"error": {"message": "no"}}')
        return right_answers(request)

    stage = staged(answer)
    refused = {**API, "model_path": "{url}?api_key=wrong-key-1234&model=mock"}
    result = stage.evaluate({"refused": refused, "whole": API})
    assert 'model "refused": HTTP 401' in result.stderr
    assert stage.scores(L1, "whole")["total_sample_num"] == 9
    assert stage.scores(L2, "whole")["Average accuracy"] == 100.0
    assert result.code == 1


def test_a_failed_request_is_shown_as_failed_and_its_reason_is_said(staged):
    def answer(request):
        if "target 1." in request.text:
            return Reply(status=500, body=b'{"error": {"message": "out of memory"}}')
        return right_answers(request)

    stage = staged(answer)
    result = stage.evaluate({"m": API}, "--retry", "0", data=ONLY_L2)
    assert summary(4, 6, (2, FAILED)) in result.output
    assert "HTTP 500" in result.output, result.output
    assert "out of memory" in result.output
    assert result.code == 1

"""Why two runs differ: the first difference of a sample is found and named, also by `--parity`."""

import csv

import pytest

from tests.support.finished import L1, L2, l1_set, l2_sample, l2_set, make_run
from tests.support.mock_server import Reply
from tests.support.stage import API, BOTH, KEY, right_answers
from utils.comparing.runs import read_runs
from utils.comparing.why import different_functions, different_settings, explain
from utils.session.compare import main

SYSTEM = {"role": "system", "type": "text", "value": "You are a GUI agent."}
QUESTION = [
    {"role": "user", "type": "image", "value": ""},
    {"role": "user", "type": "text", "value": "Where is it?"},
]

POSTPROCESS_FAILED = {"class": "postprocess function", "message": "raised KeyError: 'x'"}
PARSE_FAILED = {"class": "parse function", "message": "raised KeyError: 'x'"}


def facts(reply="(0.5, 0.3)", **more):
    return l2_sample(0, **{"prediction": reply, "prompt": QUESTION, "sent_wh": None, **more})


@pytest.mark.parametrize(
    ("facts_a", "facts_b", "cause", "expected"),
    [
        (facts(), facts(), "", ""),
        (facts(), facts("(0.5, 0.3)<|im_end|>"), "", ""),
        (facts("cut\ufffd"), facts("cut"), "", ""),  # the token limit has torn a character
        (facts(), facts(status="failed"), "no answer", "ok in a, failed in b"),
        (
            facts(prompt=[SYSTEM, *QUESTION]),
            facts(),
            "messages",
            "a sends system text 'You are a GUI agent.'; b sends user image",
        ),
        (
            facts(),
            facts(prompt=[SYSTEM, *QUESTION]),
            "messages",
            "a sends user image; b sends system text 'You are a GUI agent.'",
        ),
        (
            facts(),
            facts(prompt=[QUESTION[0], {**QUESTION[1], "value": "Click it."}]),
            "messages",
            "a sends user text 'Where is it?'; b sends user text 'Click it.'",
        ),
        (
            facts(),
            facts(prompt=QUESTION[:1]),
            "messages",
            "a sends user text 'Where is it?'; b sends no more",
        ),
        (facts(), facts(prompt=[]), "", ""),
        (facts(), facts(sent_wh=[200, 150]), "image sent", "400x300 in a, 200x150 in b"),
        (
            facts(seen_wh=[392, 308]),
            facts(seen_wh=[196, 140]),
            "size seen",
            "392x308 in a, 196x140 in b",
        ),
        (facts(seen_wh=[392, 308]), facts(), "", ""),
        (
            facts(),
            facts(usage={"prompt_tokens": 1100}),
            "prompt tokens",
            "1204 in a, 1100 in b with the same messages and image: other pixel limits, another chat",
        ),
        (facts(), facts(usage={}), "", ""),
        (
            facts(),
            facts("no"),
            "reply",
            "(0.5, 0.3) in a, no in b, with the same messages, image and",
        ),
        (
            facts(raw="so"),
            facts("no", raw="so"),
            "postprocess",
            "(0.5, 0.3) in a, no in b, for the same",
        ),
        (
            facts(),
            facts(point_frac=[0.3, 0.5]),
            "parse",
            "point 50.0, 30.0 % in a, point 30.0, 50.0 %",
        ),
        (facts(), facts(point_frac=None, verdict="unparsed"), "parse", "in a, unparsed in b"),
        (
            facts(verdict=None, error=POSTPROCESS_FAILED),
            facts(),
            "postprocess",
            "the postprocess function raised KeyError: 'x' in a, (0.5, 0.3) in b, for the same reply",
        ),
        (
            facts(),
            facts(point_frac=None, verdict="unparsed", error=PARSE_FAILED),
            "parse",
            "in a, the parse function raised KeyError: 'x' in b",
        ),
        (facts(), facts(verdict="hit"), "verdict", "miss in a, hit in b"),
        # what comes first counts
        (facts(), facts("no", sent_wh=[2, 2], usage={}), "image sent", "400x300 in a, 2x2 in b"),
    ],
)
def test_the_first_difference_is_the_cause(tmp_path, facts_a, facts_b, cause, expected):
    [pair] = differing(tmp_path, facts_a, facts_b)
    assert (pair["cause"], expected in pair["detail"]) == (cause, True), pair


def test_messages_that_a_run_has_not_kept_are_not_called_the_same(tmp_path):
    [pair] = differing(tmp_path, facts(prompt=[]), facts("no"))  # as it is with episodes
    assert (pair["cause"], pair["detail"]) == ("reply", "(0.5, 0.3) in a, no in b")


def differing(home, model_a, model_b, **manifests):
    """The rows of the file that explains two runs of one sample, "a" and "b"."""
    for name, sample in (("a", model_a), ("b", model_b)):
        config = {"model": {name: manifests.get(name, {})}}
        make_run(home / name, {L2: [sample]}, model=name, manifest={"config": config})
    a, b = read_runs([home / "a", home / "b"])
    explain(a, b, home / "why")
    return list(csv.DictReader((home / "why" / f"a_b_{L2}.csv").open(encoding="utf-8", newline="")))


def endpoint(model):
    return {"imp_type": "openai", "model_path": f"http://h/v1?api_key=***&model={model}"}


def local(dtype=None, **generate_cfg):
    return {
        "imp_type": "transformers",
        "dtype": dtype,
        "generate_cfg": {"max_new_tokens": 8, **generate_cfg},
    }


def served(kwargs=None, **generate_cfg):
    return {
        "imp_type": "openai",
        "kwargs": kwargs or {},
        "generate_cfg": {"max_tokens": 8, "temperature": 0, **generate_cfg},
    }


def test_functions_that_the_configs_name_differently_are_told_apart(tmp_path):
    entries = {"a": {"custom_prompt": {L2: "mine.prompt", L1: "mine.other"}}, "b": {}}
    for name, entry in entries.items():
        config = {"model": {name: entry}, "data": {L2: {"parse_function": "mine.old"}}}
        again = {**config, "data": {L2: {"parse_function": f"mine.{name}"}}}  # by --mode eval
        make_run(
            tmp_path / name,
            {L2: [facts()]},
            model=name,
            manifest={"config": config, "scoring": {"config": again}},
        )
    assert different_functions(*read_runs([tmp_path / "a", tmp_path / "b"])) == [
        (f"custom_prompt.{L2}", "mine.prompt", "unset"),
        (f"{L2}.parse_function", "mine.a", "mine.b"),
    ]


def runs_with_code(tmp_path, code_a, code_b, **sample_of_b):
    for name, code in {"a": code_a, "b": code_b}.items():
        samples = [facts(**(sample_of_b if name == "b" else {}))]
        datasets = {L2: {"level": "L2", **({"function_code": code} if code else {})}}
        make_run(tmp_path / name, {L2: samples}, model=name, manifest={"datasets": datasets})
    return read_runs([tmp_path / "a", tmp_path / "b"])


@pytest.mark.parametrize(
    ("code_a", "code_b", "expected"),
    [
        ({"preprocess": "0" * 16}, {"preprocess": "1" * 16}, ["code of the preprocess function"]),
        ({"preprocess": "0" * 16}, {"preprocess": "0" * 16}, []),
        ({"preprocess": "0" * 16}, {}, []),  # a run of an earlier version
        ({"prompt": "0" * 16}, {"preprocess": "0" * 16}, []),
    ],
)
def test_functions_of_one_name_are_told_apart_by_their_code(tmp_path, code_a, code_b, expected):
    a, b = runs_with_code(tmp_path, code_a, code_b)
    assert [name for name, _, _ in different_functions(a, b)] == expected


def test_changed_code_is_named_where_only_what_it_made_is_seen(tmp_path, capsys):
    tokens = {"usage": {"prompt_tokens": 1100}}
    a, b = runs_with_code(tmp_path, {"preprocess": "0" * 16}, {"preprocess": "1" * 16}, **tokens)
    explain(a, b, None)
    text = capsys.readouterr().out
    assert "1204 in a, 1100 in b. What may explain it: code of the preprocess function" in text


def test_of_answers_made_elsewhere_no_settings_are_known(tmp_path):
    for name, more in {"a": {}, "b": {"imported": {"file": "x"}}}.items():
        config = {"model": {name: served() if name == "a" else {"imp_type": "custom"}}}
        make_run(tmp_path / name, {L2: [facts()]}, model=name, manifest={"config": config, **more})
    assert different_settings(*read_runs([tmp_path / "a", tmp_path / "b"])) == []


def test_a_postprocess_function_is_that_of_the_scoring(tmp_path):
    with_function = {"postprocess_function": "mine.as_point"}
    for name, asked_with in {"a": {}, "b": with_function}.items():
        config = {"model": {name: asked_with}}
        scoring = {"config": {"model": {name: with_function}}}
        manifest = {"config": config, "scoring": scoring}
        make_run(tmp_path / name, {L2: [facts()]}, model=name, manifest=manifest)
    assert different_functions(*read_runs([tmp_path / "a", tmp_path / "b"])) == []


def test_a_data_set_of_an_earlier_command_has_the_functions_of_that_command(tmp_path):
    newest = {"model": {"m": {}}, "data": {L1: {"mode": "all"}}}
    for name, dotted in {"a": "mine.parse", "b": None}.items():
        entry = {"custom_prompt": {L2: "mine.prompt"}, "parse_function": {L2: dotted}}
        own = {"model": {"m": entry}, "data": {L2: {"mode": "all"}}}
        manifest = {"model": "m", "config": newest, "datasets": {L2: {"config": own}}}
        make_run(tmp_path / name, {L2: [facts()]}, manifest=manifest)
    assert different_functions(*read_runs([tmp_path / "a", tmp_path / "b"])) == [
        (f"{L2}.parse_function", "mine.parse", "unset")
    ]


def parsers(a, b):
    """The entries of two models with these parse functions; None: the default one."""
    return {
        name: {"parse_function": {L2: path}} if path else {} for name, path in (("a", a), ("b", b))
    }


SMALLER = {"sent_wh": [200, 150], "prompt": QUESTION[:1]}
ELSEWHERE = {**SMALLER, "point_frac": [0.1, 0.2]}


@pytest.mark.parametrize(
    ("functions", "facts_a", "facts_b", "cause", "expected"),
    [
        (
            parsers("mine.old", "mine.new"),
            facts(),
            facts(**ELSEWHERE),
            "parse",
            "point 50.0, 30.0 % in a, point 10.0, 20.0 % in b, of the same reply: "
            f"{L2}.parse_function: mine.old (in a), mine.new (in b)",
        ),
        (
            parsers(None, "mine.new"),
            facts(),
            facts(**ELSEWHERE),
            "parse",
            f"{L2}.parse_function: unset (in a), mine.new (in b)",
        ),
        # the same function may go by the size of the image sent; other replies are read otherwise
        (parsers("mine.old", "mine.old"), facts(), facts(**ELSEWHERE), "messages", "a sends"),
        (parsers("mine.old", "mine.new"), facts(), facts("no", **ELSEWHERE), "messages", "a sends"),
        (parsers("mine.old", "mine.new"), facts(), facts(**SMALLER), "messages", "a sends"),
    ],
)
def test_equal_replies_that_are_read_otherwise_are_put_down_to_the_parse_functions(
    tmp_path, capsys, functions, facts_a, facts_b, cause, expected
):
    [pair] = differing(tmp_path, facts_a, facts_b, **functions)
    assert (pair["cause"], expected in pair["detail"]) == (cause, True), pair
    in_a, in_b = (entry.get("parse_function", {}).get(L2, "unset") for entry in functions.values())
    line = f"  function            {L2}.parse_function: {in_a} (in a), {in_b} (in b)\n"
    assert (line in capsys.readouterr().out) == (in_a != in_b)


@pytest.mark.parametrize(
    ("model_a", "model_b", "cause", "expected"),
    [
        (local(), served(), "reply", "dtype, attention kernel or batching"),
        (local(), served(max_tokens=4), "settings", "max_tokens: 8 (in a), 4 (in b)"),
        (
            local(do_sample=True, temperature=0.7),
            served(),
            "settings",
            "temperature: 0.7 (in a), 0 (in b)",
        ),
        (local(temperature=0.7), served(), "reply", ""),  # transformers does not heed it
        (local(num_beams=3), served(), "settings", "num_beams: 3 (in a), unset (in b)"),
        (
            local(),
            served(extra_body={"min_tokens": 4}),
            "settings",
            "min_tokens: unset (in a), 4 (in b)",
        ),
        (
            local(),
            served(extra_body={"x": [{"factor": 32, "on": True}]}),
            "settings",
            'x: unset (in a), [{"factor": 32, "on": true}] (in b)',
        ),
        (
            served({"resize": {"to": None}}),
            served({"resize": "é"}),
            "settings",
            'kwargs.resize: {"to": null} (in a), é (in b)',
        ),
        (
            served({"max_pixels": 9}),
            served(),
            "settings",
            "kwargs.max_pixels: 9 (in a), unset (in b)",
        ),
        (local("float32"), local("float16"), "settings", "dtype: float32 (in a), float16 (in b)"),
        (local("float32"), served(), "reply", ""),  # a server's own business
        (local("float32"), local("auto"), "reply", ""),
        (
            endpoint("acme-2b"),
            endpoint("acme-7b"),
            "settings",
            "model: acme-2b (in a), acme-7b (in b)",
        ),
        (local(), {**served(), **endpoint("acme-7b")}, "reply", ""),
    ],
)
def test_settings_are_a_cause_if_only_replies_differ(
    tmp_path, capsys, model_a, model_b, cause, expected
):
    [pair] = differing(tmp_path, facts(), facts("no"), a=model_a, b=model_b)
    [same] = differing(tmp_path, facts(), facts(), a=model_a, b=model_b)
    assert (pair["cause"], expected in pair["detail"], same["cause"]) == (cause, True, ""), pair
    assert (f"  setting             {expected}" in capsys.readouterr().out) == (cause == "settings")


def test_causes_are_counted_and_every_sample_stands_in_a_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    samples = l2_set("x" * 30)
    for sample in samples[:3]:
        sample["sent_wh"] = [200, 150]
    samples[3]["prediction"] = "=other"
    make_run(tmp_path / "a", {L2: l2_set("x" * 30)}, model="a")
    make_run(tmp_path / "b", {L2: samples, L1: l1_set("x")}, model="b")

    assert main(["a", "b", "--why", "--format", "text"]) == 0
    assert not (tmp_path / "comparison").exists()
    capsys.readouterr()
    assert main(["a", "b", "--why", "--format", "csv"]) == 0
    printed = capsys.readouterr().out
    assert "\nGUIElementGrounding: a and b, 30 samples" in printed
    assert "\\n" not in printed
    assert "  reply               equal in 29 of 30" in printed
    assert "  size seen           unknown on one side or both" in printed
    assert "  3 x image sent: 400x300 in a, 200x150 in b\n  1 x reply: reply 3 x in a" in printed
    assert f"{L1} is in one run only; left out" in printed
    rows = list(csv.DictReader((tmp_path / f"comparison/a_b_{L2}.csv").open(newline="")))
    assert [row["cause"] for row in rows[:5]] == ["image sent"] * 3 + ["reply", ""]
    assert len(rows) == 30
    assert (rows[3]["run_reply"], rows[3]["baseline_reply"]) == ("'=other", "reply 3 x")


@pytest.fixture
def stage(staged):
    """A server that answers rightly, unless it is asked as "dead", "poor" or "torn"."""
    local = {
        "dead": Reply(status=401, body=b"bad key"),
        "poor": Reply("C"),
        "torn": Reply("(0.2, 0.15) \ud83d"),
    }

    return staged(answer=lambda request: local.get(request.body["model"]) or right_answers(request))


def parity(stage, first, second, *arguments):
    """`--parity` of two configs with these models; the same file if the names are the same."""
    paths = []
    for names in (first, second):
        model = {
            name: {**API, "model_path": f"{{url}}?api_key={KEY}&model={name}"}
            for name in names.split()
        }
        if "good" in model:
            model["broken"] = {"model_path": "/no/such", "imp_type": "transformers"}
        config = {"model": model, "data": BOTH}
        paths.append(stage.config(config, f"{'-'.join(names.split())}.json"))
    options = ("--work-dir", stage.work_dir, *arguments)
    return stage.run("--config", paths[0], "--parity", paths[1], *options)


@pytest.mark.parametrize(
    ("first", "second", "arguments", "equal"),
    [
        ("good poor third", "good poor third", [], "0 of 6"),  # models not meant need not work
        ("good", "same", ["--limit", "3"], "3 of 3"),
        ("good", "poor", [], "0 of 6"),
    ],
)
def test_two_models_of_two_configs_or_of_one_are_compared(stage, first, second, arguments, equal):
    other = "same" if second == "same" else "poor"
    ran = parity(stage, first, second, "--model", "good", other, *arguments)
    files = list((stage.work_dir / "parity").iterdir())
    assert ran.code == (other == "poor"), ran.output
    assert f"reply               equal in {equal}" in ran.output
    assert ran.output.count("nothing differs") == (0 if other == "poor" else 2)
    assert {request.body["model"] for request in stage.server.requests} == {"good", other}
    assert {file.name for file in files} == {f"good_{other}_{name}.csv" for name in (L1, L2)}
    assert all(KEY not in file.read_text("utf-8") for file in files)


@pytest.mark.parametrize(
    ("first", "second", "chosen", "expected"),
    [
        ("m", "m", "", "m.json: has 1 models (m); --parity compares two models of its"),
        ("m n", "o", "", "m-n.json: has 2 models (m, n); --parity compares one model of each"),
        ("m n", "n", "n", '--parity: both configs call their model "n"'),
        ("m", "o", "x", "--model x: in neither config"),
        ("m", "o", "m y", "--model y: in neither config"),
        ("m n o", "m n o", "", "name them with --model"),
    ],
)
def test_an_unclear_comparison_is_refused_before_any_request(
    stage, first, second, chosen, expected
):
    ran = parity(stage, first, second, *(["--model", *chosen.split()] if chosen else []))
    assert (ran.code, expected in ran.stderr, stage.server.requests) == (2, True, []), ran.output


def test_half_a_character_stands_in_the_file_and_what_was_not_scored_is_not_compared(stage):
    torn, dead = parity(stage, "m", "torn"), parity(stage, "m", "dead")
    assert (torn.code, dead.code) == (1, 1), torn.output + dead.output
    assert "\\ud83d" in (stage.work_dir / "parity" / f"m_torn_{L2}.csv").read_text("utf-8")
    assert f"\n{L2}: m and torn" in torn.stdout and f"\n{L2}: m" not in dead.stdout

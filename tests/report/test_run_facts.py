"""What a report says of its run in a few words."""

import time

import pytest

from tests.support.stage import L1, L2
from utils.protocol import PUBLISHED_MD5, SAMPLE_MD5
from utils.store.run_facts import REPEATED, is_whole, run_facts
from utils.text import local_time

L3, TASKS = "GUITaskAutomation", {"annotations": {"file": "L3_tasks", "md5": "5"}}
TOTALS = {"samples": 1200, "images": 1100, "requests": 1250, REPEATED: 40}


def entry(level=L2, sums=PUBLISHED_MD5, **more):
    file = f"{'L1' if level == L1 else 'L2'}_annotations.json"
    return {"mode": "all", "annotations": {"file": file, "md5": sums.get(file)}, **more}


def facts(model, datasets=None, *, data=None, **asking):
    config = {"model": {"m": model}, "data": data or {}}
    entries = {L2: entry()} if datasets is None else datasets
    manifest = {"config": config, "asking": asking, "datasets": entries}
    run_facts_list = run_facts(
        manifest, {name: "L1" if name == L1 else "L2" for name in entries}, TOTALS
    )
    return {fact["name"]: fact["text"] for fact in run_facts_list}


@pytest.mark.parametrize(
    ("model", "runs_with", "name", "expected"),
    [
        (
            {
                "imp_type": "openai",
                "model_path": "https://api.openai.com/v1?api_key=***&model=gpt-4o",
            },
            {},
            "Endpoint",
            "gpt-4o · api.openai.com/v1",
        ),
        (
            {"imp_type": "openai", "model_path": "http://jane:***@host:8000/v1/"},
            {},
            "Endpoint",
            "host:8000/v1",
        ),
        (
            {"imp_type": "transformers", "model_path": "…/UI-TARS-1.5-7B"},
            {"cuda, bfloat16, sdpa": 7},
            "Checkpoint",
            "UI-TARS-1.5-7B · cuda, bfloat16, sdpa",
        ),
        ({"imp_type": "vllm", "model_path": "org/name"}, {}, "Checkpoint", "org/name · vLLM"),
        ({"imp_type": "custom", "model_path": "mine.Model"}, {}, "Model", "mine.Model"),
    ],
)
def test_it_names_endpoint_or_checkpoint_and_what_it_ran_on(model, runs_with, name, expected):
    assert facts(model, {L2: entry(runs_with=runs_with)})[name] == expected


def test_it_names_the_recipe_and_says_in_words_what_it_does():
    model = {
        "imp_type": "openai",
        "model_path": "http://h/v1?model=m",
        "recipe": "qwen3_5",
        "custom_prompt": {L2: "models.recipes.qwen3_5.build_prompt"},
        "kwargs": {"resize": [{"factor": 8}, {"longest": 1280}]},
    }
    texts = facts(model)
    assert texts["Endpoint"] == "m · h/v1 · recipe qwen3_5"
    assert texts["Parameters"].startswith("resize: sides in multiples of 8, longest side")
    assert texts["Parameters"].endswith(" · L2: the recipe's prompt")
    own = {**model, "custom_prompt": {L2: "mine.prompt"}}
    assert facts(own)["Parameters"].endswith("L2: own prompt")


def test_requests_that_moved_to_another_server_are_named_apart():
    servers = [{"moved": 3}, {"moved": 0}]
    texts = facts({}, {L1: entry(L1, servers=servers), L2: entry(servers=servers)})
    assert texts["Requests"].endswith(
        "40 samples sent more than once (3 requests went to another server)"
    )
    assert facts({}, {L2: entry()})["Requests"].endswith("40 samples retried")


def test_it_names_the_parameters_that_matter_and_what_is_the_users_own():
    model = {
        "generate_cfg": {"temperature": 0, "stop": "a very long text that nobody wants to read on"},
        "kwargs": {"img_size": -1, "img_detail": "low", "system_prompt": "benchmark_default"},
        "custom_prompt": {L2: "mine.prompt"},
    }
    data = {L2: {"parse_function": "mine.parse"}, L1: {"parse_function": None}}
    parameters = facts(model, {L1: entry(L1), L2: entry()}, data=data)["Parameters"]
    assert parameters == (
        "temperature 0 · stop a very long text that nobody wants to read… · img_detail low · "
        "L2: own prompt, parse"
    )
    assert facts({"imp_type": "custom"})["Parameters"] == "the defaults"
    custom = {**model, "parse_function": {L2: "mine.other"}}
    assert facts(custom, {L2: entry()}, data=data)["Parameters"].endswith("L2: own prompt, other")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([{"factor": 32}], 'x [{"factor": 32}]'),
        ({"enable": True, "level": None}, 'x {"enable": true, "level": null}'),
        (False, "x false"),
        ("plain text", "x plain text"),
        (["é", "b"], 'x ["é", "b"]'),
        (1.5, "x 1.5"),
    ],
)
def test_settings_stand_in_the_head_as_in_the_config(value, expected):
    assert facts({"generate_cfg": {"x": value}})["Parameters"] == expected


def test_a_parameter_that_is_cut_is_there_as_a_whole_too():
    text = "very long " * 20
    [fact] = [
        fact
        for fact in run_facts(
            {"config": {"model": {"m": {"generate_cfg": {"stop": [text]}}}}}, {}, TOTALS
        )
        if fact["name"] == "Parameters"
    ]
    assert fact["text"].endswith("…") and fact["whole"] == f'stop ["{text}"]'


@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        ("UTC", "2026-07-02 03:04 UTC"),
        ("Europe/Berlin", "2026-07-02 05:04 UTC+02:00"),
        ("America/New_York", "2026-07-01 23:04 UTC-04:00"),
        ("Asia/Kolkata", "2026-07-02 08:34 UTC+05:30"),
        ("Pacific/Kiritimati", "2026-07-02 17:04 UTC+14:00"),
    ],
)
def test_times_are_local_and_say_their_zone(zone, expected, monkeypatch):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert facts({}, started_at="2026-07-02T03:04:05+00:00")["Date"] == expected
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("totals", "repeats", "expected"),
    [
        (
            {"samples": 432, "questions": 144},
            {L2: 3},
            "432 answers to 144 samples on 18 images (3 times each)",
        ),
        (
            {"samples": 486, "questions": 198},
            {L1: 1, L2: 3},
            "486 answers to 198 samples on 18 images (L2: 3 times each)",
        ),
        (
            {"samples": 540, "questions": 198},
            {L1: 2, L2: 3},
            "540 answers to 198 samples on 18 images (L1: 2 times each, L2: 3 times each)",
        ),
        ({"samples": 198, "questions": 198}, {L1: 1, L2: 1}, "198 on 18 images"),
        (
            {"samples": 24, "questions": 0, "episodes": 24, "tasks": 4},
            {L3: 2},
            "24 in 4 tasks (2 times each)",
        ),
    ],
)
def test_several_answers_to_a_question_are_no_samples(totals, repeats, expected):
    entries = {name: entry(repeats=count) for name, count in repeats.items()}
    levels = {name: {L1: "L1", L2: "L2", L3: "L3"}[name] for name in entries}
    totals = {**TOTALS, "images": 18, **totals}
    texts = {
        fact["name"]: fact["text"] for fact in run_facts({"datasets": entries}, levels, totals)
    }
    assert expected in (texts.get("Samples"), texts.get("Episodes"))


@pytest.mark.parametrize(("value", "is_told"), [("1", 1), (" True ", 1), ("0", 0), (None, 0)])
def test_weighted_scores_of_l1_are_named_where_the_score_was_weighted(value, is_told):
    scoring = {"environment": {"L1_USE_WEIGHTED": value}}
    manifest = {"config": {"model": {"m": {"imp_type": "custom"}}}, "scoring": scoring}
    texts = {fact["name"]: fact["text"] for fact in run_facts(manifest, {}, TOTALS)}
    assert ("questions weighted by options" in texts.get("Parameters", "")) == is_told


def test_parse_functions_are_those_of_the_last_scoring():
    ran, scored = (
        {"model": {"m": {"imp_type": "custom"}}, "data": {L2: {"parse_function": name}}}
        for name in (None, "mine.later")
    )
    manifest = {
        "model": "m",
        "config": ran,
        "scoring": {"config": scored},
        "datasets": {L2: entry()},
    }
    texts = {fact["name"]: fact["text"] for fact in run_facts(manifest, {L2: "L2"}, TOTALS)}
    assert texts["Parameters"] == "L2: later"


def test_functions_of_a_data_set_are_those_of_the_command_that_asked_it():
    model = {"imp_type": "custom", "custom_prompt": {L2: "mine.prompt"}}
    own = {"model": {"m": model}, "data": {L2: {"parse_function": "mine.parse"}}}
    newest = {"model": {"m": {"imp_type": "custom"}}, "data": {L1: {}}}
    datasets = {L2: entry(config=own), L1: entry(L1)}
    manifest = {"model": "m", "config": newest, "datasets": datasets}
    levels = {L1: "L1", L2: "L2"}
    texts = {fact["name"]: fact["text"] for fact in run_facts(manifest, levels, TOTALS)}
    assert texts["Parameters"] == "L2: own prompt, parse"


@pytest.mark.parametrize(
    ("totals", "expected"),
    [
        ({}, "1,200 on 1,100 images"),
        ({"samples": 3, "episodes": 3, "tasks": 1, "images": 0}, "3 in 1 task"),
        (
            {"samples": 20, "episodes": 8, "tasks": 4, "images": 6},
            "12 on 6 images, 8 episodes of 4 tasks",
        ),
    ],
)
def test_samples_are_on_images_and_episodes_of_tasks(totals, expected):
    facts_of_totals = run_facts({}, {}, TOTALS | totals)
    texts = {fact["name"]: fact["text"] for fact in facts_of_totals}
    assert texts["Samples" if " on " in expected else "Episodes"] == expected


def test_of_a_config_with_several_models_it_names_the_one_that_the_report_is_of():
    models = {name: {"imp_type": "custom", "model_path": f"mine.{name}"} for name in "ABC"}
    manifest = {"model": "B", "config": {"model": models}, "datasets": {L2: entry()}}
    texts = {fact["name"]: fact["text"] for fact in run_facts(manifest, {L2: "L2"}, TOTALS)}
    assert texts["Model"] == "mine.B"


@pytest.mark.parametrize(
    ("datasets", "expected"),
    [
        ({L2: entry()}, "MMBench-GUI as published"),
        ({L2: entry(limit=50)}, "MMBench-GUI as published, 50 samples of each level"),
        (
            {L1: entry(L1, SAMPLE_MD5)},
            "sample data of the program: drawn screens, not a benchmark result",
        ),
        ({L2: entry(sums={})}, "not the published files"),
        ({L3: TASKS}, "tasks in live worlds"),
        ({L1: entry(L1, {}), L2: entry()}, "in part not the published files"),
        (
            {L1: entry(L1, SAMPLE_MD5), L3: TASKS},
            "sample data of the program: drawn screens, not a benchmark result; tasks in live worlds",
        ),
        ({L2: entry(), L3: TASKS}, "MMBench-GUI as published; tasks in live worlds"),
    ],
)
def test_it_says_what_data_the_scores_are_of(datasets, expected):
    assert facts({}, datasets)["Data"] == expected


@pytest.mark.parametrize(
    ("wall_s", "expected"),
    [
        (0.25, "0.3 s"),
        (59.4, "59.4 s"),
        (61, "1 min 01 s"),
        (7384, "2 h 03 min"),
        (59.6, "1 min 00 s"),
    ],
)
def test_it_says_when_how_long_and_at_what_cost(wall_s, expected):
    tokens = {"prompt_tokens": 1_500_000, "completion_tokens": 2400}
    statuses = {"ok": 2000, "failed": 5}  # rotations, too
    texts = facts(
        {},
        {L2: entry(tokens=tokens, statuses=statuses, requests=2055)},
        wall_s=wall_s,
        started_at="2026-01-02T03:04:05+00:00",
    )
    assert texts == {
        "Data": "MMBench-GUI as published",
        "Date": local_time("2026-01-02T03:04:05+00:00"),
        "Duration": expected,
        "Samples": "1,200 on 1,100 images",
        "Tokens": "1,500,000 in, 2,400 out",
        "Requests": "2,055, 40 samples retried",
    }


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ("2026-01-02T03:04:06.5+00:00", "9.0 s"),
        (
            "2026-01-01T22:00:00+00:00",
            "9.0 s in the last command; earlier commands got the other replies",
        ),
    ],
)
def test_the_duration_is_that_of_the_newest_run_and_says_so(first, expected):
    sets = {L1: entry(answered=[]), L2: entry(answered=[first, "2026-01-02T03:04:14+00:00"])}
    texts = facts({}, sets, wall_s=9, started_at="2026-01-02T03:04:05+00:00")
    assert texts["Duration"] == expected


def test_what_is_not_known_is_left_out():
    assert [fact["name"] for fact in run_facts({}, {}, TOTALS)] == ["Samples", "Tokens", "Requests"]


@pytest.mark.parametrize(
    ("changes", "is_partial", "expected"),
    [
        (entry(), False, True),
        (entry(), True, False),
        (entry(left_out=1), False, False),
        (entry(sums=SAMPLE_MD5), False, False),
        ({}, False, False),
        (entry(mode="basic"), False, False),
    ],
)
def test_only_the_whole_published_data_set_is_the_published_one(changes, is_partial, expected):
    assert is_whole(changes, is_partial=is_partial) == expected

"""Two ways to one model: the first difference of a sample is found and named."""

import json

import pytest

from tests.support.mock_server import MockServer, Reply
from tests.support.stage import API, KEY, L1, L2, Stage, right_answers
from utils.parity.causes import explained
from utils.parity.sides import side_of

VISION = {"patch_size": 14, "merge_size": 2, "shortest_edge": 3136, "longest_edge": 1003520}
FILE_WH = [560, 280]  # 20 x 10 units of 28 pixels: 200 tokens
SYSTEM = {"role": "system", "type": "text", "value": "You are a GUI agent."}
QUESTION = [
    {"role": "user", "type": "image", "value": ""},
    {"role": "user", "type": "text", "value": "Where is it?"},
]


def local(**settings):
    """A checkpoint in this process."""
    return side_of(
        "local", kind="transformers", generate_cfg=settings.pop("generate_cfg", {"max_new_tokens": 8}),
        kwargs=settings.pop("kwargs", {}), checkpoint_settings=settings.pop("brought", {}), vision=VISION,
        precision={"dtype": None, "attn_implementation": None, **settings},
    )  # fmt: skip


def served(**generate_cfg):
    """Some server's, of which nothing else is known."""
    settings = {"max_tokens": 8, "temperature": 0, **generate_cfg}
    return side_of("served", kind="openai", generate_cfg=settings, kwargs={}, checkpoint_settings={}, vision={})  # fmt: skip


def facts(reply="(0.5, 0.5)", **more):
    """A sample of one side: the picture as it is, in 200 of 220 tokens."""
    return {
        "key": "k", "index": 0, "image": "os_web/a.png", "status": "ok", "verdict": "hit", "hit": 1,
        "prediction": reply, "prompt": QUESTION, "file_wh": FILE_WH, "sent_wh": None, "seen_wh": None,
        "usage": {"prompt_tokens": 220}, **more,
    }  # fmt: skip


def seen(*wh, tokens=220):
    return {"seen_wh": list(wh), "usage": {"prompt_tokens": tokens}}


OURS = facts(**seen(560, 280))


@pytest.mark.parametrize(("ours", "theirs", "a", "b", "cause", "told"), [
    (OURS, facts(), local(), served(), None, ""),
    (OURS, facts("(0.5, 0.5)<|im_end|>"), local(), served(), None, ""),
    (OURS, facts(status="failed"), local(), served(), "no answer", "ok in local, failed in served"),
    (facts(prompt=[SYSTEM, *QUESTION]), facts(), local(), served(), "messages",
     "local sends a system message, served none"),
    (facts(), facts(prompt=[SYSTEM, *QUESTION]), local(), served(), "messages",
     "served sends a system message, local none"),
    (OURS, facts(prompt=[QUESTION[0], {**QUESTION[1], "value": "Click it."}]), local(), served(),
     "messages", "local sends user text 'Where is it?', served user text 'Click it.'"),
    (OURS, facts(sent_wh=[280, 140]), local(), served(), "picture sent",
     "560x280 from local, 280x140 from served"),
    # The local limits make 98 tokens of the picture; the server's prompt has those of the checkpoint's.
    (facts(**seen(392, 196, tokens=118)), facts(), local(kwargs={"max_pixels": 78400}), served(),
     "pixel limits", "are those of 3136 to 1003520 pixels (the checkpoint's own)"),
    (facts(**seen(560, 280)), facts(**seen(392, 196)), local(), local(kwargs={"max_pixels": 78400}),
     "pixel limits", "local sees 560x280, local 392x196"),
    (OURS, facts(**seen(560, 280, tokens=231)), local(), served(), "template",
     "220 prompt tokens in local, 231 in served"),
    (OURS, facts("no"), local(brought={"repetition_penalty": 1.05}), served(), "generation settings",
     "repetition_penalty 1.05 in local, unset in served"),
    (OURS, facts("no"), local(generate_cfg={"max_new_tokens": 8, "do_sample": True, "temperature": 0.7}),
     served(), "generation settings", "temperature 0.7 in local, 0 in served"),
    (OURS, facts("no"), local(), served(max_tokens=4), "generation settings",
     "max_tokens 8 in local, 4 in served"),
    *[
        (OURS, facts("no"), local(generate_cfg={"max_new_tokens": 8, **ours}), served(**theirs),
         "generation settings", told)
        for ours, theirs, told in [
            ({"num_beams": 3}, {}, "num_beams 3 in local, unset in served"),
            ({"no_repeat_ngram_size": 1}, {}, "no_repeat_ngram_size 1 in local, unset in served"),
            ({"suppress_tokens": [5]}, {}, "suppress_tokens [5] in local, unset in served"),
            ({}, {"stop": "x"}, "stop unset in local, ['x'] in served"),
            ({}, {"extra_body": {"min_tokens": 4}}, "min_tokens unset in local, 4 in served"),
            ({}, {"seed": 3, "temperature": 0.5}, "seed unset in local, 3 in served"),
            ({"eos_token_id": 5}, {}, "eos_token_id 5 in local, unset in served"),
        ]
    ],
    *[
        (OURS, facts("no"), local(generate_cfg={"max_new_tokens": 8, **ours}, brought=brought),
         served(**theirs), "arithmetic", "same messages, pictures and settings")
        for ours, brought, theirs in [
            ({"num_beams": 1, "top_k": 5}, {"eos_token_id": 7, "transformers_version": "5"}, {}),
            ({"length_penalty": 2.0, "no_repeat_ngram_size": 0}, {"temperature": 0.1, "top_p": 0.1}, {}),
            ({"stop_strings": "x", "min_new_tokens": 2}, {}, {"stop": ["x"], "extra_body": {"min_tokens": 2}}),
            ({}, {"_from_model_config": True}, {"seed": 3, "top_p": 0.5, "timeout": 5, "user": "me"}),
        ]
    ],
    (OURS, facts("no"), local(), served(), "arithmetic", "dtype, attention kernel or batching"),
    (OURS, facts("no"), local(dtype="float32"), local(dtype="float16", attn_implementation="eager"), "arithmetic",
     "settings, but dtype float32 in local, float16 in local"),
    (OURS, facts("no"), local(attn_implementation="sdpa"), local(attn_implementation="eager"), "arithmetic",
     "settings, but attn_implementation sdpa in local, eager in local"),
    (OURS, facts("no"), local(), local(dtype="auto"), "arithmetic", "dtype, attention kernel or batching"),
    (OURS, facts("no"), local(dtype="float16"), served(), "arithmetic", "dtype, attention kernel or batching"),
    (OURS, facts("no", usage={}), local(), served(), "arithmetic", "prompt tokens are not known"),
])  # fmt: skip
def test_the_first_difference_is_the_cause(ours, theirs, a, b, cause, told):
    [pair] = explained([(ours, theirs)], a, b)

    assert (pair.cause, told in pair.detail) == (cause, True), pair.detail


@pytest.mark.parametrize(("kwargs", "serve_args"), [
    ({"max_pixels": 78400}, {}),
    ({}, {"mm-processor-kwargs": {"max_pixels": 78400}}),
    ({}, ["--mm-processor-kwargs.max_pixels=78400"]),
])  # fmt: skip
def test_the_pixel_limits_of_a_vllm_entry_are_known(kwargs, serve_args):
    vllm = side_of("v", kind="vllm", generate_cfg={"max_tokens": 8, "temperature": 0}, kwargs=kwargs,
                   checkpoint_settings={}, vision=VISION, serve_args=serve_args)  # fmt: skip
    theirs = facts(usage={"prompt_tokens": 118})  # 98 tokens of a picture within these limits

    [pair] = explained([(OURS, theirs)], local(), vllm)

    assert pair.cause == "pixel limits"
    assert "are those of 3136 to 78400 pixels (the config's)" in pair.detail


@pytest.mark.parametrize(("ours", "theirs", "told"), [
    ("float32", "bfloat16", "but dtype float32 in local, bfloat16 in v"),
    ("float16", "half", "dtype, attention kernel or batching"),
])  # fmt: skip
def test_the_dtype_of_a_vllm_entry_is_known(ours, theirs, told):
    vllm = side_of("v", kind="vllm", generate_cfg={"max_tokens": 8, "temperature": 0}, kwargs={},
                   checkpoint_settings={}, vision=VISION, serve_args={"dtype": theirs})  # fmt: skip

    [pair] = explained([(OURS, facts("no"))], local(dtype=ours), vllm)

    assert told in pair.detail


def test_vllm_without_the_checkpoints_own_settings_is_told_apart():
    settings = {"repetition_penalty": 1.05}
    vllm = side_of("v", kind="vllm", generate_cfg={"max_tokens": 8, "temperature": 0}, kwargs={},
                   checkpoint_settings=settings, vision=VISION,
                   serve_args={"generation-config": "vllm"})  # fmt: skip

    [pair] = explained([(OURS, facts("no"))], local(brought=settings), vllm)

    assert pair.cause == "generation settings"


def test_with_pictures_of_one_size_a_template_is_not_told_from_a_resize():
    pairs = [(facts(**seen(560, 280)), facts(usage={"prompt_tokens": 187}))] * 3

    causes = {pair.cause for pair in explained(pairs, local(), served())}

    assert causes == {"template or pixel limits"}


def test_token_counts_that_differ_from_picture_to_picture_point_to_the_resize():
    pairs = [
        (facts(**seen(560, 280)), facts(usage={"prompt_tokens": 187})),
        (facts(**seen(560, 280)), facts(usage={"prompt_tokens": 171})),
    ]

    assert [pair.cause for pair in explained(pairs, local(), served())] == ["pixel limits"] * 2


def test_a_checkpoints_own_settings_count_for_vllm_too():
    settings = {"repetition_penalty": 1.05}
    vllm = side_of("v", kind="vllm", generate_cfg={"max_tokens": 8, "temperature": 0}, kwargs={},
                   checkpoint_settings=settings, vision=VISION)  # fmt: skip

    [pair] = explained([(OURS, facts("no"))], local(brought=settings), vllm)

    assert pair.cause == "arithmetic"


# ---- whole runs ----------------------------------------------------------------------------------


@pytest.fixture
def stage(tmp_path):
    """A server that answers rightly, unless it is asked as "poor"."""

    def answer(request):
        return Reply("C") if request.body["model"] == "poor" else right_answers(request)

    with MockServer(answer) as server:
        yield Stage.make(tmp_path, server)


def api(model):
    return {**API, "model_path": f"{{url}}?api_key={KEY}&model={model}"}


def write(stage, name, **models):
    return stage.config({"model": models, "data": {L1: {"mode": "all"}, L2: {"mode": "all"}}}, name)


def compare(stage, first, second, *arguments):
    return stage.run(
        "--config", first, "--parity", second, "--work-dir", stage.work_dir, *arguments
    )


def test_two_entries_that_answer_alike_have_nothing_between_them(stage):
    first = write(stage, "a.json", good=api("good"))
    second = write(stage, "b.json", fine=api("fine"))

    ran = compare(stage, first, second, "--limit", "3")

    assert ran.code == 0, ran.output
    assert ran.output.count("answers             equal in 3 of 3") == 2
    assert ran.output.count("nothing differs") == 2


def test_two_models_of_one_config_are_compared(stage):
    config = write(stage, "a.json", good=api("good"), poor=api("poor"), third=api("third"))

    ran = compare(stage, config, config, "--model", "good", "poor")

    assert ran.code == 1, ran.output
    assert "answers             equal in 0 of 6" in ran.output
    assert {request.body["model"] for request in stage.server.requests} == {"good", "poor"}


@pytest.mark.parametrize(("first", "second", "chosen", "told"), [
    (["m"], ["m"], [], 'both configs call their model "m"'),
    (["m", "n"], ["o"], [], "a.json: has 2 models (m, n)"),
    (["m"], ["o"], ["x"], "--model x: in neither config"),
    (["m"], ["o"], ["m", "y"], "--model y: in neither config"),
])  # fmt: skip
def test_a_comparison_that_is_not_clear_is_refused_before_anything_is_asked(
    stage, first, second, chosen, told
):
    paths = [
        write(stage, name, **{model: api(model) for model in models})
        for name, models in (("a.json", first), ("b.json", second))
    ]

    ran = compare(stage, *paths, *(["--model", *chosen] if chosen else []))

    assert (ran.code, told in ran.stderr, stage.server.requests) == (2, True, []), ran.output
    assert "Traceback" not in ran.output


def test_with_its_own_config_two_models_must_be_named(stage):
    config = write(stage, "a.json", m=api("m"), n=api("n"), o=api("o"))

    ran = compare(stage, config, config)

    assert (ran.code, "name two of its models with --model" in ran.stderr) == (2, True), ran.output


def test_models_that_are_not_meant_need_not_work(stage):
    broken = {"model_path": "/no/such/checkpoint", "imp_type": "transformers"}
    first = write(stage, "a.json", good=api("good"), other=broken)

    ran = compare(stage, first, write(stage, "b.json", fine=api("fine")), "--model", "good", "fine")

    assert ran.code == 0, ran.output


def test_a_reply_with_half_a_character_stands_in_the_file(tmp_path):
    with MockServer(lambda request: Reply("(0.2, 0.15) \ud83d")) as server:
        stage = Stage.make(tmp_path, server)

        ran = compare(stage, write(stage, "a.json", m=api("m")), write(stage, "b.json", n=api("n")))

        assert ran.code == 1 or "equal in 6 of 6" in ran.output, ran.output
        assert "Traceback" not in ran.output
        assert "\\ud83d" in (stage.work_dir / "parity" / f"m_n_{L2}.csv").read_text("utf-8")


def test_no_key_stands_in_the_file_of_a_comparison(stage):
    compare(
        stage, write(stage, "a.json", good=api("good")), write(stage, "b.json", poor=api("poor"))
    )

    files = list((stage.work_dir / "parity").iterdir())

    assert len(files) == 2
    assert all(KEY not in file.read_text("utf-8") for file in files)
    assert json.dumps([file.name for file in files]).count(L2) == 1

"""The config file: what it means, and everything that can be wrong with it."""

import itertools
import json
import re

import pytest

from benchmarks import BENCHMARK, LEVELS
from models import argument_problems
from tests.support.runs import PROJECT
from utils.config.read import ConfigSource, read_config
from utils.config.schema import Kwargs, token_limit_key
from utils.config.text import key_path, read_plain, substitute
from utils.contracts import KWARGS_READ

L1, L2, LIVE = "GUIContentUnderstanding", "GUIElementGrounding", "GUITaskAutomation"
NAMES = (L1, L2, LIVE)

LOCAL, VLLM = ({"model_path": "/ckpt", "imp_type": kind} for kind in ("transformers", "vllm"))
API = {"model_path": "http://127.0.0.1:8000/v1?api_key=k&model=m", "imp_type": "openai"}
CUSTOM = {"model_path": "models.ocr_baseline.OCRBaseline", "imp_type": "custom"}
DATA = {L2: {"mode": "all"}}
NO_OBJECT = 'the file must hold an object { "model": ..., "data": ... }, not'
KEYS = (
    'unknown key; known are "mode", "parse_function", "repeats", "only", "audits", "match_mode", '
    '"circular", "judge"'
)
JUDGE = {"model_path": "http://127.0.0.1/v1?model=j"}
PLATFORM_LIST = (
    "must be a list of platforms out of os_windows, os_mac, os_linux, os_ios, os_android, os_web"
)
MODES = f'{L2} has the modes "all", "basic", "advanced"'
SECRET = "sk-very-secret-0123456789"


def read_file(file, environ=None, names=NAMES, **more):
    benchmarks = {name: BENCHMARK[name] for name in names}
    source = ConfigSource(file, environ or {}, levels=LEVELS, **more)
    return read_config(source, benchmarks, argument_problems)


def read(tmp_path, config, environ=None, **more):
    file = tmp_path / "x.json"
    file.write_text(config if isinstance(config, str) else json.dumps(config), encoding="utf-8")
    return read_file(file, environ, **more)


def problems(tmp_path, config, environ=None):
    """The problems without the path of the file, which each of them must begin with."""
    reading = read(tmp_path, config, environ)
    assert (reading.config is None) == bool(reading.problems)
    front = f"{tmp_path / 'x.json'}: "
    assert all(line.startswith(front) and "\n" not in line for line in reading.problems)
    return [line.removeprefix(front) for line in reading.problems]


def model(entry, **changes):
    return {"model": {"m": {**entry, **changes}}, "data": DATA}


def model_problems(tmp_path, entry, **changes):
    lines = problems(tmp_path, model(entry, **changes))
    assert all(line.startswith('model."m".') for line in lines)
    return [line.removeprefix('model."m".') for line in lines]


@pytest.mark.parametrize("name", ["api_gpt", "api_uitars", "local_uitars", "local_aguvis", "demo"])
def test_the_shipped_configs_have_no_problems(name):
    environ = {"OPENAI_API_KEY": "sk-test-01234"}
    reading = read_file(PROJECT / f"configs/config_{name}.json", environ)
    assert (reading.problems, reading.warnings) == ([], [])
    assert set(reading.config.data) == {L1, L2}


@pytest.mark.parametrize(
    "name", ["live", "live_default", "live_uitars", "live_qwen", "live_tools", "live_openai"]
)
def test_the_shipped_configs_of_agents_have_no_problems(name):
    environ = {"OPENAI_API_KEY": "sk-test-01234"}
    levels = {"GUITaskAutomation": "L3", "GUITaskCollaboration": "L4"}
    reading = read_file(PROJECT / f"configs/config_{name}.json", environ, levels)
    assert (reading.problems, reading.warnings) == ([], [])


def test_the_documented_config_is_read_as_documented():
    reading = read_file(PROJECT / "configs/config_local_uitars.json")
    [(name, entry)] = reading.config.model.items()
    assert (entry.imp_type, entry.kwargs["max_pixels"]) == ("transformers", 12845056)
    assert reading.config.data[L1].match_mode == "exact_matching"
    assert [(ref.key_path, ref.kind) for ref in reading.function_refs] == [
        (f'model."{name}".preprocess_function', "preprocess"),
        (f'model."{name}".postprocess_function', "postprocess"),
        (f'model."{name}".custom_prompt.{L2}', "prompt"),
        (f"data.{L2}.parse_function", "parse"),
        (f"data.{L1}.parse_function", "parse"),
    ]
    assert "input_length" in reading.function_refs[1].keywords
    assert "dataset_name" in reading.function_refs[0].keywords


def test_empty_and_null_mean_the_default(tmp_path):
    keys = ("preprocess_function", "postprocess_function", "custom_prompt", "generate_function")
    for key, nothing in itertools.product(keys, ("", None)):
        reading = read(tmp_path, model(API, **{"custom_prompt": {L1: "", L2: None}, key: nothing}))
        assert (reading.problems, reading.function_refs) == ([], [])
        assert reading.config == read(tmp_path, model(API)).config


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"model_path": "https://h/v1?model=m"}, "openai"),
        ({"model_path": "HTTP://h/v1?model=m", "imp_type": "api"}, "openai"),
        ({"model_path": "${URL}?model=m"}, "openai"),
        ({**API, "imp_type": "transformers"}, "openai"),
        (LOCAL, "transformers"),
        (VLLM, "vllm"),
        (CUSTOM, "custom"),
    ],
)
def test_the_kind_of_model_is_known_and_a_url_is_always_an_api_model(tmp_path, entry, expected):
    reading = read(tmp_path, model(entry), {"URL": "http://h/v1"})
    assert reading.problems == []
    assert reading.config.model["m"].imp_type == expected
    what = '"transformers" is not used: model_path is a URL'
    is_contradiction = expected == "openai" and entry.get("imp_type") == "transformers"
    assert [what in warning for warning in reading.warnings] == [True] * is_contradiction


@pytest.mark.parametrize("name", ["", "  "])
def test_a_model_has_a_name(tmp_path, name):
    [problem] = read(tmp_path, {"model": {name: API}, "data": {L1: {"mode": "all"}}}).problems
    assert f'model."{name}": a name is missing between the quotes' in problem


@pytest.mark.parametrize("entry", [LOCAL, VLLM], ids=["local", "vllm"])
def test_code_of_a_checkpoint_is_trusted_only_where_a_config_says_so(tmp_path, entry):
    for trust in ({"trust_remote_code": True}, {"trust_remote_code": False}, {}):
        model_entry = read(tmp_path, model(entry, **trust)).config.model["m"]
        assert model_entry.trust_remote_code is trust.get("trust_remote_code", False)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("config_gtp.json", 'there is no such file; did you mean "config_gpt.json"?'),
        ("nope.json", "there is no such file"),
        (
            "config_gpt.py",
            "config files are JSON, and there is {0}/config_gpt.json: use --config {0}/config_gpt.json",
        ),
        ("", "cannot be read: Is a directory"),
        ("latin.json", "is not UTF-8 text (line 2); save it as UTF-8"),
        ("n" * 3000, "too long"),
        ("a\0b", "null byte"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_what_to_do(tmp_path, name, expected):
    (tmp_path / "config_gpt.json").write_text("{}")
    (tmp_path / "latin.json").write_bytes(b'{\n"model": "\xff"}')
    [problem] = read_file(tmp_path / name).problems
    assert problem.startswith(f"{tmp_path / name}: ")
    assert expected.format(tmp_path) in problem
    assert ("did you mean" in problem) == ("did you mean" in expected)
    (tmp_path / "marked.json").write_text(json.dumps(model(LOCAL)), encoding="utf-8-sig")
    assert read_file(tmp_path / "marked.json").problems == []  # a byte order mark does no harm


@pytest.mark.parametrize(
    ("text", "line", "column", "what"),
    [
        ("", 1, 1, "the file is empty"),
        ("// nothing\n", 2, 1, "The document is empty"),
        ('{"a": 1\n "b": 2}', 2, 2, "Missing a comma or '}'"),
        ('{"a": 1\n "b": 2}', 2, 2, "is a quote, comma or bracket missing"),
        ('{\n"a": "x,\n"b": 1}', 2, 9, "A text is not closed in its line"),
        ('{"a": "x', 1, 9, "Missing a closing quotation mark"),
        ('{"a": 1 /* x', 1, 13, "A comment is not closed"),
        ('{"a": 1 / 2}', 1, 10, "begins with a single /"),
        ('{"a": {"b": 1}', 1, 15, "Missing a comma or '}'"),
        ('{"a": "C:\\data"}', 1, 10, "Invalid escape character"),
        ('{"a" 1}', 1, 6, "Missing a colon"),
        ("[1,,]", 1, 4, "Invalid value"),
        ("/* a\n b */ {\n  // c\n  x}", 4, 3, "Missing a name"),
        ("{'a': 1}", 1, 2, "Missing a name"),
        ('{"a": tru}', 1, 10, "Invalid value"),
        ('{"a": 0x10}', 1, 8, "Missing a comma"),
        ('{"a": 01}', 1, 8, "Missing a comma"),
        ('{"a": .5}', 1, 7, "Invalid value"),
        ('{"a": 1e400}', 1, 7, "Number too big"),
        ('# x\n{"a": 1}', 1, 1, "Invalid value"),
        ('{"a": 1} {}', 1, 10, "must not be followed by other values"),
        ('{"a": "\\ud800"}', 1, 8, "half of a surrogate pair"),
        ('{"a": "\\ud83d."}', 1, 8, "half of a surrogate pair"),
        ('{"a": 1}\n\0{', 2, 1, "null character"),
        # a column is a character, whatever it takes in the file; a line ends as it may
        ('{"é": "日本語 😀", x}', 1, 16, "Missing a name"),
        ('/* ü\n\n*/ {"a": "😀" "b"}', 3, 14, "Missing a comma"),
        ('{"a": 1,\r\n "b" 2}', 2, 6, "Missing a colon"),
        ('\n\n\t{"a": [1, 2}', 3, 13, "Missing a comma or ']'"),
        ("[" * 200 + "x", 1, 201, "Invalid value"),
        ("[" * 50_000, None, None, "nested too deeply"),
        ('{"a": ' * 900 + "1" + "}" * 900, None, None, "nested too deeply"),
        ("[" * 300 + "]" * 300, None, None, "nested too deeply"),
        ('[{"a": ' * 101 + "1" + "}]" * 101, None, None, "nested too deeply"),
        ("[" * 50_000 + "]" * 50_000, None, None, "nested too deeply"),
        # Nothing is quoted: it could be a key.
        *[
            (text, None, None, "line 1")
            for text in (
                '{"a": 1 "sk-secret-0123"}',
                '{"a": sk-secret-0123}',
                '{"a": sk_secret_0123}',
            )
        ],
    ],
)
def test_broken_json_is_reported_with_line_and_column(text, line, column, what):
    with pytest.raises(ValueError, match=re.escape(what)) as caught:
        read_plain(text, {})
    assert line is None or str(caught.value).startswith(f"line {line}, column {column}: ")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": "http://x//y /* z */ ,}", }', {"a": "http://x//y /* z */ ,}"}),
        ('{"a": "q\\"// no", /* , } */ "b": [1, 2, ], // ] \n}', {"a": 'q"// no', "b": [1, 2]}),
        ("[[1,],/**/]", [[1]]),
        ('{"a": 1, // x\r\n}', {"a": 1}),
        ("// é\n[1] // the end", [1]),
        ("[/*,*/ 1 /* ] */, // 2\n 3, /**/\n]", [1, 3]),
        ('{"a//": "/*", "*/": "//", }', {"a//": "/*", "*/": "//"}),
        ('["\\"/*", "*/\\\\" // x\n]', ['"/*', "*/\\"]),
        ('["\\ud83d\\ude00", "\\u0000", "\\/"]', ["😀", "\0", "/"]),
        (
            "[123456789012345678901234567890, -0.5, 1e3]",
            [123456789012345678901234567890, -0.5, 1e3],
        ),
        ("[" * 199 + "]" * 199, json.loads("[" * 199 + "]" * 199)),
    ],
)
def test_comments_and_trailing_commas_are_accepted(text, value):
    assert read_plain(text, {}).value == value


def test_names_in_texts_are_replaced_from_the_environment(tmp_path):
    kwargs = {"x": ["$HOME ${1} ${ROOT}"], "${K}": 1}
    reading = read(tmp_path, model(LOCAL, model_path="${ROOT}/m", kwargs=kwargs), {"ROOT": "/data"})
    assert reading.config.model["m"].model_path == "/data/m"
    assert reading.config.model["m"].kwargs == {"x": ["$HOME ${1} /data"], "${K}": 1}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://h/v1?api_key=${KEY}&model=x", "http://h/v1?api_key=a%2Bb%26c%3D%25d&model=x"),
        ("${URL}?api_key=${KEY}", "http://h/v1?api_key=a%2Bb%26c%3D%25d"),
        ("http://h/v1?${QUERY}", "http://h/v1?api_key=k&model=m"),
    ],
)
def test_a_key_with_special_signs_survives_the_query_of_an_endpoint(text, expected):
    environ = {"KEY": "a+b&c=%d", "URL": "http://h/v1", "QUERY": "api_key=k&model=m"}
    assert substitute(text, environ)[0] == expected


@pytest.mark.parametrize(("environ", "state"), [({}, "not set"), ({"NO_KEY": ""}, "empty")])
def test_an_unset_name_is_one_error_with_its_key_path(tmp_path, environ, state):
    assert problems(tmp_path, model({"model_path": "${NO_KEY}"}), environ) == [
        'model."m".model_path: ${NO_KEY} stands for the environment variable NO_KEY, '
        f"which is {state}; set it in the environment or in .env"
    ]
    config_read = read(tmp_path, model(API, model_identity="${NO_KEY}"), environ, unset="some")
    assert config_read.config.model["m"].model_identity == "some"


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ([], [f"{NO_OBJECT} a list"]),
        ("null", [f"{NO_OBJECT} null"]),
        ({}, ["model: is missing", "data: is missing"]),
        ({"model": {}, "data": []}, ["model: is empty", "data: must be an object, not a list"]),
        (
            {"models": {}, "model": {"m": LOCAL}, "data": DATA},
            ['models: unknown key; did you mean "model"?'],
        ),
        ({"model": {"m": 3}, "data": {L2: {}}}, ['model."m": must be an object { }, not 3']),
        (
            {"model": {"m": "x", "": LOCAL}, "data": {L2: None}},
            [
                'model."m": must be an object { }, not "x"',
                'model."": a name is missing between the quotes; results go to a folder of that name',
                f"data.{L2}: must be an object {{ }}, not null",
            ],
        ),
        (
            '{"model": {"m": {"model_path": "/a", "model_path": "/b", "imp_type": "transformers"}},'
            ' "data": {"GUIElementGrounding": {}}}',
            ['model."m".model_path: this key is given more than once; keep one of them'],
        ),
        *[
            (
                json.dumps(model(LOCAL, kwargs={"x": [{"y": 0}, {}]})).replace('"y": 0', pairs),
                [
                    f'model."m".kwargs.x[0].{key}: this key is given more than once; keep one of them'
                    for key in keys
                ],
            )
            for pairs, keys in (
                ('"y": 0, "y": 0', ["y"]),  # with one value, too
                ('"y": {}, /* "y" */ "z": 1, "y": 1, "z": 2', ["y", "z"]),
                ('"y": 0, "y": 1, "y": 2', ["y"]),
                ('"a b": 0, "a b": 1', ['"a b"']),
                ('"é": 0, "\\u00e9": 1', ['"é"']),  # one key in two spellings
            )
        ],
        *[
            (
                json.dumps(
                    model(
                        LOCAL,
                        generate_cfg={"temperature": float(value)},
                        kwargs={"x": [float(value)]},
                    )
                ),
                [
                    f'model."m".{key_path_text}: {value} is not a JSON number'
                    for key_path_text in ("generate_cfg.temperature", "kwargs.x[0]")
                ],
            )
            for value in ("NaN", "Infinity", "-Infinity")
        ],
    ],
)
def test_the_structure_is_checked(tmp_path, config, expected):
    assert problems(tmp_path, config) == expected


KINDS = (
    'must be one of "openai", "api", "transformers", "custom", "vllm" (or model_path http://...)'
)
NO_IMP_TYPE = f"imp_type: is missing; it {KINDS}"
NO_PATH = "model_path: is missing"
NO_SCHEME = "model_path: must begin with http:// or https:// (base_url?api_key=...&model=...)"
ONLY_LOCAL = 'only for imp_type "transformers"; leave it out'
BATCH = 'batch_size: must be a whole number of at least 1, or "auto", not'


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        # imp_type and model_path
        *[({"model_path": path}, [NO_IMP_TYPE]) for path in ("/ckpt", "C:/ckpt", "acme/gui-7b")],
        *[
            ({"model_path": path}, [NO_SCHEME])
            for path in (
                "127.0.0.1:80/v1?model=m",
                "h.org/v1?api_key=k-123456&model=m",
                "localhost:8000/v1",
            )
        ],
        *[
            (entry, [NO_PATH])
            for entry in ({}, {"imp_type": "transformers"}, {**LOCAL, "model_path": None})
        ],
        ({"model_pth": "x"}, [NO_PATH, 'model_pth: unknown key; did you mean "model_path"?']),
        ({**LOCAL, "model_path": 3}, ["model_path: must be a string, not 3"]),
        ({**LOCAL, "model_path": " "}, ["model_path: is empty"]),
        ({**LOCAL, "imp_type": "transformer"}, [f'imp_type: {KINDS}, not "transformer"']),
        ({**LOCAL, "imp_type": "openai"}, [NO_SCHEME]),
        (
            {"model_path": "http://:80/v1?model=m"},
            ["model_path: is not a valid URL: it names no host (http://host:port/v1)"],
        ),
        (
            {"model_path": "http://h/v1?api_key=k"},
            ["model_path: names no model; add model=... to the query"],
        ),
        (
            {**CUSTOM, "model_path": "OCRBaseline"},
            [
                'model_path: must be the dotted path of a class: "OCRBaseline" is not a dotted '
                'path of module and name, like "models.local_uitars.build_custom_prompt"'
            ],
        ),
        # types
        (
            {**VLLM, "serve_args": ["--max-num-seqs", "8", "--port=80"]},
            [
                'serve_args: "--port": the program itself sets the server\'s address, port, name and key; leave it out'
            ],
        ),
        (
            {**VLLM, "serve_args": 3},
            [
                'serve_args: must be an object {"max-num-seqs": 8, ...} or a list '
                '["--max-num-seqs", "8", ...], not 3'
            ],
        ),
        ({**LOCAL, "generate_cfg": []}, ["generate_cfg: must be an object { }, not a list"]),
        (
            {**LOCAL, "generate_cfg": {"max_new_token": 5}},
            [
                "generate_cfg.max_new_token: generate has no such argument; "
                'did you mean "max_new_tokens"?'
            ],
        ),
        ({**LOCAL, "kwargs": "x"}, ['kwargs: must be an object { }, not "x"']),
        *[
            (
                {**LOCAL, "preprocess_function": value},
                [f"preprocess_function: must be a string, not {value_text}"],
            )
            for value, value_text in ((["a"], "a list"), ([], "a list"), (0, "0"), (False, "false"))
        ],
        *[
            (
                {**LOCAL, "custom_prompt": value},
                [f"custom_prompt: must be an object {{ }}, not {value_text}"],
            )
            for value, value_text in (("models.m.f", '"models.m.f"'), ([], "a list"))
        ],
        (
            {**LOCAL, "custom_prompt": {L2: False}},
            [f"custom_prompt.{L2}: must be a string, not false"],
        ),
        (
            {**LOCAL, "custom_prompt": {L2: 3, "GUIElementGroundin": "models.m.f"}},
            [
                f"custom_prompt.{L2}: must be a string, not 3",
                f'custom_prompt.GUIElementGroundin: unknown data set; did you mean "{L2}"?',
            ],
        ),
        ({**LOCAL, "batch_size": 0}, [f"{BATCH} 0"]),
        ({**LOCAL, "batch_size": True}, [f"{BATCH} true"]),
        (
            {**LOCAL, "trust_remote_code": "yes"},
            ['trust_remote_code: must be true or false, not "yes"'],
        ),
        (
            {**LOCAL, "dtype": "float61"},
            [
                'dtype: must be one of "auto", "float32", "bfloat16", "float16", '
                'not "float61"; did you mean "float16"?'
            ],
        ),
        (
            {**LOCAL, "device_map": {}},
            [
                'device_map: must be a device like "auto", "cpu" or "cuda:0", '
                "or an object module → device, not an object"
            ],
        ),
        (
            {**LOCAL, "device_map": 1.5},
            [
                'device_map: must be a device like "auto", "cpu" or "cuda:0", '
                "or an object module → device, not 1.5"
            ],
        ),
        # unknown keys, and keys of another kind of model
        *[
            ({**LOCAL, key: 0}, [f"{key}: unknown key; {hint}"])
            for key, hint in (
                ("kwarg", 'did you mean "kwargs"?'),
                ("prompt_function", 'did you mean "custom_prompt"?'),
                ("prompt", 'did you mean "custom_prompt"?'),
                ("img_size", 'it belongs in "kwargs"'),
                ("temperature", 'it belongs in "generate_cfg"'),
            )
        ],
        (
            {**API, "generate_function": "generate", "batch_size": 2},
            [f"generate_function: {ONLY_LOCAL}", f"batch_size: {ONLY_LOCAL}"],
        ),
        (
            {**CUSTOM, "dtype": "float32", "preprocess_function": "models.m.f"},
            [
                'preprocess_function: must be left out: the class gets the messages, not "models.m.f"',
                f"dtype: {ONLY_LOCAL}",
            ],
        ),
        ({**VLLM, "dtype": "float32"}, [f"dtype: {ONLY_LOCAL}"]),
        ({**LOCAL, "serve_args": []}, ['serve_args: only for imp_type "vllm"; leave it out']),
        (
            {**API, "trust_remote_code": True},
            ['trust_remote_code: only for imp_type "transformers" or "vllm"; leave it out'],
        ),
        # values within kwargs
        (
            {**LOCAL, "kwargs": {"img_detail": "hihg", "dataset_name": 1}},
            [
                'kwargs.img_detail: must be one of "auto", "low", "high", "original", not "hihg"; did you mean "high"?',
                "kwargs.dataset_name: the program sets this itself; leave it out",
            ],
        ),
        (
            {**LOCAL, "kwargs": {"min_pixels": 20, "max_pixels": 10}},
            ["kwargs.min_pixels: is more than max_pixels, which is 10"],
        ),
    ],
)
def test_a_model_entry_is_checked(tmp_path, entry, expected):
    assert model_problems(tmp_path, entry) == expected


def test_a_near_miss_of_a_key_of_ours_is_an_error_and_keys_of_the_users_own_are_free(tmp_path):
    near = {
        "system_prompt": ["system_propmpt", "systemprompt", "System_Prompt"],
        "img_detail": ["img_details"],
        "img_size": ["IMG-SIZE", "image_size", "img_siez"],
        "image_format": ["img_format"],
        "wire_format": ["wireformat"],
        "min_pixels": ["min_pixel"],
        "max_pixels": ["maxpixels"],
        "timeout_s": ["timeout", "timeouts"],
        "dataset_name": ["dataset_nam"],
        "input_length": ["input_lenght"],
    }
    for suggestion, keys in near.items():
        expected_problems = [
            f'kwargs.{key_path(key)}: unknown key; did you mean "{suggestion}"?' for key in keys
        ]
        assert model_problems(tmp_path, LOCAL, kwargs=dict.fromkeys(keys, 1)) == expected_problems
    names = [
        "prompt",
        "img_dir",
        "img_pixels",
        "file_format",
        "time_format",
        "fix_pixels",
        "img",
        "num_images",
        "language",
        "size",
        "detail",
        "system",
        "mode",
        "max_size",
        "history",
        "my_img_size",
        "a",
    ]
    assert model_problems(tmp_path, LOCAL, kwargs=dict.fromkeys(names, 1)) == []


@pytest.mark.parametrize(
    ("key", "good", "bad"),
    [
        ("system_prompt", ["", "model_default", "You are.", None], [3, ["x"], False]),
        ("img_size", [-1, 0, 1000], [-2, "large", 1.5, True, None]),
        ("img_detail", ["auto", "low", "high", "original"], ["medium", "", None, 1, ["low"]]),
        ("image_format", ["original", "png", "jpeg"], ["jpg", "PNG", 1]),
        ("jpeg_quality", [1, 75, 100], [0, 101, "75", 75.5, True]),
        ("wire_format", ["documented", "reference"], ["referense", True]),
        *[(key, [1, 3136], [0, -5, "3136", 1e6, True]) for key in ("min_pixels", "max_pixels")],
        *[(key, [0.5, 600], [0, -1, "600", True]) for key in ("timeout_s", "serve_timeout_s")],
    ],
)
def test_values_of_our_keys_are_checked(tmp_path, key, good, bad):
    for value in good:
        assert model_problems(tmp_path, LOCAL, kwargs={key: value}) == []
    for value in bad:
        [problem] = model_problems(tmp_path, LOCAL, kwargs={key: value})
        assert problem.startswith(f"kwargs.{key}: must be ")
    assert set(KWARGS_READ) == set(Kwargs.model_fields)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"GUIElementGroundng": {}}, f'GUIElementGroundng: unknown data set; did you mean "{L2}"?'),
        ({"L2": {}}, f'L2: unknown data set; L2 is "{L2}"'),
        ({"Own": {"benchmrk": "a.B"}}, 'Own.benchmrk: unknown key; did you mean "benchmark"?'),
        (
            {"ScreenSpot": {}},
            f'ScreenSpot: unknown data set; known are "{L1}", "{L2}", "{LIVE}" (--data also takes L1, '
            "L2, L3, L4)",
        ),
        ({L2: {"max_steps": 9}}, f"{L2}.max_steps: only for {LIVE}; leave it out"),
        ({L1: {"batch_size": 2}}, f"{L1}.batch_size: {KEYS}"),
        (
            {LIVE: {"max_steps": 0}},
            f"{LIVE}.max_steps: must be a whole number of steps of at least 1, not 0",
        ),
        (
            {LIVE: {"seeds": []}},
            f"{LIVE}.seeds: must be a list of whole numbers, at least one: [0], not a list",
        ),
        (
            {LIVE: {"seeds": [3, 0, 0, 0]}},
            f"{LIVE}.seeds: holds 0 more than once; name each seed once. To play each task several "
            'times under each seed, set "repeats"',
        ),
        (
            {LIVE: {"platforms": ["os_amiga"]}},
            f'{LIVE}.platforms: {PLATFORM_LIST}, but item 1 is "os_amiga"',
        ),
        (
            {LIVE: {"platforms": ["os_web", "os_window"]}},
            f'{LIVE}.platforms: {PLATFORM_LIST}, but item 2 is "os_window"; did you mean '
            '"os_windows"?',
        ),
        ({LIVE: {"platforms": "os_web"}}, f'{LIVE}.platforms: {PLATFORM_LIST}, not "os_web"'),
        ({LIVE: {"platforms": [7]}}, f"{LIVE}.platforms: {PLATFORM_LIST}, but item 1 is 7"),
        (
            {LIVE: {"seeds": [0, -1]}},
            f"{LIVE}.seeds: must be a list of whole numbers, at least one: [0], but item 2 is -1",
        ),
        (
            {LIVE: {"seeds": ["a"]}},
            f'{LIVE}.seeds: must be a list of whole numbers, at least one: [0], but item 1 is "a"',
        ),
        (
            {LIVE: {"tasks": ["office/*", 3]}},
            f"{LIVE}.tasks: must be a list of task names, in which * stands for any text: "
            '["office/mail_*"], but item 2 is 3',
        ),
        (
            {LIVE: {"tasks": "mail"}},
            f"{LIVE}.tasks: must be a list of task names, in which * stands for "
            'any text: ["office/mail_*"], not "mail"',
        ),
        ({L2: {"mode": "easy"}}, f'{L2}.mode: unknown mode "easy"; {MODES}'),
        (
            {L2: {"mode": "advancd"}},
            f'{L2}.mode: unknown mode "advancd"; did you mean "advanced"? {MODES}',
        ),
        ({L2: {"mode": 1}}, f"{L2}.mode: must be a string, not 1"),
        *[
            ({name: {key: value}}, f"{name}.{key}: only for {L1}; leave it out")
            for name, key, value in (
                (L2, "match_mode", "exact_match"),
                (L2, "circular", True),
                (LIVE, "circular", True),
            )
        ],
        (
            {L1: {"match_mode": "judge"}},
            f'{L1}.judge: must be an object with the judge\'s model: {{ "model_path": ... }}',
        ),
        (
            {L1: {"match_mode": "gpt"}},
            f'{L1}.match_mode: must be "exact_match" (replies are compared as letters) or '
            '"judge" (docs/scores.md), not "gpt"',
        ),
        (
            {L1: {"judge": {"model_path": "http://127.0.0.1/v1?model=j"}}},
            f'{L1}.judge: only with match_mode "judge"; leave one of them out',
        ),
        *[
            ({L1: {"match_mode": "judge", "judge": judge}}, f"{L1}.judge.{expected}")
            for judge, expected in (
                ({}, "model_path: is missing"),
                ({**JUDGE, "max_requests": 0}, "max_requests: must be a whole number, not 0"),
                ({**JUDGE, "recipe": "gta1"}, "recipe: not for a judge; leave it out"),
                (
                    {**JUDGE, "generate_cf": {}},
                    'generate_cf: unknown key; did you mean "generate_cfg"?',
                ),
            )
        ],
        ({L1: {"parse_function": 0}}, f"{L1}.parse_function: must be a string, not 0"),
        ({L1: {"circular": "yes"}}, f'{L1}.circular: must be true or false, not "yes"'),
        (
            {L1: {"parse_func": "models.m.f"}},
            f'{L1}.parse_func: unknown key; did you mean "parse_function"?',
        ),
        (
            {L1: {"prompt_function": "models.m.f"}},
            f"{L1}.prompt_function: unknown key; it belongs in the model's entry, as "
            '"custom_prompt"',
        ),
    ],
)
def test_a_data_entry_is_checked(tmp_path, data, expected):
    assert problems(tmp_path, {"model": {"m": LOCAL}, "data": data}) == [f"data.{expected}"]


def test_data_sets_that_would_write_the_same_file_are_refused(tmp_path):
    own = {"benchmark": "mine.Own"}
    names = ["x", "x_result", f"{L1}_exact_matching_result", "y_result"]
    config = {"model": {"m": LOCAL}, "data": {L1: {}, **dict.fromkeys(names, own)}}
    assert [line.split(": ")[0] for line in problems(tmp_path, config)] == [
        f"data.{L1}_exact_matching_result",
        "data.x_result",
    ]


def test_all_problems_are_reported_at_once_and_functions_still_found(tmp_path):
    broken = {
        **API,
        "model_path": "${UNSET}",
        "kwargs": {"system_propmpt": ""},
        "generate_cfg": {"max_new_tokens": 5},
    }
    more = {**LOCAL, "colour": 1, "preprocess_function": "models.b.f"}
    data = {L2: {"mode": "al", "parse_function": "models.b.g"}}
    config = {"model": {"a": broken, "b": more}, "data": data, "more": 1}
    assert [line.split(": ")[0] for line in problems(tmp_path, config)] == [
        'model."a".model_path',
        "more",
        'model."a".kwargs.system_propmpt',
        'model."a".generate_cfg.max_new_tokens',
        'model."b".colour',
        f"data.{L2}.mode",
    ]
    refs = read(tmp_path, config).function_refs
    assert [ref.dotted for ref in refs] == ["models.b.f", "models.b.g"]


def test_no_problem_line_speaks_pydantic(tmp_path):
    wrong = [None, True, 3, 1.5, "x", [], {}, [[]], {"a": []}]
    keys = [
        *LOCAL,
        "generate_cfg",
        "generate_function",
        "preprocess_function",
        "custom_prompt",
        "kwargs",
        "device_map",
        "dtype",
        "attn_implementation",
        "batch_size",
        "serve_args",
        "trust_remote_code",
        "model_identity",
        "nonsense",
    ]
    foreign = ("pydantic", "input should", "valid string", "another type", "errors.")
    for base, key, value in itertools.product((LOCAL, API, VLLM, CUSTOM), keys, wrong):
        for line in problems(tmp_path, model(base, **{key: value})):
            assert not any(word in line.lower() for word in foreign), line


@pytest.mark.parametrize(
    "entry",
    [
        *[
            {"model_path": f"http://{rest}"}
            for rest in (
                f"h:99999/v1?api_key={SECRET}&model=m",
                f"/v1?api_key={SECRET}",
                f"h/v1?api_key={SECRET}=gpt-4o",
                f"h/v1?{SECRET}&{SECRET}=3",
                f"h/v1?api_key= {SECRET}",
                f"h/v1?api_key={SECRET}%0A&model=m",
                f"h:x/v1?api_key={SECRET}&model=x",
                f"h/v1?apikey={SECRET}&model=x",
            )
        ],
        {"imp_type": "transformers", "model_path": f"htps://h/v1?api_key={SECRET}&model=x"},
        {**API, "kwargs": {"api_key": SECRET, "system_propmt": "x"}},
        {**API, "generate_cfg": {"extra_headers": f"X-Key: {SECRET}"}},
    ],
)
def test_a_key_in_a_config_with_mistakes_is_not_quoted(tmp_path, entry):
    reading = read(tmp_path, model(entry, colour=1))
    assert reading.problems
    assert SECRET not in " ".join(reading.problems + reading.warnings)


@pytest.mark.parametrize(
    ("entry", "key"),
    [
        ({}, "max_tokens"),
        ({"imp_type": "transformers"}, "max_new_tokens"),
        (
            {"imp_type": "vllm", "generate_cfg": {"max_completion_tokens": 5}},
            "max_completion_tokens",
        ),
        ({"imp_type": "transformers", "generate_cfg": {"max_length": 5}}, "max_length"),
        ({"generate_cfg": {"extra_body": {"max_tokens": 5}}}, "extra_body.max_tokens"),
        (
            {"imp_type": "custom", "generate_cfg": {"max_new_tokens": 5, "extra_body": 3}},
            "max_new_tokens",
        ),
    ],
)
def test_advice_names_the_key_that_limits_the_tokens_of_this_model(entry, key):
    assert token_limit_key(entry) == f"generate_cfg.{key}"


def test_no_repr_shows_a_key(tmp_path):
    path = "http://u:${MY_KEY}@h/v1?api_key=${MY_KEY}&model=m"
    headers = {"extra_headers": {"X-Key": "${MY_KEY}"}}
    entry = model(API, model_path=path, generate_cfg=headers, kwargs={"note": "uses ${MY_KEY}"})
    reading = read(tmp_path, entry, {"MY_KEY": "sk-0123456789"})
    assert "0123" not in repr(reading) + repr(reading.config)


def test_secrets_of_a_config_are_texts_that_can_be_hidden(tmp_path):
    config = model(API, secrets=["long-enough-1", "short"]) | {
        "secrets": ["local", "a-key-of-1234"]
    }
    found_problems = problems(tmp_path, config)
    assert [problem.partition(" ")[0] for problem in found_problems] == [
        "secrets[0]:",
        'model."m".secrets[1]:',
    ]
    assert all("cannot be hidden" in problem for problem in found_problems)
    assert (
        "secrets: must be a list of texts" in problems(tmp_path, model(API) | {"secrets": "x"})[0]
    )
    assert "must be a list of texts" in problems(tmp_path, model(API, secrets="x"))[0]

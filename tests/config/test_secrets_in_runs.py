"""An API key reaches the server and nothing else: no file of the run, nothing that is printed."""

import base64
import html
import io
import itertools
import json
import zipfile
from urllib.parse import quote, quote_plus

import pytest

from tests.support.mock_server import MockServer, Reply
from tests.support.stage import API, L1, L2, l2_counts

PLAIN, SPECIAL, QUOTED = "sk-test-0123456789abcdefABCDEF", "a/b+c=%9", 'q"w\\e<r>t&y/z+1=%20$'
MARK = "[secret]"


def echo(status, *, encoded=lambda key: key):
    """A server that quotes the key which it was sent."""

    def answer(request):
        key = request.headers["authorization"].removeprefix("Bearer ")
        if status == 200:
            return Reply(f"You are {encoded(key)}: Bearer {key}. B")
        message = f"Incorrect API key provided: {encoded(key)} ({request.headers['authorization']})"
        body = {"error": {"message": message, "type": "error", "code": encoded(key)}}
        return Reply(status=status, body=json.dumps(body).encode())

    return answer


def forms_of(key):
    """The key as it may stand in a text, a URL, JSON, XML or a traceback."""
    plain = {key, quote(key), quote(key, safe=""), quote_plus(key), repr(key)[1:-1]}
    lower = {quote(key, safe="").replace(code, code.lower()) for code in ("%2F", "%2B", "%3D")}
    encoded = {html.escape(key), html.escape(key, quote=False), json.dumps(key)[1:-1]}
    return plain | lower | encoded


def texts_of(stage):
    """Every file of the run as text, members of spreadsheets one by one."""
    contents = {path.name: path.read_bytes() for path in stage.written()}
    for workbook in [name for name in contents if name.endswith(".xlsx")]:
        with zipfile.ZipFile(io.BytesIO(contents.pop(workbook))) as archive:
            contents |= {f"{workbook}/{name}": archive.read(name) for name in archive.namelist()}
    return {name: content.decode("utf-8", "replace") for name, content in contents.items()}


def everything(result, stage):
    return result.output + "".join(texts_of(stage).values())


def assert_hidden(key, result, stage, *, is_sent=False):
    if is_sent:
        assert {request.headers["authorization"] for request in result.requests} == {
            f"Bearer {key}"
        }
    places = {"stdout": result.stdout, "stderr": result.stderr, **texts_of(stage)}
    places["paths"] = " ".join(map(str, stage.work_dir.rglob("*")))
    for (location, text), form in itertools.product(places.items(), forms_of(key)):
        assert form not in text, f"{form!r} in {location}: {text[:3000]}"
    for log in [*stage.work_dir.rglob(f"*_{L1}.jsonl"), *stage.work_dir.rglob(f"*_{L2}.jsonl")]:
        values = [json.loads(line) for line in log.read_text("ascii").splitlines()]
        assert key not in json.dumps(values, ensure_ascii=False).replace('\\"', '"')


def model_of(key, **changes):
    return {**API, "model_path": f"{{url}}?api_key={quote(key, safe='')}&model=mock", **changes}


@pytest.mark.parametrize("key", [PLAIN, SPECIAL, QUOTED])
@pytest.mark.parametrize("location", ["model_path", "OPENAI_API_KEY", "MY_SERVER", ".env"])
def test_a_key_is_sent_as_it_is_and_shown_nowhere(location, key, staged):
    stage = staged(answer=echo(200), pictures=1)
    name = "SERVER_KEY" if location == ".env" else location
    model = {**API, "model_path": f"{{url}}?api_key=${{{name}}}&model=mock"}
    if location == ".env":
        (stage.home / ".env").write_text(f"SERVER_KEY='{key.replace(chr(92), 2 * chr(92))}'\n")
    result = stage.evaluate(
        {"m": model_of(key) if location == "model_path" else model},
        "--verbose",
        env={} if location in ("model_path", ".env") else {location: key},
    )
    assert result.code == 0, result.output
    assert_hidden(key, result, stage, is_sent=True)


def test_no_header_or_query_value_of_a_users_own_is_shown(staged):
    secrets = {
        "Ocp-Apim-Subscription-Key": "azkey-9f8e7d6c5b4a",
        "X-Team": "tok-abcdefgh",
        "Helicone-Auth": "Bearer sk-helicone-1234567",
        "X-Api-Key": QUOTED,
    }
    query = {"key": "qk-13579bdf2468", "sig": "qt-2468ace13579"}
    stage = staged(answer=lambda request: Reply(f"B {request.headers} {request.path}"), pictures=1)
    headers = {**secrets, "User-Agent": "my-gui-tests/1.0"}
    model = {**API, "generate_cfg": {"extra_headers": headers, "extra_query": query}}
    result = stage.evaluate({"m": model}, "--verbose")
    for key in (*secrets.values(), *query.values(), "sk-helicone-1234567"):
        assert_hidden(key, result, stage)
    for name, value in headers.items():
        assert {request.headers[name.lower()] for request in result.requests} == {value}
    assert "my-gui-tests/1.0" in texts_of(stage)["manifest.json"]


def test_a_key_that_is_a_number_or_a_word_changes_no_reply_no_prompt_and_no_column(staged):
    reply_text = "(128, 1234), the key is 1234"
    stage = staged(answer=lambda request: Reply(reply_text), pictures=1)
    text, keys = "Click the local test.", {"m": "1234", "n": "local", "o": "test"}
    stage.change_annotations("L2", lambda lines: [line.update(instruction=text) for line in lines])
    models = {name: model_of(key) for name, key in keys.items()}
    result = stage.evaluate(models, data={L2: {"mode": "all"}})
    assert result.code == 0, result.output
    for model in keys:
        records = stage.answers(L2, model)
        assert {record["raw"] for record in records} == {reply_text}
        assert {record["line"]["instruction"] for record in records} == {text}
        assert "local test" in json.dumps([record["prompt"] for record in records])
        assert l2_counts(stage.scores(L2, model))["Error format num"] == 0
    for name, written in texts_of(stage).items():
        assert not [key for key in keys.values() if f"api_key={key}" in written], name
        assert "api_key=[secret]" in written or name != "manifest.json"
        if name.endswith("_samples.jsonl"):
            assert (reply_text in written, MARK in written) == (True, False)


@pytest.mark.parametrize(
    ("status", "key", "encoded"),
    [
        (200, QUOTED, str),
        (400, QUOTED, str),
        (401, QUOTED, str),
        (500, QUOTED, str),
        (401, PLAIN, str),
        (401, SPECIAL, str),
        (400, SPECIAL, lambda key: quote(key, safe="").lower()),
    ],
)
def test_a_key_that_the_server_quotes_back_is_masked(status, key, encoded, staged):
    stage = staged(answer=echo(status, encoded=encoded), pictures=1)
    result = stage.evaluate(
        {"m": model_of(key)},
        "--retry",
        "0",
        "--verbose",
        env={"OPENAI_LOG": "debug"} if key == PLAIN else {},
    )
    assert_hidden(key, result, stage, is_sent=True)
    assert MARK in everything(result, stage)  # what the server said is kept, without the key
    assert encoded(key) not in everything(result, stage)
    assert result.code == (0 if status == 200 else 1), result.output


def test_no_piece_of_a_key_is_left_where_a_long_error_text_is_cut(staged):
    paddings = itertools.count(50, 6)  # wherever texts are cut, some key lies across the cut
    stage = staged(
        pictures=1,
        answer=lambda request: Reply(
            status=400, body=f"{'x' * next(paddings)}{PLAIN * 40}".encode()
        ),
    )
    visible_text = everything(stage.evaluate({"m": model_of(PLAIN)}, "--verbose"), stage)
    assert [text in visible_text for text in (MARK, PLAIN[:12], PLAIN[-12:])] == [
        True,
        False,
        False,
    ]


def test_no_piece_of_a_key_is_left_where_the_reason_of_an_excluded_server_is_cut(staged):
    stage = staged(pictures=1)
    refusal = Reply(status=401, body=f"{'x' * 50}{PLAIN * 40}".encode())
    with MockServer(lambda request: refusal) as other:
        addresses = [f"{url}?api_key={PLAIN}&model=mock" for url in ("{url}", other.url)]
        result = stage.evaluate({"m": {**API, "model_path": addresses}})
    assert f"is excluded (HTTP 401: {'x' * 50}{MARK}" in result.output
    visible_text = everything(result, stage)
    assert (PLAIN[:12] in visible_text, PLAIN[-12:] in visible_text) == (False, False)


FAULTY = "import os\nraise RuntimeError('one knows ' + os.environ['OPENAI_API_KEY'])"
KNOWING = """
    import logging, os, sys, traceback
    KEY = os.environ["OPENAI_API_KEY"]
    def fail(*_, **__):
        raise RuntimeError(f"one knows {KEY}")
    def say(response, model, processor, **kwargs):
        print("key", KEY, {"key": KEY})
        sys.stderr.write(f"Bearer {KEY}")
        logging.getLogger("mine").error("key %s", KEY)
        try:
            fail()
        except RuntimeError:
            traceback.print_exc()
        return f"{response} {KEY}"
    def parse(response, meta):
        return KEY
    class Model:
        def generate(self, message, *, dataset_name):
            fail()
"""


@pytest.mark.parametrize(
    ("model", "data", "arguments"),
    [
        *[
            (entry, {}, arguments)
            for arguments in ([], ["--check"])
            for entry in (
                {"custom_prompt": {L2: "mymodel.fail"}},
                {"preprocess_function": "mymodel.fail"},
            )
        ],
        ({"postprocess_function": "mymodel.fail"}, {}, []),
        ({}, {"parse_function": "mymodel.fail"}, []),
        ({}, {"parse_function": "faulty.parse"}, []),
        ({"postprocess_function": "mymodel.say"}, {"parse_function": "mymodel.parse"}, []),
        ({"imp_type": "custom", "model_path": "mymodel.Model"}, {}, []),
    ],
)
def test_a_key_that_users_code_raises_prints_or_returns_is_masked(model, data, arguments, staged):
    stage = staged(KNOWING, pictures=1)
    stage.module(FAULTY, "faulty")
    api_entry = {**API, "model_path": "{url}?api_key=${OPENAI_API_KEY}&model=mock"}
    entry = model if "imp_type" in model else {**api_entry, **model}
    result = stage.evaluate(
        {"m": entry},
        "--verbose",
        *arguments,
        data={L2: {"mode": "all", **data}},
        env={"OPENAI_API_KEY": QUOTED},
    )
    assert_hidden(QUOTED, result, stage)
    assert f"knows {MARK}" in result.output


AS_SENT_BACK = {
    "raw": str,
    "html": html.escape,
    "json": lambda text: json.dumps(text)[1:-1],
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "URL": lambda text: quote(text, safe=""),
}


# The body of an error is JSON, and shown as it came: what is quoted once more in it is not known.
@pytest.mark.parametrize(
    ("status", "form"),
    [*((200, form) for form in AS_SENT_BACK), (400, "raw"), (400, "base64"), (400, "URL")],
)
def test_a_key_that_comes_back_in_another_form_is_masked(form, status, staged):
    encoded = AS_SENT_BACK[form]
    stage = staged(answer=echo(status, encoded=encoded), pictures=1)
    result = stage.evaluate({"m": model_of(QUOTED)}, "--verbose")
    assert_hidden(QUOTED, result, stage, is_sent=True)
    assert MARK in everything(result, stage)
    for other_form in (
        encoded(QUOTED),
        html.escape(encoded(QUOTED)),
        json.dumps(encoded(QUOTED))[1:-1],
    ):
        assert other_form not in everything(result, stage)


def quoting_headers_and_path(request):
    return Reply(f"B {dict(request.headers)} {request.path} {request.body}")


@pytest.mark.parametrize("user", ["tok-13579bdf2468", "tok-13579bdf2468:", "bob:pass-13579bdf"])
def test_users_of_an_address_are_masked_also_as_they_are_sent(user, staged):
    stage = staged(answer=quoting_headers_and_path, pictures=1)
    address = stage.server.url.replace("//", f"//{user}@")
    entry = {**API, "model_path": f"{address}?model=mock"}
    result = stage.evaluate({"m": entry}, "--verbose")
    name, _, password = user.partition(":")
    sent = base64.b64encode(f"{name}:{password}".encode()).decode()
    assert result.code == 0, result.output
    assert_hidden(password or name, result, stage)
    assert_hidden(sent, result, stage)


def test_what_the_config_names_as_secret_is_masked_everywhere(staged):
    path_key, own_key = "pathkey-13579bdf", "ownkey-2468ace0"
    marked = {"pat": "ghp-1a2b3c4d5e", "signature": "sig-9f8e7d6c5b"}
    jwt = "eyJhbGciOi.J9eyJzdWIi"
    stage = staged(answer=quoting_headers_and_path, pictures=1)
    entry = {
        **API,
        "model_path": f"{stage.server.url}?api_key=k-{own_key}&model=mock",
        "kwargs": {**marked, "note": f"my {own_key}"},
        "generate_cfg": {"extra_body": {"user_jwt": jwt, "route": path_key}},
        "secrets": ["${OWN_ONE}"],
    }
    config = stage.config(
        {"model": {"m": entry}, "data": {L2: {"mode": "all"}}, "secrets": [path_key]}
    )
    arguments = ("--config", config, "--work-dir", stage.work_dir, "--verbose")
    result = stage.run(*arguments, env={"OWN_ONE": own_key})
    assert result.code == 0, result.output
    assert result.requests and MARK in everything(result, stage)
    for secret in (path_key, own_key, jwt, *marked.values()):
        assert_hidden(secret, result, stage)


def test_secrets_of_a_config_are_no_part_of_what_is_asked(staged):
    stage = staged(pictures=1)
    stage.run()
    stage.model["m"]["secrets"] = ["some-words-of-mine"]
    again = stage.run()
    assert (again.code, again.requests) == (0, [])
    assert len([*stage.work_dir.glob("m/T*")]) == 1


LEAKY = """
    import sys
    def say(response, model, processor, *, own_key, **kwargs):
        print("printed", own_key)
        sys.stderr.write("written " + own_key)
        raise RuntimeError("raised " + own_key)
"""


def test_under_parity_each_config_hides_the_secrets_of_both(staged):
    stage = staged(LEAKY, pictures=1)
    keys = ("sk-first-0123456789", "sk-second-9876543210")
    paths = []
    for name, key in zip("ab", keys, strict=True):
        entry = {**API, "kwargs": {"own_key": key}, "postprocess_function": "mymodel.say"}
        config = {"model": {name: entry}, "data": {L1: {"mode": "all"}}}
        paths.append(stage.config(config, f"{name}.json"))
    arguments = ["--config", paths[0], "--parity", paths[1], "--work-dir", stage.work_dir]
    result = stage.run(*arguments, env={"SKIP_ERR": "1"})
    assert f"printed {MARK}" in result.output
    for key in keys:
        assert_hidden(key, result, stage)

"""Nothing secret leaves the program, in whatever form it comes back."""

from __future__ import annotations

import base64
import html
import io
import json
import subprocess
import sys
from collections import namedtuple
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from utils.config.secret_filter import (
    MASK,
    FilteredStream,
    SecretFilter,
    mask_config,
    mask_endpoint,
    secrets_in,
)
from utils.config.secret_names import is_secret_name

PROJECT_ROOT = Path(__file__).resolve().parents[2]
SECRET = 'sk-a+b/c&d="e\\f g%h?ü'


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        quote(SECRET),
        quote(SECRET, safe=""),
        quote(SECRET, safe="").lower(),
        quote_plus(SECRET),
        quote(SECRET, safe="!$&'()*+,;=:/?@"),
        quote(quote(SECRET, safe=""), safe=""),
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
        json.dumps(json.dumps(SECRET)[1:-1])[1:-1],
        repr(SECRET)[1:-1],
        html.escape(SECRET),
        b64(SECRET),
        b64(SECRET).rstrip("="),
        b64(f":{SECRET}"),
        b64(f"{SECRET}:"),
        base64.urlsafe_b64encode(SECRET.encode()).decode(),
    ],
)
def test_each_form_of_a_secret_is_replaced(form: str) -> None:
    cleaned = SecretFilter([SECRET]).clean(f'{{"error": "bad key {form}!"}}')
    assert cleaned == f'{{"error": "bad key {MASK}!"}}'


def test_a_secret_given_in_percent_encoding_is_found_decoded() -> None:
    secret_filter = SecretFilter(["a%26b%3Dcdef"])
    assert secret_filter.clean("a%26b%3Dcdef a&b=cdef a%26b%3dcdef") == " ".join([MASK] * 3)


def test_the_longest_secret_wins_and_cleaning_twice_changes_nothing() -> None:
    secret_filter = SecretFilter(["sk-12345678", "sk-12345678-long", "secret", "secr"])
    once = secret_filter.clean_told("a sk-12345678-long b sk-12345678 c secret")
    assert once == f"a {MASK} b {MASK} c secret"
    assert secret_filter.clean_told(once) == once


@pytest.mark.parametrize(
    "secret", ["", "abc", "api_key_placeholder", "EMPTY", "none", "not-needed", "ollama"]
)
def test_what_is_no_secret_is_left_alone(secret: str) -> None:
    assert SecretFilter([secret]).clean_told(f"x {secret} y") == f"x {secret} y"


def test_a_short_secret_is_a_whole_word() -> None:
    secret_filter = SecretFilter(["test"])
    assert secret_filter.clean_told("the latest testing") == "the latest testing"
    assert secret_filter.clean_told("key=test, api_key%3Dtest") == f"key={MASK}, api_key%3D{MASK}"


@pytest.mark.parametrize(
    ("key", "reply"),
    [
        ("1234", "(128, 1234)"),
        ("5000", "(0.5000, 0.25)"),
        ("12345678901", "x=12345678901"),
        ("2024-01-01", "it says 2024-01-01"),
        ("test", "press Test, then test"),
        ("local", "the local folder"),
        ("password", "the field named password"),
        ("%31%32%33%34", "(128, 1234)"),
    ],
)
def test_what_a_model_says_is_never_changed_by_a_common_text(key: str, reply: str) -> None:
    secret_filter = SecretFilter([key])
    assert secret_filter.clean(reply) == reply
    assert secret_filter.clean_object({"raw": [reply]}) == {"raw": [reply]}


@pytest.mark.parametrize("key", ["1234", "12345678901", "local", "password"])
def test_what_a_server_says_shows_no_key_however_common(key: str) -> None:
    assert SecretFilter([key]).clean_told(f"bad key '{key}'") == f"bad key '{MASK}'"


@pytest.mark.parametrize(
    "key", ["sk-12345", "1234567890123456", "abcdefghijklmnop", "a1b2c3d4", "pass-word"]
)
def test_a_secret_proper_is_hidden_in_replies_too(key: str) -> None:
    assert SecretFilter([key]).clean(f"I was sent {key}.") == f"I was sent {MASK}."


def test_lone_surrogates_and_empty_filters_do_no_harm() -> None:
    assert SecretFilter(["sk-\ud83d-12345"]).clean("\ud83d sk-\ud83d-12345") == f"\ud83d {MASK}"
    assert SecretFilter().clean("anything") == "anything"


def test_objects_are_cleaned_recursively() -> None:
    pair = namedtuple("pair", "a b")
    dirty = {
        "sk-12345678": ["sk-12345678", 1, None, ("sk-12345678", 2.5)],
        "b": b"x sk-12345678 \xff",
        "p": pair("sk-12345678", 1),
    }
    clean = SecretFilter(["sk-12345678"]).clean_object(dirty)
    assert clean == {
        MASK: [MASK, 1, None, (MASK, 2.5)],
        "b": b"x [secret] \xff",
        "p": pair(MASK, 1),
    }
    assert "sk-12345678" in dirty


# ---- where secrets come from ---------------------------------------------------------------------


@pytest.mark.parametrize("name", [
    "OPENAI_API_KEY", "api_key", "apiKey", "apikey", "x-api-key", "AWS_ACCESS_KEY_ID", "MYKEY", "key",
    "Ocp-Apim-Subscription-Key", "HF_TOKEN", "token", "accessToken", "NEW_TOKEN", "API_KEYS",
    "DB_PASSWORD", "PGPASSWORD", "passwd", "client_secret", "Authorization", "X-Auth", "credentials",
])  # fmt: skip
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", [
    "max_tokens", "eos_token", "stop_token_ids", "tokenizer", "TOKENIZERS_PARALLELISM", "keyboard",
    "keywords", "public_key", "SSH_KEY_PATH", "author", "model", "temperature", "SSH_AUTH_SOCK", "",
    "image_format", "PWD", "VLLM_NUM_TOKENS",
])  # fmt: skip
def test_names_of_other_things(name: str) -> None:
    assert not is_secret_name(name)


def test_secrets_of_the_environment() -> None:
    environ = {
        "OPENAI_API_KEY": "short",
        "HF_TOKEN": "hf_1",
        "ACME_API_KEY": "acme-12345678",
        "X_TOKEN": "token-12345678",
        "Y_SECRET": "small",
        "PATH": "/usr/bin:/usr/local",
        "TOKENIZERS_PARALLELISM": "false-false",
        "ANTHROPIC_API_KEY": "",
    }
    assert secrets_in([], environ) == {"short", "hf_1", "acme-12345678", "token-12345678"}


@pytest.mark.parametrize(
    ("place", "text", "expected"),
    [
        ("a", "http://h/v1?api_key=k%26ey-1&model=m", {"k%26ey-1", "k&ey-1"}),
        ("a", "http://h/v1?apikey=wrong-name&model=m", {"wrong-name"}),
        ("a", "http://h/v1?model=m;api_key=zzzz", {"zzzz"}),
        ("a", "http://h/v1?api_key=your-key=gpt-4o", {"your-key=gpt-4o", "your-key"}),
        ("a", "http://h/v1?api_key=${KEY}", {"a+b/", "a%2Bb%2F"}),
        ("a", "http://user:pa%21ss@h/v1?model=m", {"pa%21ss", "pa!ss"}),
        ("a", "http://[broken/v1?api_key=still", {"still"}),
        ("a", "htps://h/v1?api_key=mistyped&model=m", {"mistyped"}),
        ("a", "/ckpt?api_key=still", {"still"}),
        ("kwargs.judge", "h:8000/v1?token=other", {"other"}),
        ("kwargs.note", "with ${KEY} and ${ROOT}", {"a+b/"}),
        ("generate_cfg.extra_headers.Authorization", "Bearer tok", {"Bearer tok", "tok"}),
        ('kwargs."x-api-key"', "lit-key", {"lit-key"}),
        ("kwargs.api_keys[1]", "second", {"second"}),
        ('m.generate_cfg.extra_headers."Helicone-Auth"', "Bearer t", {"Bearer t", "t"}),
        ('m.generate_cfg.extra_headers."X-Team"', "gui", {"gui"}),
        ("m.generate_cfg.extra_query.sig", "s1g", {"s1g"}),
        ("m.generate_cfg.extra_query.tags[0]", "s1g", {"s1g"}),
        ('m.generate_cfg.extra_query."api-version"', "2024-02-01", set()),
        ('m.generate_cfg.extra_headers."User-Agent"', "curl", set()),
        ("serve_args[0]", "--hf-token=hf_1", {"hf_1"}),
        ("generate_cfg.eos_token", "</s>", set()),
        ("kwargs.system_prompt", "You are a key finder", set()),
        ("a", "${UNSET_KEY}", set()),
        ("a", "http://h/v1?api_key=${UNSET_KEY}&model=m", set()),
    ],
)
def test_secrets_of_the_config(place: str, text: str, expected: set[str]) -> None:
    assert secrets_in([(place, text)], {"KEY": "a+b/", "ROOT": "/data"}) == expected


def test_an_endpoint_is_masked_by_place() -> None:
    assert mask_endpoint("http://u:p@h/v1?api_key=k&model=m") == (
        f"http://u:{MASK}@h/v1?api_key={MASK}&model=m"
    )
    for start in ("/ckpt", "htps://h/v1", "h:8000/v1"):  # a mistyped scheme hides no key either
        assert mask_endpoint(f"{start}?api_key=k&model=m") == f"{start}?api_key={MASK}&model=m"
    assert mask_endpoint("/ckpt/keys=1/model") == "/ckpt/keys=1/model"
    both = mask_endpoint("http://h/v1?a=1;token=x&max_tokens=5&key=a=b#c")
    assert both == f"http://h/v1?a=1;token={MASK}&max_tokens=5&key={MASK}#c"


def test_a_config_is_masked_by_place() -> None:
    headers = {"X-Auth": "tok", "Content-Type": "text/x", "X-Empty": ""}
    config = {
        "model_path": "http://h/v1?api_key=test&model=test",
        "generate_cfg": {"extra_headers": headers, "extra_query": {"sig": ["s"]}, "stop": "</s>"},
        "kwargs": {"my key": "1234", "note": "why?key=1 or 2", "img_size": 5},
    }
    assert mask_config(config) == {
        "model_path": f"http://h/v1?api_key={MASK}&model=test",
        "generate_cfg": {
            "extra_headers": {**headers, "X-Auth": MASK},
            "extra_query": {"sig": [MASK]},
            "stop": "</s>",
        },
        "kwargs": {"my key": MASK, "note": "why?key=1 or 2", "img_size": 5},
    }


# ---- streams and hooks ---------------------------------------------------------------------------


def test_a_filtered_stream_behaves_like_the_stream() -> None:
    inner = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    stream = FilteredStream(inner, SecretFilter(["sk-12345678"]))
    assert stream.write("a sk-12345678\n") == 14
    stream.writelines(["sk-12345678", "b"])
    print("c", file=stream, flush=True)  # type: ignore[call-overload]
    assert (stream.encoding, stream.isatty(), stream.closed) == ("utf-8", False, False)
    assert inner.buffer.getvalue() == f"a {MASK}\n{MASK}bc\n".encode()  # type: ignore[attr-defined]


def test_install_wraps_once_and_can_be_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    before = (sys.stdout, sys.stderr, sys.excepthook)
    secret_filter = SecretFilter(["sk-12345678"])
    restore = secret_filter.install()
    try:
        wrapped = sys.stdout
        undo_second = secret_filter.install()
        assert sys.stdout is wrapped
        print("sk-12345678")
        undo_second()
    finally:
        restore()
    assert (sys.stdout, sys.stderr, sys.excepthook) == before
    assert out.getvalue() == f"{MASK}\n"


@pytest.mark.parametrize(
    "ending",
    [
        "raise ValueError('bad ' + key)",
        "t = threading.Thread(target=fail); t.start(); t.join(); sys.exit(1)",
        "sys.exit('died of ' + key)",
        "print(key); print(repr(key), file=sys.stderr); sys.exit(1)",
        "warnings.warn('with ' + key); sys.exit(1)",
    ],
)
def test_a_dying_process_prints_no_secret(ending: str) -> None:
    code = (
        "import sys, threading, warnings\n"
        "from utils.config.secret_filter import SecretFilter\n"
        "key = 'sk-' + 'top' * 4\n"
        "def fail(): raise RuntimeError(key)\n"
        "SecretFilter([key]).install()\n" + ending
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT_ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    assert "toptop" not in run.stdout + run.stderr
    assert MASK in run.stdout + run.stderr

"""Nothing secret leaves the program, in whatever form it comes back."""

import base64
import html
import io
import json
import subprocess
import sys
from unittest import mock
from urllib.parse import quote, quote_plus

import pytest

from tests.support.runs import PROJECT
from utils.config import secret_filter
from utils.config.secret_filter import MASK, OutputStream, SecretFilter

SECRET = 'sk-a+b/c&d="e\\f g%h?ü'


def in_base64(text):
    return base64.b64encode(text.encode()).decode()


BASIC = f"Basic {in_base64('me:pw-1234567')}"


@pytest.mark.parametrize(
    ("secrets", "text", "cleaned"),
    [
        *[
            ([SECRET], f'{{"error": "bad key {form}!"}}', f'{{"error": "bad key {MASK}!"}}')
            for form in (
                SECRET,
                quote(SECRET),
                quote(SECRET, safe=""),
                quote(SECRET, safe="").lower(),
                quote_plus(SECRET),
                json.dumps(SECRET)[1:-1],
                repr(SECRET)[1:-1],
                html.escape(SECRET),
                html.escape(SECRET).replace("&#x27;", "&#39;"),
                json.dumps(SECRET)[1:-1].replace("/", "\\/"),
                in_base64(SECRET),
                base64.urlsafe_b64encode(SECRET.encode()).decode(),
            )
        ],
        (
            ["a%26b%3Dcdef"],
            "a%26b%3Dcdef a&b=cdef a%26b%3dcdef",
            f"{MASK} {MASK} {MASK}",
        ),  # decoded, too
        (
            ["sk-12345678", "sk-12345678-long"],
            "a sk-12345678-long b sk-12345678",
            f"a {MASK} b {MASK}",
        ),
        (["sk-\ud83d-12345"], "\ud83d sk-\ud83d-12345", f"\ud83d {MASK}"),  # lone surrogates
        ([], "anything", "anything"),
        *[
            ([key], f"I was sent {key}.", f"I was sent {MASK}.")
            for key in ("sk-12345", "1234567890123456", "abcdefghijklmnop", "a1b2c3d4", "pass-word")
        ],
    ],
)
def test_each_form_of_a_secret_is_hidden_and_cleaning_twice_changes_nothing(secrets, text, cleaned):
    cleaner = SecretFilter(secrets)
    assert cleaner.clean(text) == cleaned
    assert cleaner.clean(cleaned) == cleaned


@pytest.mark.parametrize(
    ("key", "reply"),
    [
        *[
            (key, f"the key: {key} y")
            for key in ("", "api_key_placeholder", "EMPTY", "not-needed", "ollama")
        ],
        ("1234", "(128, 1234)"),
        ("5000", "(0.5000, 0.25)"),
        ("12345678901", "x=12345678901"),
        ("2024-01-01", "it says 2024-01-01"),
        ("local", "the local folder"),
        ("%31%32%33%34", "(128, 1234)"),
        ("test", "press Test, then test; the key is test"),
        ("password", "provided: the field named password"),
        ("1234", "the key is 1234"),
        ("local", "Bearer local"),
    ],
)
def test_what_a_model_says_is_not_changed_by_a_common_text(key, reply):
    assert SecretFilter([key]).clean_object({"raw": [reply]}) == {"raw": [reply]}


def test_objects_are_cleaned_recursively():
    dirty = {"sk-12345678": ["sk-12345678", 1, None, ("sk-12345678", 2.5)]}
    clean = SecretFilter(["sk-12345678"]).clean_object(dirty)
    assert clean == {MASK: [MASK, 1, None, [MASK, 2.5]]}
    assert "sk-12345678" in dirty


@pytest.mark.parametrize(
    ("names", "secret"),
    [
        (
            [
                "OPENAI_API_KEY",
                "api_key",
                "apiKey",
                "apikey",
                "x-api-key",
                "AWS_ACCESS_KEY_ID",
                "key",
                "HF_TOKEN",
                "Ocp-Apim-Subscription-Key",
                "token",
                "accessToken",
                "NEW_TOKEN",
                "API_KEYS",
                "judge_key",
                "my key",
                "DB_PASSWORD",
                "PGPASSWORD",
                "passwd",
                "client_secret",
                "Authorization",
                "X-Auth",
                "credentials",
                "pat",
                "GITHUB_PAT",
                "user_jwt",
                "signature",
                "session_cookie",
                "apiToken",
                "authToken",
                "sessionToken",
                "idToken",
                "HFToken",
                "privateKey",
                "signingKey",
                "authKey",
                "subscriptionKey",
                "openaiKey",
                "userJWT",
                "passphrase",
                "SSH_PASSPHRASE",
                "pwd",
                "DB_PWD",
                "dbPwd",
                "sig",
            ],
            True,
        ),
        (
            [
                "max_tokens",
                "eos_token",
                "stop_token_ids",
                "tokenizer",
                "TOKENIZERS_PARALLELISM",
                "keyboard",
                "keywords",
                "public_key",
                "SSH_KEY_PATH",
                "author",
                "model",
                "temperature",
                "SSH_AUTH_SOCK",
                "",
                "image_format",
                "PWD",
                "VLLM_NUM_TOKENS",
                "PATH",
                "pattern",
                "compat_mode",
                "maxTokens",
                "padToken",
                "pad_token",
                "stopTokenIds",
                "publicKey",
                "num_key_value_heads",
                "numKeyValueHeads",
                "keys",
                "signal",
                "design",
                "OLDPWD",
            ],
            False,
        ),
    ],
    ids=["secrets", "other things"],
)
def test_a_name_says_whether_it_is_one_of_a_secret(names, secret):
    assert [name for name in names if secret_filter.is_secret_name(name) is not secret] == []


def test_secrets_of_the_environment():
    environ = {
        "ACME_API_KEY": "acme-12345678",
        "X_TOKEN": "token-12345678",
        "Y_SECRET": "small",
        "PATH": "/usr/bin:/usr/local",
        "TOKENIZERS_PARALLELISM": "false-false",
        "ANTHROPIC_API_KEY": "",
    }
    assert secret_filter.secrets_in([], environ) == {"acme-12345678", "token-12345678"}
    proxied = {"HTTPS_PROXY": "http://me:proxy-pass-1@proxy:3128", "EDITOR": "a@b"}
    expected = {"proxy-pass-1", in_base64("me:proxy-pass-1")}
    assert secret_filter.secrets_in([], proxied) == expected


@pytest.mark.parametrize("before", range(7))
def test_a_secret_within_a_longer_text_in_base64_is_hidden(before):
    secret = "sk-0123456789abcdef"
    text = in_base64(f"{'x' * before}{secret} and more")
    cleaned = SecretFilter([secret]).clean(text)
    assert MASK in cleaned
    longest = max(cleaned.split(MASK), key=len)
    assert len(text) - len(cleaned) + len(MASK) >= len(secret) * 8 // 6 - 1, longest


@pytest.mark.parametrize(
    ("location", "text", "expected"),
    [
        ("a", "http://h/v1?api_key=k%26ey-1&model=m", {"k%26ey-1"}),
        ("a", "http://h/v1?apikey=wrong-name&model=m", {"wrong-name"}),
        ("a", "http://h/v1?model=m;api_key=zzzz", {"zzzz"}),
        ("kwargs.judge", "h:8000/v1?token=other", {"other"}),
        ("a", "http://h/v1?api_key=your-key=gpt-4o", {"your-key=gpt-4o", "your-key"}),
        ("a", "http://user:pa%21ss@h/v1?model=m", {"pa%21ss", in_base64("user:pa!ss")}),
        ("a", "http://u:p@ss:w@h/v1", {"p@ss:w", in_base64("u:p@ss:w")}),
        ("a", "http://t0ken@h/v1?model=m", {"t0ken", in_base64("t0ken:")}),
        ("a", "http://t0ken:@h/v1?model=m", {"t0ken", in_base64("t0ken:")}),
        ("generate_cfg.extra_headers.Authorization", BASIC, {BASIC, BASIC[6:], "pw-1234567"}),
        ("secrets[0]", "path-of-mine", {"path-of-mine"}),
        ("kwargs.pat", "ghp_12345678", {"ghp_12345678"}),
        ("generate_cfg.extra_body.user_jwt", "eyJ.123", {"eyJ.123"}),
        ("kwargs.signature", "5ea1ed-fa", {"5ea1ed-fa"}),
        ("a", "http://[broken/v1?api_key=still", {"still"}),
        ("a", "htps://h/v1?api_key=mistyped&model=m", {"mistyped"}),
        ("a", "/ckpt?api_key=still", {"still"}),
        ("a", "http://h/v1?api_key=${KEY}", {"a+b/", "a%2Bb%2F"}),
        ("kwargs.note", "with ${KEY} and ${ROOT}", {"a+b/"}),
        ('kwargs."x-api-key"', "lit-key", {"lit-key"}),
        ("kwargs.api_keys[1]", "second", {"second"}),
        ("generate_cfg.extra_headers.Authorization", "Bearer tok", {"Bearer tok", "tok"}),
        ('m.generate_cfg.extra_headers."Helicone-Auth"', "Bearer t", {"Bearer t", "t"}),
        ('m.generate_cfg.extra_headers."X-Team"', "gui", {"gui"}),
        ('m.generate_cfg.extra_headers."User-Agent"', "curl", set()),
        ("m.generate_cfg.extra_query.sig", "s1g", {"s1g"}),
        ("m.generate_cfg.extra_query.tags[0]", "s1g", {"s1g"}),
        ('m.generate_cfg.extra_query."api-version"', "2024-02-01", set()),
        ("serve_args[0]", "--hf-token=hf_1", {"hf_1"}),
        ("generate_cfg.eos_token", "</s>", set()),
        ("kwargs.system_prompt", "You are a key finder", set()),
        ("a", "${UNSET_KEY}", set()),
        ("a", "http://h/v1?api_key=${UNSET_KEY}&model=m", set()),
    ],
)
def test_secrets_of_the_config(location, text, expected):
    assert (
        secret_filter.secrets_in([(location, text)], {"KEY": "a+b/", "ROOT": "/data"}) == expected
    )


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        ("http://u:p@h/v1?api_key=k&model=m", f"http://u:{MASK}@h/v1?api_key={MASK}&model=m"),
        ("http://u:p@ss:w@h/v1?model=m", f"http://u:{MASK}@h/v1?model=m"),
        ("http://t0ken@h/v1?model=m", f"http://{MASK}@h/v1?model=m"),
        ("http://t0ken:@h/v1?model=m", f"http://{MASK}@h/v1?model=m"),
        ("/ckpt?api_key=k&model=m", f"/ckpt?api_key={MASK}&model=m"),
        ("htps://h/v1?api_key=k&model=m", f"htps://h/v1?api_key={MASK}&model=m"),
        ("h:8000/v1?api_key=k&model=m", f"h:8000/v1?api_key={MASK}&model=m"),
        ("/ckpt/keys=1/model", "/ckpt/keys=1/model"),
        (
            "http://h/v1?a=1&token=x&max_tokens=5&key=a=b#c",
            f"http://h/v1?a=1&token={MASK}&max_tokens=5&key={MASK}#c",
        ),
    ],
)
def test_an_endpoint_is_masked_by_place(url, masked):
    assert secret_filter.mask_endpoint(url) == masked


def test_a_config_is_masked_by_place():
    def config(url, auth, sig, own_value):
        headers = {"X-Auth": auth, "Content-Type": "text/x", "X-Empty": ""}
        sent = {"extra_headers": headers, "extra_query": {"sig": [sig]}, "stop": "</s>"}
        return {
            "model_path": url,
            "generate_cfg": sent,
            "kwargs": {"my key": own_value, "note": "why?key=1 or 2", "img_size": 5},
        }

    original = config("http://h/v1?api_key=test&model=test", "tok", "s", "1234")
    masked = config(f"http://h/v1?api_key={MASK}&model=test", MASK, MASK, MASK)
    assert secret_filter.mask_config(original) == masked


def test_the_output_behaves_like_the_stream_but_what_cannot_be_written_ends_nothing():
    inner = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    stream = OutputStream(inner, SecretFilter(["sk-12345678"]))
    assert stream.write("a sk-12345678\n") == 14
    stream.writelines(["sk-12345678", "é"])
    print("c", file=stream, flush=True)
    assert (stream.encoding, stream.isatty(), stream.closed) == ("ascii", False, False)
    assert inner.buffer.getvalue() == f"a {MASK}\n{MASK}\\xe9c\n".encode()
    full = mock.Mock(write=mock.Mock(side_effect=OSError("no space left")))
    stream = OutputStream(full)
    assert (stream.write("x\n"), full.write.called) == (2, True)
    stream.flush()


@pytest.mark.parametrize(
    ("prefix", "written", "displayed"),
    [
        (
            "",
            ['model "\x1b]0;title\x07\x9b2J" \u202eodd\r\ttail\n'],  # commands to the terminal
            'model "\\x1b]0;title\\x07\\x9b2J" \\u202eodd\r\ttail\n',
        ),
        (
            "rank 1: ",
            ["one", " line\ntwo\n", "\r10 %\r20 %", "\n"],  # lines are written whole
            "rank 1: one line\nrank 1: two\nrank 1: 20 %\n",
        ),
    ],
)
def test_no_command_to_a_terminal_passes_and_lines_with_a_prefix_are_whole(
    prefix, written, displayed
):
    inner = io.StringIO()
    OutputStream(inner, prefix=prefix).writelines(written)
    assert inner.getvalue() == displayed


def test_the_output_is_wrapped_once_and_what_it_hides_adds_up(monkeypatch):
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    secret_filter.protect_output()
    wrapped = sys.stdout
    secret_filter.protect_output(SecretFilter(["sk-12345678"]))
    secret_filter.protect_output(SecretFilter(["sk-abcdefgh"]))
    assert sys.stdout is wrapped
    print("sk-12345678", "sk-abcdefgh")
    assert out.getvalue() == f"{MASK} {MASK}\n"


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
def test_a_dying_process_prints_no_secret(ending):
    code = (
        "import sys, threading, warnings\n"
        "from utils.config.secret_filter import SecretFilter, protect_output\n"
        "key = 'sk-' + 'top' * 4\n"
        "def fail(): raise RuntimeError(key)\n"
        "protect_output(SecretFilter([key]))\n"
    )
    command = [sys.executable, "-c", code + ending]
    run = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True)
    output = run.stdout + run.stderr
    assert (run.returncode, "toptop" in output, MASK in output) == (1, False, True)

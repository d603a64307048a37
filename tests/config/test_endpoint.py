"""The `model_path` of an API model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from utils.config.endpoint import PLACEHOLDER_KEY, parse_endpoint, resolve_api_key
from utils.errors import UserError

CONFORMANCE = json.loads(
    (Path(__file__).parents[1] / "conformance" / "endpoint_url.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("case", CONFORMANCE["cases"], ids=lambda case: case["input"])
def test_endpoints_are_taken_apart_as_the_reference_does(case):
    endpoint = parse_endpoint(case["input"])
    taken = {name: getattr(endpoint, name) for name in ("base_url", "api_key", "model")}
    assert taken == case["expected"]


@pytest.mark.parametrize(("query", "fragments"), [
    ("?model=m&api_key=k", []),
    ("?model=m&apikey=k", ['"apikey" in the query is ignored; did you mean "api_key"?']),
    ("?model=m&x=1", ['"x" in the query is ignored; known are api_key and model']),
    ("?model=m&model=n", ['"model" is given twice; the first one counts']),
    ("?model=m;api_key=z", ['holds a ";", which does not separate parameters']),
    ("/chat/completions?model=m", ["/chat/completions at the end of the URL is left out"]),
    ("/chat/completions/?model=m", ["/chat/completions at the end of the URL is left out"]),
])  # fmt: skip
def test_what_is_odd_is_a_warning(query, fragments):
    endpoint = parse_endpoint(f"http://127.0.0.1:8000/v1{query}")
    assert (endpoint.base_url, endpoint.problem) == ("http://127.0.0.1:8000/v1", None)
    assert len(endpoint.warnings) == len(fragments)
    assert all(f in warning for f, warning in zip(fragments, endpoint.warnings, strict=True))


@pytest.mark.parametrize("query", ["?api_key=k", "?model=&api_key=k", ""])
def test_only_openai_has_a_default_model(query):
    ours = parse_endpoint(f"https://api.openai.com/v1{query}")
    assert (ours.model, ours.problem) == ("gpt-4o", None)
    assert "names no model" in ours.warnings[0]
    assert "names no model" in parse_endpoint(f"http://127.0.0.1:8000/v1{query}").problem


@pytest.mark.parametrize(("model_path", "fragment"), [
    ("127.0.0.1:8000/v1", "must begin with http:// or https://"),
    ("htp://h/v1", "must begin with http:// or https://"),
    ("", "must begin with http:// or https://"),
    ("http://", "it names no host"),
    ("http:///v1?model=m", "it names no host"),
    ("http://:8000/v1", "it names no host"),
    ("http://h:port/v1", "its host or port is malformed"),
    ("http://h:99999/v1", "its host or port is malformed"),
    ("http://h:0/v1", "its host or port is malformed"),
    ("http://h:-1/v1", "its host or port is malformed"),
    ("http://[::1/v1", "its host or port is malformed"),
    ("http://a..b/v1", "its host or port is malformed"),
    ("http://<host>/v1", "its host or port is malformed"),
    ("http://api.openai.com\\@evil.example/v1", "its host or port is malformed"),
    ("http://my host/v1", "contains white space"),
    ("http://h/v1?model=a b", "contains white space"),
    ("http://h/v1\n", "contains white space"),
    ("http://h/v1?api_key=a#b&model=m", 'contains "#"'),
    ("http://h/v1?api_key=k%0A&model=m", "its api_key holds a sign"),
    ("http://h/v1?api_key=schl%C3%BCssel&model=m", "its api_key holds a sign"),
    ("http://h/v1?api_key=k&model=m%0A", "its model holds a sign"),
    ("https://api.openai.com/v1?api_key=your-api-key=gpt-4o", '"&model" is missing'),
])  # fmt: skip
def test_a_malformed_endpoint_is_an_error_that_quotes_no_key(model_path, fragment):
    with pytest.raises(UserError) as caught:
        parse_endpoint(model_path)
    assert fragment in str(caught.value)
    assert "your-api-key" not in str(caught.value)


@pytest.mark.parametrize("model_path", [
    "http://[::1]:8000/v1?model=m", "https://my_host/v1?model=m", "http://h.?model=m",
    "http://münchen.example/v1?model=m", "http://u:p@h/v1?model=m",
])  # fmt: skip
def test_unusual_hosts_are_fine(model_path):
    assert parse_endpoint(model_path).model == "m"


@pytest.mark.parametrize(
    ("query", "key"),
    [("api_key=abc==", "abc=="), ("api_key=a%3Db", "a=b"), ("api_key=a=b&model=m", "a=b")],
)
def test_an_equals_sign_may_belong_to_the_key(query, key):
    assert parse_endpoint(f"http://h/v1?{query}").api_key == key


@pytest.mark.parametrize(("base_url", "environ", "expected"), [
    ("https://api.openai.com/v1", {"OPENAI_API_KEY": "sk-env"}, "sk-env"),
    ("https://API.OpenAI.com:443/v1", {"OPENAI_API_KEY": "sk-env"}, "sk-env"),
    ("https://api.openai.com/v1?api_key=own", {"OPENAI_API_KEY": "sk-env"}, "own"),
    ("https://api.openai.com.evil.example/v1", {"OPENAI_API_KEY": "sk-env"}, PLACEHOLDER_KEY),
    ("https://api.openai.com@evil.example/v1", {"OPENAI_API_KEY": "sk-env"}, PLACEHOLDER_KEY),
    ("https://eu.api.openai.com/v1", {"OPENAI_API_KEY": "sk-env"}, PLACEHOLDER_KEY),
    ("http://127.0.0.1:8000/v1", {"OPENAI_API_KEY": "sk-env"}, PLACEHOLDER_KEY),
    ("http://127.0.0.1:8000/v1?api_key=own", {"OPENAI_API_KEY": "sk-env"}, "own"),
    ("https://api.openai.com/v1", {}, PLACEHOLDER_KEY),
    ("https://api.openai.com/v1", {"OPENAI_API_KEY": " "}, PLACEHOLDER_KEY),
])  # fmt: skip
def test_the_key_of_the_environment_goes_to_openai_alone(base_url, environ, expected):
    assert resolve_api_key(parse_endpoint(base_url), environ) == expected


def test_an_endpoint_does_not_show_its_key():
    assert "sk-123" not in repr(parse_endpoint("http://h/v1?api_key=sk-123&model=m"))

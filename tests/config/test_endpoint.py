"""The `model_path` of an API model."""

import pytest

from utils.config.endpoint import PLACEHOLDER_KEY, parse_endpoint, resolve_api_key
from utils.errors import UserError

SCHEME = "must begin with http:// or https://"
WHITE = "contains white space"


@pytest.mark.parametrize(
    ("query", "fragments"),
    [
        ("?model=m&api_key=k", []),
        ("?model=m&model=n", []),
        ("?model=m&apikey=k", ['"apikey" in the query is ignored; did you mean "api_key"?']),
        ("?model=m&x=1", ['"x" in the query is ignored; known are api_key and model']),
        ("?model=m&deployment=d", ["generate_cfg.extra_query sends others"]),
        (
            "?model=m&api-version=2024-10-21",
            [
                'set generate_cfg.extra_query: {"api-version": "..."} to send it (Azure takes keys as '
                'generate_cfg.extra_headers: {"api-key": "${NAME}"})'
            ],
        ),
        ("?model=m&Api-Version=preview", ['generate_cfg.extra_query: {"Api-Version": "..."}']),
        *[
            (
                f"/chat/completions{end}?model=m",
                ["/chat/completions at the end of the URL is left out"],
            )
            for end in ("", "/")
        ],
    ],
)
def test_what_is_odd_is_a_warning(query, fragments):
    endpoint = parse_endpoint(f"http://127.0.0.1:8000/v1{query}")
    assert (endpoint.base_url, endpoint.problem) == ("http://127.0.0.1:8000/v1", None)
    assert len(endpoint.warnings) == len(fragments)
    assert all(f in warning for f, warning in zip(fragments, endpoint.warnings, strict=True))


def test_only_openai_has_a_default_model():
    for query in ("?api_key=k", "?model=&api_key=k", ""):
        endpoint = parse_endpoint(f"https://api.openai.com/v1{query}")
        assert (endpoint.model, endpoint.problem) == ("gpt-4o", None)
        other = parse_endpoint(f"http://127.0.0.1:8000/v1{query}")
        assert "names no model" in endpoint.warnings[0] and "names no model" in other.problem


@pytest.mark.parametrize(
    ("model_path", "fragment"),
    [
        ("127.0.0.1:8000/v1", SCHEME),
        ("htp://h/v1", SCHEME),
        ("", SCHEME),
        *[(f"http://{rest}", "it names no host") for rest in ("", "/v1?model=m", ":8000/v1")],
        *[
            (f"http://{location}/v1", "its host or port is malformed")
            for location in (
                "h:port",
                "h:99999",
                "h:0",
                "h:-1",
                "[::1",
                "api.openai.com\\@evil.example",
                "…",
                "a..b",
                64 * "a",
            )
        ],
        ("http://my host/v1", WHITE),
        ("http://h/v1?model=a b", WHITE),
        ("http://h/v1\n", WHITE),
        ("http://h/v1?api_key=a#b&model=m", 'contains "#"'),
        ("http://h/v1?api_key=k%0A&model=m", "its api_key holds a character"),
        ("http://h/v1?api_key=k%20&model=m", "its api_key begins or ends with a space"),
        ("http://h/v1?api_key=schl%C3%BCssel&model=m", "its api_key holds a character"),
        ("http://h/v1?api_key=k&model=m%0A", "its model holds a character"),
        ("https://api.openai.com/v1?api_key=your-api-key=gpt-4o", '"&model" is missing'),
        *[
            (f"http://h{path}?model=m", f"ends in {ending}, which is no base URL")
            for path, ending in (
                ("/v1/responses", "/responses"),
                ("/v1/completions/", "/completions"),
                ("/v1/models", "/models"),
                ("/v1beta/openai/models", "/models"),
                ("/v1/embeddings", "/embeddings"),
                ("/v1/messages", "/messages"),
                ("/api/chat", "/api/chat"),
            )
        ],
        ("http://h/v1/responses?model=m", '"api": "responses" in the model\'s entry'),
        ("http://h:11434/api/generate?model=m", "Ollama's ends in /v1"),
    ],
)
def test_a_malformed_endpoint_is_an_error_that_quotes_no_key(model_path, fragment):
    with pytest.raises(UserError) as caught:
        parse_endpoint(model_path)
    assert fragment in str(caught.value)
    assert "your-api-key" not in str(caught.value)


@pytest.mark.parametrize(
    "base_url",
    [
        "https://x.services.ai.azure.com/models",  # Azure's own base URL
        "https://x.openai.azure.com/openai/deployments/completions-7b",
        "https://models.example/inference",
        "https://h/responses/v1",
        "http://responses:8000/v1",
    ],
)
def test_a_base_url_may_hold_the_words_of_endpoints_elsewhere(base_url):
    assert parse_endpoint(f"{base_url}?model=m").base_url == base_url


def test_unusual_hosts_are_fine_an_equals_sign_may_belong_to_the_key_and_no_key_is_shown():
    for host in ("[::1]:8000/v1", "my_host/v1", "h.", "münchen.example/v1", "u:p@h/v1"):
        assert parse_endpoint(f"http://{host}?model=m").model == "m"
    for quoted_key, key in (("abc==", "abc=="), ("a%3Db", "a=b"), ("a=b&model=m", "a=b")):
        assert parse_endpoint(f"http://h/v1?api_key={quoted_key}").api_key == key
    assert "sk-123" not in repr(parse_endpoint("http://h/v1?api_key=sk-123&model=m"))


@pytest.mark.parametrize(
    ("base_url", "in_environment", "expected"),
    [
        ("https://api.openai.com/v1", "sk-env", "sk-env"),
        ("https://API.OpenAI.com:443/v1", "sk-env", "sk-env"),
        ("https://api.openai.com/v1?api_key=own", "sk-env", "own"),
        ("https://api.openai.com.evil.example/v1", "sk-env", PLACEHOLDER_KEY),
        ("https://api.openai.com@evil.example/v1", "sk-env", PLACEHOLDER_KEY),
        ("https://eu.api.openai.com/v1", "sk-env", PLACEHOLDER_KEY),
        ("http://127.0.0.1:8000/v1", "sk-env", PLACEHOLDER_KEY),
        ("http://127.0.0.1:8000/v1?api_key=own", "sk-env", "own"),
        ("https://api.openai.com/v1", None, PLACEHOLDER_KEY),
        ("https://api.openai.com/v1", " ", PLACEHOLDER_KEY),
    ],
)
def test_the_key_of_the_environment_goes_to_openai_alone(base_url, in_environment, expected):
    environ = {"OPENAI_API_KEY": in_environment} if in_environment else {}
    assert resolve_api_key(parse_endpoint(base_url), environ) == expected

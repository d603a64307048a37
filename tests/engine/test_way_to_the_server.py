"""What stands between the program and a server: proxies, TLS, addresses, templates."""

import json
import socket
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.support.mock_server import MockServer, Reply
from tests.support.runs import api_model
from tests.support.stage import L1

PAGE = b"<html><title>ERROR</title>The requested URL could not be retrieved.</html>" + b"x" * 900


@pytest.fixture
def stage(staged, monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    stage = staged(answer=lambda request: Reply("B"), pictures=1)
    stage.data = {L1: {"mode": "all"}}
    stage.env = {"NO_PROXY": ""}
    return stage


@pytest.fixture
def nobody():
    """The port of a socket that does not listen."""
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        yield place.getsockname()[1]


class _ClosedGate(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_CONNECT(self):
        self.send_response(self.server.status)
        self.send_header("content-length", "0")
        self.end_headers()


@pytest.fixture
def gate():
    """A proxy that opens no tunnel; its `status` says why."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _ClosedGate)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def lacking(texts, ran):
    return [text for text in texts if text not in ran.output]


@pytest.mark.parametrize("arguments", [(), ("--check", "--ping")], ids=["run", "ping"])
@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
def test_a_proxy_that_is_not_there_is_named_without_its_password(name, arguments, stage, nobody):
    address = f"http://me:Hidden-1234@127.0.0.1:{nobody}"
    ran = stage.run(*arguments, "--retry", "0", env={name: address})
    expected = (
        f"through the proxy http://127.0.0.1:{nobody} of {name}; NO_PROXY=127.0.0.1 goes round it",
        "Is the proxy running, and does it reach the server? If the server needs no proxy, set "
        "NO_PROXY=127.0.0.1.",
    )
    assert (ran.code in (1, 2), lacking(expected, ran), ran.requests) == (True, [], [])
    assert "Hidden" not in ran.output


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (403, "The key may not use this model, or the proxy refuses it. If the server needs no"),
        (407, "http://user:password@host:port in HTTP_PROXY. If the server needs no proxy, set"),
        (502, None),
        (503, None),
        (504, None),
    ],
)
def test_a_page_with_an_error_of_a_proxy_names_the_proxy_first(status, advice, stage):
    reply = Reply(status=status, body=PAGE, headers={"retry-after-ms": "0"})
    with MockServer(lambda request: reply) as proxy:
        ran = stage.run("--retry", "1", env={"HTTP_PROXY": f"127.0.0.1:{proxy.port}"})
    note = f"(through the proxy http://127.0.0.1:{proxy.port} of HTTP_PROXY; NO_PROXY"
    expected = [f"HTTP {status}", note, advice or note]
    assert (ran.code, lacking(expected, ran), ran.requests) == (1, [], [])
    assert proxy.requests[0].path.startswith("http://127.0.0.1:")


@pytest.mark.parametrize("status", [403, 407, 502, 503])
def test_a_tunnel_that_a_proxy_refuses_is_judged_by_its_status(status, stage, gate):
    gate.status = status
    stage.model["m"]["model_path"] = "https://elsewhere.invalid/v1?api_key=abc-12345678&model=m"
    proxy = f"http://me:Hidden-1234@127.0.0.1:{gate.server_port}"
    ran = stage.run("--retry", "0", env={"HTTPS_PROXY": proxy})
    expected = (
        f"HTTP {status}",
        f"through the proxy http://127.0.0.1:{gate.server_port} of HTTPS_PROXY; "
        "NO_PROXY=elsewhere.invalid goes round it",
    )
    assert (ran.code, lacking(expected, ran)) == (1, [])
    assert "Hidden" not in ran.output


@pytest.mark.parametrize(
    "no_proxy",
    ["127.0.0.1", "localhost,127.0.0.1", "*", "127.0.0.0/8", "http://127.0.0.1", " 127.0.0.1 ,x"],
)
def test_where_no_proxy_leads_round_it_no_proxy_is_used_or_named(no_proxy, stage, nobody):
    exception = {"NO_PROXY": no_proxy, "HTTP_PROXY": f"http://127.0.0.1:{nobody}"}
    assert stage.run(env=exception).code == 0
    stage.model["m"] = api_model("http://127.0.0.1:9/v1")
    ran = stage.run("--fresh", env=exception)
    assert (ran.code, "Is the server running" in ran.output) == (1, True)
    assert "the proxy" not in ran.output


def test_of_a_server_that_answers_through_a_proxy_no_error_of_its_own_names_the_proxy(stage):
    body = json.dumps({"error": {"message": "no such field", "code": None}}).encode()
    with MockServer(lambda request: Reply(status=400, body=body)) as proxy:
        ran = stage.run(env={"HTTP_PROXY": f"http://127.0.0.1:{proxy.port}"})
    assert (ran.code, "no such field" in ran.output, "the proxy" in ran.output) == (1, True, False)


@pytest.mark.parametrize("arguments", [(), ("--check", "--ping")], ids=["run", "ping"])
def test_https_to_a_port_that_speaks_http_is_told_once(arguments, stage):
    url = stage.server.url.replace("http://", "https://")
    stage.model["m"] = api_model(url)
    ran = stage.run(*arguments, "--api-nproc", "1")
    assert (ran.code in (1, 2), lacking(["this port speaks http, not https"], ran)) == (True, [])
    assert ran.output.count("speaks http") <= 2  # where it stops, and in the summary


NGINX = b"<h1>400 Bad Request</h1>The plain HTTP request was sent to HTTPS port"
GO = b"Client sent an HTTP request to an HTTPS server.\n"


@pytest.mark.parametrize("body", [NGINX, GO], ids=["nginx", "go"])
def test_http_to_a_port_that_speaks_https_is_told_once(body, stage):
    stage.server.answer = lambda request: Reply(status=400, body=body)
    ran = stage.run("--api-nproc", "1")
    assert (ran.code, len(ran.requests)) == (1, 1)
    assert (
        lacking(
            [
                "this port speaks https, not http",
                "the other of http:// and https:// into model_path",
            ],
            ran,
        )
        == []
    )


def test_an_alert_of_tls_in_the_place_of_http_is_understood(stage):
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer_with_an_alert():
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b"\x15\x03\x01\x00\x02\x02\x46\r\n\r\n")

        threading.Thread(target=answer_with_an_alert, daemon=True).start()
        stage.model["m"] = api_model(f"http://127.0.0.1:{listener.getsockname()[1]}/v1")
        ran = stage.run("--api-nproc", "1", "--retry", "0")
    assert (ran.code, lacking(["this port speaks https, not http"], ran)) == (1, [])


def test_a_certificate_that_is_not_trusted_stops_the_run_and_names_the_variable(stage, monkeypatch):
    def refuse(self, *args, **kwargs):
        error = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] failed")
        error.verify_message = "self-signed certificate"
        raise error

    monkeypatch.setattr(ssl.SSLContext, "wrap_socket", refuse)
    stage.model["m"] = api_model(stage.server.url.replace("http://", "https://"))
    ran = stage.run("--api-nproc", "1")
    expected = ("certificate is not trusted: self-signed certificate", "SSL_CERT_FILE names")
    assert (ran.code, lacking(expected, ran)) == (1, [])


SYSTEM = (
    "System role not supported",
    "Conversation roles must alternate user/assistant/user/assistant/...",
    "The system role is not supported by this model",
    "This model does not support the system role",
    "Only user and assistant roles are supported!",
    "system messages are not allowed",
)


@pytest.mark.parametrize("text", SYSTEM)
def test_a_template_without_a_system_role_points_to_the_setting_that_leaves_it_out(text, stage):
    error = {"error": {"message": text, "type": "BadRequestError", "code": 400}}
    stage.server.answer = lambda request: Reply(status=400, body=json.dumps(error).encode())
    hint = 'HTTP 400 (kwargs.system_prompt: "model_default" leaves the system message out): {'
    assert lacking([hint, text], stage.run("--retry", "0")) == []
    stage.model["m"]["kwargs"] = {"system_prompt": "model_default"}
    ran = stage.run("--retry", "0")
    assert ("system_prompt" in ran.output, text in ran.output) == (False, True)


def test_roles_that_must_alternate_where_each_part_is_a_message_point_to_the_format(stage):
    error = b'{"error": {"message": "Conversation roles must alternate user/assistant"}}'
    stage.server.answer = lambda request: Reply(status=500, body=error)
    kwargs = {"system_prompt": "model_default", "wire_format": "reference"}
    stage.model["m"]["kwargs"] = kwargs
    ran = stage.run("--retry", "0")
    hint = 'kwargs.wire_format: "documented" joins the messages of one role'
    assert lacking([hint], ran) == []


@pytest.mark.parametrize(
    ("status", "text", "hint"),
    [
        (400, "This model only supports stream mode, please enable the stream parameter", True),
        (400, "parameter.stream must be set to true", True),
        (422, "Streaming is required for operations that take longer than 10 minutes", True),
        (400, "stream=true is required", True),
        (504, "upstream request timeout", True),
        (524, "a timeout occurred", True),
        (400, "unknown parameter upstream_id", False),
    ],
)
def test_a_server_that_answers_only_in_a_stream_points_to_the_setting(status, text, hint, stage):
    stage.server.answer = lambda request: Reply(status=status, body=text.encode())
    ran = stage.run("--retry", "0")
    assert ("(generate_cfg.stream: true " in ran.output, text in ran.output) == (hint, True)
    stage.model["m"]["generate_cfg"] = {"stream": True}
    assert "(generate_cfg.stream: true " not in stage.run("--retry", "0").output


def azure(stage, monkeypatch, path="", **entry):
    """The stage's model at an address of Azure's that leads to the mock server."""
    host = "mine.openai.azure.com"
    getaddrinfo = socket.getaddrinfo

    def resolve(name, *args, **kwargs):
        return getaddrinfo("127.0.0.1" if str(name).startswith(host) else name, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    url = f"http://{host}:{stage.server.port}{path}"
    stage.model["m"] = {"model_path": f"{url}?model=m", "imp_type": "openai", **entry}


@pytest.mark.parametrize(
    ("status", "generate_cfg", "hint"),
    [
        (401, {}, 'Azure takes keys as generate_cfg.extra_headers: {"api-key": "${NAME}"}'),
        (401, {"extra_headers": {"Api-Key": "abc-12345678"}}, None),
        (404, {}, 'Azure wants generate_cfg.extra_query: {"api-version": "..."}'),
        (404, {"extra_query": {"api-version": "2024-10-21"}}, None),
        (500, {}, None),
    ],
)
def test_an_error_of_azure_points_to_what_its_address_lacks(
    status, generate_cfg, hint, stage, monkeypatch
):
    azure(stage, monkeypatch, "/openai/deployments/d", generate_cfg=generate_cfg)
    stage.server.answer = lambda request: Reply(status=status, body=b"no")
    ran = stage.run("--retry", "0")
    assert (ran.code, lacking([hint or f"HTTP {status}: no"], ran)) == (1, [])
    assert ("Azure" in ran.output) is (hint is not None)


def test_with_a_key_in_a_header_of_its_own_no_placeholder_of_a_key_is_sent(stage, monkeypatch):
    headers = {"extra_headers": {"api-key": "abc-12345678"}, "extra_query": {"api-version": "1"}}
    azure(stage, monkeypatch, "/openai/deployments/d", generate_cfg=headers)
    ran = stage.run()
    assert ran.code == 0, ran.output
    sent = ran.requests[0]
    assert sent.path == "/openai/deployments/d/chat/completions?api-version=1"
    assert (sent.headers["api-key"], "authorization" in sent.headers) == ("abc-12345678", False)

"""The page's server gives nothing to anybody who does not know its address."""

import http.client
import json
import threading
from types import SimpleNamespace
from urllib.parse import quote, urlsplit

import pytest
from PIL import Image

import models.human.desk as desk_module
from models.human.desk import Desk
from models.human.questions import Picture, Question
from models.human.server import PageServer

STATE, IMAGE = "state?known=0", "image/1/0"


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A server that waits for the answer to a question; `request` is one of its page's own."""
    monkeypatch.setattr(desk_module, "FAREWELL_S", 0.0)  # no page is open that would listen
    path = tmp_path / "screen.png"
    Image.new("RGB", (40, 30)).save(path)
    (tmp_path / "secret.txt").write_text("secret")
    desk = Desk()
    question = Question("letter", "L1", "Which?", (Picture(path, (40, 30)),), (("A", "one"),))
    answers = []
    asking_thread = threading.Thread(target=lambda: answers.append(desk.ask(question)), daemon=True)
    asking_thread.start()
    server = PageServer(desk)
    address = urlsplit(server.address)
    token = address.path.strip("/")

    def request(path, method="GET", body=None, **headers):
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
        usual = {"Origin": f"http://{address.netloc}"} if method == "POST" else {}
        sent = {name: text for name, text in {**usual, **headers}.items() if text is not None}
        connection.putrequest(method, path, skip_host="Host" in headers)
        content = (
            b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        )
        for name, text in {"Content-Length": str(len(content)), **sent}.items():
            connection.putheader(name, text)
        connection.endheaders(content)
        response = connection.getresponse()
        return response.status, response.read(), dict(response.getheaders())

    yield SimpleNamespace(
        request=request, token=token, netloc=address.netloc, port=address.port, answers=answers
    )
    desk.answer(1, "A")
    asking_thread.join(60)
    server.close()


def test_the_page_gets_its_files_its_state_and_its_image(served):
    for name, media_type in (
        ("", "text/html"),
        ("main.js", "text/javascript"),
        ("elements.js", "text/javascript"),
        ("human.css", "text/css"),
        (IMAGE, "image/png"),
        (STATE, "application/json"),
    ):
        status, content, headers = served.request(f"/{served.token}/{name}")
        assert (status, headers["Content-Type"].split(";")[0]) == (200, media_type)
        assert content
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert headers["Cache-Control"] == "no-store"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"


@pytest.mark.parametrize("token", ["", "x", "{}x", "../{}", "%2e%2e/{}"])
def test_without_the_token_there_is_nothing(served, token):
    for name in ("", "main.js", STATE, IMAGE):
        for path in (f"/{token.format(served.token)}/{name}", f"/{name}", f"/{served.token}"):
            assert served.request(path)[:2] == (404, b"Not Found")
    for name in ("answer", "skip", "clock"):
        body = {"number": 1, "letter": "A"}
        assert served.request(f"/{token.format(served.token)}/{name}", "POST", body)[0] == 404
    assert served.answers == []


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", None]
)
def test_another_name_for_this_machine_gets_nothing(served, host):
    """A name of an attacker's that leads to 127.0.0.1 (DNS rebinding)."""
    host_header = host and host.format(port=served.port)
    for name in ("", STATE, IMAGE):
        assert served.request(f"/{served.token}/{name}", Host=host_header)[:2] == (
            403,
            b"Forbidden",
        )
    body = {"number": 1, "letter": "A"}
    assert served.request(f"/{served.token}/answer", "POST", body, Host=host_header)[0] == 403
    assert served.answers == []


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://{}", None]
)
def test_what_another_page_posts_is_not_taken(served, origin):
    body = {"number": 1, "letter": "A", "is_running": True}
    origin_header = origin and origin.format(served.netloc)
    for name in ("answer", "skip", "clock"):
        assert (
            served.request(f"/{served.token}/{name}", "POST", body, Origin=origin_header)[0] == 403
        )
    assert served.answers == []


def test_no_other_file_is_served(served):
    for path in (
        "../server.py",
        "..%2fserver.py",
        "%2e%2e/server.py",
        "..\\server.py",
        "../../../../../../etc/passwd",
        "/etc/passwd",
        "pages/main.js",
        "__init__.py",
        "image/1/../../secret.txt",
        "image/1/1",
        "image/0/0",
        "image/2/0",
        "image/1/-1",
        "image/1",
        "answer",
    ):
        assert served.request(f"/{served.token}/{path}")[:2] == (404, b"Not Found"), path


def test_what_is_no_answer_is_told_so(served):
    for body, status in (
        (b"{", 400),
        (b"[" * 5000, 400),
        ([1], 400),
        ({"letter": "A"}, 400),
        ({"number": "1", "letter": "A"}, 400),
        ({"number": 1, "letter": "Z"}, 400),
        ({"number": 1}, 400),
        ({"number": 2, "letter": "A"}, 409),
        (b"x" * 100_001, 413),
    ):
        assert served.request(f"/{served.token}/answer", "POST", body)[0] == status
    assert served.answers == []


MANY = "9" * 5000


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"image/{MANY}/0", 404),
        (f"image/1/{MANY}", 404),
        (f"image/{MANY}/{MANY}", 404),
        (f"state?known={MANY}", 400),
        ("state?known=-1", 400),
        ("state?known=x", 400),
        ("state?other=1", 400),
        ("state?known=１", 400),  # a full-width digit
        ("image/١/0", 404),  # an Arabic one
    ],
)
def test_numbers_that_no_question_has_get_a_reply(served, path, status):
    assert served.request(f"/{served.token}/{quote(path, safe='/?=')}")[0] == status
    assert served.request(f"/{served.token}/{STATE}")[0] == 200


@pytest.mark.parametrize("length", [MANY, "9" * 20, "-1", "x", "1.5", ""])
def test_a_length_that_is_none_gets_a_reply(served, length):
    headers = {"Content-Length": length}
    assert served.request(f"/{served.token}/answer", "POST", {"number": 1}, **headers)[0] == 413
    assert served.answers == []


def test_a_question_that_is_answered_gives_its_image_to_nobody(served):
    assert served.request(f"/{served.token}/answer", "POST", {"number": 1, "letter": "A"})[0] == 200
    assert served.request(f"/{served.token}/answer", "POST", {"number": 1, "letter": "A"})[0] == 409
    assert served.request(f"/{served.token}/{IMAGE}")[0] == 404


def test_only_this_machine_is_listened_to(served):
    connection = http.client.HTTPConnection("127.0.0.2", served.port, timeout=60)
    with pytest.raises(ConnectionRefusedError):
        connection.connect()

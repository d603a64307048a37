"""Failed requests as plain facts: what the client raised, and errors inside a 200 response."""

from __future__ import annotations

import errno
import re
import socket
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from models.wrappers.api.bodies import ReplyTooLarge, excerpt, load_json
from utils.contracts import CallError

UNREACHABLE = {errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.ENETDOWN}
QUOTA = "insufficient_quota"  # OpenAI's code of an account that has used up what it paid for

# What servers call their errors, in letters alone, and the status that such an error has.
_QUOTA_WORDS = {"insufficientquota", "insufficientuserquota", "quotaexhausted"}
_STATUS_OF = {
    word: status
    for status, words in {
        400: "badrequest badrequesterror invalidrequest invalidrequesterror invalidargument "
        "invalidparameter contextlengthexceeded contentfilter contentpolicyviolation "
        "datainspectionfailed stringabovemaxlength",
        401: "invalidapikey incorrectapikey apikeyinvalid authenticationerror authentication "
        "unauthenticated unauthorized invalidauthentication invalidtoken invalidtokenerror "
        "autherror authenticationfailed",
        402: "insufficientbalance insufficientcredits insufficientfunds paymentrequired "
        "billingnotactive billinghardlimitreached arrearage",
        403: "forbidden permissiondenied permissiondeniederror permissionerror accessdenied",
        404: "notfound notfounderror modelnotfound modelnotfounderror",
        429: "ratelimit ratelimiterror ratelimitexceeded ratelimitreached toomanyrequests "
        "resourceexhausted throttling",
        500: "servererror internalservererror internalerror internal apierror",
        503: "overloaded overloadederror serviceunavailable serviceunavailableerror unavailable "
        "modeloverloaded",
    }.items()
    for word in words.split()
}
# Of an error that has no code at all; tokens of a prompt, as in max_tokens, are no key.
_KEY = r"(api[ _-]?key|(\b|access_|auth_|api_)token\b|credentials)"
_KEY_WORDS = re.compile(
    rf"(invalid|incorrect|expired|wrong|unauthori[sz]ed)\W.{{0,20}}{_KEY}"
    rf"|{_KEY}\W.{{0,20}}(invalid|incorrect|expired|not valid|wrong)"
    r"|^unauthori[sz]ed",
    re.IGNORECASE,
)
_BALANCE_WORDS = re.compile(
    r"insufficient\W.{0,20}(balance|credits?|funds)|credit balance is too low|out of credits?\b",
    re.IGNORECASE,
)
_NAMES_OF_CODES = ("code", "status", "status_code", "http_status", "error_code", "type")
_NAMES_OF_TEXTS = ("message", "msg", "detail", "error_msg", "error_message", "errmsg", "error")
# A server that speaks no TLS answers a TLS greeting with plain text, which OpenSSL names so.
_NO_TLS = {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"}
_WANTS_TLS = re.compile(r"plain HTTP request was sent to HTTPS|HTTP request to an HTTPS", re.I)


def error_in(answer: Any, body: bytes) -> CallError | None:
    """Return the error that a 200 response holds in place of a reply or beside it, if any.

    It is judged like the same error with its status, as far as its code, or else its text, names
    one. Beside a reply some servers have an error without any content.
    """
    fields = _error_fields(answer)
    if not fields:
        return None
    status = _status_in(fields)
    if status is not None:
        text = f"HTTP {status}, in a 200 response: {excerpt(body)}"
        return CallError("http", text, status, _code_in(fields))
    status = next((_STATUS_OF[word] for word in _words(fields) if word in _STATUS_OF), None)
    code = _code_in(fields)
    if status is None and code != QUOTA:
        status = _status_of_text(fields)
    if code == QUOTA:
        status = 429
    kind = "bad_body" if status is None else "http"
    return CallError(kind, f"an error in a 200 response: {excerpt(body)}", status, code)


def _error_fields(answer: Any) -> dict[str, Any]:
    """Return the fields of an answer's error that say something; none: there is no error."""
    if isinstance(answer, list) and answer:  # Gemini's
        answer = answer[0]
    if not isinstance(answer, Mapping):
        return {}
    error = answer.get("error")
    if not error and not answer.get("choices") and not answer.get("output"):
        error = {name: answer.get(name) for name in (*_NAMES_OF_CODES, *_NAMES_OF_TEXTS)}
        if not any(error[name] and isinstance(error[name], str) for name in _NAMES_OF_TEXTS):
            return {}
    if isinstance(error, str):
        error = {"message": error}
    if not isinstance(error, Mapping):
        return {}
    return {name: value for name, value in error.items() if value}


def _status_in(fields: Mapping[str, Any]) -> int | None:
    """Return the HTTP status that an error names in digits."""
    for name in _NAMES_OF_CODES:
        value = fields.get(name)
        digits = str(value) if isinstance(value, int | str) else ""
        if re.fullmatch(r"[45]\d\d", digits):
            return int(digits)
    return None


def _words(fields: Mapping[str, Any]) -> Iterator[str]:
    """Yield what an error is called, in letters alone."""
    for name in _NAMES_OF_CODES:
        if isinstance(fields.get(name), str):
            yield re.sub(r"[^a-z]", "", fields[name].lower())


def _code_in(fields: Mapping[str, Any]) -> str | None:
    """Return the server's own code of an error; of a quota that is used up always OpenAI's."""
    if _QUOTA_WORDS & set(_words(fields)):
        return QUOTA
    code = fields.get("code")
    return code if isinstance(code, str) else None


def _status_of_text(fields: Mapping[str, Any]) -> int | None:
    text = next((str(fields[name]) for name in _NAMES_OF_TEXTS if fields.get(name)), "")[:200]
    if _KEY_WORDS.search(text):
        return 401
    return 402 if _BALANCE_WORDS.search(text) else None


def as_call_error(error: Exception, latency_s: float) -> CallError:
    """Return the client's exception as plain facts.

    Args:
        error: what the client raised.
        latency_s: time since the request was sent.
    """
    import httpx2
    import openai

    if isinstance(error, openai.APIStatusError):
        return _of_status(error)
    if isinstance(error, openai.APITimeoutError):
        if isinstance(error.__cause__, httpx2.ConnectTimeout):
            return CallError("unreachable", f"no connection within {latency_s:.1f} s")
        return CallError("timeout", f"no answer within {latency_s:.1f} s")
    if isinstance(error, openai.APIConnectionError):
        return _of_connection(_with_causes(error))
    return CallError("bad_body", f"{type(error).__name__}: {error}")


def _of_status(error: Any) -> CallError:
    status = error.status_code
    headers = error.response.headers
    body = error.response.content
    text = f"HTTP {status}: {excerpt(body)}"
    if 300 <= status < 400 and "location" in headers:
        text = (
            f"HTTP {status}: the server redirects to {headers['location']}, which is not "
            "followed; if that is the right address, write it into model_path"
        )
    elif status == 400 and _WANTS_TLS.search(text[:1000]):
        return CallError("scheme", f"{text} - this port speaks https, not http", status)
    code = error.code if isinstance(error.code, str) else None
    with suppress(ValueError, RecursionError):
        code = _code_in(_error_fields(load_json(body))) or code
    return CallError("http", text, status, code, _retry_after_s(headers))


def _with_causes(error: BaseException) -> list[BaseException]:
    causes = [error]
    while cause := causes[-1].__cause__ or causes[-1].__context__:
        causes.append(cause)
    return causes


def _of_connection(causes: Sequence[BaseException]) -> CallError:
    """Return the failure to connect, from the outermost exception to its root."""
    import httpx2

    root = causes[-1]
    if isinstance(root, ReplyTooLarge):
        return CallError("bad_body", str(root))
    for cause in causes:
        if isinstance(cause, ssl.SSLError) and (tls_error := _of_tls(cause)):
            return tls_error
        refusal = re.match(r"([45]\d\d)\b", str(cause))
        if isinstance(cause, httpx2.ProxyError) and refusal:
            return CallError("http", f"HTTP {cause}, from the proxy", int(refusal[1]))
    text = f"connection failed: {root}"
    if "illegal status line" in str(root) and r"\x15\x03" in str(root):  # a TLS alert
        return CallError("scheme", f"{text} - this port speaks https, not http")
    if any("refused" in str(cause).lower() for cause in causes):
        kind = "refused_connection"
    elif any(isinstance(cause, socket.gaierror) for cause in causes):
        kind = "dns"
    elif getattr(root, "errno", None) in UNREACHABLE:
        kind = "unreachable"
    else:
        kind = "connection"
    return CallError(kind, text)


def _of_tls(error: ssl.SSLError) -> CallError | None:
    """The failure of a TLS handshake; None: it broke off like any connection."""
    if getattr(error, "reason", None) in _NO_TLS:
        return CallError("scheme", f"connection failed: {error} - this port speaks http, not https")
    if isinstance(error, ssl.SSLCertVerificationError):
        return CallError(
            "certificate", f"the server's certificate is not trusted: {error.verify_message}"
        )
    return None


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(KeyError, ValueError):
            return max(0.0, float(headers[name]) * scale)
    return None

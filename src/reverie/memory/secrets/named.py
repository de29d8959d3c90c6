"""Secrets recognised by their context: `password = …`, `user:…@host`, `Bearer …`."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from reverie.memory.secrets.library import Secret
from reverie.memory.secrets.plausibility import (
    is_chosen,
    is_joined_or_chosen,
    is_key,
    is_leet,
    is_made_up,
    is_opaque,
    is_password,
    is_phrase,
    is_real,
    is_seed,
    is_spoken_password,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_PASSWORDS = (
    *("password", "passwd", "passphrase", "passcode", "pwd", "passwort", "kennwort", "wachtwoord"),
    *("contraseña", "senha", "mot de passe", "hasło", "пароль"),
    *("密码", "密碼", "口令", "パスワード", "비밀번호"),
)
_OWNERS = (
    *("api", "access", "account", "auth", "client", "encryption", "license", "master", "private"),
    *("secret", "service", "shared", "signing", "storage", "subscription"),
)
_KEYS = (
    *(f"{owner}{joint}key" for owner, joint in product(_OWNERS, ("", "_", "-", " "))),
    *("secret", "token", "credential", "密钥", "密鑰", "令牌"),
)
# `SECRET_KEY_BASE`, `token2`, `API_KEY_PROD`; but not `token_count`, `secret_name`, `password_hash`.
_SUFFIX = r"(?:[_-]?(?:key|token|base|value|prod|production|staging|dev|live|test|\d{1,2}))?"
_EQUALS = r"[\\\"'`\])*]{0,6}[ \t]{0,8}(?:=>|:=|==|[=:：＝])[ \t]{0,8}\**[ \t]?\\{0,3}[\"'`「]?"
# Characters that end an unquoted value; a backslash does, so that no escape is split.
_STOP = r"\s\"'`<>,;\\「」，。；、\ufffc"
_QUOTED = re.compile(r"[^\s\\\ufffc]{0,256}?(?=[\"'`」])")


def is_user_and_password(value: str) -> bool:
    """Whether a value is `name:password` in base64, as after `Basic`."""
    try:
        text = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (ValueError, binascii.Error):
        return False
    return b":" in text[1:-1] and text.isascii() and is_real(value)


@dataclass(frozen=True, slots=True)
class Rule:
    """One of `names`, ignoring case, followed by `rest`, whose first group is the value."""

    kind: str
    names: tuple[str, ...]
    rest: str
    believe: Callable[[str], bool] = is_real


RULES: Sequence[Rule] = (
    Rule(
        "password in url",
        ("://",),
        r"(?!anonymous:)[^\s:/?#@\"'`<>\\\ufffc]{0,128}:([^\s/\"'`<>\\\ufffc]{3,256})@(?=[\w\[.{-])",
    ),
    Rule(
        "aws secret key",
        ("secret_access_key", "secretaccesskey", "secret access key", "secret-access-key"),
        r"[^\w\n\ufffc]{1,8}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    ),
    Rule("password", _PASSWORDS, rf"{_SUFFIX}{_EQUALS}([^{_STOP}]{{6,256}})", is_password),
    Rule("api key", _KEYS, rf"{_SUFFIX}{_EQUALS}([^{_STOP}@]{{16,1024}})", is_key),
    Rule("authorization", ("bearer ",), r"[ \t]{0,4}([\w.~+/-]{16,2048}={0,2})", is_key),
    Rule(
        "authorization",
        ("authorization",),
        r"[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?basic[ \t]{1,4}([\w+/-]{8,1024}={0,2})",
    ),
    Rule(
        "password of curl",
        (" -u ", " --user ", " --user=", " --proxy-user "),
        rf"[ \t]{{0,4}}[\"']?[^\s:\"'\\\ufffc]{{1,64}}:([^{_STOP}]{{4,256}})(?=[\"']?[ \t].{{0,200}}//)",
    ),
    Rule(
        "password",
        (
            "login",
            "log in",
            "sign in",
            "anmelden",
            "melde dich",
            "einloggen",
            "logge dich",
            "connecte-toi",
            "connectez-vous",
            "entra",
            "inicia sesión",
            "logins",
            "credentials",
            "creds",
            "zugangsdaten",
            "anmeldung",
            "identifiants",
            "credenciales",
            "wifi",
            "wlan",
        ),
        rf"[\"'`*]{{0,3}}(?:[ \t][^\n:=/|,.]{{1,40}})?[ \t]{{0,3}}(?:[:=]|\b(?:with|as|mit|als|avec|con|como)\b)"
        rf"[ \t]{{0,3}}[^\s/|:,]{{1,64}}[ \t]{{0,2}}[/|:,][ \t]{{0,2}}([^{_STOP}]{{4,256}})",
        is_spoken_password,
    ),
    Rule(
        "password in a command",
        (
            " --password ",
            " --passwd ",
            "sshpass -p ",
            "redis-cli -a ",
            " --token ",
            " --api-key ",
            " --secret ",
            " --client-secret ",
        ),
        rf"[ \t]{{0,3}}[\"']?([^{_STOP}]{{6,1024}})",
        is_spoken_password,
    ),
    Rule(
        "password",
        ("<password>", "<passwd>", "<secret>", "<token>", "<apikey>", "<api_key>"),
        r"\s{0,4}([^\s<>\ufffc]{4,1024})(?=\s{0,4}</)",
        is_spoken_password,
    ),
    Rule(
        "password in a command",
        ("sqlplus ", "sqlldr ", "expdp ", "impdp ", "rman target "),
        r"(?:-\w+ )?\w{1,30}/([^\s@/\"'\ufffc]{6,64})(?=@|\s|$)",
        is_spoken_password,
    ),
    Rule(
        "password in a command",
        ("mysql ", "mysqldump ", "mariadb "),
        r"[^\n\ufffc|]{0,80}? -p([^\s\"'\ufffc]{6,64})",
        is_spoken_password,
    ),
    Rule(
        "password",
        _PASSWORDS,
        r"[^\n\"'`\ufffc.]{0,40}?\b(?:is|ist|lautet|est|es|:|=)[ \t]{0,3}[\"`']([^\n\"'`\ufffc]{6,100})(?=[\"`'])",
        is_phrase,
    ),
    Rule(
        "password in a command", (" -u ",), rf"\w{{1,40}}%([^{_STOP}]{{4,64}})", is_spoken_password
    ),
    Rule(
        "password in a command",
        ("docker login", "podman login", "registry login", "az login", "oc login"),
        rf"[^\n|\ufffc]{{0,80}}? -p[ =]([^{_STOP}]{{6,256}})",
        is_spoken_password,
    ),
    Rule(
        "password in a command",
        ("echo ", "printf "),
        rf"[\"']?([^{_STOP}|]{{6,64}})[\"']?[ \t]*\|[ \t]*(?:sudo -s|[^\n|]{{0,60}}--password-stdin|passwd|chpasswd)",
        is_spoken_password,
    ),
    Rule(
        "password in a command",
        ("/user:",),
        rf"\S{{1,40}} ([^{_STOP}]{{4,64}})",
        is_spoken_password,
    ),
    # `MYSQL_ROOT_PASSWORD=…` of a shell: not a name in code, so any word counts.
    Rule(
        "password",
        ("_password=", "_passwd=", "_pwd=", "_pass="),
        rf"[\"']?([^{_STOP}$%{{}}()]{{8,64}})(?=[\s\"']|$)",
        is_joined_or_chosen,
    ),
    # «demo@acme.io / …»
    Rule(
        "password",
        ("@",),
        rf"[\w-]{{1,60}}(?:\.[\w-]{{1,30}}){{1,4}}[ \t]{{0,2}}[/|][ \t]{{0,2}}([^{_STOP}]{{6,64}})(?=[\s,;.!?)]|$)",
        lambda value: is_chosen(value) and is_spoken_password(value),
    ),
    Rule("card code", ("cvv", "cvc"), r"2?[^\w\n]{1,3}(\d{3,4})(?!\w)", str.isdigit),
    Rule(
        "security answer",
        (
            "security answer",
            "security question",
            "sicherheitsfrage",
            "question secrète",
            "pregunta de seguridad",
        ),
        r"[^\n.?!]{0,60}?(?:\b(?:is|ist|lautet|est|es|answer|antwort)\b|:)[ \t\"'«“„]{1,3}([^\W\d_]{3,24})(?!\w)",
        lambda value: value[0].isupper() and is_real(value),
    ),
    Rule(
        "password",
        ("admin", "root", "administrator"),
        rf"[:/]([^{_STOP}/@]{{6,64}})(?=[\s,;.!?)]|$)",
        lambda value: is_leet(value) or is_made_up(value),
    ),
    Rule(
        "authenticator seed",
        ("otp", "2fa", "authenticator", "seed", "mfa"),
        r"[^\n\ufffc]{0,40}?\b([A-Z2-7]{16,128})\b",
        is_seed,
    ),
    Rule(
        "seed phrase",
        (
            *(
                "seed phrase",
                "mnemonic",
                "recovery phrase",
                "seed words",
                "wiederherstellungsphrase",
            ),
            *("frase de recuperación", "frase semilla", "phrase de récupération", "phrase secrète"),
        ),
        r"[^\n\ufffc:]{0,30}?(?:\b(?:is|are|ist|sind|lautet|est|sont|es|son)\b|[:=])[ \t\"]{0,4}"
        r"((?:[^\W\d_]{3,10}[ ,]{1,2}){11,23}[^\W\d_]{3,10})",
        is_real,
    ),
    Rule("key", ("_key",), rf"{_EQUALS}([^{_STOP}]{{16,1024}})", is_opaque),
    Rule(
        "authorization",
        ("basic ",),
        r"[ \t]{0,4}([A-Za-z0-9+/]{12,1024}={0,2})",
        is_user_and_password,
    ),
    Rule(
        "signed url",
        ("?sig=", "&sig=", "x-amz-signature=", "x-goog-signature=", "&signature="),
        r"([\w%+/-]{32,1024}={0,2})",
    ),
)


def find_named(text: str, lower: str) -> Iterator[Secret]:
    """Every value that a name, a URL or a header marks as a secret."""
    for rule in RULES:
        for name in rule.names:
            if name in lower:
                yield from _find_rule(rule, name, text, lower)


def _find_rule(rule: Rule, name: str, text: str, lower: str) -> Iterator[Secret]:
    rest = re.compile(rule.rest, re.IGNORECASE)
    at = lower.find(name)
    while at >= 0:
        at += len(name)
        found = rest.match(text, at)
        if found:
            start, end = _value(text, found)
            if rule.believe(text[start:end]):
                yield Secret(rule.kind, start, end)
                at = end
        at = lower.find(name, at)


def lowered(text: str) -> str:
    """Lower case with the same length: `İ` would become two characters."""
    return text.replace("İ", "I").lower()


def _value(text: str, found: re.Match[str]) -> tuple[int, int]:
    """The span of a value: up to its closing quote, or else without trailing punctuation."""
    start, end = found.span(1)
    quote = text[start - 1]
    if quote in "\"'`":
        more = _QUOTED.match(text, end)
        if more and text[more.end()] == quote:
            return start, more.end()
    return start, start + len(text[start:end].rstrip(".!?)]}*:"))

"""Tokens that say by themselves what they are: a fixed beginning, then a fixed alphabet.

The library knows hundreds more. These are the ones people expect to be caught whatever the library
does: it leaves some out by design (an AWS key id without its other half), and it has no wheel for
every platform.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reverie.stores.secrets.plausibility import is_placeholder
from reverie.stores.secrets.secret import Secret

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TOKEN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_END = r"(?![A-Za-z0-9])"
_SECRET_KEY = r"(?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
# What stands between the lines of a key: white space, `\n` inside a string, a `>` of a quotation.
_BREAK = r"(?:[\s>\"',]|\\{1,4}[nrt])"
_HEADER = r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): ?[^\n\\]{0,120}"
_BASE64 = r"[A-Za-z0-9+/=]"


@dataclass(frozen=True, slots=True)
class Format:
    """`mark` is searched for as plain text; where it is found, `rest` is tried.

    The pattern is kept as text: most marks never occur, and their patterns are never compiled.
    """

    kind: str
    mark: str
    rest: str


FORMATS: Sequence[Format] = tuple(Format(*row) for row in (
    # Possessive throughout: a key that is cut off must not send the matcher back and forth.
    (
        "private key",
        "-----BEGIN ",
        rf"{_SECRET_KEY}(?:{_BREAK}++{_HEADER})*+(?:{_BREAK}++{_BASE64}{{16,}}+)++"
        rf"(?:{_BREAK}*+{_BASE64}*+{_BREAK}*+{_BASE64}*+{_BREAK}*+-----END {_SECRET_KEY})?",
    ),
    ("private key", "Private-Lines: ", rf"\d{{1,4}}(?:\s++{_BASE64}{{16,}}+)++(?:\s{_BASE64}++)?"),
    ("age secret key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{50,}"),
    ("aws access key", "AKIA", rf"[A-Z0-9]{{16}}{_END}"),
    ("aws access key", "ASIA", rf"[A-Z0-9]{{16}}{_END}"),
    ("github token", "gh", r"[oprsu]_[A-Za-z0-9]{36,}"),
    ("github token", "github_pat_", r"[A-Za-z0-9_]{50,}"),
    ("gitlab token", "gl", r"(?:pat|rt|dt|ptt|cbt|agent|soat|ft|imt)-[A-Za-z0-9_-]{20,}"),
    ("slack token", "xox", r"(?:e\.xox)?[abeoprs]-[A-Za-z0-9-]{20,}"),
    ("slack token", "xapp-", r"\d-[A-Za-z0-9-]{20,}"),
    ("slack webhook", "https://hooks.slack.com/", r"(?:services|workflows)/[A-Za-z0-9/_-]{30,}"),
    ("discord webhook", "https://discord", r"(?:app)?\.com/api/webhooks/\d{15,}/[\w-]{40,}"),
    ("stripe key", "sk_", r"(?:live|test|prod)_[A-Za-z0-9]{16,}"),
    ("stripe key", "rk_", r"(?:live|test|prod)_[A-Za-z0-9]{16,}"),
    ("stripe webhook secret", "whsec_", r"[A-Za-z0-9+/]{24,}={0,2}"),
    ("google api key", "AIza", r"[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    ("google client secret", "GOCSPX-", r"[A-Za-z0-9_-]{24,}"),
    ("google access token", "ya29.", r"[A-Za-z0-9_-]{20,}"),
    ("anthropic key", "sk-ant-", r"[A-Za-z0-9_-]{20,}"),
    # Covers OpenAI, OpenRouter, DeepSeek and their imitators; a digit tells it from kebab-case.
    ("sk- api key", "sk-", r"(?=[A-Za-z_-]{0,80}[0-9])[A-Za-z0-9_-]{20,}"),
    ("json web token", "eyJ", r"[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{16,}"),
    ("npm token", "npm_", rf"[A-Za-z0-9]{{36}}{_END}"),
    ("pypi token", "pypi-", r"[A-Za-z0-9_-]{50,}"),
    ("hugging face token", "hf_", r"[A-Za-z0-9]{30,}"),
    ("hugging face token", "api_org_", r"[A-Za-z0-9]{30,}"),
    ("twilio key", "SK", rf"[0-9a-f]{{32}}{_END}"),
    ("sendgrid key", "SG.", r"[\w-]{16,32}\.[\w-]{32,}"),
    ("digitalocean token", "do", r"[opr]_v1_[0-9a-f]{64}"),
    ("shopify token", "shp", r"(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    ("databricks token", "dapi", rf"[0-9a-f]{{32}}(?:-\d)?{_END}"),
    ("vault token", "hv", r"[bsr]\.[A-Za-z0-9_-]{24,}"),
    ("linear key", "lin_", r"(?:api|oauth)_[A-Za-z0-9]{32,}"),
    ("grafana token", "gl", r"(?:sa|c)_[A-Za-z0-9_+/=]{32,}"),
    ("new relic key", "NR", r"(?:AK|II|JS|AA)-[A-Za-z0-9]{19,}"),
    ("docker token", "dckr_", r"(?:pat|oat)_[A-Za-z0-9_-]{24,}"),
    ("groq key", "gsk_", r"[A-Za-z0-9]{40,}"),
    ("xai key", "xai-", r"[A-Za-z0-9]{60,}"),
    ("perplexity key", "pplx-", r"[A-Za-z0-9]{40,}"),
    ("replicate token", "r8_", r"[A-Za-z0-9]{30,}"),
    ("postman key", "PMAK-", r"[0-9a-f]{24}-[0-9a-f]{34}"),
    ("sentry token", "sntr", r"y[su]_[A-Za-z0-9_+/=]{40,}"),
    ("tailscale key", "tskey-", r"[a-z]{2,12}-[A-Za-z0-9-]{20,}"),
    ("notion token", "ntn_", r"[A-Za-z0-9]{40,}"),
    ("rubygems key", "rubygems_", r"[0-9a-f]{48}"),
    ("square token", "sq0", r"(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}"),
    ("mailgun key", "key-", rf"[0-9a-f]{{32}}{_END}"),
    ("atlassian token", "ATATT3", r"[A-Za-z0-9_=-]{50,}"),
    ("airtable token", "pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    ("figma token", "figd_", r"[A-Za-z0-9_-]{36,}"),
    ("supabase key", "sb", r"(?:p_[0-9a-f]{40}|_secret_[A-Za-z0-9_-]{20,})"),
))  # fmt: skip

# Their mark is in the middle: each is tried only where its mark occurs in the text at all.
SHAPES: Sequence[Format] = tuple(Format(*row) for row in (
    ("telegram bot token", ":AA", r"(?<![\w-])\d{8,10}:AA[\w-]{32,36}(?![\w-])"),
    ("discord bot token", ".", r"(?<![\w-])[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])"),
    ("mailchimp key", "-us", r"(?<![\w-])[0-9a-f]{32}-us\d{1,2}(?![\w-])"),
    ("terraform token", ".atlasv1.", r"(?<![\w-])[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,100}"),
    ("azure client secret", "Q~", r"(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{31,34}(?![\w~.-])"),
))  # fmt: skip


def find_formats(text: str) -> Iterator[Secret]:
    """Every token of a known format that begins a word."""
    for form in FORMATS:
        if form.mark in text:
            yield from _find_format(form, text)
    for shape in SHAPES:
        if shape.mark in text:
            found = re.finditer(shape.rest, text)
            yield from (Secret(shape.kind, *match.span()) for match in found)


def _find_format(form: Format, text: str) -> Iterator[Secret]:
    rest = re.compile(form.rest)
    at = text.find(form.mark)
    while at >= 0:
        end = at + len(form.mark)
        found = rest.match(text, end) if _begins_word(text, at) else None
        if found:
            # Never back into what matched: one long run of marks stays linear.
            end = found.end()
            if not is_placeholder(text[at:end]):
                yield Secret(form.kind, at, end)
        at = text.find(form.mark, end)


def _begins_word(text: str, at: int) -> bool:
    """True at a word's first letter, also right after the `\\n` of an escaped string."""
    if at == 0 or text[at - 1] not in _TOKEN:
        return True
    return at > 1 and text[at - 1] in "nrt" and text[at - 2] == "\\"

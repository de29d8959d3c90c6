"""Tokens with a known format: a fixed prefix, then a fixed alphabet.

The library knows hundreds more. These must be found without it, too: it leaves some out by design
(an AWS key id without the secret key), and has no wheel for some platforms.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reverie.memory.secrets.library import Secret
from reverie.memory.secrets.plausibility import is_placeholder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_TOKEN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_END = r"(?![A-Za-z0-9])"
_SECRET_KEY = r"(?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
# Separators between the lines of a key: white space, `\n` inside a string, the `>` of a quote.
_BREAK = r"(?:[\s>\"',]|\\{1,4}[nrt])"
_HEADER = r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): ?[^\n\\]{0,120}"
_BASE64 = r"[A-Za-z0-9+/=]"


@dataclass(frozen=True, slots=True)
class Format:
    """A token format: where the plain text `mark` occurs, the pattern `rest` is tried.

    The pattern stays text: most marks never occur, so most patterns are never compiled.
    """

    kind: str
    mark: str
    rest: str


FORMATS: Sequence[Format] = tuple(Format(*row) for row in (
    # Possessive quantifiers: a truncated key must not cause backtracking.
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
    # Rarer ones: the library knows many of them, but not in every context or on every platform.
    ("aws bedrock key", "ABSK", r"[A-Za-z0-9+/]{80,}={0,2}"),
    ("gitlab token", "gloas-", r"[0-9a-f]{64}"),
    ("gitlab token", "GR1348941", r"[\w-]{20,}"),
    ("google refresh token", "1//0", r"[\w-]{30,}"),
    ("nvidia key", "nvapi-", r"[\w-]{50,}"),
    ("fireworks key", "fw_", rf"[A-Za-z0-9]{{22,}}{_END}"),
    ("together key", "tgp_v1_", r"[\w-]{30,}"),
    ("cerebras key", "csk-", r"[a-z0-9]{40,}"),
    ("elevenlabs key", "sk_", rf"[0-9a-f]{{48}}{_END}"),
    ("pinecone key", "pcsk_", r"[A-Za-z0-9_]{50,}"),
    ("langsmith key", "lsv2_", r"(?:pt|sk)_[0-9a-f]{32}(?:_[0-9a-f]{10})?"),
    ("tavily key", "tvly-", r"[A-Za-z0-9-]{24,}"),
    ("firecrawl key", "fc-", rf"[0-9a-f]{{32}}{_END}"),
    ("jina key", "jina_", r"[\w-]{40,}"),
    ("e2b key", "e2b_", r"[0-9a-f]{40}"),
    ("crates.io token", "cio", rf"[A-Za-z0-9]{{32}}{_END}"),
    ("nuget key", "oy2", rf"[a-z0-9]{{43}}{_END}"),
    ("clojars token", "CLOJARS_", r"[a-z0-9]{40,}"),
    ("heroku key", "HRKU-", r"[\w-]{36,}"),
    ("fly.io token", "fo1_", r"[\w-]{40,}"),
    ("fly.io token", "fm1_", r"[\w+/-]{40,}={0,3}"),
    ("fly.io token", "fm1a_", r"[\w+/-]{40,}={0,3}"),
    ("fly.io token", "fm1r_", r"[\w+/-]{40,}={0,3}"),
    ("fly.io token", "fm2_", r"[\w+/-]{40,}={0,3}"),
    ("netlify token", "nfp_", r"[A-Za-z0-9]{30,}"),
    ("netlify token", "nfo_", r"[A-Za-z0-9]{30,}"),
    ("netlify token", "nfc_", r"[A-Za-z0-9]{30,}"),
    ("render key", "rnd_", r"[A-Za-z0-9]{24,}"),
    ("planetscale key", "pscale_", r"(?:tkn|pw|oauth|otkn)_[\w=.-]{30,}"),
    ("neon key", "napi_", r"[a-z0-9]{50,}"),
    ("mongodb key", "mdb_sa_sk_", r"[\w-]{30,}"),
    ("cloudflare origin key", "v1.0-", r"[0-9a-f]{24}-[0-9a-f]{140,}"),
    ("cloudflare token", "cfk_", r"[A-Za-z0-9_-]{36,}"),
    ("cloudflare token", "cfut_", r"[A-Za-z0-9_-]{36,}"),
    ("cloudflare token", "cfat_", r"[A-Za-z0-9_-]{36,}"),
    ("cloudflare token", "cfast_", r"[A-Za-z0-9_-]{36,}"),
    ("square token", "EAAA", r"[\w-]{56,}"),
    ("facebook token", "EAA", r"[A-Za-z0-9]{80,}"),
    ("instagram token", "IGQ", r"[\w-]{80,}"),
    ("braintree token", "access_token$", r"(?:production|sandbox)\$[a-z0-9]{16}\$[0-9a-f]{32}"),
    ("plaid token", "access-", r"(?:production|sandbox|development)-[0-9a-f]{8}(?:-[0-9a-f]{4,12}){4}"),
    ("brevo key", "xkeysib-", r"[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    ("brevo key", "xsmtpsib-", r"[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    ("resend key", "re_", r"[A-Za-z0-9]{7,9}_[A-Za-z0-9]{20,}"),
    ("bitbucket token", "ATCTT3", r"[\w=-]{50,}"),
    ("bitbucket token", "ATBB", rf"[A-Za-z0-9]{{24,32}}{_END}"),
    ("trello token", "ATTA", r"[0-9a-f]{64}"),
    ("notion token", "secret_", rf"[A-Za-z0-9]{{43}}{_END}"),
    ("dynatrace token", "dt0", r"[a-z]\d\d\.[A-Z0-9]{8,24}(?:\.[A-Z0-9]{64})?"),
    ("honeycomb key", "hcaik_", r"[A-Za-z0-9]{40,}"),
    ("honeycomb key", "hcbik_", r"[A-Za-z0-9]{40,}"),
    ("honeycomb key", "hcxik_", r"[A-Za-z0-9]{40,}"),
    ("honeycomb key", "hcamk_", r"[A-Za-z0-9]{40,}"),
    ("honeycomb key", "hcxmk_", r"[A-Za-z0-9]{40,}"),
    ("launchdarkly key", "sdk-", r"[0-9a-f]{8}(?:-[0-9a-f]{4,12}){4}"),
    ("launchdarkly key", "api-", r"[0-9a-f]{8}(?:-[0-9a-f]{4,12}){4}"),
    ("langfuse key", "sk-lf-", r"[0-9a-f]{8}(?:-[0-9a-f]{4,12}){4}"),
    ("doppler token", "dp.", r"(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,}"),
    ("pulumi token", "pul-", r"[0-9a-f]{40}"),
    ("infracost key", "ico-", rf"[A-Za-z0-9]{{32}}{_END}"),
    ("1password token", "ops_eyJ", r"[\w+/=-]{100,}"),
    ("1password secret key", "A3-", r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    ("sourcegraph token", "sgp_", r"(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}"),
    ("circleci token", "CCIP", r"(?:AT|RJ)_[A-Za-z0-9]{22}_[0-9a-f]{40}"),
    ("buildkite token", "bkua_", r"[A-Za-z0-9]{36,}"),
    ("buildkite token", "bkaj_", r"[A-Za-z0-9]{36,}"),
    ("buildkite token", "bkct_", r"[A-Za-z0-9]{36,}"),
    ("sonarqube token", "squ_", r"[0-9a-f]{40}"),
    ("sonarqube token", "sqp_", r"[0-9a-f]{40}"),
    ("sonarqube token", "sqa_", r"[0-9a-f]{40}"),
    ("scaleway key", "SCW", rf"(?=[A-Z]{{0,16}}[0-9])[A-Z0-9]{{17}}{_END}"),
    ("alibaba key", "LTAI", rf"[A-Za-z0-9]{{12,24}}{_END}"),
    ("tencent key", "AKID", rf"[A-Za-z0-9]{{32}}{_END}"),
    ("yandex key", "AQVN", r"[\w-]{35,}"),
    ("yandex token", "y0_", r"[A-Za-z0-9_-]{50,}"),
    ("yandex token", "y1_", r"[A-Za-z0-9_-]{50,}"),
    ("yandex token", "y2_", r"[A-Za-z0-9_-]{50,}"),
    ("yandex token", "y3_", r"[A-Za-z0-9_-]{50,}"),
    ("x bearer token", "AAAAAAAAAAAAAAAAAAAAA", r"[A-Za-z0-9%]{50,}"),
    ("dropbox token", "sl.", r"[\w-]{100,}"),
    ("easypost key", "EZ", rf"[AT]K[A-Za-z0-9]{{54}}{_END}"),
    ("shippo token", "shippo_", r"(?:live|test)_[0-9a-f]{40}"),
    ("duffel token", "duffel_", r"(?:live|test)_[\w=-]{40,}"),
    ("payment key", "live_", rf"[A-Za-z0-9]{{30,48}}{_END}"),
    ("payment key", "test_", rf"(?=[A-Za-z]{{0,30}}[0-9])[A-Za-z0-9]{{30,48}}{_END}"),
    ("flutterwave key", "FLWSECK", r"(?:_TEST)?-[0-9a-fA-F]{12,40}(?:-X)?"),
    ("razorpay key", "rzp_", r"(?:live|test)_[A-Za-z0-9]{14,}"),
    ("contentful token", "CFPAT-", r"[\w-]{40,}"),
    ("readme key", "rdme_", r"[a-z0-9]{60,}"),
    ("prefect key", "pnu_", r"[A-Za-z0-9]{36}"),
    ("prefect key", "pnb_", r"[A-Za-z0-9]{36}"),
    ("frame.io token", "fio-u-", r"[\w=-]{60,}"),
    ("typeform token", "tfp_", r"[\w.=-]{50,}"),
    ("hubspot token", "pat-", r"(?:na|eu|ap)\d-[0-9a-f]{8}(?:-[0-9a-f]{4,12}){4}"),
    ("salesforce token", "00D", r"[A-Za-z0-9]{12,15}![\w.]{60,}"),
    ("mapbox token", "sk.eyJ", r"[\w-]{40,}\.[\w-]{20,}"),
    ("scalingo token", "tk-us-", r"[\w-]{40,}"),
    ("octopus key", "API-", rf"(?=[A-Z]{{0,25}}[0-9])[A-Z0-9]{{25,27}}{_END}"),
    ("jfrog key", "AKCp", r"[A-Za-z0-9]{60,}"),
    ("jfrog token", "cmVmdGtuO", r"[A-Za-z0-9]{50,}"),
    ("defined networking key", "dnkey-", r"[A-Z0-9]{26}-[A-Z0-9]{52}"),
    ("adafruit key", "aio_", r"[A-Za-z0-9]{28}"),
    ("adobe secret", "p8e", r"w?-[0-9A-Za-z_-]{32}"),
    ("posthog key", "phx_", r"[A-Za-z0-9]{40,}"),
    ("posthog key", "phs_", r"[A-Za-z0-9]{40,}"),
    ("inngest key", "signkey-", r"(?:prod|test|branch)-[0-9a-f]{32,}"),
    ("apify token", "apify_", r"(?:api|proxy)_[A-Za-z0-9-]{30,}"),
    ("trigger.dev key", "tr_", r"(?:dev|prod|stg|preview)_[A-Za-z0-9]{18,}"),
    ("harness token", "pat.", r"[\w-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}"),
    ("rootly key", "rootly_", r"[0-9a-f]{64}"),
    ("vercel token", "vcp_", r"[A-Za-z0-9]{24,}"),
    ("vercel token", "vck_", r"[A-Za-z0-9]{24,}"),
    ("vercel token", "vca_", r"[A-Za-z0-9]{24,}"),
    ("vercel token", "vci_", r"[A-Za-z0-9]{24,}"),
    ("vercel token", "vcr_", r"[A-Za-z0-9]{24,}"),
    ("vercel blob token", "vercel_blob_", r"rw_[A-Za-z0-9_]{30,}"),
    ("cursor key", "crsr_", r"[0-9a-f]{64}"),
    ("polar token", "polar_", r"(?:oat|pat|whs)_[\w-]{30,}"),
    ("alchemy key", "alcht_", r"[A-Za-z0-9]{30}"),
    ("voyage key", "pa-", rf"[\w-]{{43}}{_END}"),
    ("authress key", "sc_", r"[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.[\w-]{30,}"),
    ("digicert key", "dtrack_", r"[A-Za-z0-9]{36,}"),
    ("pagerduty key", "u+", rf"[\w-]{{18}}{_END}"),
    ("zuplo key", "zpka_", r"[a-z0-9]{32}_[0-9a-f]{8}"),
    ("endor key", "endr+", r"[\w-]{16}"),
    ("snyk token", "snyk_", r"(?:uat|sat|pat)\.[\w.-]{20,}"),
    ("percy token", "PERCY_TOKEN=", r"[0-9a-f]{40,}"),
    ("zapier webhook", "https://hooks.zapier.com/hooks/catch/", r"\d{4,12}/[a-z0-9]{6,}/?"),
    ("ifttt webhook", "https://maker.ifttt.com/trigger/", r"[\w-]{1,60}/(?:json/)?with/key/[\w-]{20,}"),
    ("wechat webhook", "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=", r"[\w-]{30,}"),
    ("feishu webhook", "https://open.feishu.cn/open-apis/bot/", r"(?:v2/)?hook/[\w-]{30,}"),
    ("make webhook", "https://hook.", r"(?:eu|us)\d\.make\.com/[a-z0-9]{24,}"),
))  # fmt: skip

# Formats with the mark in the middle: tried only if the mark occurs in the text.
SHAPES: Sequence[Format] = tuple(Format(*row) for row in (
    ("telegram bot token", ":AA", r"(?:(?<![\w-])|(?<=/bot))\d{8,10}:AA[\w-]{32,36}(?![\w-])"),
    ("bitlocker recovery key", "-", r"(?<![\w-])\d{6}(?:-\d{6}){7}(?![\w-])"),
    ("discord bot token", ".", r"(?<![\w-])[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])"),
    ("teams webhook", ".webhook.office.com/", r"https://[\w-]{1,40}\.webhook\.office\.com/webhookb2/[\w@/-]{60,}"),
    ("asana token", ":", r"(?<![\w/-])[012]/\d{12,20}(?:/\d{12,20})?:[0-9a-f]{32}(?![\w-])"),
    ("mailgun key", "-", r"(?<![\w-])[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![\w-])"),
    ("maxmind key", "_mmk", r"(?<![\w-])[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk(?![\w-])"),
    ("azure devops token", "AZDO", r"(?<![\w-])[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}(?![\w-])"),
    ("okta token", "SSWS ", r"(?<=SSWS )00[\w-]{38,42}(?![\w-])"),
    ("firebase server key", ":APA91b", r"(?<![\w-])AAAA[\w-]{7}:APA91b[\w-]{100,150}"),
    ("rapidapi key", "msh", r"(?<![\w-])[0-9a-f]{10}msh[0-9a-f]{15}p1[0-9a-f]{6}jsn[0-9a-f]{12}(?![\w-])"),
    ("mailchimp key", "-us", r"(?<![\w-])[0-9a-f]{32}-us\d{1,2}(?![\w-])"),
    ("terraform token", ".atlasv1.", r"(?<![\w-])[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,100}"),
    ("azure client secret", "Q~", r"(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{31,34}(?![\w~.-])"),
))  # fmt: skip


def find_formats(text: str) -> Iterator[Secret]:
    """Every token of a known format at the start of a word."""
    for form in FORMATS:
        if form.mark in text:
            yield from _find_format(form, text)
    for shape in SHAPES:
        if shape.mark in text:
            for match in re.finditer(shape.rest, text):
                if not is_placeholder(match[0]):
                    yield Secret(shape.kind, *match.span())


def _find_format(form: Format, text: str) -> Iterator[Secret]:
    rest = re.compile(form.rest)
    at = text.find(form.mark)
    while at >= 0:
        end = at + len(form.mark)
        found = rest.match(text, end) if _begins_word(text, at) else None
        if found:
            # Continue after the match, so that a long run of marks takes linear time.
            end = found.end()
            if not is_placeholder(text[at:end]):
                yield Secret(form.kind, at, end)
        at = text.find(form.mark, end)


def _begins_word(text: str, at: int) -> bool:
    """Whether a word begins here, also right after the `\\n` of an escaped string."""
    if at == 0 or text[at - 1] not in _TOKEN:
        return True
    return at > 1 and text[at - 1] in "nrt" and text[at - 2] == "\\"

"""Texts for `secret_leaks.py`: tokens of known formats, opaque keys in sentences, and harmless texts.

Every value is made at run time from a seed: nothing here is, or ever was, a credential. `TUNED` is
the half our tables were written against; `HELD_OUT` has other frames, other sentences and another
seed, and was written before the tables and not looked at while they changed.
"""

from __future__ import annotations

import base64
import json
import random
import string
import uuid
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Half = Literal["tuned", "held out"]
TUNED: Half = "tuned"
HELD_OUT: Half = "held out"

_SETS = {
    "M": string.ascii_letters + string.digits,
    "H": "0123456789abcdef",
    "X": "0123456789ABCDEF",
    "U": string.ascii_uppercase + string.digits,
    "L": string.ascii_lowercase + string.digits,
    "B": string.ascii_letters + string.digits + "_-",
    "S": string.ascii_letters + string.digits + "+/",
    "D": string.digits,
    "T": string.ascii_uppercase + "234567",
    "C": "qpzry9x8gf2tvdw0s3jn54khce6mua7l".upper(),
}
_BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase

# One row a format: who uses it, then literal pieces and `{alphabet length}` in turn. Written from
# what the vendors say about their tokens.
FORMATS: Sequence[tuple[str, str]] = (
    ("AWS access key", "AKIA{T16}"),
    ("AWS session key", "ASIA{T16}"),
    ("AWS Bedrock key", "ABSK{S110}="),
    ("GitHub token", "ghp_{M30}{crc}"),
    ("GitHub OAuth", "gho_{M30}{crc}"),
    ("GitHub app user", "ghu_{M30}{crc}"),
    ("GitHub app server", "ghs_{M30}{crc}"),
    ("GitHub refresh", "ghr_{M70}{crc}"),
    ("GitHub fine-grained", "github_pat_{M22}_{M59}"),
    ("GitLab token", "glpat-{B20}"),
    ("GitLab deploy", "gldt-{B20}"),
    ("GitLab runner", "glrt-{B20}"),
    ("GitLab trigger", "glptt-{H40}"),
    ("GitLab feed", "glft-{B20}"),
    ("GitLab mail", "glimt-{L25}"),
    ("GitLab agent", "glagent-{B50}"),
    ("GitLab SCIM", "glsoat-{B20}"),
    ("GitLab OAuth", "gloas-{H64}"),
    ("GitLab runner registration", "GR1348941{B20}"),
    ("Slack bot", "xoxb-{D12}-{D13}-{M24}"),
    ("Slack user", "xoxp-{D12}-{D12}-{D12}-{H32}"),
    ("Slack app", "xapp-1-A{U10}-{D13}-{H64}"),
    ("Slack refresh", "xoxe-1-{M146}"),
    ("Slack webhook", "https://hooks.slack.com/services/T{U9}/B{U10}/{M24}"),
    ("Stripe live", "sk_live_{M99}"),
    ("Stripe test", "sk_test_{M24}"),
    ("Stripe restricted", "rk_live_{M99}"),
    ("Stripe webhook", "whsec_{M32}"),
    ("Google API", "AIza{B35}"),
    ("Google client secret", "GOCSPX-{B28}"),
    ("Google access token", "ya29.{B120}"),
    ("Google refresh token", "1//0{B80}"),
    ("Anthropic", "sk-ant-api03-{B93}AA"),
    ("Anthropic admin", "sk-ant-admin01-{B93}AA"),
    ("OpenAI", "sk-{M20}T3BlbkFJ{M20}"),
    ("OpenAI project", "sk-proj-{B74}T3BlbkFJ{B74}"),
    ("OpenAI service", "sk-svcacct-{B74}T3BlbkFJ{B74}"),
    ("OpenRouter", "sk-or-v1-{H64}"),
    ("DeepSeek", "sk-{H32}"),
    ("Langfuse", "sk-lf-{uuid}"),
    ("Groq", "gsk_{M52}"),
    ("xAI", "xai-{M80}"),
    ("Perplexity", "pplx-{M48}"),
    ("Replicate", "r8_{M37}"),
    ("Hugging Face", "hf_{M34}"),
    ("Hugging Face organisation", "api_org_{M34}"),
    ("NVIDIA", "nvapi-{B64}"),
    ("Fireworks", "fw_{M24}"),
    ("Together", "tgp_v1_{B43}"),
    ("Cerebras", "csk-{L48}"),
    ("ElevenLabs", "sk_{H48}"),
    ("Pinecone", "pcsk_{M6}_{M63}"),
    ("LangSmith", "lsv2_pt_{H32}_{H10}"),
    ("Tavily", "tvly-dev-{M32}"),
    ("Firecrawl", "fc-{H32}"),
    ("Jina", "jina_{H32}{B28}"),
    ("E2B", "e2b_{H40}"),
    ("npm", "npm_{M30}{crc}"),
    ("PyPI", "pypi-AgEIcHlwaS5vcmc{B150}"),
    ("RubyGems", "rubygems_{H48}"),
    ("crates.io", "cio{M32}"),
    ("NuGet", "oy2{L43}"),
    ("Clojars", "CLOJARS_{L60}"),
    ("Docker", "dckr_pat_{B27}"),
    ("Docker organisation", "dckr_oat_{B32}"),
    ("DigitalOcean", "dop_v1_{H64}"),
    ("DigitalOcean OAuth", "doo_v1_{H64}"),
    ("DigitalOcean refresh", "dor_v1_{H64}"),
    ("Heroku", "HRKU-AA{B58}"),
    ("Fly.io", "fo1_{B43}"),
    ("Fly.io macaroon", "fm2_{S120}"),
    ("Netlify", "nfp_{M36}"),
    ("Render", "rnd_{M28}"),
    ("Supabase", "sbp_{H40}"),
    ("Supabase secret", "sb_secret_{B31}"),
    ("PlanetScale", "pscale_tkn_{B43}"),
    ("PlanetScale password", "pscale_pw_{B43}"),
    ("Neon", "napi_{L64}"),
    ("Databricks", "dapi{H32}"),
    ("MongoDB Atlas", "mdb_sa_sk_{B40}"),
    ("Cloudflare origin", "v1.0-{H24}-{H146}"),
    ("Shopify", "shpat_{H32}"),
    ("Shopify custom", "shpca_{H32}"),
    ("Shopify shared", "shpss_{H32}"),
    ("Square", "sq0atp-{B22}"),
    ("Square secret", "sq0csp-{B43}"),
    ("Braintree", "access_token$production${L16}${H32}"),
    ("Plaid", "access-production-{uuid}"),
    ("Twilio", "SK{H32}"),
    ("SendGrid", "SG.{B22}.{B43}"),
    ("Mailgun", "key-{H32}"),
    ("Mailgun domain", "{H32}-{H8}-{H8}"),
    ("Mailchimp", "{H32}-us12"),
    ("Brevo", "xkeysib-{H64}-{M16}"),
    ("Resend", "re_{M8}_{M24}"),
    ("Telegram", "{D10}:AA{B33}"),
    ("Discord bot", "MT{M22}.{B6}.{B38}"),
    ("Discord webhook", "https://discord.com/api/webhooks/{D18}/{B68}"),
    (
        "Teams webhook",
        "https://acme.webhook.office.com/webhookb2/{uuid}@{uuid}/IncomingWebhook/{H32}/{uuid}",
    ),
    ("Zapier hook", "https://hooks.zapier.com/hooks/catch/{D8}/{L7}{L24}/"),
    ("Atlassian", "ATATT3xFfGF0{B170}={X8}"),
    ("Bitbucket", "ATCTT3xFfGN0{B170}={X8}"),
    ("Bitbucket app password", "ATBB{M32}"),
    ("Linear", "lin_api_{M40}"),
    ("Notion", "ntn_{D11}{M35}"),
    ("Notion old", "secret_{M43}"),
    ("Airtable", "pat{M14}.{H64}"),
    ("Asana", "1/{D16}:{H32}"),
    ("Figma", "figd_{B40}"),
    ("Postman", "PMAK-{H24}-{H34}"),
    ("Sentry user", "sntryu_{H64}"),
    ("Sentry organisation", "sntrys_eyJ{M120}_{M43}"),
    ("New Relic", "NRAK-{U27}"),
    ("New Relic insert", "NRII-{B32}"),
    ("New Relic browser", "NRJS-{H19}"),
    ("Grafana service", "glsa_{M32}_{H8}"),
    ("Grafana Cloud", "glc_eyJ{M100}"),
    ("Dynatrace", "dt0c01.{T24}.{T64}"),
    ("Honeycomb", "hcaik_01{L56}"),
    ("LaunchDarkly", "sdk-{uuid}"),
    ("Doppler", "dp.pt.{M43}"),
    ("Doppler service", "dp.st.prd.{M43}"),
    ("Vault service", "hvs.{B95}"),
    ("Vault batch", "hvb.{B140}"),
    ("Terraform Cloud", "{M14}.atlasv1.{B67}"),
    ("Pulumi", "pul-{H40}"),
    ("Infracost", "ico-{M32}"),
    ("1Password service account", "ops_eyJ{M260}"),
    ("1Password secret key", "A3-{U6}-{U6}-{U5}-{U5}-{U5}-{U5}"),
    ("age", "AGE-SECRET-KEY-1{C58}"),
    ("Tailscale", "tskey-auth-{M12}CNTRL-{M32}"),
    ("Sourcegraph", "sgp_{H16}_{H40}"),
    ("CircleCI", "CCIPAT_{M22}_{H40}"),
    ("Buildkite", "bkua_{H40}"),
    ("SonarQube", "squ_{H40}"),
    ("Azure client", "{M3}8Q~{M34}"),
    ("Azure DevOps", "{M76}AZDO{M4}"),
    ("Alibaba", "LTAI{M20}"),
    ("Tencent", "AKID{M32}"),
    ("Yandex", "AQVN{B35}"),
    ("Yandex OAuth", "y0_{B55}"),
    ("Facebook", "EAA{M160}"),
    ("X bearer", "AAAAAAAAAAAAAAAAAAAAA{M60}%3D{M40}"),
    ("Dropbox", "sl.{B140}"),
    ("EasyPost", "EZAK{M54}"),
    ("Shippo", "shippo_live_{H40}"),
    ("Duffel", "duffel_live_{B43}"),
    ("Lob", "live_{H35}"),
    ("Flutterwave", "FLWSECK-{H32}-X"),
    ("Contentful", "CFPAT-{B43}"),
    ("ReadMe", "rdme_{L70}"),
    ("Prefect", "pnu_{L36}"),
    ("Frame.io", "fio-u-{B64}"),
    ("Typeform", "tfp_{B59}"),
    ("HubSpot", "pat-na1-{uuid}"),
    ("Salesforce", "00D{M15}!{M96}"),
    ("Mapbox", "sk.eyJ{M80}.{B22}"),
    ("MaxMind", "{M6}_{M29}_mmk"),
    ("Scalingo", "tk-us-{B48}"),
    ("Octopus", "API-{U26}"),
    ("JFrog", "AKCp{M69}"),
    ("Defined Networking", "dnkey-{U26}-{U52}"),
    ("Adafruit", "aio_{M28}"),
    ("Adobe", "p8e-{H32}"),
    ("PostHog", "phx_{M43}"),
    ("Inngest", "signkey-prod-{H64}"),
    ("Apify", "apify_api_{M36}"),
    ("Trigger.dev", "tr_prod_{M24}"),
    ("Harness", "pat.{B22}.{H24}.{M20}"),
    ("Rootly", "rootly_{H64}"),
    ("ClickHouse Cloud", "4b1d{M38}"),
    ("Okta", "00{B40}"),
    ("JSON web token", "{jwt}"),
    ("RSA key", "{pem RSA }"),
    ("OpenSSH key", "{pem OPENSSH }"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Leak:
    """A text that must not be kept as it is, and the value that must not be in what is kept."""

    kind: str
    text: str
    value: str
    # What every value of the format begins with, and what tells nothing.
    public: str = ""

    @property
    def pieces(self) -> tuple[str, ...]:
        """What to look for: a third of the value in clear counts as the value."""
        lines = [line for line in self.value.splitlines() if "-----" not in line]
        value = lines[len(lines) // 2] if len(lines) > 1 else self.value
        size = max(min(len(value), 10), len(value) // 3)
        pieces = (value[at : at + size] for at in range(0, len(value) - size + 1, size))
        return tuple(piece for piece in pieces if piece not in self.public)


# {v} is the value, {w} whose it is.
_FRAMES: dict[Half, Sequence[str]] = {
    TUNED: (
        "We use {v} for {w}.",
        "The {w} integration was set up with {v} last week, ask Mira about it.",
        "export DEPLOY_TOKEN={v}",
        "{w}: {v}",
        "Für {w} nehmen wir {v}, das steht auch im Wiki.",
        "Der Zugang zu {w} läuft über {v}.",
        'In der .env steht "{v}" ({w}).',
        "Pour {w}, on utilise {v} en production.",
        "La clé de {w} est {v}.",
        "Le déploiement chez {w} demande `{v}`.",
        "Para {w} usamos {v} en el servidor de pruebas.",
        "La clave de {w} es {v}, no la pierdas.",
    ),
    HELD_OUT: (
        "I pasted {v} into the {w} settings page yesterday",
        "{w} works again now that [{v}] is in the config",
        '{{"service": "{w}", "value": "{v}"}}',
        "- {w} → {v}",
        "Ich habe {v} bei {w} hinterlegt.",
        "{w} antwortet nur, wenn man ({v}) mitschickt.",
        "Neu bei {w}: {v}; der alte Zugang ist gesperrt.",
        "J'ai mis {v} dans la configuration de {w}.",
        "Chez {w}, tout passe par « {v} ».",
        "He puesto {v} en la configuración de {w}.",
        "En {w} hay que entrar con '{v}' desde ayer.",
        "Con {w} funciona así: {v}",
    ),
}

# {v} is an opaque key; nothing but the words around it tells that it is one.
_OPAQUE_FRAMES: dict[Half, Sequence[str]] = {
    TUNED: (
        "the token of the staging server is {v}",
        "The API key for the billing service is {v}.",
        "my password for the wiki is {v}",
        "Please remember: the secret for webhooks is now {v}, the old one is revoked.",
        "Use {v} as the password for the test database.",
        "The credential of the build server: {v}",
        "the signing key we agreed on is `{v}`",
        'log in with user "ci" and password "{v}"',
        "export WIKI_API_KEY={v}",
        "Das Passwort für den Server lautet {v}.",
        "Der Token für die Testumgebung ist {v}.",
        "Unser API-Schlüssel bei dem Anbieter ist {v}",
        "Le mot de passe du serveur de test est {v}.",
        "Le jeton d'accès est {v}, merci de le garder.",
        "La contraseña del servidor de pruebas es {v}.",
        "El token de acceso es {v}",
        "login: deploy / {v}",
        "The passphrase of the backup is {v}",
        "{v} is the token for the staging registry",
        "bearer token {v} works for the internal API",
    ),
    HELD_OUT: (
        "For the record, our staging token changed to {v} this morning.",
        "password to the admin panel = {v}",
        "Note to self: wifi password {v}",
        "The auth key on the gateway was replaced by {v}",
        "you can sign in as deploy with the password {v}",
        "secret ({v}) is what the webhook expects",
        "I set the access token to {v} in the pipeline",
        "{v} - that's the new API key of the mail provider",
        "Das neue Kennwort vom NAS: {v}",
        "Für das VPN brauchst du das Passwort {v}",
        "Der geheime Schlüssel heißt {v}.",
        "Trag als Token bitte {v} ein.",
        "Le mot de passe wifi : {v}",
        "Notre clé API est désormais {v}.",
        "Utilise {v} comme mot de passe.",
        "La clave de la API es {v}.",
        "Usa {v} como contraseña del panel.",
        "El secreto compartido es {v}",
        'credentials: {{"user": "svc", "secret": "{v}"}}',
        "curl -H 'X-Auth-Token: {v}' https://api.acme.io/v1/jobs",
    ),
}

# What people and machines choose; `words` are pass phrases of a person.
_OPAQUE_VALUES: Sequence[str] = (
    "{H32}", "{H40}", "{H64}", "{M20}", "{M24}", "{M32}", "{M40}", "{M48}", "{B43}", "{S42}==",
    "{L16}", "{L20}", "{L32}", "{U20}", "{U4}-{U4}-{U4}-{U4}", "{uuid}", "{words}", "{words}",
    "{human}", "{human}",
)  # fmt: skip


def _random(half: Half, part: str) -> random.Random:
    return random.Random(f"{half} {part} 2026")


def known_formats(half: Half, each: int = 3) -> list[Leak]:
    """Every format in at least three frames, spread over the four languages."""
    dice = _random(half, "formats")
    frames = _FRAMES[half]
    leaks = []
    for number, (name, pattern) in enumerate(FORMATS):
        for i in range(each):
            # Three frames a language: the next language each time.
            frame = frames[(number + 3 * i + i * (number // 3)) % len(frames)]
            value = fill(pattern, dice)
            text = frame.format(v=value, w=name.split()[0])
            leaks.append(Leak(name, text, value, pattern.partition("{")[0]))
    return leaks


def opaque_keys(half: Half) -> list[Leak]:
    """Each frame with several kinds of value."""
    dice = _random(half, "opaque")
    leaks = []
    for number, frame in enumerate(_OPAQUE_FRAMES[half]):
        for i in range(6):
            pattern = _OPAQUE_VALUES[(number * 7 + i * 3) % len(_OPAQUE_VALUES)]
            value = fill(pattern, dice)
            leaks.append(Leak(f"opaque {pattern}", frame.format(v=value), value))
    return leaks


def fill(pattern: str, dice: random.Random) -> str:
    """A value of a pattern: literal pieces, and what stands in braces made anew."""
    made = ""
    for literal, field in _pieces(pattern):
        made += literal
        if field:
            made += _made(field, made, dice)
    return made


def _pieces(pattern: str) -> Iterator[tuple[str, str]]:
    while pattern:
        literal, _, rest = pattern.partition("{")
        field, _, pattern = rest.partition("}")
        yield literal, field


def _made(field: str, before: str, dice: random.Random) -> str:  # noqa: PLR0911 - one return a field
    match field.split(" ")[0]:
        case "crc":
            return _base62(zlib.crc32(before.partition("_")[2].encode()))
        case "uuid":
            return str(uuid.UUID(int=dice.getrandbits(128), version=4))
        case "jwt":
            return _jwt(dice)
        case "pem":
            return _pem(field.removeprefix("pem "), dice)
        case "words":
            return _phrase(dice)
        case "human":
            return _human(dice)
        case _:
            return _chars(_SETS[field[0]], int(field[1:]), dice)


def _chars(alphabet: str, count: int, dice: random.Random) -> str:
    """Random, but never without a digit where there could be one: so are long real ones."""
    while True:
        made = "".join(dice.choices(alphabet, k=count))
        if count < 12 or not set(alphabet) & set(string.digits) or set(made) & set(string.digits):
            return made


def _base62(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 62)
        digits = _BASE62[digit] + digits
    return digits.rjust(6, "0")


def _jwt(dice: random.Random) -> str:
    head = {"alg": "HS256", "typ": "JWT"}
    body = {"sub": str(dice.randrange(10**9)), "iat": 1_760_000_000 + dice.randrange(10**6)}
    parts = [
        base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()
        for part in (head, body)
    ]
    return ".".join([*parts, _chars(_SETS["B"], 43, dice)])


def _pem(kind: str, dice: random.Random) -> str:
    lines = [_chars(_SETS["S"], 64, dice) for _ in range(12)]
    mark = "-" * 5
    return "\n".join(
        [f"{mark}BEGIN {kind}PRIVATE KEY{mark}", *lines, f"{mark}END {kind}PRIVATE KEY{mark}"]
    )


_WORDS = [
    "hunter",
    "blue",
    "falcon",
    "river",
    "stone",
    "amber",
    "copper",
    "lantern",
    "maple",
    "winter",
    "orbit",
    "violet",
    "tiger",
    "harbor",
    "meadow",
    "cobalt",
    "pepper",
    "rocket",
    "willow",
    "granite",
    "sailor",
    "thunder",
    "velvet",
    "walnut",
]


def _phrase(dice: random.Random) -> str:
    """As in `hunter2-blue-Falcon`: words, a digit or a capital somewhere, one joint."""
    words = dice.sample(_WORDS, 3)
    words[dice.randrange(3)] += str(dice.randrange(2, 99))
    words[2] = words[2].capitalize()
    return dice.choice("-_.").join(words)


def _human(dice: random.Random) -> str:
    word = dice.choice(_WORDS).capitalize()
    return f"{word}{dice.randrange(10, 9999)}{dice.choice('!#$?&')}{dice.choice(('', 'x', 'Qz'))}"


# --- harmless ---

_PLAIN: dict[Half, Sequence[str]] = {
    TUNED: (
        "The password policy requires 12 characters.",
        "Ask Mira for the token, she keeps it in the vault.",
        "The rate limiter is a token bucket with 100 tokens per second.",
        "Secret santa is on December 12 at 18:00.",
        "We need a key: value store with range queries.",
        "PIN the dependency to 1.2.3 until the bug is fixed.",
        "The token limit is 200000 and the output limit 32000.",
        "Passwords are hashed with argon2id, 64 MiB, 3 iterations.",
        "The key to good naming is consistency.",
        "The secret of the release was a checklist.",
        "API keys are rotated every 90 days by the platform team.",
        "The session cookie is HttpOnly and SameSite=Lax.",
        "Bearer tokens expire after 3600 seconds.",
        "The public key is in docs/keys/release.pub.",
        "Set `API_KEY` in the environment; never commit it.",
        "token: ${CI_TOKEN}",
        "token = os.environ['SERVICE_TOKEN']",
        "const key = process.env.MAIL_API_KEY;",
        "password: ${{ secrets.DB_PASSWORD }}",
        "api_key = \"<your-api-key>\"",
        "export SERVICE_TOKEN=xxxxxxxxxxxxxxxx",
        "password: changeme",
        "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE",
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "The commit {H40} broke the build.",
        "Fixed in {H7}, released with v2.14.0-rc.3.",
        "The request id was {uuid}.",
        "Image acme/api@sha256:{H64} runs in production.",
        "md5 {H32}  backup.tar.gz",
        "trace_id={H32} span_id={H16}",
        '"integrity": "sha512-{S86}=="',
        "golang.org/x/text v0.14.0 h1:{S43}=",
        "![logo](data:image/png;base64,{S400})",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{S43} dana@laptop",
        "The design is at https://www.figma.com/file/{M22}/Checkout?node-id=12-345",
        "See https://docs.google.com/document/d/1{B43}/edit for the plan.",
        "Listen on port 8443, forward to 10.0.0.12:8080.",
        "The build took 12m34s on 4 cores with 16 GB.",
        "Deployments happen on Tuesdays at 09:30 and Thursdays at 14:00.",
        "The user prefers short answers without emoji.",
        "Die Donaudampfschifffahrtsgesellschaftskapitänsmütze liegt im Lager 4.",
        "Das Rechtsschutzversicherungsgesellschaftenverzeichnis wird jährlich erneuert.",
        "Das Passwort muss mindestens 12 Zeichen haben.",
        "Der Schlüssel liegt beim Pförtner.",
        "Frag Jonas nach dem Token, er hat Zugriff.",
        "Le mot de passe doit contenir 12 caractères.",
        "La clé du succès est la patience.",
        "Demande le jeton à Camille.",
        "La contraseña debe tener 12 caracteres.",
        "La clave es probar antes de desplegar.",
        "Pide el token a Lucía.",
        "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor.",
        "def reset_password(user: User, token: str) -> None:",
        "if token.kind is TokenKind.IDENTIFIER: return self._name(token)",
        "class SecretStore(Protocol): ...",
        "SELECT id, password_hash FROM users WHERE email = $1;",
        "getUserAuthenticationTokenFromRequestHeader() is deprecated.",
        "test_user_can_reset_password_when_token_expired passes again.",
        "The primary key is order_id, the foreign key customer_id.",
        "Cache key: user:42:profile:v3",
        "The idempotency key is {uuid}.",
        "The Kubernetes secret is named payments-db-credentials.",
        "The token count was 18,204 in and 4,120 out.",
        "Run `pytest -k password` to see it fail.",
        "key: ctrl+shift+p opens the palette",
        "The model is claude-sonnet-4-5-20250929.",
        "Python 3.11.7, pygit2 1.18.2, libgit2 1.9.1",
        "/home/dana/projects/acme-api/src/main/java/io/acme/RefundService.java",
        "C:\\Users\\Dana\\AppData\\Local\\Programs\\Python\\Python311",
        "The wallet address is 0x{H40}.",
        "ETag: W/\"{H40}\"",
        "IPv6 2001:0db8:85a3:0000:0000:8a2e:0370:7334 was blocked.",
        "login: SSO only, password: disabled",
        "The password is in 1Password, vault Acme.",
        "msg_01{M22} was the last message of session {uuid}.",
        "GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "Set ANTHROPIC_API_KEY=sk-ant-api03-your-key-goes-here-please-replace in your shell.",
        "Keys look like sk_test_1234567890abcdefghijklmn in the docs.",
        "secret: <paste-the-secret-2-here>",
        "DATABASE_URL=postgres://USER:PASSWORD@HOST:5432/NAME",
        "The token is stored in the keychain, not on disk.",
        "The API key is read from `settings.mail.api_key`.",
    ),
    HELD_OUT: (
        "Tokens are counted with the provider's own tokenizer, not with ours.",
        "She forgot her password again, so support sent a reset link.",
        "Do not log the Authorization header.",
        "A secret must never be written to the transcript.",
        "Key findings: latency fell by 18 % and errors by half.",
        "The parser returns one token per line, with kind and position.",
        "The master key ceremony is planned for 2026-03-14.",
        "Password reset links are valid for 24 hours.",
        "Please pin numpy==2.1.3 and pandas>=2.2,<3.",
        "Use a passphrase of at least five words.",
        "The key was rotated on 2026-02-01 by Ines.",
        "CSRF tokens are bound to the session.",
        "The login page loads in 1.2 s on 3G.",
        "Credentials come from the instance role, there are none on disk.",
        "TOKEN=$(vault read -field=token auth/ci)",
        "password = getpass.getpass('Password: ')",
        "apiKey: import.meta.env.VITE_MAPS_KEY",
        "secret: {{ .Values.auth.secretName }}",
        'client_secret = "your-client-secret"',
        "DB_PASSWORD=********",
        "API_TOKEN=replace_me",
        "Authorization: Bearer $TOKEN",
        "postgres://user:password@localhost:5432/app",
        "curl -u \"$USER:$PASS\" https://ci.acme.io",
        "git bisect says {H12} is the first bad commit",
        "Reverted {H40} because of the migration.",
        "Correlation id {uuid}, see the dashboard.",
        "sha256sum: {H64}  release.tar.zst",
        "Container {H64} was killed by the OOM killer.",
        "The layer digest is sha256:{H64}.",
        'hash = "sha256:{H64}"',
        "resolved \"https://registry.npmjs.org/ms/-/ms-2.1.3.tgz#{H40}\"",
        "<img src=\"data:image/gif;base64,{S200}\">",
        "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ{S120} ops@bastion",
        "https://github.com/acme/api/blob/{H40}/src/app.py#L10-L42",
        "Video: https://www.youtube.com/watch?v={B11}",
        "The drive folder is https://drive.google.com/drive/folders/1{B32}",
        "Redis listens on 6379, Postgres on 5432, the proxy on 443.",
        "Version 10.4.2-beta.7+build.20260114 was tagged.",
        "Backups run at 02:15 and keep 35 days.",
        "He likes tabs, she likes spaces; the formatter decides.",
        "Die Straßenverkehrszulassungsordnung regelt das in § 29.",
        "Kraftfahrzeughaftpflichtversicherung und Bundesausbildungsförderungsgesetz sind lange Wörter.",
        "Passwörter werden nie im Klartext gespeichert.",
        "Der Token läuft nach 15 Minuten ab.",
        "Geheimnisse gehören in den Tresor, nicht ins Repository.",
        "Le jeton expire au bout de 15 minutes.",
        "Les mots de passe sont hachés avec bcrypt.",
        "La clé primaire de la table est client_id.",
        "El token caduca a los 15 minutos.",
        "Las contraseñas se guardan con bcrypt, coste 12.",
        "La clave primaria de la tabla es cliente_id.",
        "At vero eos et accusam et justo duo dolores et ea rebum, stet clita kasd gubergren.",
        "async def fetch_token(client: httpx.AsyncClient, *, scope: str) -> Token:",
        "for key, value in sorted(headers.items()): print(key, value)",
        "assert response.json()['token_type'] == 'bearer'",
        "type Secret struct { Name string; Version int }",
        "ALTER TABLE users ADD COLUMN password_changed_at timestamptz;",
        "shouldRefreshAccessTokenBeforeExpiry returns false in tests.",
        "The sort key is created_at, the partition key tenant_id.",
        "The cache key is sha1(url + etag).",
        "ARN arn:aws:iam::123456789012:role/deploy-prod",
        "Instance i-0{H16} in subnet-0{H16} was replaced.",
        "The feature flag is checkout_v2_enabled_2026.",
        "Call +49 30 1234567 or write to ops@example.com.",
        "In 2025 we had 14,302 sign-ups, 3,911 of them by SSO.",
        "Sprint 42 ends on Friday; 13 points are left.",
        "/var/lib/docker/overlay2/{H64}/merged",
        "node_modules/.pnpm/@babel+core@7.26.0/node_modules/@babel/core",
        "The invoice number is INV-2026-004711.",
        "Ticket PAY-1423 blocks INGEST-99.",
        "The passport office asks for form DS-11.",
        "pass the flag --no-verify to skip hooks",
        "1Password and Bitwarden are both allowed.",
        "evt_1{M23} was delivered twice, customer cus_{M14}.",
        "SLACK_TOKEN=xoxb-000000000000-000000000000-xxxxxxxxxxxxxxxxxxxxxxxx",
        "OPENAI_API_KEY=sk-proj-XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX",
        "Tokens start with ghp_ and have 36 characters, e.g. ghp_abcdefghijklmnopqrstuvwxyz0123456789.",
        "password = '<REDACTED>'",
        "mongodb://<username>:<password>@cluster0.example.net/test",
        "The secret is mounted at /run/secrets/db_password_v2.",
        "The API key comes from config.providers.mail.key2.",
    ),
}  # fmt: skip


def harmless(half: Half) -> list[str]:
    """Each sentence twice, with other values; alone, then between other lines."""
    dice = _random(half, "harmless")
    around = ("We talked about the next release.", "Nothing else is open.")
    found = []
    for text in _PLAIN[half]:
        found.append(_filled(text, dice))
        found.append("\n".join((around[0], _filled(text, dice), around[1])))
    return found


_FIELD_SIGNS = tuple("MHXULBSDTC")


def _filled(text: str, dice: random.Random) -> str:
    """Only our own fields are filled: code keeps its braces."""
    made, rest = "", text
    while rest:
        literal, brace, after = rest.partition("{")
        field, closing, tail = after.partition("}")
        ours = closing and (field == "uuid" or (field[:1] in _FIELD_SIGNS and field[1:].isdigit()))
        if brace and ours:
            made, rest = made + literal + fill(f"{{{field}}}", dice), tail
        else:
            made, rest = made + literal + brace, after
    return made

"""Fake secrets and harmless sentences, as tables.

Every value is put together at run time from a seeded generator: this file holds no string that a
scanner, ours or another, would take for a secret.
"""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Sequence
from dataclasses import dataclass

LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
MIXED = string.ascii_letters + string.digits
BASE32 = string.ascii_uppercase + "234567"
HEX = "0123456789abcdef"
BASE64 = MIXED + "+/"
URL64 = MIXED + "-_"


@dataclass(frozen=True)
class Leak:
    """`value` must not survive in `text`; `kind` is only the name of the row."""

    kind: str
    text: str
    value: str


def made(seed: str, alphabet: str, length: int) -> str:
    """Text that looks random and is the same in every run; it always holds a digit and a letter."""
    letters = "".join(random.Random(seed).choices(alphabet, k=length - 2))
    return letters[: length // 2] + "7" + ("A" if "A" in alphabet else "a") + letters[length // 2 :]


def jwt(seed: str) -> str:
    head = {"alg": "HS256", "typ": "JWT"}
    body = {"sub": seed, "iat": 1516239022, "role": "service"}
    parts = [
        base64.urlsafe_b64encode(json.dumps(p).encode()).decode().rstrip("=") for p in (head, body)
    ]
    return ".".join([*parts, made(seed, URL64, 43)])


def pem(label: str, seed: str, lines: int = 6) -> str:
    dashes = "-" * 5
    body = "\n".join(made(f"{seed}{n}", BASE64, 64) for n in range(lines))
    return f"{dashes}BEGIN {label}{dashes}\n{body}\n{dashes}END {label}{dashes}"


def _join(*parts: str) -> str:
    return "".join(parts)


def _prefixed() -> list[Leak]:
    """Tokens with a known format, each in another kind of sentence."""
    rows: Sequence[tuple[str, str, str]] = [
        (
            "aws access key",
            _join("AK", "IA", made("aws", BASE32, 16)),
            "The deploy user is {} in us-east-1.",
        ),
        (
            "aws session key",
            _join("AS", "IA", made("sts", BASE32, 16)),
            "aws_access_key_id = {}",
        ),
        (
            "github classic",
            _join("gh", "p_", made("ghp", MIXED, 36)),
            "Push with `git push https://{}@github.com/acme/api`",
        ),
        (
            "github oauth",
            _join("gh", "o_", made("gho", MIXED, 36)),
            "gh auth printed {} when I asked",
        ),
        ("github server", _join("gh", "s_", made("ghs", MIXED, 36)), "GITHUB_TOKEN={}"),
        (
            "github fine-grained",
            _join("github", "_pat_", made("a", MIXED, 22), "_", made("b", MIXED, 59)),
            "token: {}",
        ),
        (
            "gitlab",
            _join("gl", "pat-", made("glpat", URL64, 20)),
            "The mirror job uses {}, owned by Dana.",
        ),
        (
            "gitlab runner",
            _join("gl", "rt-", made("glrt", URL64, 20)),
            "register the runner with {}",
        ),
        (
            "slack bot",
            _join(
                "xo",
                "xb-",
                made("1", string.digits, 12).replace("a", "1"),
                "-",
                made("2", string.digits, 12).replace("a", "2"),
                "-",
                made("3", MIXED, 24),
            ),
            "SLACK_BOT_TOKEN={}",
        ),
        (
            "slack webhook",
            _join(
                "https://hooks.",
                "slack.com/services/T",
                made("t", UPPER, 8),
                "/B",
                made("b", UPPER, 8),
                "/",
                made("w", MIXED, 24),
            ),
            "Alerts go to {}",
        ),
        (
            "slack app",
            _join(
                "xa",
                "pp-1-",
                made("x", UPPER, 11),
                "-",
                made("y", string.digits, 13).replace("a", "1"),
                "-",
                made("z", HEX, 64),
            ),
            "Socket mode needs {}",
        ),
        ("stripe live", _join("sk", "_live_", made("sl", MIXED, 24)), "Refunds are made with {}."),
        (
            "stripe restricted",
            _join("rk", "_live_", made("rl", MIXED, 32)),
            "restricted key {} (read only)",
        ),
        ("stripe test", _join("sk", "_test_", "51", made("st", MIXED, 97)), "in test mode: {}"),
        ("google api key", _join("AI", "za", made("goog", URL64, 35)), "Maps uses {}"),
        ("google client secret", _join("GOC", "SPX-", made("gocspx", URL64, 28)), "client: {}"),
        (
            "google access token",
            _join("ya", "29.", made("ya29", URL64, 120)),
            "gcloud auth print-access-token gave {}",
        ),
        (
            "openai legacy",
            _join("sk-", made("o1", MIXED, 20), "T3Blbk", "FJ", made("o2", MIXED, 20)),
            "OPENAI_API_KEY={}",
        ),
        (
            "openai project",
            _join("sk-", "proj-", made("o3", URL64, 74), "T3Blbk", "FJ", made("o4", URL64, 74)),
            "the eval key is {}",
        ),
        (
            "anthropic",
            _join("sk-", "ant-", "api03-", made("a1", URL64, 93), "AA"),
            "ANTHROPIC_API_KEY={}",
        ),
        (
            "anthropic admin",
            _join("sk-", "ant-", "admin01-", made("a2", URL64, 93), "AA"),
            "usage report: {}",
        ),
        ("openrouter", _join("sk-", "or-", "v1-", made("or", HEX, 64)), "OpenRouter: {}"),
        ("deepseek style", _join("sk-", made("ds", HEX, 32)), "DeepSeek key {} for the batch job"),
        ("jwt", jwt("svc"), "Call it with `Authorization: Bearer {}`"),
        ("npm", _join("np", "m_", made("npm", MIXED, 36)), "//registry.npmjs.org/:_authToken={}"),
        (
            "pypi",
            _join("py", "pi-AgEIcHlwaS5vcmc", made("pypi", URL64, 150)),
            "twine upload -u __token__ -p {}",
        ),
        (
            "hugging face",
            _join("h", "f_", made("hf", string.ascii_letters, 34).replace("7", "q")),
            "huggingface-cli login --token {}",
        ),
        ("twilio key", _join("S", "K", made("tw", HEX, 32)), "Twilio API key {}"),
        (
            "sendgrid",
            _join("S", "G.", made("sg1", URL64, 22), ".", made("sg2", URL64, 43)),
            "Mail is sent with {}",
        ),
        (
            "telegram",
            _join(
                made("tg", string.digits, 10).replace("a", "3"), ":A", "A", made("tg2", URL64, 33)
            ),
            "The bot's token is {}",
        ),
        (
            "age",
            _join(
                "AGE-SECRET-",
                "KEY-1",
                made("age", _join("QPZRY9X8GF2TVDW0", "S3JN54KHCE6MUA7L"), 58),
            ),
            "sops decrypts with {}",
        ),
        ("digitalocean", _join("do", "p_v1_", made("do", HEX, 64)), "doctl uses {}"),
        ("shopify", _join("shp", "at_", made("sh", HEX, 32)), "Shop admin: {}"),
        ("databricks", _join("da", "pi", made("db", HEX, 32)), "databricks token {}"),
        ("vault", _join("hv", "s.", made("hv", URL64, 95)), "VAULT_TOKEN={}"),
        ("linear", _join("lin", "_api_", made("lin", MIXED, 40)), "Linear: {}"),
        (
            "grafana",
            _join("gl", "sa_", made("gr", MIXED, 32), "_", made("gr2", HEX, 8)),
            "Grafana service account {}",
        ),
        ("new relic", _join("NR", "AK-", made("nr", UPPER, 27)), "New Relic user key {}"),
        ("docker hub", _join("dckr", "_pat_", made("dk", URL64, 27)), "docker login -u acme -p {}"),
        ("groq", _join("g", "sk_", made("gq", MIXED, 52)), "GROQ_API_KEY={}"),
        ("xai", _join("x", "ai-", made("xai", MIXED, 80)), "Grok: {}"),
        ("replicate", _join("r", "8_", made("r8", MIXED, 37)), "Replicate token {}"),
        (
            "discord bot",
            _join(
                "MT",
                made("dc1", MIXED, 24),
                ".",
                made("dc2", URL64, 6),
                ".",
                made("dc3", URL64, 38),
            ),
            "discord bot token {}",
        ),
        (
            "postman",
            _join("PM", "AK-", made("pm1", HEX, 24), "-", made("pm2", HEX, 34)),
            "Postman {}",
        ),
        ("sentry", _join("sntr", "yu_", made("sn", HEX, 64)), "sentry-cli login {}"),
        (
            "tailscale",
            _join("ts", "key-auth-", made("ts1", MIXED, 12), "-", made("ts2", MIXED, 32)),
            "join the tailnet with {}",
        ),
        (
            "notion",
            _join(
                "nt", "n_", made("nt1", string.digits, 11).replace("a", "5"), made("nt2", MIXED, 35)
            ),
            "Notion integration {}",
        ),
        ("rubygems", _join("ruby", "gems_", made("rg", HEX, 48)), "gem push with {}"),
        ("square", _join("sq", "0atp-", made("sq", URL64, 22)), "Square: {}"),
        ("mailgun", _join("key", "-", made("mg", HEX, 32)), "Mailgun private API key {}"),
        ("mailchimp", _join(made("mc", HEX, 32), "-us", "12"), "mailchimp {}"),
        (
            "atlassian",
            _join("ATA", "TT3", made("at", URL64, 180), "=", made("at2", "0123456789ABCDEF", 8)),
            "Jira API token {}",
        ),
        (
            "airtable",
            _join("pa", "t", made("ai1", MIXED, 14), ".", made("ai2", HEX, 64)),
            "Airtable {}",
        ),
        ("figma", _join("fi", "gd_", made("fg", URL64, 40)), "Figma {}"),
        ("supabase", _join("sb", "p_", made("sb", HEX, 40)), "supabase login --token {}"),
        (
            "terraform cloud",
            _join(made("tf1", MIXED, 14), ".atlas", "v1.", made("tf2", URL64, 67)),
            "Terraform {}",
        ),
        (
            "azure ad",
            _join(made("az1", MIXED, 3), "8Q", "~", made("az2", MIXED, 34)),
            "AZURE_CLIENT_SECRET={}",
        ),
    ]
    return [Leak(kind, frame.format(value), value) for kind, value, frame in rows]


def _named() -> list[Leak]:
    """Values recognised only by their context."""
    word = _join("Tr0ub4dor", "&3x!9")
    plain = _join("hunter2", "Correct", "Horse9")
    rows: Sequence[tuple[str, str, str]] = [
        ("aws secret key", made("awssec", BASE64, 40), "aws_secret_access_key = {}"),
        ("aws secret key", made("awssec2", BASE64, 40), 'export AWS_SECRET_ACCESS_KEY="{}"'),
        (
            "azure storage",
            made("azst", BASE64, 86) + "==",
            "DefaultEndpointsProtocol=https;AccountName=acme;AccountKey={};EndpointSuffix=core.windows.net",
        ),
        ("twilio auth token", made("twa", HEX, 32), "twilio_auth_token: {}"),
        ("postgres url", plain, "The staging database is postgres://app:{}@db.internal:5432/app"),
        (
            "postgres url",
            word,
            "DATABASE_URL=postgresql+psycopg://app:{}@10.0.0.5/app?sslmode=require",
        ),
        ("mysql url", plain, "mysql://root:{}@127.0.0.1:3306/shop"),
        ("mongodb url", plain, "mongodb+srv://svc:{}@cluster0.ab1cd.mongodb.net/prod"),
        ("redis url", plain, "redis://:{}@cache:6379/0 is the session store"),
        ("amqp url", plain, "amqps://worker:{}@rabbit.internal//"),
        ("basic auth url", word, "curl https://deploy:{}@artifacts.acme.io/simple"),
        ("password", word, "password = {}"),
        ("password", plain, "password: {}"),
        ("password", plain, 'db_password="{}"'),
        ("password", plain, "- staging login: admin, password: `{}`"),
        ("password", word, "DB_PASSWORD='{}'"),
        ("password", plain, '{{"user": "ci", "password": "{}"}}'),
        ("password", plain, "The wifi password is {}"),
        ("password", plain, "Passwort: {}"),
        ("password", plain, "密码：{}"),
        ("api key", made("ak", MIXED, 32), "api_key: {}"),
        ("api key", made("ak2", HEX, 40), "X-Api-Key: {}"),
        ("api key", made("ak3", MIXED, 32), "Their API key is {}"),
        ("api key", made("ak4", URL64, 40), "CLOUDFLARE_API_TOKEN={}"),
        ("secret", made("cs", URL64, 40), "client_secret: '{}'"),
        ("secret", made("dj", MIXED, 50), 'SECRET_KEY = "{}"'),
        ("token", made("tk", MIXED, 40), "auth_token={}"),
        ("bearer", made("br", URL64, 43), 'curl -H "Authorization: Bearer {}" https://api.acme.io'),
        (
            "basic header",
            base64.b64encode(f"deploy:{plain}".encode()).decode(),
            "Authorization: Basic {}",
        ),
        ("curl user", plain, "curl -u deploy" + ":{} https://ci.acme.io/job"),
        (
            "wireguard",
            made("wg", BASE64, 43) + "=",
            "[Interface]\nPrivateKey = {}\nAddress = 10.8.0.2/24",
        ),
        (
            "azure sas",
            made("sas", MIXED, 43) + "%3D",
            "https://acme.blob.core.windows.net/x?sv=2022-11-02&sr=b&sig={}",
        ),
        (
            "signed url",
            made("sig", HEX, 64),
            "https://b.s3.amazonaws.com/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature={}",
        ),
    ]
    return [Leak(kind, frame.format(value), value) for kind, value, frame in rows]


def _blocks() -> list[Leak]:
    """Secrets of many lines; the value to look for is one of their lines."""
    rsa, openssh = pem("RSA PRIVATE KEY", "rsa"), pem("OPENSSH PRIVATE KEY", "ssh")
    pgp = pem("PGP PRIVATE KEY BLOCK", "pgp").replace("\n", "\nVersion: GnuPG v2\n\n", 1)
    service = json.dumps(
        {"type": "service_account", "private_key": pem("PRIVATE KEY", "sa") + "\n"}
    )
    indented = "key: |\n  " + pem("EC PRIVATE KEY", "ec").replace("\n", "\n  ") + "\nnext: 1\n"
    encrypted = pem("ENCRYPTED PRIVATE KEY", "enc").replace("\n", "\r\n")
    cut = pem("PRIVATE KEY", "cut").split("\n-----END")[0] + "\n\nThen the terminal stopped."
    legacy = rsa.replace("\n", "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,A1B2C3\n\n", 1)
    line = {
        "rsa": "rsa5",
        "ssh": "ssh5",
        "pgp": "pgp5",
        "sa": "sa5",
        "ec": "ec5",
        "enc": "enc5",
        "cut": "cut5",
    }
    texts = [
        ("pem rsa", f"The CA key:\n\n{rsa}\n\nKeep it.", "rsa"),
        ("pem openssh", f"```\n{openssh}\n```", "ssh"),
        ("pem pgp", pgp, "pgp"),
        ("pem in json", service, "sa"),
        ("pem in yaml", indented, "ec"),
        ("pem encrypted, crlf", f"Old key\r\n{encrypted}\r\n", "enc"),
        ("pem without its end", cut, "cut"),
        ("pem with headers", legacy, "rsa"),
        ("pem quoted", "> " + openssh.replace("\n", "\n> "), "ssh"),
    ]
    return [Leak(kind, text, made(line[seed], BASE64, 64)) for kind, text, seed in texts]


LEAKS: Sequence[Leak] = (*_prefixed(), *_named(), *_blocks())


def _harmless() -> list[str]:
    picture = base64.b64encode(bytes(random.Random("png").randbytes(600))).decode()
    sha1, sha256 = made("sha1", HEX, 40), made("sha256", HEX, 64)
    integrity = base64.b64encode(random.Random("i").randbytes(64)).decode()
    return [
        "Integration tests use a real database, not mocks.",
        "**Why:** mocks passed while the production migration failed; mock and production had drifted.",
        "The request id was 3f2b8c1e-9d47-4a6b-8f0e-1c2d3e4f5a6b.",
        "session 0192f0c1-7c3a-7e2b-9a51-5f1f2b3c4d5e#msg_01XFDUDYJgAACzvnptvVoYEL",
        f"The bug came in with commit {sha1}.",
        f"Bisect: good {sha1[:7]}, bad {sha1[8:20]}.",
        f"Image digest: acme/api@sha256:{sha256}",
        f"sha256 = {sha256}",
        f'"integrity": "sha512-{integrity}",',
        f'{{file = "click-8.2.1-py3-none-any.whl", hash = "sha256:{sha256}"}},',
        f"    --hash=sha256:{sha256} \\",
        f"![logo](data:image/png;base64,{picture})",
        f"golang.org/x/text v0.14.0 h1:{base64.b64encode(random.Random('g').randbytes(32)).decode()}",
        "The brand colours are #1a2b3c, #ff8800 and rgba(12, 34, 56, 0.7).",
        "/home/dana/projects/acme-api/src/main/java/io/acme/payments/RefundService.java",
        "C:\\Users\\Dana\\AppData\\Local\\Programs\\Python\\Python311\\python.exe",
        "Docs: https://docs.python.org/3/library/hashlib.html#hashlib.sha256",
        "https://github.com/acme/api/blob/9f8e7d6c5b4a39281706f5e4d3c2b1a098765432/src/app.py#L10-L42",
        "Tickets are at https://linear.app/acme/issue/INGEST-1423/pipeline-drops-rows",
        "Design: https://www.figma.com/file/hT3kq9PzVbWm2sXyLr8cNd/Checkout?node-id=12%3A345",
        "Meeting notes: https://docs.google.com/document/d/1aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789abcdefg/edit",
        "The video is https://www.youtube.com/watch?v=dQw4w9WgXcQ",
        "Passwords are rotated every 90 days; ask Dana.",
        "The password is in 1Password, vault «Acme».",
        "password: see 1Password",
        "password: str",
        "password: ${DB_PASSWORD}",
        "password = os.environ['DB_PASSWORD']",
        "api_key: str | None = None",
        'api_key = settings.get("api_key")',
        "api_key: <your key here>",
        "api_key=YOUR_API_KEY",
        "token: {{ secrets.GITHUB_TOKEN }}",
        "The token limit is 200000 and max_tokens=4096.",
        "tokens: 183,204 in, 4,120 out",
        "secret: none",
        "Secrets are kept in Vault under kv/prod/payments.",
        "token_count = 12345678901234567890",
        "The API key is read from ANTHROPIC_API_KEY.",
        "Never commit keys that start with sk-ant- or AKIA.",
        "client_secret is required by the OAuth flow, but PKCE makes it optional.",
        "Set `SECRET_KEY` from the environment; the default raises ImproperlyConfigured.",
        "The keyword argument `password` was renamed to `passphrase` in v3.",
        "The database URL has the form postgres://USER:" + "PASSWORD@HOST/NAME.",
        "DATABASE_URL=postgres://localhost:5432/app_test",
        "DATABASE_URL=postgres://user:" + "password@localhost/db",
        "redis://localhost:6379/0",
        "ssh git@github.com:acme/api.git",
        "git clone https://oauth2@gitlab.acme.io/team/repo.git",
        "Contact dana@example.com or +49 170 1234567.",
        "Das Passwort wird alle 90 Tage geändert; Zuständig ist Jürgen Müller.",
        "Das Team nutzt für Geheimnisse den Tresor, nie die .env-Datei.",
        "密码每90天更换一次，请联系王芳。",
        "用户喜欢简洁的回答，不要使用表情符号。",
        "パスワードは1Passwordにあります。",
        "Ship it 🚀🚀 the release was great 🎉 (v2.14.0-rc.3+build.20260101)",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl dana@laptop",
        f"{'-' * 5}BEGIN CERTIFICATE{'-' * 5}\n{made('crt', BASE64, 64)}\n{'-' * 5}END CERTIFICATE{'-' * 5}",
        f"{'-' * 5}BEGIN PUBLIC KEY{'-' * 5}\n{made('pub', BASE64, 64)}\n{'-' * 5}END PUBLIC KEY{'-' * 5}",
        "The account id is 123456789012 and the role arn:aws:iam::123456789012:role/deploy.",
        "i-0abcd1234ef567890 runs in subnet-0bb1c79de3EXAMPLE.",
        "The error was E11000 duplicate key error collection: shop.orders index: _id_ dup key: 17",
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "x = 0xDEADBEEFCAFEBABE0123456789ABCDEF",
        "test_user_can_reset_password_when_token_has_expired_and_link_is_old passes",
        "Use getUserAuthenticationTokenFromRequestHeaderOrCookie() instead.",
        "The Kubernetes secret is named payments-db-credentials-production.",
        "primary_key: order_id; foreign_key: customer_id",
        "sort_key = (created_at, id)  # the cache key is user:42:profile",
        "pwd = /home/dana/work",
        "passwd: files systemd",
        "key: ctrl+shift+p opens the command palette",
        'ETag: W/"33a64df551425fcc55e4d42a148795d9f25f89d4"',
        "trace_id=4bf92f3577b34da6a3ce929d0e0e4736 span_id=00f067aa0ba902b7",
        "anchors: [src/app.py::run@1f2e3d4c5b6a, docs/adr/0007-use-postgres.md]",
        "source: [5f1f2b3c-7c3a-4e2b-9a51-0192f0c17c3a#msg_01AbCdEfGhIjKlMnOpQrStUv]",
        "MD5 d41d8cd98f00b204e9800998ecf8427e is the hash of nothing.",
        "The wallet's public address is 0x71C7656EC7ab88b098defB751B7401B5f6d8976F.",
        "IPv6 2001:0db8:85a3:0000:0000:8a2e:0370:7334 was blocked at 12:34:56.",
        "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor.",
        "basic auth is off; the Authorization: Bearer header is required",
        "The old API uses basic authentication, and Basic Understanding is a book.",
        "The basic configuration is in setup.cfg.",
        "Authorization: Bearer <token>",
        "He said the secret is simplicity, and the key is consistency.",
        "Their password policy: at least 12 characters, one digit.",
        "login: SSO only, password: disabled",
        "The model is claude-sonnet-4-5-20250929; the fallback is gpt-5-mini-2025-08-07.",
    ]


HARMLESS: Sequence[str] = tuple(_harmless())


def _rare() -> list[Leak]:
    """Kinds that few scanners know."""
    rows: Sequence[tuple[str, str]] = [
        ("dynatrace", _join("dt0", "c01.", made("ra", UPPER, 24), ".", made("rb", UPPER, 64))),
        ("easypost", _join("EZ", "AK", made("rc", MIXED, 54))),
        ("frame.io", _join("fio", "-u-", made("rd", URL64, 64))),
        ("prefect", _join("pn", "u_", made("re", LOWER, 36))),
        ("pulumi", _join("pu", "l-", made("rf", HEX, 40))),
        ("readme", _join("rd", "me_", made("rg", LOWER, 70))),
        ("shippo", _join("shippo", "_live_", made("rh", HEX, 40))),
        ("doppler", _join("dp.", "pt.", made("ri", MIXED, 43))),
        ("duffel", _join("duffel", "_live_", made("rj", URL64, 43))),
        ("infracost", _join("ic", "o-", made("rk", MIXED, 32))),
        ("clojars", _join("CLO", "JARS_", made("rl", LOWER, 60))),
        ("octopus", _join("AP", "I-", made("rm", UPPER, 26))),
        ("langsmith", _join("lsv2", "_pt_", made("rn", HEX, 32), "_", made("ro", HEX, 10))),
        ("sourcegraph", _join("sg", "p_", made("rp", HEX, 40))),
        ("heroku", _join("HR", "KU-AA", made("rq", URL64, 58))),
    ]
    return [Leak(kind, f"We use {value} for {kind}.", value) for kind, value in rows]


RARE: Sequence[Leak] = tuple(_rare())

# Secrets that only the library finds.
ONLY_THE_LIBRARY: Sequence[Leak] = tuple(
    # Bare: a sentence would give the value away to our signs.
    Leak(kind, value, value)
    for kind, value in (
        ("intra 42", _join("s-s4", "t2ud-", made("i42", HEX, 64))),
        ("gitlab session", _join("_gitlab", "_session=", made("gls", HEX, 32))),
    )
)

"""Secrets recognised by the words around them, and harmless values in similar sentences."""

from __future__ import annotations

import random
import string
from pathlib import Path

import pytest

from reverie.memory.secrets import find_secrets, redact
from reverie.memory.secrets.scrubber import SecretScrubber

_DICE = random.Random("sentences")


def _made(alphabet: str, length: int) -> str:
    while True:
        made = "".join(_DICE.choices(alphabet, k=length))
        if any(char.isdigit() for char in made) and any(char.isalpha() for char in made):
            return made


HEX, LOWER, MIXED = (
    "0123456789abcdef",
    string.ascii_lowercase + string.digits,
    string.ascii_letters + string.digits,
)
KEY, HASH, SMALL = _made(MIXED, 28), _made(HEX, 40), _made(LOWER, 20)
CHOSEN = "hunter" + "2-blue-Falcon"

NAMED = [
    ("the token of the staging server is {}", KEY),
    ("the token of the staging server is {}", HASH),
    ("to see the stable's camera: user farm, key {}", "Rooster" + "8083"),
    ("para la cámara del gallinero: usuario granja, clave {}", "Gallo" + "8083"),
    ("Log in to the VPN with user nk and password {}", "FjordyKO" + "Htp="),
    ("clé wifi de la salle des fêtes {}", "orgue" + "074668"),
    ("the keypad at the cabin's door opens with {}", "#93" + "680"),
    ("sqlplus scott/{}@orcl works from the jump host", "tigRer" + "YN3k"),
    ("my password for the wiki is {}", CHOSEN),
    ("my password for the wiki is {}.", "correct-horse-" + "battery-staple"),
    ("fyi the grafana admin pw is {}", "Zk8#" + "tulip"),
    ("our npm registry credential: {}", SMALL),
    ('passphrase of the backup: "{}"', "blue monkey " + "eats 7 pears"),
    ("PIN for the office door is {}", "47" + "13"),
    ("the passcode is {}", "90" + "214"),
    ("my sudo password's {}", "hunter2" + "Falcon"),
    ("wifi: AcmeGuest / {}", "Sommer" + "2024!"),
    ("new admin creds: superadmin:{}", "Fj39!" + "kdlq"),
    ("Jenkins token (read only): {}", HASH),
    ("Datadog API key {} goes into the agent", HASH),
    ("set JWT_SECRET to {}", SMALL),
    ("TOTP seed is {}", "KVKFKRCPNZ" + "QUYMLX"),
    ("cookie: sessionid={}", SMALL),
    ("Use {} as the password for the test database.", CHOSEN),
    ("{} is the token for the registry", SMALL),
    ("[{}] is the API key", KEY),
    ("we rotated the token; it's now {}", HASH),
    ("Das WLAN-Passwort ist {}", "Kaffee4" + "Alle"),
    ("Der PIN-Code fürs Büro lautet {}.", "55" + "19"),
    ("Zugangsdaten Staging: admin / {}", "Tr0ub4dor" + "&3"),
    ("Mon mot de passe GitLab c'est {}", "Baguette" + "!42"),
    ("Le jeton d'accès est {}, merci.", KEY),
    ("usuario: ana, contraseña: {}", "p4s0" + "d0ble"),
    ("ayer cambié la contraseña del router a {}", "Lluvia%" + "Marzo77"),
    ("the basic auth of the wiki is editor:{}", "gr33n" + "Kettle%8"),
    ("For the guest wifi use {}, please", "MapleSyrup" + "2031!"),
    ("le code du coffre, c'est {}", "31-K-" + "906"),
    ("curl https://api.telegram.org/bot{}/getUpdates", "7012345678:AA" + _made(MIXED, 33)),
    ("the recovery key of the disk is {}", "-".join(["482913", "105577", "930264", "718835"] * 2)),
    ("la frase de recuperación es {}.", "olmo nube pan tren luz mar sol rio flor luna mesa gato"),
    ("mi clave de AWS es {}", KEY),
    ("alarm code for the warehouse: {}", "4802" + "16"),
    ("The door code of the flat is {}#, second floor", "55" + "28"),
    ("el pin de la SIM es {} y el PUK lo tengo en casa", "60" + "47"),
    ("you can log in with ada / {} on the test box", "qx7!" + "Lantern"),
    ("Zugangsdaten fürs Intranet: mmuster, {}", "Herbst" + "2031!laub"),
    ("unlock the zip with {}", "Zipper-" + "3301-open"),
    ("please remember my laptop passphrase, it's {}", "seven purple " + "otters dance"),
    ("identifiant: jdupont / mdp: {}", "Vélo-" + "vert-908"),
    ("Why is it invalid when I enter {}! as the admin password?", "marmot2" + "Falls"),
    ("redis-cli -a {} ping", SMALL),
    ("mysql -u root -p{} shop", "S3cret" + "Pw9"),
    ("machine api.acme.io login ci password {}", "S3cret" + "Pw9"),
    ("<password>{}</password>", CHOSEN),
    ("Our mail provider wants {} in every request.", KEY),
    ("the tool shed opens with {}", "Finch#" + "3304"),
    ("WLAN im Keller: Netz 'Rohr2', Schlüssel {}", "tanne2019" + "Zz"),
    ("melde dich mit karl / {} am Server an", "Nebel.Horn." + "71"),
    ("der Zugangscode zum Archiv ist jetzt {}", "K72" + "15B"),
    ("le mot de passe du NAS est {}", "renard_gris" + "_63"),
    ("el wifi de la tienda: {}", "olivo.seco." + "2029"),
    (
        "wallet seed phrase: {}",
        "river stone amber copper lantern maple " + "winter orbit violet tiger harbor meadow",
    ),
    # Mistyped, plain or joined words, and what people dial.
    ("so the passwrod I set was {} but it fails", "Grey" + "Heron_440"),
    ("la contrseña del router es {}", "Girasol-" + "2021x"),
    ("password is {}, don't tell", "sword" + "fish"),
    ("Passwort: {}", "Schmetter" + "ling"),
    ("le mot de passe est {}", "grenou" + "ille"),
    ("use {} as the password", "BlueOtter" + "Lamp"),
    ("My laptop passphrase is {} so you can write the script", "copper violin " + "drifts northward"),
    ("my vault unlocks with {}, add that to the script", "thimble orchid " + "canyon rust"),
    ("wifi for guests: {}, the network is called Birkenhof", "tulpenzwiebel" + "2019"),
    ("mdp wifi bureau {} (le réseau 5 GHz)", "croissantchaud" + "1975"),
    ("SSID Nordlicht, key {}", "schneeflocke" + "99"),
    ("zip is encrypted, use {} to open it", "invoices-" + "Q3-walrus"),
    ("the archive is password protected ({})", "Quokka." + "2020"),
    ("alarm code at the warehouse {}, then press the hash key", "73" + "91"),
    ("The PIN for the company card ({}) goes on the sheet", "70" + "01"),
    ("Can you remember that my bike lock is {}?", "0-6-" + "3-8"),
    ("el código del portal es {}#", "22" + "80"),
    ("Schließfach 12, Kombination {}", "88" + "41"),
    ("{} — that's my 2fa backup code", "a5eqd-" + "baiax"),
    ("licence key for the tool is {}, seat 3", "KXQPD-WMRTV-" + "JHGBN-ZZLQA-PWEUR"),
    ("Grafana admin/{}", "Hop3ful." + "Mole"),
    ("smbclient //nas/share -U ops%{}", "Turnip" + "44x"),
    ("the answer to my security question is {}", "Throg" + "morton"),
    ("card for the test shop, cvv {}", "7" + "13"),
    # What lets in, how a dial is turned, and made-up answers.
    ("{} lets me into the payroll laptop, the other is unchanged", "Gravel7" + "trowel"),
    ("the shed opens with {}, shut it after you", "62*" + "18"),
    ("Auntie's safe: turn {}, then pull", "right to 21, left to 64, " + "right to 9"),
    ("They texted me a one-off: {}. Where does it go?", "730 " + "284"),
    ("When they want the memorable word, say '{}'", "bramble" + "gate"),
    ("If the bank asks for my first pet, I told them {}", "Admiral " + "Biscuit"),
    # Below a heading, in a column, on the next line.
    ("safe combination\n  {}\nturn left first", "34-11-" + "27"),
    ("here is the encryption key in base64\n\n{}\n\nuse it please", KEY + "+x="),
    ("open the keepass file with\n{}\nand tell me", "seven grey otters " + "sing at noon"),
    ("Passwords:\n- jira: Kranich_41\n- wiki: {}\n", "Pelikan" + "_88"),
    ("Recovery codes:\n- 8fk2-99dj\n- {}\n", "1lq0-" + "x83m"),
    ("DB creds below\n```\napp_user\n{}\n```", "Fjord=" + "Basalt3"),
    ("| service | user | password |\n|---|---|---|\n| jira | bot | {} |", "Tr0ut+" + "Ladder"),
    ("| gate | code |\n| north | {} |\n| south | closed |", "29" + "14C"),
    ("name,login,password\nfoo,foo@x.org,{}\nbar,bar@x.org,-", "Zebra-" + "Mint-5"),
    ("12 words for metamask\n{}", "angle brisk cactus dwarf ember flute " + "grape hover ivory jelly knock lemon"),
    # Spoken of nearby, before or behind.
    ("it should be {}, that old pw of the printer", "gr33nLadder7"),
    ("hab {} notiert, das Passwort vom Router", "Zaunkönig88x"),
    ("the zoom passcode {} is the same each week", "pT6wqa"),
    ("the foyer code is {} until the guards change it", "7741"),
    ("la clave de la alarma del almacén es {}", "8316"),
    ("docker run -e POSTGRES_PASSWORD={} postgres", "marbleCanoe"),
    ("root:{} opens the old recorder", "sakura9921q"),
    ("the vault's password is {}", "amber lantern seldom whispers"),
    # Signs together: behind a verb, in a question, before what it opens, a word for the phone.
    ("punch in {} at the garage door", "73" + "18"),
    ("{} gets you through the side door", "48" + "061"),
    ("Q: what's the alarm code? A: {}", "59" + "37"),
    ("why is my password {} rejected?", "turnip" + "Boat_8"),
    ("the safe word with the alarm company is {}", "marzi" + "pan"),
    ("am Gartentor {} eingeben", "64" + "92"),
    ("le portail s'ouvre avec {}", "38" + "07"),
    ("para desbloquear el móvil pon {}", "91" + "5273"),
    ("new code of the shed: {}, tell no one", "7" + "204"),
    ("meine passphrase ist {} und sonst nichts", "vier Krähen auf dem Dach"),
]  # fmt: skip

HARMLESS = [
    "license: Apache-2.0",
    "Lizenz: GPL-3.0-or-later",
    'license = "MIT OR LGPL-2.1-only"',
    "License: BSD-3-Clause",
    "the gate closes at 1900",
    "locker 1234 is mine",
    "our wifi is called Rosengarten",
    "you can log in with your Google account",
    "das Tor schließt um 1900",
    "le coffre pèse 450 kg",
    "la puerta 204 no abre",
    "try version 4.2.1 of the login package",
    "the code freeze starts 2026-12-01",
    "the wifi in room Berlin2024 is slow",
    "the fair opens with 12000 visitors",
    "wifi for the guests ends in July2027 for good",
    "user nk and the usual suspects reviewed build4711",
    "sqlplus is at /opt/oracle/bin",
    "ssh-keygen -lf key.pub prints SHA256:1FupneTtjlaztGjtLiyxVUscXI5L/XyBXvvwcMQUrj8 as the fingerprint",
    "The passphrase is asked for twice.",
    "Unlock the level with 3 stars.",
    "Ask Mira for the token, she keeps it in the vault.",
    "The password policy requires 12 characters.",
    "The rate limiter is a token bucket with 100 tokens per second.",
    "PIN the dependency to 1.2.3 until the bug is fixed.",
    "Pin 12 on the ESP32 is the LED",
    "Secret santa is on December 12 at 18:00.",
    "We need a key: value store.",
    "Tokens per second: 153.2 (p95 98.1)",
    "The access token expires at 2026-02-01T12:00:00Z",
    "Error 401: invalid token (request id 7f3a9c1b)",
    "Key size: RSA-4096, AES-256-GCM",
    "session key exchange uses X25519MLKEM768",
    "if password != confirm_password2: raise ValueError",
    "token = lexer.next_token2()",
    "The key bindings file is keymap.v3.json",
    "The idempotency key is 3f2b8c1e-9d47-4a6b-8f0e-1c2d3e4f5a6b.",
    "commit 3f786850e387550fdab836ed7e6dc881de23001b adds token refresh",
    "    --- PASS: TestState_Load/migrates_old_lines (0.00s)",
    '"output_tokens":1},"requestId":"req_011CWuvEJ8GEqTCifD98Hq1S"',
    '"login":"dana","node_id":"MDQ6VXNlcjM1MTkzNA=="',
    "class InputUnionMember1FunctionCallOutputParts: ...",
    "password: <your-password-2>",
    "token: ${{ secrets.DEPLOY_TOKEN2 }}",
    "const key2 = process.env.MAIL_API_KEY;",
    "GITHUB_TOKEN=ghp_" + "x" * 36,
    "Keys look like sk_test_" + "1234567890abcdefghijklmn in the docs.",
    "The default login is test / test123.",
    "The shop opens with 20 new tables.",
    "MAIL_PASSWORD=${MAIL_PASSWORD:?must be set}",
    "For the wifi use channel 11.",
    "The access code changes on 2026-11-16.",
    "The WLAN key is on page 12 of the manual.",
    "The wifi in room B12 is slow.",
    "Der Zugangscode hat 6 Ziffern.",
    "The password column is called user_pw_2024.",
    "Das Passwort muss mindestens 12 Zeichen haben.",
    "Der Schlüsselbund hat 12 Schlüssel",
    "Les jetons sont comptés par tiktoken 0.7",
    "La clave está en el capítulo 7",
    "Our host key fingerprint is SHA256:uNiVztksCsDhcc0u9e8BgrJXVGDt3ybpS6i7KHg7lVo",
    "We pass user_id2 to fetch_v2",
    "5. Pass `AgentSession` to the mode, which will use InteractiveMode",
    "The door code changed in 2019",
    "error code 40826 on the door controller",
    "the lock is held for 5000 ms",
    "combination of 3-4-5 triangles",
    "The disk is encrypted with AES-256-XTS, the backup using ChaCha20-Poly1305",
    "the serial number of the laptop is C02XK1ZZJGH5",
    "passwd: Authentication token manipulation error",
    "The password is case-sensitive.",
    "Das Passwort ist falsch",
    "open the file with\nthe editor of your choice",
    "Passwords:\n- at least 12 characters\n- rotate every 90 days",
    "| service | password |\n|---|---|\n| jira | see vault |\n| wiki | SSO |",
    "| country | code |\n|---|---|\n| DE | 0049 |",
    "| setting | key |\n|---|---|\n| prices | prices.*.input |",
    "user,role,token_limit\nana,admin,200000",
    "see https://www.figma.com/file/hT3kq9PzVbWm2sXyLr8cNd/Checkout for the token screens",
    "db:\n  password: !vault |\n    (see the notes on Ansible)",
    "ftp://anonymous:anonymous@ftp.example.org/pub still answers",
    "The hook in PostCommit (the second pass) reads the queue",
    "export DB_PASSWORD=$VAULT_DB_PASSWORD before you start it",
]


@pytest.mark.parametrize(("frame", "value"), NAMED, ids=[frame for frame, _ in NAMED])
def test_a_named_value_is_taken_out(frame: str, value: str):
    redacted = redact(frame.format(value)).text
    assert value not in redacted
    assert "secret removed" in redacted


@pytest.mark.parametrize("text", HARMLESS)
def test_a_sentence_without_a_secret_stays(text: str):
    assert redact(text).text == text


def test_all_recovery_codes_of_a_sentence_go():
    text = "my 2FA recovery codes are 4f8a-9c2e and 77b1-d03f"
    assert redact(text).text == (
        "my 2FA recovery codes are (secret removed - recovery code) and (secret removed - recovery code)"
    )


def test_the_words_around_a_value_stay():
    text = f"Remember: the token of the staging server is {KEY}, ask Mira for a new one."
    assert redact(text).text == (
        "Remember: the token of the staging server is (secret removed - api key), ask Mira for a new one."
    )


def test_the_next_sentence_is_not_about_it():
    text = f"Ask Mira for the token. Commit {HASH} fixed it."
    assert find_secrets(text) == ()


def test_a_secret_that_was_seen_whole_is_known_when_it_is_quoted_cut(tmp_path: Path):
    scrubber = SecretScrubber(tmp_path / "allowed-secrets.json")
    assert scrubber.scrub(f"The token is {HASH}.").kinds == ("api key",)
    cut = scrubber.scrub(f"- said: «… {HASH[:30]}…»")
    assert HASH[:12] not in cut.text
    assert cut.kinds == ("part of a secret",)
    assert scrubber.scrub("Nothing of it here: 0123456789ab.").kinds == ()

"""Paths are an attack surface: a corpus of hostile ones, a corpus of honest ones."""

import os
import posixpath
import unicodedata
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.memory.format.paths import Accepted, Refused, check_directory, check_name

HOME = "/home/mira"
DATA = Path(os.environ.get("REVERIE_DATA", Path(__file__).parents[2] / "../shared/data"))
LFI = DATA / "paths/lfi_jhaddix.txt"

RULES = {
    "empty": ["", " ", "   "],
    "control character": ["\0.md", "a\0.md", "a.md\0.txt", "a\n.md", "a\r.md", "a\t.md", "\x7f.md"]
    + [f"a{chr(code)}b.md" for code in (*range(1, 32), *range(0x80, 0xA0))]
    + ["a\u2028.md", "a\u2029.md"],
    "invisible character": [
        *(f"a{char}b.md" for char in "\u00ad\u200b\u200e\u200f\u2060\ufeff\u061c\u180e"),
        *(f"{char}dm.b" for char in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"),
        "a\u200d.md",
        ".\u200d./x.md",
        "\u200cx.md",
        "ن\u200c\u200cن.md",
        "a\udcff.md",
        "\ud800.md",
        "a\ue000.md",
        "a\uffff.md",
        "a\ufdd0.md",
        "a\U000e0041.md",
    ],
    "Windows path": [
        "a\\b.md",
        "..\\x.md",
        "\\x.md",
        "\\\\host\\x.md",
        "//host/x.md",
        "C:x.md",
        "c:/x.md",
        "Z:\\x.md",
    ],
    "encoded character": [
        *(
            f"{dots}{slash}x.md"
            for dots in ("%2e%2e", "%2E%2e", ".%2e", "%252e%252e")
            for slash in ("/", "%2f", "%252F", "%5c")
        ),
        "%c0%ae%c0%ae/x.md",
        "%u002e%u002e/x.md",
        "%%32%65%%32%65/x.md",
        "a%00.md",
        "%25%32%65.md",
        "x%20y.md",
    ],
    "disguised separator": [
        *(
            f"a{char}b.md"
            for char in "\uff0f\u2044\u2215\u29f8\u2216\uff3c\ufe68\u29f5\u29f9\u2571\u2572\u3033"
        ),
        *(f"{dot}{dot}/x.md" for dot in "\uff0e\u2024\ufe52"),
        "\u2025/x.md",
        "\u2026/x.md",
        "..\uff0fx.md",
        "x\uff0emd",
        "℀.md",
        "℅.md",
        "\uff5e/x.md",
        "c\uff1ax.md",
    ],
    "absolute path": ["/x.md", "/etc/x.md", "/../x.md", "~/x.md", "~root/x.md", "~"],
    "parent traversal": [
        "..",
        "../x.md",
        "a/../x.md",
        "a/../../x.md",
        "a/b/../../../x.md",
        "x.md/..",
        "../../../../etc/x.md",
    ],
    "empty component": [".", "./x.md", "a/./x.md", "a//x.md", "a/x.md/", "x/", "a///b.md"],
    "hidden file": [".md", ".x.md", ".git/x.md", "a/.ssh/x.md", ".../x.md", "..x.md", ".env"],
    "trailing dot or space": [
        "x.md.",
        "x.md ",
        "x.md..",
        "a /x.md",
        "a./x.md",
        " x.md",
        "a/ x.md",
        "x.md . ",
        "a../x.md",
    ],
    "normalisation": [
        "ＣＯＮ.md",
        "ｘ.md",
        "ﬁle.md",
        "x².md",
        "½.md",
        "№.md",
        "\u212aelvin.md",
        "a\u00a0b.md",
        "a\u3000b.md",
        "a\u2003b.md",
        "a\u1680b.md",
        "x.ｍd",
        "a\u037eb.md",
        "a\u1fefb.md",
        "com¹.md",
    ],
    "not portable": [
        "ab:c.md",
        "a*.md",
        "a?.md",
        "a|b.md",
        "a<b.md",
        "a>b.md",
        'a"b.md',
        "GIT~1.md",
        "a/~x.md",
        "a/b~2.md",
    ],
    "device name": [
        f"{name}{tail}"
        for name in (
            "con",
            "CON",
            "Prn",
            "aux",
            "NUL",
            "com1",
            "COM9",
            "lpt1",
            "LPT0",
            "clock$",
            "conin$",
            "CONOUT$",
        )
        for tail in (".md", ".x.md", " .md", "/x.md")
    ],
    "not markdown": ["x", "x.txt", "x.md.exe", "x.MD", "passwd", "a/b", "x.md5", "x.md/y", "md"],
    "no word": ["-.md", "___.md", "a/--/x.md", "。。/x.md", "·.md", "a/(.md", "!!.md"],
    "index twin": [
        "memory.md",
        "Memory.md",
        "team/memory.md",
        "mEMORY.md",
    ],
    "too long": [
        "x" * 253 + ".md",
        "é" * 127 + ".md",
        "a/" * 8 + "x.md",
        "a" * 200 + "/" + ("b" * 200 + "/") * 5 + "x.md",
    ],
}
HOSTILE = [(rule, name) for rule, names in RULES.items() for name in names]

DIRECTORY_RULES = {
    "empty": ["", " "],
    "control character": ["/home/mira/\0", "/home/mira/a\nb", "\0", "/home/mira/\x1b[2J"],
    "invisible character": [
        "/home/mira/\u202emd",
        "/home/mira/a\u200b",
        "/home/mira/\udcff",
        "/home/mira/\ue000",
    ],
    "Windows path": [
        "C:\\",
        "C:/",
        "C:\\Users\\mira",
        "c:memory",
        "\\\\host\\share\\m",
        "//host/share/m",
        "//x",
        "\\m",
        "/home/mira\\m",
        "~\\m",
    ],
    "encoded character": [
        "/home/mira/%2e%2e/x",
        "/home/mira/%252e",
        "%2fhome%2fmira",
        "/home/mira/%00",
    ],
    "disguised separator": [
        "/home/mira/．．/x",
        "/home／mira/x",
        "/home/mira/‥/x",
        "～/m/x",
        "/home/mira/a∕b",
    ],
    "not absolute": [
        "memory",
        "./memory",
        "a/b/c",
        "~mira/m",
        "~root",
        "$HOME/m",
        "..",
        "../m",
        ".",
        "file:///home/m",
    ],
    "parent traversal": [
        "/..",
        "/home/..",
        "/home/mira/../../etc/x",
        "~/..",
        "~/../root/m",
        "/home/mira/m/..",
        "/a/../b/c",
    ],
    "trailing dot or space": ["/home/mira/m ", "/home/mira/m.", "/home/ mira/m", "/home/mira /m"],
    "too shallow": ["/", "/.", "/./", "/home", "/home/", "/tmp", "/x/.", "/./x"],
    "too long": ["/home/" + "x" * 256, "/home" + "/abcdefgh" * 500],
    "reserved place": [
        "~",
        "~/",
        "~/.",
        "/home/mira",
        "/home/mira/",
        "/home//mira",
        *(
            f"/{name}/reverie/m"
            for name in (
                "bin",
                "boot",
                "dev",
                "etc",
                "lib",
                "lib64",
                "proc",
                "sbin",
                "sys",
                "usr",
                "System",
                "ETC",
                "private/etc",
            )
        ),
        *(
            f"~/{name}"
            for name in (
                ".ssh",
                ".gnupg/x",
                ".aws",
                ".kube/m",
                ".docker",
                ".git",
                "src/.git/m",
                ".SSH",
            )
        ),
        "/home/other/.ssh",
        "/srv/repo/.git/memory",
    ],
}
HOSTILE_DIRECTORIES = [(rule, text) for rule, texts in DIRECTORY_RULES.items() for text in texts]

LEGITIMATE = [
    "user_role.md",
    "feedback_testing.md",
    "a.md",
    "1.md",
    "MEMORY.md",
    "team/MEMORY.md",
    "team/x.md",
    "build-tip.md",
    "Notes.md",
    "logs/2026/11/2026-11-15.md",
    "README.md",
    "v1.2.3.md",
    "a.b.c.md",
    "x_y-z.md",
    "-dash.md",
    "_under.md",
    "C++.md",
    "c#.md",
    "100%.md",
    "a+b=c.md",
    "(draft).md",
    "[wip].md",
    "{x}.md",
    "a&b.md",
    "it's.md",
    "a,b;c.md",
    "$cost.md",
    "a@b.md",
    "!now.md",
    "^x.md",
    "a~b.md",
    "`x`.md",
    "größe.md",
    "straße.md",
    "çağrı.md",
    "İstanbul.md",
    "ışık.md",
    "naïve.md",
    "señor.md",
    "où.md",
    "Ångström.md",
    "smörgåsbord.md",
    "Łódź.md",
    "žluťoučký.md",
    "kůň.md",
    "Đorđe.md",
    "þing.md",
    "æble.md",
    "œuvre.md",
    "ħobż.md",
    "tiếng_việt.md",
    "ʻokina.md",
    "col·lecció.md",
    "привет.md",
    "Ёлка.md",
    "Київ.md",
    "България.md",
    "ћирилица.md",
    "қазақ.md",
    "καλημέρα.md",
    "Ωμέγα.md",
    "Հայերեն.md",
    "ქართული.md",
    "עברית.md",
    "שָׁלוֹם.md",
    "العربية.md",
    "مرحبا.md",
    "فارسی.md",
    "می\u200cخواهم.md",
    "اردو.md",
    "پښتو.md",
    "ئۇيغۇر.md",
    "ܣܘܪܝܝܐ.md",
    "ދިވެހި.md",
    "हिन्दी.md",
    "क्\u200dष.md",
    "বাংলা.md",
    "ਪੰਜਾਬੀ.md",
    "ગુજરાતી.md",
    "தமிழ்.md",
    "తెలుగు.md",
    "ಕನ್ನಡ.md",
    "മലയാളം.md",
    "සිංහල.md",
    "ශ්\u200dරී.md",
    "ไทย.md",
    "คำ.md",
    "น้ำ.md",
    "ລາວ.md",
    "ຄຳ.md",
    "မြန်မာ.md",
    "ខ្មែរ.md",
    "བོད་ཡིག.md",
    "አማርኛ.md",
    "ᏣᎳᎩ.md",
    "ᓀᐦᐃᔭᐍᐏᐣ.md",
    "中文.md",
    "简体字.md",
    "繁體字.md",
    "会議メモ.md",
    "ひらがな.md",
    "カタカナ.md",
    "ｶﾀｶﾅ.md",
    "東京ー2026.md",
    "ノート.md",
    "々.md",
    "한국어.md",
    "회의록.md",
    "𠮷野家.md",
    "𝄞.md",
    "🚀.md",
    "🎉launch.md",
    "👩\u200d💻.md",
    "❤️.md",
    "🇩🇪.md",
    "team/会議.md",
    "équipe/réunion.md",
    "логи/2026/день.md",
    "monoˈɡlɪf.md",
    "ɔ́.md",
    "Ⴀ.md",
    "☃.md",
    "→.md",
    "€.md",
    "∑.md",
]
LEGITIMATE += [
    "with space.md",
    "Meeting notes (2026).md",
    "日本 語.md",
    unicodedata.normalize("NFD", "größe é ñ.md"),
]
LEGITIMATE += ["x" * 252 + ".md", "a/b/c/d/e/f/g/h.md"]


def test_the_corpora_are_large():
    assert len(HOSTILE) + len(HOSTILE_DIRECTORIES) >= 300
    assert len(set(LEGITIMATE)) >= 100


@pytest.mark.parametrize(("rule", "name"), HOSTILE, ids=ascii)
def test_hostile_names_are_refused_by_the_rule_they_break(rule, name):
    verdict = check_name(name)
    assert isinstance(verdict, Refused), f"{name!a} was accepted"
    assert verdict.rule == rule
    assert rule in verdict.reason
    assert repr(name[:100])[1:-1] in verdict.reason
    verdict.reason.encode()


@pytest.mark.parametrize(("rule", "text"), HOSTILE_DIRECTORIES, ids=ascii)
def test_hostile_directories_are_refused_by_the_rule_they_break(rule, text):
    verdict = check_directory(text, HOME)
    assert isinstance(verdict, Refused), f"{text!a} was accepted"
    assert verdict.rule == rule
    assert rule in verdict.reason
    verdict.reason.encode()


@pytest.mark.parametrize("name", LEGITIMATE, ids=ascii)
def test_honest_names_of_the_world_are_accepted(name):
    assert check_name(name) == Accepted(PurePosixPath(name))


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("~/.reverie/projects/x/memory", "/home/mira/.reverie/projects/x/memory"),
        ("~/memory/", "/home/mira/memory"),
        ("/home/mira/m", "/home/mira/m"),
        ("/home/mira//m/./n", "/home/mira/m/n"),
        ("/home/mira/.claude/projects/-home-mira-x/memory", None),
        ("/tmp/pytest-1/memory", None),
        ("/var/lib/reverie", None),
        ("/Users/mira/Library/memory", None),
        ("/srv/größe/メモ", None),
        ("/mnt/c/my files/memory", None),
        ("/home/mira/usr/etc", None),
        ("/private/tmp/x", None),
    ],
)
def test_honest_directories_are_accepted(text, path):
    assert check_directory(text, HOME) == Accepted(PurePosixPath(path or text))


@pytest.mark.parametrize(
    ("text", "home", "accepted"),
    [
        ("/usr/home/mira/m", "/usr/home/mira", True),
        ("/usr/home/other/m", "/usr/home/mira", False),
        ("~/m", "/root", True),
        ("/etc/m", "/", False),
        ("~/m", "/", False),
        ("~/m", "relative", False),
        ("/home/mira/m", "/home/mira/", True),
        ("/usr/mira/m", "/usr/mira", True),
        ("/usr/m", "/usr", False),
        ("/opt/m", "/opt", True),
        ("/private/etc/m", "/home/mira", False),
        ("/home/mira/.ssh/m", "/home/mira", False),
        ("/home/mira/etc/m", "/home/mira", True),
    ],
)
def test_the_home_decides_what_is_the_persons_own(text, home, accepted):
    assert isinstance(check_directory(text, home), Accepted) == accepted


@pytest.mark.skipif(
    not LFI.exists(), reason=f"traversal payloads not found at {LFI} (set REVERIE_DATA)"
)
def test_a_public_list_of_traversal_payloads_is_refused_whole():
    lines = LFI.read_text("utf-8", "surrogateescape").splitlines()
    payloads = {line for line in lines if line}
    assert len(payloads) > 800
    assert [name for name in payloads if not isinstance(check_name(name), Refused)] == []


_PIECES = st.sampled_from(
    [
        "..",
        ".",
        "/",
        "a",
        ".md",
        "//",
        "\\",
        "~",
        "%2e",
        "．",
        "／",
        " ",
        "é",
        "CON",
        "\0",
        "x.md",
        "\u200d",
        "…",
    ]
)
_NAMES = st.one_of(
    st.text(), st.lists(_PIECES).map("".join), st.lists(_PIECES).map(lambda p: "".join(p) + "x.md")
)


@given(_NAMES)
def test_no_accepted_name_leaves_the_directory(name):
    verdict = check_name(name)
    if isinstance(verdict, Refused):
        assert verdict.reason
        return
    root = "/home/mira/memory"
    for form in (name, unicodedata.normalize("NFKC", name), unicodedata.normalize("NFKD", name)):
        joined = posixpath.normpath(posixpath.join(root, form))
        assert joined.startswith(f"{root}/")
    assert str(verdict.path) == name


@given(_NAMES.map(lambda name: f"/{name}"))
def test_no_accepted_directory_is_near_the_root(text):
    verdict = check_directory(text, HOME)
    if isinstance(verdict, Accepted):
        assert len(verdict.path.parts) > 2
        assert posixpath.normpath(text) == str(verdict.path)
        assert verdict.path not in PurePosixPath(HOME).parents


def name_of(*sizes: int) -> str:
    return "/".join("a" * size for size in sizes)[:-3] + ".md"


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        (name_of(255), True),
        (name_of(256), False),
        (name_of(10, 255), True),
        (name_of(256, 10), False),
        (name_of(200, 200, 200, 200, 220), True),
        (name_of(200, 200, 200, 200, 221), False),
        (name_of(*[4] * 8), True),
        (name_of(*[4] * 9), False),
        ("ä" * 126 + ".md", True),
        ("ä" * 127 + ".md", False),
    ],
)
def test_how_long_a_name_may_be(name, fits):
    found = check_name(name)
    assert isinstance(found, Accepted if fits else Refused)
    assert fits or found.rule == "too long"


@pytest.mark.parametrize(("last", "fits"), [(75, True), (76, False)])
def test_how_long_a_directory_may_be(last, fits):
    path = "".join(f"/{'a' * 200}" for _ in range(20)) + f"/{'b' * last}"
    assert len(path) == 4_021 + last
    assert isinstance(check_directory(path, "/home/mira"), Accepted if fits else Refused)


@pytest.mark.parametrize(
    ("size", "quoted"), [(119, "a" * 119), (120, "a" * 120), (121, "a" * 120 + "…")]
)
def test_a_long_name_is_quoted_in_part(size, quoted):
    assert check_name("a" * size).reason.startswith(
        f"file name '{quoted}' is refused (not markdown)"
    )


@pytest.mark.parametrize(
    ("char", "rule"),
    [
        ("\ufdcf", "normalisation"),
        ("\ufdd0", "invisible character"),
        ("\ufdef", "invisible character"),
        ("\ufdf0", None),
        ("\ufffd", None),
        ("\ufffe", "invisible character"),
        ("\uffff", "invisible character"),
        ("\U0001fffe", "invisible character"),
        ("\ue000", "invisible character"),
        ("\ud800", "invisible character"),
        ("\u200d", "invisible character"),
    ],
)
def test_which_code_points_are_no_letters(char, rule):
    found = check_name(f"a{char}b.md")
    assert isinstance(found, Refused if rule == "invisible character" else Accepted | Refused)
    if rule == "invisible character" or isinstance(found, Refused):
        assert (found.rule == "invisible character") is (rule == "invisible character")


@pytest.mark.parametrize(
    ("name", "device"),
    [
        ("con.md", True),
        ("con.a.b.md", True),
        ("a/con .md", True),
        ("cons.md", False),
        ("a.con.md", False),
    ],
)
def test_a_device_is_known_by_what_precedes_the_first_dot(name, device):
    found = check_name(name)
    assert (isinstance(found, Refused) and found.rule == "device name") is device

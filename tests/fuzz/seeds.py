"""Small good inputs that fuzzing starts from, one list a parser."""

import gzip
from io import BytesIO
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_LZMA, ZIP_STORED, ZipFile, ZipInfo

TOPICS = (
    b"---\nname: Real database\ndescription: Never mock it  # a habit\ntype: feedback\n"
    b'created: 2026-11-15T08:00:00Z\nconfidence: 0.8\nsource: [s1#m4, "s1, m5"]\n---\nSee [[a|b]].\n',
    b'\xef\xbb\xbf---  \r\n# kept\r\n\'name\': "Build \\"tip\\""\r\nmetadata:\r\n    type: user\r\n\r\n'
    b"tags:\r\n- one\r\n- two\r\n# end\r\n---\r\nBody \xff\xfe",
    b"---\ndescription: |\n  two\n  lines\nlinks: [a.md, b.md]\npinned: yes\narchived: soon\n...\n```\n[[x]]\n```\n",
    b"no frontmatter\n",
    b"---\nname: open\n",
)

INDEXES = (
    b"# Memory\n\n- [Real database](feedback_db.md) \xe2\x80\x94 never mock it\n* [A \\[b\\]](<a b.md>): c\n"
    b"_3 more memories are not listed here; recall finds them._\n",
    b"\xef\xbb\xbf- [one](one.md)\r\n- [web](https://example.org/x.md)\r\nnotes without an end",
)

TEXTS = (
    b"Never mock the database: a mock hid a broken migration #3",
    "yes, “quoted” – 'and' \"this\" \\ [x] {y} | > & * ! % @ `".encode(),
    b"1e5\n- a\n0x10, ~ null",
)

HOOKS = (
    b'{"session_id":"s1","cwd":"/work","prompt":"<hook_context>a</hook_context> hello","source":"resume",'
    b'"transcript_path":"/home/a/s1.jsonl","stop_hook_active":false,"last_assistant_message":"done"}',
    b'{"session_id":"s1","cwd":"/work","tool_name":"Bash","tool_use_id":"t1","tool_input":{"command":"ls"},'
    b'"tool_response":{"stdout":"a","stderr":"","isImage":false}}',
    b'{"tool_name":"mcp__a__b","tool_response":{"content":[{"type":"text","text":"a"}]},"agent_id":"x"}',
    b'{"conversation_id":"c","workspace_roots":["/work"],"text":"\\"said \\\\\\"so\\\\\\"\\"","agent":"title",'
    b'"sessionID":"s","directory":"/d","tool":"bash","callID":"c1","args":{},"output":"o"}',
)

HEADS = (
    b"POST /hooks/claude-code/Stop HTTP/1.1\r\nHost: localhost\r\nContent-Length: 12\r\n"
    b"Expect: 100-continue\r\nAuthorization: Bearer abc\r\n\r\n",
    b"GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
)

CLAUDE_CODE = (
    b'{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","cwd":"/w","timestamp":"2026-11-15T08:00:00Z",'
    b'"message":{"role":"user","content":"hello"}}\n'
    b'{"type":"assistant","uuid":"u2","parentUuid":"u1","timestamp":"2026-11-15T08:00:01Z","message":{"id":"r1",'
    b'"model":"m","content":[{"type":"thinking","thinking":"t","signature":"x"},{"type":"tool_use","id":"t1",'
    b'"name":"Bash","input":{"command":"ls"}}],"usage":{"input_tokens":3,"output_tokens":5,'
    b'"cache_creation_input_tokens":7,"cache_creation":{"ephemeral_1h_input_tokens":2}}}}\n'
    b'{"type":"user","uuid":"u3","parentUuid":"u2","sourceToolAssistantUUID":"u2","message":{"content":'
    b'[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":[{"type":"text","text":"a"},'
    b'{"type":"image","source":{"media_type":"image/png","data":"aa"}}]}]}}\n'
    b'{"type":"attachment","uuid":"u4","attachment":{"type":"hook","content":["a","b"]}}\n'
    b'{"type":"system","subtype":"compact_boundary","uuid":"u5","compactMetadata":{"preTokens":9,"trigger":"auto"}}\n'
    b'{"type":"progress"}\n{"type":"assistant","isSidechain":true,"message":{"model":"<synthetic>"}}\n',
)

CODEX = (
    b'{"timestamp":"2026-11-15T08:00:00Z","type":"session_meta","payload":{"id":"s","cwd":"/w"}}\n'
    b'{"timestamp":"2026-11-15T08:00:01Z","type":"response_item","payload":{"type":"message","role":"user",'
    b'"content":[{"type":"input_text","text":"# AGENTS.md instructions"},{"image_url":"data:x"}]}}\n'
    b'{"type":"response_item","payload":{"type":"function_call","namespace":"a","name":"b","call_id":"c",'
    b'"arguments":"{}"}}\n'
    b'{"type":"response_item","payload":{"type":"local_shell_call","id":"i","action":{"command":["ls"]}}}\n'
    b'{"type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":{"content":"o"}}}\n'
    b'{"type":"response_item","payload":{"type":"message","role":"developer","content":"d"}}\n'
    b'{"type":"compacted","payload":{"message":"summary"}}\n{"type":"event_msg","payload":{}}\n',
)

JOURNAL = (
    b'{"type":"session","session":"s","at":"2026-11-15T08:00:00.000Z","project":"/w","format":1}\n'
    b'{"type":"message","id":"m1","parent":null,"at":"2026-11-15T08:00:00.000Z","role":"user","origin":"user",'
    b'"blocks":[{"type":"text","text":"hello"},{"type":"tool_result","tool_use_id":"t","content":[],"is_error":true}]}\n'
    b'{"type":"usage","response":"r","purpose":"main","model":"m","usage":{"input":1,"output":2},"at":"2026-11-15T08:00:00Z"}\n'
    b'{"type":"compacted","at":"2026-11-15T08:00:00Z","trigger":"auto","how":"","tokens_before":5,"last":null,'
    b'"kept_up_to":null,"kept_from":"m1","start":[]}\n'
    b'{"type":"todos","todos":[["a","open"]]}\n{"type":"memories","files":["a.md"],"bytes":3}\n'
    b'{"type":"agent_left","name":"a","why":"done","tokens":3,"at":"2026-11-15T08:00:00Z"}\n{"type":"later"}\n',
)

PACKED = (gzip.compress(JOURNAL[0], mtime=0),)

SETTINGS = (
    b'[memory]\nenabled = true\nteam = "a"\n[providers.own]\napi_key_env = "KEY"\nbase_url = "http://localhost"\n'
    b'[features]\n[recall]\nlimit = 5\n"quoted.key" = [1, 2]\n',
    b"memory.enabled = false\r\nmodel.name = 'x'\r\na.b.c.d = {e = 1, f = {g = 2}}\r\n[[list]]\nx = 1979-05-27\n",
)

OPTIONS = (b"memory.enabled=true\nrecall.limit = 3\nREVERIE_MEMORY_DIR=/tmp/x\nmodel.name=a=b\n",)

POINTERS = (
    b"gitdir: ../main/.git/worktrees/a\n",
    b"gitdir: /nowhere\n",
    b"gitdir: .\x00../../..",
    b"gitdir:\n",
    b"gitdir: " + b"a/" * 2_100,
)

CONFIGURATIONS = (
    b'[core]\n\tbare = false\n[remote "origin"]\n\turl = git@github.com:acme/shop.git\n\tfetch = +x\n',
    b'[remote "fork"]\r\nurl=https://x.example/a\r\n[remote "origin"]\r\n URL = "ssh://me@h:2222/a//b.git" \r\n',
    b'[remote "origin"] url = file:///tmp/a\n',
    b"\n" * 8_000,
)

COMMANDS = (
    b'git -C sub log --oneline -5 | head -n 3 && ls -la "$HOME"/a*',
    b"cd a; find . -name '*.py' -exec rm {} \\; 2>/dev/null",
    b"FOO=1 LANG=C grep -rn 'x y' src || echo $(cat file) > out",
    b'for f in *; do cat "$f"; done <<EOF\na\nEOF\n',
    b"sed -n 1,5p a.txt | sort -u | uniq -c # count",
)

QUERIES = (
    b'type:feedback after:2026-01 before:"May 2026" is:archived "exact phrase" -word -"not this" role:user rest',
    b'session:abc after:soon type:other - -- "open',
)

SENTENCES = (
    b"The code freeze runs from next Thursday until the end of March; see `tomorrow`.",
    "Bis Freitag keine Deploys, ab 3. Mai wieder. Le 5 mai, jusqu’à demain. Hasta el lunes.".encode(),
    b"The demo is on 12/05/2026 at 10am, two weeks from now, every Friday in Q3 2026.",
    b'yesterday in 3 days "last week" 2026-05-01 (tomorrow) the day after tomorrow',
)

PAIRS = (
    b"The API listens on port 8080\nThe API listens on port 8443",
    b"We deploy on Fridays\nWe no longer deploy on Fridays",
    b"Das Standup ist um 9 Uhr\nAb sofort ist das Standup um 10 Uhr",
    b"Mira is our CTO. **Why:** asked twice\nJonas is our CTO",
    b"Backups are kept for 14 days\nBackups are kept for 2 weeks",
    b"Prefer tabs over spaces if `x`, e.g. https://example.org/a\nPrefer spaces over tabs",
)

ARGUMENTS = (
    b'{"question":"where is it?","limit":5,"as_of":"2026-03-01","text":"x","type":"user","file":"a.md",'
    b'"words":"w","session":"current","replace":false}',
    b'{"question":"q"}',
    b'{"text":"t","even_if_known":true,"scope":"person"}',
    b'{"sessionId":"s 1","claudecode/toolUseId":"t"}',
)


def _zipped(method: int) -> bytes:
    """A pile of memories as one archive, the same bytes in every run."""
    made = BytesIO()
    with ZipFile(made, "w", method) as archive:
        for name, text in (
            ("a.md", "---\nname: a\n---\nb\n"),
            ("../b.md", "# B\n\n- one\n"),
            ("c.json", '["c"]'),
        ):
            archive.writestr(ZipInfo(name), text, method)
    return made.getvalue()


IMPORTS = (
    b'{"results":[{"memory":"a","created_at":"2026-01-01","metadata":{"type":"user"},"categories":["x"]}]}',
    b'{"reverie_export":1,"memories":[{"file":"a.md","text":"---\\nname: a\\n---\\nb"}]}',
    b'{"blocks":[{"label":"human","value":"a\\n\\nb"}],"agents":[{"core_memory":[{"label":"persona"}]}],'
    b'"passages":[{"text":"p"}]}',
    b'["a",{"text":"b","state":"deleted"},5]',
    b"# Rules\n\n- one\n- two\n\n## More\n\nText here.\n",
    *map(_zipped, (ZIP_STORED, ZIP_DEFLATED, ZIP_BZIP2, ZIP_LZMA)),
)  # fmt: skip

MESSAGES = (
    b"Fix the test, and by the way we use pytest. From now on answer in German.",
    b"What does this mean?\n\n> Always run `make fmt`.\n\nRegards,\nMallory",
    "Corrige les fautes : « Je m'apelle Hugo. Il faut toujours m'écrire. »".encode(),
    "Merk dir bitte: unser Testserver heißt Wiesel, der alte ist aus.".encode(),
    b'Shorten this to a tweet. "Our stack is Elixir." Remember that I\'m allergic to nuts.',
    b"the password of the staging server is hedgerow9Lamp; wifi: blue.owl.2031",
    b"```\n$ make\nERROR: x\n```\n[09:12] dora: always ping me\nwho is dora?",
)

"""A provider for tests: a real HTTP server that speaks, and enforces, what the vendors document.

The official `anthropic` and `openai` SDKs run against it unmodified. It shares no code with the
project it tests. Each rule below is answered with the documented error and collected in
`Provider.violations`; the quoted name is what `expect_violation` takes.

Evidence: [W] the SDK's types, [D] official documentation, [T] reported by third parties,
[U] not documented anywhere we could read: a guess, chosen to be the stricter one.

| rule | name | evidence |
|---|---|---|
| a key must be sent, as Bearer or x-api-key; the key "bad" is refused | auth | [D] |
| `anthropic-version` is required | version | [D] |
| temperature, top_p, top_k are gone from version 2026-10-21 on | sampling | [W][D] |
| unknown parameters; model, messages, max_tokens required | parameter | [D] |
| unknown model: 404 | model | [D] |
| a beta parameter needs its header | beta | [W][D] |
| max_tokens up to the model's limit; 0 only fills the cache | max-tokens | [W][D] |
| thinking types per model; between_tools on Sonnet 5.5 only | thinking-type | [D][T] |
| no forced tool_choice on Sonnet 5.5 | tool-choice | [D] |
| efforts; schemas closed and without numeric limits | effort, output-format | [W] |
| at most 100,000 messages, known roles, non-empty content and text | messages, role, content, \
empty-text | [D][T] |
| blocks with the fields of their type and no others, each in the role that may hold it | block, \
message | [W] |
| tools named, unique, with a schema | tools | [W][D] |
| neighbouring messages of one role are one turn; the first is the user's | first-role | [D] |
| the last is not the assistant's from 4.6 on; before, no trailing space | prefill, \
prefill-whitespace | [T] |
| a system message follows a user turn and is last or precedes the assistant; only on models that \
take one | system-placement, system-role, clear-at | [D] |
| calls answered in the next user turn, results first in it, ids unique | tool-pairing, \
tool-result-first, tool-id | [D][T] |
| 4 breakpoints, automatic included; 1h before 5m; not on thinking or empty text | \
cache-breakpoints, cache-order, cache-thinking, cache-empty, cache-ttl | [D] |
| prompt longer than the window | window | [T] wording |
| forged or edited thinking | thinking-signature | [W] |
| thinking behind a changed prefix, on bound models | thinking-prefix | [D] |
| edits known, clear_thinking first | context-management | [W] |
| summaries: `compaction` for what cannot be combined, else the documented error code | \
compaction_… | [W][D] |
| OpenAI: tool messages answer calls and all calls are answered | tool-pairing, tool-id | [T] |
| OpenAI: strict schemas closed; stream_options only with stream | response-format, \
stream-options | [D] |
| OpenAI: reasoning and compaction items are unchanged | encrypted-content | [W] |
| OpenAI: 1 to 2,048 texts to embed, none of them empty | embeddings | [D] |
| batches: ids unique and short, no streams; each request by the rules above | batch | [W][D] |

The prompt cache: entries only at breakpoints, look-back of 20 blocks, minimum size per model,
5 minutes or 1 hour on the test's clock, refreshed by a read, readable once the writer's response
began [D]. A change of model or tools invalidates all; speed the system level on [D], the output
format too [T]; tool_choice, thinking, effort and images the messages [D]. A breakpoint inside a
prefix that was read writes no entry of its own [U].

Bound models: Fable 5.1 and Sonnet 5.5 [D]; Fable 5.2, Opus 5.5, Haiku 5.5 [U]. Thinking by a model
that the current one cannot read is dropped without an error [D]. What a block is bound to is told
in `thinking.py`. Cache minimums and windows of the x.1, x.2 and x.5 models are those of their
predecessors [U].

What the server hides (`clear_at`, cleared tool results and thinking) is neither counted nor cached,
so the cached prefix ends where the hidden part began [U for clear_at]. Tokens of a requested
summary stand in `usage.iterations` and not at the top level [W].
"""

from tests.provider.gate import Gate
from tests.provider.prefix import PrefixInvariant
from tests.provider.provider import Provider
from tests.provider.record import RecordedRequest, Violation
from tests.provider.script import (
    Cut,
    Garbage,
    Held,
    HttpError,
    Malformed,
    Reply,
    StreamError,
    Text,
    Thinking,
    ToolCall,
    TooLong,
    Unfinished,
    overloaded,
    rate_limited,
    server_error,
    too_large,
    wrong_shape,
)
from tests.provider.server import ProviderServer, serving

__all__ = [
    "Cut",
    "Garbage",
    "Gate",
    "Held",
    "HttpError",
    "Malformed",
    "PrefixInvariant",
    "Provider",
    "ProviderServer",
    "RecordedRequest",
    "Reply",
    "StreamError",
    "Text",
    "Thinking",
    "TooLong",
    "ToolCall",
    "Unfinished",
    "Violation",
    "overloaded",
    "rate_limited",
    "server_error",
    "serving",
    "too_large",
    "wrong_shape",
]

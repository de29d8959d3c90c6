// Ask Reverie's MCP server over HTTP, without any package (Node 20 or newer).
//
//   reverie mcp --http --port 8765            prints a token
//   REVERIE_MCP_TOKEN=… node examples/recall.mjs "which port has staging?"

const url = process.env.REVERIE_MCP_URL ?? "http://127.0.0.1:8765/mcp";
const headers = {
  Authorization: `Bearer ${process.env.REVERIE_MCP_TOKEN}`,
  "Content-Type": "application/json",
  Accept: "application/json, text/event-stream",
};

let id = 0;

async function call(method, params, notification = false) {
  const message = { jsonrpc: "2.0", method, params, ...(notification ? {} : { id: ++id }) };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(message) });
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  const session = response.headers.get("mcp-session-id");
  if (session) headers["mcp-session-id"] = session;
  const text = await response.text();
  if (notification) return;
  // The server may answer with a stream of events; the last one is the answer.
  const lines = text.split("\n").filter((line) => line.startsWith("data: {"));
  const answer = JSON.parse(lines.length ? lines.at(-1).slice(6) : text);
  if (answer.error) throw new Error(answer.error.message);
  return answer.result;
}

const clientInfo = { name: "recall.mjs", version: "1" };
await call("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
await call("notifications/initialized", undefined, true);
const question = process.argv[2] ?? "what is remembered?";
const found = await call("tools/call", { name: "recall", arguments: { question } });
for (const memory of found.structuredContent.memories) console.log(`${memory.file}: ${memory.text}`);
if (!found.structuredContent.memories.length) console.log(found.structuredContent.about);

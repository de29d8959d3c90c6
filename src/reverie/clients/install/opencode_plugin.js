// __NOTE__
import { spawn } from "node:child_process"

const PROGRAM = "__PROGRAM__"
const OPTIONS = ["__OPTIONS__"]
const TIMEOUT = 10_000
// Smaller results are never stored in files, so no hook runs for them, unless memories may be about it:
// the tool names a file, or its command failed.
const LARGE = 10_000
const FILE_TOOLS = ["read", "edit", "write", "patch", "multiedit"]
// Endings of the ids of our parts, by which they are recognized in a stored conversation.
const OPENING = "_reverie_opening"
const RECALLED = "_reverie_recalled"

// Run `reverie hook` and return its answer; {} on any failure, so that the conversation goes on.
function ask(event, input) {
  return new Promise((resolve) => {
    const child = spawn(PROGRAM, ["hook", event, ...OPTIONS], {
      cwd: input.directory,
      stdio: ["pipe", "pipe", "ignore"],
    })
    const timer = setTimeout(() => child.kill(), TIMEOUT)
    const settle = (answer) => {
      clearTimeout(timer)
      resolve(answer)
    }
    let output = ""
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (piece) => (output += piece))
    child.stdin.on("error", () => {})
    child.on("error", () => settle({}))
    child.on("close", () => settle(parsed(output)))
    child.stdin.end(JSON.stringify(input))
  })
}

function parsed(output) {
  try {
    return JSON.parse(output) ?? {}
  } catch {
    return {}
  }
}

const ours = (part) => part.id?.endsWith(OPENING) || part.id?.endsWith(RECALLED)

const text = (parts) =>
  parts
    .filter((part) => part.type === "text" && !part.synthetic)
    .map((part) => part.text)
    .join("\n")

export const Reverie = async ({ client, directory }) => {
  const opened = new Set()
  const compacted = new Set()

  const about = (sessionID, more = {}) => ({ sessionID, directory, ...more })

  async function messages(sessionID) {
    try {
      return (await client.session.messages({ path: { id: sessionID } })).data ?? []
    } catch {
      return []
    }
  }

  // The event that opens a conversation; none if an earlier process has opened it.
  async function opening(sessionID) {
    if (compacted.delete(sessionID)) return "session.compacted"
    if (opened.has(sessionID)) return undefined
    opened.add(sessionID)
    const stored = await messages(sessionID)
    const known = stored.some(({ parts }) => parts.some((part) => part.id.endsWith(OPENING)))
    return known ? undefined : "session.created"
  }

  return {
    // Added text becomes a part of the message and is stored with it, so later requests repeat it.
    "chat.message": async ({ sessionID, agent }, { message, parts }) => {
      // `ignored` keeps it out of requests that are not the conversation's own, such as that for a title.
      const add = (id, { context }) => {
        if (!context) return
        const part = { id, sessionID, messageID: message.id, type: "text", text: context }
        parts.push({ ...part, synthetic: true, ignored: true })
      }
      const prompt = text(parts)
      // Parts are sorted by id: the opening goes before the prompt, recalled memories after it.
      const before = `prt_${message.id.replace(/^msg_/, "")}${OPENING}`
      const after = `${parts.map((part) => part.id).sort().at(-1)}${RECALLED}`
      const event = await opening(sessionID)
      if (event) add(before, await ask(event, about(sessionID, { agent })))
      if (prompt) add(after, await ask("chat.message", about(sessionID, { agent, text: prompt })))
    },

    // The conversation itself is sent with our parts.
    "experimental.chat.messages.transform": async (_, { messages }) => {
      for (const { parts } of messages) for (const part of parts) if (ours(part)) part.ignored = false
    },

    "tool.execute.after": async ({ sessionID, tool, callID, args = {} }, result) => {
      if (typeof result?.output !== "string") return
      const { truncated = false, exit } = result.metadata ?? {}
      const worthAsking = FILE_TOOLS.includes(tool) || exit || (!truncated && result.output.length >= LARGE)
      if (!worthAsking) return
      const input = about(sessionID, { tool, callID, args, output: result.output, truncated, exit })
      const { output, context } = await ask("tool.execute.after", input)
      if (typeof output === "string") result.output = output
      if (context) result.output += `\n\n${context}`
    },

    "experimental.session.compacting": async ({ sessionID }, output) => {
      const { context } = await ask("experimental.session.compacting", about(sessionID))
      if (context) output.context.push(context)
    },

    event: async ({ event: { type, properties } }) => {
      const sessionID = properties?.sessionID ?? properties?.info?.id
      if (!sessionID) return
      if (type === "session.compacted") compacted.add(sessionID)
      if (type === "session.idle") {
        const last = (await messages(sessionID)).findLast(({ info }) => info.role === "assistant")
        const { notice } = await ask(type, about(sessionID, { text: last ? text(last.parts) : "" }))
        if (notice) await client.tui.showToast({ body: { message: notice, variant: "info" } }).catch(() => {})
      }
      if (type === "session.deleted") await ask(type, about(sessionID))
    },
  }
}

// __NOTE__
import { spawn } from "node:child_process"

const PROGRAM = "__PROGRAM__"
const OPTIONS = ["__OPTIONS__"]
const TIMEOUT = 10_000
// Smaller results are never stored in files, so no hook runs for them.
const LARGE = 10_000
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
      const add = (id, { context }) => {
        if (!context) return
        parts.push({ id, sessionID, messageID: message.id, type: "text", text: context, synthetic: true })
      }
      const prompt = text(parts)
      // Parts are sorted by id: the opening goes before the prompt, recalled memories after it.
      const before = `prt_${message.id.replace(/^msg_/, "")}${OPENING}`
      const after = `${parts.map((part) => part.id).sort().at(-1)}${RECALLED}`
      const event = await opening(sessionID)
      if (event) add(before, await ask(event, about(sessionID, { agent })))
      if (prompt) add(after, await ask("chat.message", about(sessionID, { agent, text: prompt })))
    },

    "tool.execute.after": async ({ sessionID, tool, callID, args = {} }, result) => {
      if (typeof result?.output !== "string" || result.output.length < LARGE) return
      const input = about(sessionID, { tool, callID, args, output: result.output })
      const { output } = await ask("tool.execute.after", input)
      if (typeof output === "string") result.output = output
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
        await ask(type, about(sessionID, { text: last ? text(last.parts) : "" }))
      }
      if (type === "session.deleted") await ask(type, about(sessionID))
    },
  }
}

import type { TestSessionInput, TestSessionMessage } from "@svc/api/test-sessions/TestSession"
import { shortened } from "@svc/conversation/Shortened"

/** What a typed line asks for. */
export type Action =
  | { readonly _tag: "Send"; readonly message: TestSessionInput }
  | { readonly _tag: "End" }
  | { readonly _tag: "Help" }
  | { readonly _tag: "Nothing" }
  | { readonly _tag: "Wrong"; readonly reason: string }

/** What can be typed. */
export const help = [
  "text            what the caller says",
  "#12, /digits 12 presses digits: 0-9, * and #",
  "/end            ends the session, as Ctrl-C and Ctrl-D do",
  "/help           shows this list"
].join("\n")

const press = (digits: string): Action =>
  /^[0-9*#]{1,32}$/.test(digits)
    ? { _tag: "Send", message: { digits } }
    : { _tag: "Wrong", reason: "digits are 1 to 32 of 0-9, * and #: type #12 or /digits 12" }

/** Reads a line. `#` alone is the key; before digits it only says that they are digits. */
export const actionOf = (line: string): Action => {
  const text = line.trim()
  if (text === "") return { _tag: "Nothing" }
  const [, command, rest = ""] = /^\/(\w+)(?:\s+(.*))?$/.exec(text) ?? []
  if (command === "end") return { _tag: "End" }
  if (command === "help") return { _tag: "Help" }
  if (command === "digits") return press(rest.replace(/\s/g, ""))
  if (command !== undefined) return { _tag: "Wrong", reason: `there is no command /${command}: /help lists them` }
  if (text.startsWith("#")) return press(text === "#" ? "#" : text.slice(1).replace(/\s/g, ""))
  return { _tag: "Send", message: { content: text } }
}

/** Longest arguments of a tool that are shown, in characters. */
const maxArguments = 200

/** Text of others for a terminal: no control characters, which could rewrite the screen, and further lines indented. */
const printable = (text: string): string =>
  text
    .replace(/\r\n?/g, "\n")
    .replace(/[^\P{Cc}\n\t]/gu, "\ufffd")
    .replace(/\n/g, "\n  ")

const toolLine = ({ arguments: args, content, duration_ms, tool_name }: TestSessionMessage): string => {
  const given = args === undefined ? "" : JSON.stringify(args)
  const result: unknown = JSON.parse(content)
  const fields = typeof result === "object" && result !== null ? new Map(Object.entries(result)) : new Map()
  const inner: unknown = fields.get("simulated") === true ? fields.get("result") : result
  const error = typeof inner === "object" && inner !== null && "error" in inner ? inner.error : undefined
  const simulated = fields.get("simulated") === true ? " (simulated)" : ""
  const took = duration_ms === undefined ? "" : ` ${duration_ms} ms`
  const failed = error === undefined ? "" : `: ${typeof error === "string" ? error : JSON.stringify(error)}`
  return `tool ${tool_name}(${shortened(given, maxArguments)}) -> ${error === undefined ? "ok" : "failed"}${took}${simulated}${failed}`
}

/** A message as one line of a transcript. */
export const lineOf = (message: TestSessionMessage): string =>
  printable(
    message.role === "tool"
      ? toolLine(message)
      : `${message.role === "assistant" ? "agent" : "caller"}: ${message.content}`
  )

import { Schema } from "effect"
import type { Command } from "../../src/Command.ts"
import type { Facts, Input, UntimedInput } from "../../src/Input.ts"
import { Input as InputSchema } from "../../src/Input.ts"
import { config, facts, tool } from "../../src/testing/Script.ts"
import { defaultDelays, PlayedCall } from "./PlayedCall.ts"

/**
 * Recorded conversations as readable files; see golden/README.md. A file has a head (title, prose, settings) and lines
 * that begin with `>`: external actions. All other lines are the resulting inputs and commands, written by {@link
 * render}.
 */

const Settings = Schema.Struct({
  config: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown })),
  facts: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown })),
  world: Schema.optional(
    Schema.Struct({
      voice: Schema.optional(Schema.NullOr(Schema.Number)),
      recognizer: Schema.optional(Schema.NullOr(Schema.Number))
    })
  )
})

type Act = (call: PlayedCall) => UntimedInput | undefined

interface Due {
  readonly at: number
  readonly act: Act
  /** The line of the file, if this is its first act. */
  readonly line?: string
}

const seconds = (at: number): string => (at / 1000).toFixed(3).padStart(7)

const decodeInput = Schema.decodeUnknownSync(InputSchema)

const currentTurn = (call: PlayedCall): number => call.state.model?.turn ?? 0

/** How long the caller speaks a text, in milliseconds. */
const spokenMs = (text: string): number => text.length * 60

/** The outcome of the last look-up. */
const lookedUp = (
  call: PlayedCall,
  outcome: (of: { readonly id: string; readonly purpose: "turn" | "tool" }) => UntimedInput
): UntimedInput | undefined => {
  const asked = call.commands.findLast((c) => c._tag === "LookUp")
  return asked === undefined ? undefined : outcome({ id: asked.id, purpose: asked.purpose })
}

let toolIds = 0

/** The first generated line. */
const opening = "          (the call comes in)"

const verbs: ReadonlyArray<string> = [
  "configured",
  "answered",
  "caller says",
  "caller makes a noise",
  "caller presses",
  "caller hangs up",
  "model says",
  "held answer is",
  "model calls",
  "model fails",
  "tool answers",
  "knowledge finds",
  "knowledge fails",
  "voice fails",
  "recognizer fails",
  "api ends the call",
  "nothing"
]

/** The acts of a line, each with its delay in milliseconds after the line's time. */
const actsOf = (what: string, conf: typeof config): ReadonlyArray<readonly [number, Act]> => {
  const verb = verbs.find((v) => what === v || what.startsWith(`${v} `)) ?? ""
  const rest = what.slice(verb.length).trim()
  switch (verb) {
    case "configured":
      return [[0, () => ({ _tag: "ConfigAnswered", config: conf })]]
    case "answered":
      return [[0, () => ({ _tag: "Answered" })]]
    case "caller says": {
      const text: string = JSON.parse(rest)
      const long = spokenMs(text)
      const first = text.split(" ").slice(0, 1).join(" ")
      return [
        [60, () => ({ _tag: "CallerSpeechStarted", late: 60 })],
        [spokenMs(first) + 100, () => ({ _tag: "CallerPartial", text: first })],
        [long + 160, () => ({ _tag: "CallerSpeechStopped", late: 160 })],
        [long + 200, () => ({ _tag: "CallerFinal", text })],
        [long + 200, () => ({ _tag: "CallerEndOfTurn" })]
      ]
    }
    case "caller makes a noise": {
      const long = Number(rest) * 1000
      return [
        [60, () => ({ _tag: "CallerSpeechStarted", late: 60 })],
        [long + 160, () => ({ _tag: "CallerSpeechStopped", late: 160 })]
      ]
    }
    case "caller presses":
      return [...rest].map((digit, i) => [i * 200, () => ({ _tag: "Dtmf", digit })] as const)
    case "caller hangs up":
      return [[0, () => ({ _tag: "CallerHungUp" })]]
    case "model says": {
      const sentences: ReadonlyArray<string> = JSON.parse(rest).match(/[^.!?]+[.!?]*\s*/g) ?? []
      return [
        [0, (call) => ({ _tag: "ModelStarted", turn: currentTurn(call) })],
        ...sentences.map((text, i): readonly [number, Act] => {
          const space = /\s*$/.exec(sentences[i - 1] ?? " ")?.[0] ?? " "
          const sentence = { text: text.trim(), ...(space === " " ? {} : { space }) }
          return [(i + 1) * 50, (call) => ({ _tag: "ModelSentence", turn: currentTurn(call), ...sentence })]
        }),
        [sentences.length * 50 + 50, (call) => ({ _tag: "ModelDone", turn: currentTurn(call) })]
      ]
    }
    case "held answer is": {
      const answer: { readonly say?: ReadonlyArray<string>; readonly call?: string } = JSON.parse(rest)
      const { call: tool, say = [] } = answer
      const calls = tool === undefined ? [] : [{ id: `t${++toolIds}`, name: tool, arguments: {} }]
      return [
        [0, (call) => ({ _tag: "ModelStarted", turn: currentTurn(call) })],
        ...say.map((text): readonly [number, Act] => [
          0,
          (call) => ({ _tag: "ModelSentence", turn: currentTurn(call), text })
        ]),
        ...calls.map((each): readonly [number, Act] => [
          0,
          (call) => ({ _tag: "ModelToolCalls", turn: currentTurn(call), calls: [each] })
        ]),
        [0, (call) => ({ _tag: "ModelDone", turn: currentTurn(call) })]
      ]
    }
    case "model calls": {
      const [name = "", args = "{}"] = rest.split(/ (.*)/)
      const id = `t${++toolIds}`
      return [
        [
          0,
          (call) => ({
            _tag: "ModelToolCalls",
            turn: currentTurn(call),
            calls: [{ id, name, arguments: JSON.parse(args) }]
          })
        ],
        [20, (call) => ({ _tag: "ModelDone", turn: currentTurn(call) })]
      ]
    }
    case "model fails":
      return [[0, (call) => ({ _tag: "ModelFailed", turn: currentTurn(call), reason: "the model broke" })]]
    case "tool answers":
      return [
        [
          0,
          (call) => {
            const uses = call.state.entries.flatMap((e) => (e.kind === "agent" ? e.tools : []))
            const id = uses.find((t) => t.pending)?.id
            return id === undefined ? undefined : { _tag: "ToolAnswered", id, result: JSON.parse(rest) }
          }
        ]
      ]
    case "knowledge finds": {
      const { bases = 1, passages = [] } = JSON.parse(rest === "" ? "{}" : rest)
      return [[0, (call) => lookedUp(call, (of) => ({ _tag: "KnowledgeFound", ...of, bases, passages, took_ms: 12 }))]]
    }
    case "knowledge fails":
      return [[0, (call) => lookedUp(call, (of) => ({ _tag: "KnowledgeFailed", ...of, reason: "it broke" }))]]
    case "voice fails":
      return [
        [
          0,
          (call) => {
            const said = call.state.entries.flatMap((e) => (e.kind === "agent" ? e.utterances : []))
            const id = said.find((u) => u.state === "queued" || u.state === "playing")?.id
            return id === undefined ? undefined : { _tag: "SpeechFailed", id, reason: "the voice gave no audio" }
          }
        ]
      ]
    case "recognizer fails":
      return [[0, () => ({ _tag: "RecognizerFailed", reason: "the recognizer broke" })]]
    case "api ends the call":
      return [[0, () => ({ _tag: "EndRequested", by: "api" })]]
    case "nothing":
      return [[0, () => undefined]]
    default: {
      const [tag, json = "{}"] = what.split(/ (.*)/)
      const { at: _, ...input } = decodeInput({ ...JSON.parse(json), _tag: tag, at: 0 })
      return [[0, () => input as UntimedInput]] // an input without its time
    }
  }
}

const value = (v: unknown): string => JSON.stringify(v)

const pairs = (record: object, but: ReadonlyArray<string>): string =>
  Object.entries(record)
    .filter(([key]) => !but.includes(key))
    .map(([key, v]) =>
      key === "timestamp" && typeof v === "string"
        ? ` timestamp=${(Date.parse(v) - facts.started_at) / 1000}`
        : ` ${key}=${value(v)}`
    )
    .join("")

const inputLine = (input: Input): string => `${input._tag}${pairs(input, ["_tag", "at", "config", "voice"])}`

const provider = (c: { readonly provider?: number }): string =>
  c.provider === undefined ? "" : ` provider=${c.provider}`

const commandLine = (c: Command): string => {
  switch (c._tag) {
    case "Emit":
      return `Emit ${c.event}${pairs(c.data, ["call_id", "agent_id", "from", "to"])}`
    case "AskModel":
    case "AskAhead": {
      const messages = c.messages.slice(1).map((m) => `${m.role}: ${m.content.replaceAll("\n", "\\n")}`)
      const ahead = c._tag === "AskModel" && c.ahead !== undefined ? ` ahead=${c.ahead}` : ""
      const of = c._tag === "AskModel" ? `turn=${c.turn}` : c.id
      return `${c._tag} ${of}${ahead}${provider(c)}${c.tools.length === 0 ? " tools=none" : ""} [${messages.join(" | ")}]`
    }
    case "Summarize":
      return `Summarize ${c.id} ${value(c.messages.at(-1)?.content)}`
    case "Speak":
      return `Speak ${c.id}${c.turn === undefined ? "" : ` turn=${c.turn}`}${provider(c)} ${value(c.text)}`
    case "Listen":
      return `Listen ${c.language}${provider(c)}`
    case "Finish":
      return `Finish ${c.status}, ${c.disposition}, ${c.ended_reason}`
    case "TellTranscript":
      return `TellTranscript ${seconds(c.timestamp * 1000).trim()} ${c.role}: ${c.content.replaceAll("\n", "\\n")}`
    default:
      return `${c._tag}${pairs(c, ["_tag"])}`
  }
}

const settingsOf = (head: ReadonlyArray<string>): typeof Settings.Type => {
  const found: Record<string, unknown> = {}
  for (const line of head) {
    const [, name, json] = /^(config|facts|world): (.*)$/.exec(line) ?? []
    if (name !== undefined && json !== undefined) found[name] = JSON.parse(json)
  }
  return Schema.decodeUnknownSync(Settings)(found)
}

/** The text that a golden file should have, and its call. */
export const render = (file: string): { readonly text: string; readonly call: PlayedCall; readonly facts: Facts } => {
  toolIds = 0
  const lines = file.split("\n")
  const first = lines.findIndex((line) => line.startsWith(">") || line === opening)
  const head = lines.slice(0, first)
  const settings = settingsOf(head)
  const given = { ...facts, ...settings.facts } as Facts // as the file says, over facts
  const conf = { ...config, tools: [tool("lookup")], ...settings.config } as typeof config // likewise
  const world = { ...defaultDelays, ...settings.world }
  const call = new PlayedCall(given, {
    voice: world.voice === undefined ? defaultDelays.voice : world.voice,
    recognizer: world.recognizer === undefined ? defaultDelays.recognizer : world.recognizer
  })
  const agenda: ReadonlyArray<Due> = lines
    .filter((line) => line.startsWith(">"))
    .flatMap((line) => {
      const [, at = "", what = ""] = /^> +([\d.]+) (.*)$/.exec(line) ?? []
      const start = Math.round(Number(at) * 1000)
      const acts = actsOf(what.trim(), conf)
      const shown: Due = { at: start, act: () => undefined, line: `>${seconds(start)} ${what.trim()}` }
      return [shown, ...acts.map(([after, act]): Due => ({ at: start + after, act }))]
    })
    .map((due, i) => [due, i] as const)
    .sort(([a, i], [b, j]) => a.at - b.at || i - j)
    .map(([due]) => due)

  const out: Array<string> = [opening, ...call.first.map((c) => `          ${commandLine(c)}`)]
  let written = 0
  const writeSteps = (): void => {
    for (const { commands, input } of call.steps.slice(written)) {
      out.push(` ${seconds(input.at)}   ${inputLine(input)}`, ...commands.map((c) => `            → ${commandLine(c)}`))
    }
    written = call.steps.length
  }
  for (const { act, at, line } of agenda) {
    call.until(at)
    writeSteps()
    if (line !== undefined) out.push(line)
    const input = act(call)
    if (input !== undefined) call.input(input)
    writeSteps()
  }
  // Inputs that are due at once, such as RecognizerFinished.
  call.until(call.at)
  writeSteps()
  const { latencies, outcome, phase, transcript } = call.state
  out.push(
    "",
    `${phase}${outcome === null ? "" : `: ${outcome.status}, ${outcome.disposition}, ${outcome.ended_reason}`}`
  )
  out.push(
    "transcript",
    ...transcript.map((t) => ` ${seconds(t.timestamp * 1000)} ${t.role}: ${t.content.replaceAll("\n", "\\n")}`)
  )
  if (latencies.length > 0) out.push("latencies", ...latencies.map((l) => `  ${pairs(l, []).trim()}`))
  return { text: [...head, ...out, ""].join("\n"), call, facts: given }
}

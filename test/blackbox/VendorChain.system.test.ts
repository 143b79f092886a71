import type { ServerResponse } from "node:http"
import { expect, it } from "@effect/vitest"
import { CallTimeline } from "@svc/api/calls/CallTimeline"
import { TestDatabase } from "@svc/database/TestDatabase"
import { emulatedDeepgram } from "@svc/plugin-deepgram/testing/EmulatedDeepgram"
import * as ElevenLabs from "@svc/plugin-elevenlabs/testing/EmulatedElevenLabs"
import { emulatedServer } from "@svc/providers/testing/EmulatedServer"
import { Console, Effect, Schema } from "effect"
import * as CallRecords from "../src/blackbox/CallRecords.ts"
import { eventually } from "../src/blackbox/Inbox.ts"
import * as Line from "../src/blackbox/Line.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"
import { toneEar, toneVoice } from "../src/blackbox/ToneVendor.ts"

/** Delays of the emulated vendors, in milliseconds: those of fast ones on the public internet. */
const firstTokenMs = 300
const tokenMs = 1000 / 60
const firstAudioMs = 150

const deepgramKey = "dg-secret-0123456789"
const openaiKey = "sk-secret-0123456789"

const event = (delta: unknown, finish_reason: string | null = null) =>
  `data: ${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "small", choices: [{ index: 0, delta, finish_reason }] })}\n\n`
const usageOf = (output: number) =>
  `data: ${JSON.stringify({ id: "chatcmpl-1", choices: [], usage: { prompt_tokens: 900, completion_tokens: output, prompt_tokens_details: { cached_tokens: 768 } } })}\n\ndata: [DONE]\n\n`

const long = "The kitchen has soup and bread and fish and rice and many other things that you can order today."

/** What the model answers to the last message. */
const answerOf = (messages: ReadonlyArray<unknown>): ReadonlyArray<unknown> => {
  const { content, role } = Object(messages.at(-1))
  const words = (text: string) => text.split(/(?= )/).map((word) => ({ content: word }))
  if (role === "tool") return words(`You have a table at ${JSON.parse(content).at}.`)
  if (/book/i.test(content)) {
    return [
      { tool_calls: [{ index: 0, id: "call_a", type: "function", function: { name: "book", arguments: "" } }] },
      { tool_calls: [{ index: 0, function: { arguments: '{"guests":2}' } }] }
    ]
  }
  return words(/menu/i.test(content) ? long : `You said ${content}`)
}

/** Streams an answer at the pace of a model, until the request is broken off. */
const answer = (messages: ReadonlyArray<unknown>, response: ServerResponse): void => {
  const deltas = answerOf(messages)
  const isTool = "tool_calls" in Object(deltas[0])
  response.writeHead(200, { "content-type": "text/event-stream" })
  const write = (at: number): void => {
    if (response.destroyed) return
    if (at === deltas.length) {
      response.end(event({}, isTool ? "tool_calls" : "stop") + usageOf(deltas.length))
      return
    }
    response.write(event(deltas[at]))
    setTimeout(() => write(at + 1), tokenMs)
  }
  setTimeout(() => write(0), firstTokenMs)
}

/** The requests of the turns as bars, in milliseconds from the end of the caller's sound, beside the least possible. */
const waterfall = ({ provider_requests, tools, turns }: CallTimeline): string => {
  const lines: Array<string> = []
  for (const turn of turns) {
    if (turn.role !== "assistant" || turn.stages === null) continue
    const { endpointing_ms, response_ms } = turn.stages
    if (response_ms === null) continue
    const from = turn.started_at - response_ms - (endpointing_ms ?? 0)
    const bar = (what: string, begin: number, end: number): void => {
      const cell = (at: number) => Math.max(0, Math.min(60, Math.round((at - from) / 25)))
      const row = " ".repeat(cell(begin)) + "█".repeat(Math.max(1, cell(end) - cell(begin)))
      lines.push(`  ${what.padEnd(26)}${String(Math.round(begin - from)).padStart(6)} ms  ${row}`)
    }
    lines.push(`${turn.index}: ${turn.text}`)
    bar("end of turn (deepgram)", from, from + (endpointing_ms ?? 0))
    for (const one of provider_requests.filter((one) => one.turn === turn.index && one.started_at <= turn.started_at)) {
      bar(`${one.capability} (${one.plugin})`, one.started_at, one.first_at ?? one.started_at)
    }
    for (const tool of tools.filter((tool) => tool.started_at >= from && tool.started_at <= turn.started_at)) {
      bar(`tool ${tool.name}`, tool.started_at, tool.ended_at ?? tool.started_at)
    }
    bar("first sound", turn.started_at, turn.started_at)
    const rounds = tools.some((tool) => tool.started_at >= from && tool.started_at <= turn.started_at) ? 2 : 1
    lines.push(
      `  after the end of the turn: ${Math.round(response_ms)} ms; the vendors need ${rounds * firstTokenMs + firstAudioMs} ms`
    )
  }
  return lines.join("\n")
}

it.scopedLive("a call with OpenAI, Deepgram and ElevenLabs over real sockets: a tool, an interruption, usage", () =>
  Effect.gen(function* () {
    const deepgram = yield* emulatedServer(emulatedDeepgram({ key: deepgramKey, ear: toneEar, voice: toneVoice }))
    const eleven = yield* ElevenLabs.vendorServer(
      ElevenLabs.speaks({ voice: toneVoice, before: () => Effect.as(Effect.sleep(firstAudioMs), true) })
    )
    const openai = yield* emulatedServer({
      request: ({ headers, json, path }, response) => {
        if (headers.authorization !== `Bearer ${openaiKey}`) return void response.writeHead(401).end()
        if (path === "/v1/models") {
          return void response
            .writeHead(200, { "content-type": "application/json" })
            .end(JSON.stringify({ object: "list", data: [{ id: "small" }] }))
        }
        const { messages } = json
        answer(Array.isArray(messages) ? messages : [], response)
      }
    })
    const server = yield* ServerProcess.start({
      data: { url: yield* TestDatabase.freshUrl },
      keys: yield* ServerProcess.newKeys,
      env: {
        SVC_PLUGINS: "@svc/plugin-openai,@svc/plugin-deepgram,@svc/plugin-elevenlabs,@svc/plugin-simulated",
        SVC_SIMULATED_PROVIDES: "telephony,embedding",
        SVC_OPENAI_API_KEY: openaiKey,
        SVC_OPENAI_BASE_URL: `${openai.origin}/v1`,
        SVC_OPENAI_MODEL: "small",
        SVC_DEEPGRAM_API_KEY: deepgramKey,
        SVC_DEEPGRAM_URL: deepgram.origin,
        SVC_DEEPGRAM_MODEL: "nova-3",
        SVC_DEEPGRAM_PROVIDES: "speech-to-text",
        SVC_ELEVENLABS_API_KEY: ElevenLabs.apiKey,
        SVC_ELEVENLABS_URL: eleven.origin
      }
    })
    const line = yield* Line.open(server, ({ event }) =>
      event === "tool.call"
        ? { json: { result: { at: "eight" } } }
        : event === "call.started"
          ? {
              json: {
                system_prompt: "You take orders in a restaurant.",
                first_message: "Hello.",
                tools: [{ name: "book", description: "Books a table", parameters: { type: "object", properties: {} } }]
              }
            }
          : { json: {} }
    )
    const { callId, phone } = yield* line.call
    yield* phone.hears("Hello.")
    phone.say("Book a table")
    yield* phone.hears("You have a table at eight.")
    phone.say("Read the menu")
    yield* phone.catches("The kitchen has")
    phone.say("Stop it please")
    yield* phone.hears("You said Stop it please")
    phone.hangup()

    const record = yield* CallRecords.settled(server.api, callId)
    const { body } = yield* server.api.get(`/v1/calls/${callId}/timeline`)
    const timeline = yield* Schema.decodeUnknown(CallTimeline)(body)
    yield* Console.log(waterfall(timeline))

    const spoken = CallRecords.spoken(record)
    expect(spoken.filter((_, n) => n !== 4)).toEqual([
      "assistant: Hello.",
      "user: Book a table",
      "assistant: You have a table at eight.",
      "user: Read the menu",
      "user: Stop it please",
      "assistant: You said Stop it please"
    ])
    const cut = spoken[4]?.replace("assistant: ", "") ?? ""
    expect(long.startsWith(cut.replace(/[ –—-]*$/, ""))).toBe(true)
    expect(cut.length).toBeLessThan(long.length)
    expect(record["tools_called"]).toEqual(["book"])
    // What was interrupted is not asked for to the end: its request has no usage.
    expect(record["usage"]).toMatchObject({ llm: { input_tokens: expect.any(Number) } })
    const llm = Object(Object(record["usage"])["llm"])
    expect(llm.cached_input_tokens).toBe((llm.input_tokens / 900) * 768)
    expect(new Set(timeline.provider_requests.map(({ capability, plugin }) => `${capability} ${plugin}`))).toEqual(
      new Set(["language-model openai", "speech-to-text deepgram", "text-to-speech elevenlabs"])
    )
    expect(timeline.provider_requests.filter(({ error }) => error !== null)).toEqual([])
    expect(timeline.warnings).toEqual([])
    // That of ElevenLabs is kept for the next call.
    yield* eventually("no connection to Deepgram is left", Effect.sync(deepgram.openPeers), (open) => open === 0)
    const outputs = server.output() + JSON.stringify(record) + JSON.stringify(body)
    for (const key of [openaiKey, deepgramKey, ElevenLabs.apiKey]) expect(outputs).not.toContain(key)
  })
)

import { describe, expect, it } from "@effect/vitest"
import type { CallAgent } from "@svc/agents/Agents"
import type { EventDraft } from "@svc/api/events/Event"
import { mulaw8k } from "@svc/providers/Audio"
import { pcmToMulaw } from "@svc/providers/G711"
import * as PluginLoader from "@svc/providers/PluginLoader"
import { Providers } from "@svc/providers/Providers"
import type { CallEvent, CallLeg, IncomingCall } from "@svc/providers/Telephony"
import { ConfigProvider, Effect, Fiber, FiberSet, Layer } from "effect"
import { Callbacks } from "../src/Callbacks.ts"
import { Journal, type JournalRow } from "../src/Journal.ts"
import { VirtualTime } from "../src/media/VirtualTime.ts"
import { Recorder } from "../src/recording/Recorder.ts"
import * as CallSession from "../src/session/CallSession.ts"
import { sessionServices } from "../src/session/SessionServices.ts"
import { configuration } from "./Engine.ts"
import { facts } from "./Script.ts"

const agent: CallAgent = {
  id: 1,
  public_id: facts.agent_id,
  org_id: 1,
  project_id: 1,
  name: "Test",
  language: "en-US",
  voice: "Sarah",
  max_duration: 1800,
  recording: false,
  end_call_enabled: true,
  server_url: "http://127.0.0.1:1/",
  server_secret: "secret"
}

const answer = configuration(
  {
    rules: [
      { user: "look", tool: "lookup", arguments: {} },
      { tool_result: "lookup", say: "Found {{result.n}}." }
    ],
    otherwise: "You said {{user}}. Is there anything else that I can do for you today?",
    first_token_ms: 200
  },
  { tools: [{ name: "lookup" }], end_session_message: "Time is up." }
).json

/** What a call left behind: its journal, its events, and what was asked of the customer's server. */
interface Log {
  readonly rows: Array<JournalRow>
  readonly events: Array<EventDraft>
  readonly told: Array<string>
}

const memory = (log: Log) =>
  Layer.mergeAll(
    Layer.succeed(Journal, {
      append: (row) => void log.rows.push(row),
      emit: (event) => void log.events.push(event),
      answered: () => {},
      flush: Effect.void
    }),
    Layer.succeed(Recorder, { begin: () => expect.fail("nothing is to be recorded"), isWriting: () => false }),
    Layer.succeed(Callbacks, {
      callStarted: () => Effect.as(Effect.sleep("80 millis"), answer),
      toolCall: () => Effect.as(Effect.sleep("350 millis"), { n: 7 }),
      transcriptUpdated: (_, body) => Effect.sync(() => void log.told.push(`${body.role}: ${body.content}`))
    })
  )

/** A caller in virtual time: its leg, and a mouth that speaks 20 ms at a time. */
const caller = Effect.gen(function* () {
  const { textToSpeech } = yield* Providers
  const [voice] = textToSpeech
  if (voice === undefined) return yield* Effect.dieMessage("no voice")
  let listener: (event: CallEvent) => void = () => {}
  let frames = 0
  const leg: CallLeg = {
    format: mulaw8k,
    listen: (l) => {
      listener = l
    },
    send: () => void frames++,
    mark: () => {},
    clear: () => {},
    hangup: () => {}
  }
  const incoming: IncomingCall = {
    id: "1",
    from: facts.from,
    to: facts.to ?? "",
    headers: {},
    ringing: () => {},
    answer: () => Effect.succeed(leg),
    reject: () => {},
    canceled: Effect.never
  }
  const say = (text: string) =>
    Effect.gen(function* () {
      const spoken: Array<number> = []
      yield* voice.synthesize({
        callId: "caller",
        text,
        voice: "Sarah",
        language: "en-US",
        sampleRate: 8000,
        sink: { write: (pcm) => spoken.push(...pcm) > 0, align: () => {}, drained: Effect.void }
      })
      const audio = Int16Array.from([...spoken, ...new Array<number>(1600).fill(0)])
      const bytes = new Uint8Array(160)
      for (let at = 0; at + 160 <= audio.length; at += 160) {
        pcmToMulaw(audio, at, 160, bytes, 0)
        listener({ _tag: "Audio", payload: bytes })
        yield* Effect.sleep("20 millis")
      }
    })
  return { incoming, say, frames: () => frames }
})

/** Half an hour on the phone: something is said every 20 seconds, often over the agent. */
const halfAnHour = Effect.gen(function* () {
  const log: Log = { rows: [], events: [], told: [] }
  const minutes = yield* Effect.scoped(
    Effect.gen(function* () {
      const time = yield* VirtualTime
      const background = yield* FiberSet.runtime(yield* FiberSet.make<void>())<never>()
      const services = yield* sessionServices((effect) => void background(effect))
      const { frames, incoming, say } = yield* caller
      const session = yield* CallSession.make(services, { id: 1, incoming, agent, facts, formats: [mulaw8k] })
      const talk = Effect.forever(
        Effect.gen(function* () {
          yield* Effect.sleep("15 seconds")
          yield* say("Hello")
          yield* Effect.sleep("2 seconds")
          yield* say("No")
          yield* Effect.sleep("8 seconds")
          yield* say("look")
        })
      )
      yield* Effect.forkScoped(talk)
      const over = yield* Effect.fork(session.over)
      yield* time.advance("31 minutes")
      const state = yield* Fiber.join(over)
      return { state, frames: frames(), at: time.now() }
    })
  ).pipe(
    Effect.provide(Layer.mergeAll(memory(log), VirtualTime.layer(facts.started_at))),
    Effect.provide(PluginLoader.layer()),
    Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["SVC_PLUGINS", "@svc/plugin-simulated"]])))
  )
  return { ...minutes, log }
})

describe("virtual time", () => {
  it.live(
    "passes half an hour of a call in seconds, with the same log each time",
    () =>
      Effect.gen(function* () {
        const first = yield* halfAnHour
        expect(first.state?.outcome).toEqual({ status: "completed", disposition: "answered", ended_reason: "timeout" })
        expect(first.state?.transcript.length).toBeGreaterThan(200)
        expect(first.log.events.filter((e) => e.event === "barge_in").length).toBeGreaterThan(20)
        expect(first.log.events.filter((e) => e.event === "tool.completed").length).toBeGreaterThan(40)
        expect(first.frames).toBeGreaterThan(10_000)
        const second = yield* halfAnHour
        expect(JSON.stringify(second.log)).toBe(JSON.stringify(first.log))
      }),
    120_000
  )
})

import { expect } from "@effect/vitest"
import type { CallAgent } from "@svc/agents/Agents"
import type { CallStartedRequest, ToolCallRequest } from "@svc/api/callbacks/CallStarted"
import type { EventDraft } from "@svc/api/events/Event"
import type { CommandOf } from "@svc/conversation/Command"
import { facts } from "@svc/conversation/testing/Script"
import { mulaw8k } from "@svc/providers/Audio"
import { pcmToMulaw } from "@svc/providers/G711"
import { Providers } from "@svc/providers/Providers"
import type { CallEvent, CallLeg, IncomingCall, TransferState } from "@svc/providers/Telephony"
import { Effect, Layer } from "effect"
import { AgentServerClient } from "../../src/agent-server/AgentServerClient.ts"
import type { JournalRow } from "../../src/record/JournalRepo.ts"
import { LiveCallWriter } from "../../src/record/LiveCallWriter.ts"
import { Recorder } from "../../src/recording/Recorder.ts"
import { CallKnowledge } from "../../src/session/CallKnowledge.ts"
import { CallMessages, type MessageFailed } from "../../src/session/CallMessages.ts"

/** Doubles for calls in virtual time: the network, the agent's server and the database. Everything else is real. */

export const agent: CallAgent = {
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
  has_knowledge_bases: false,
  server_url: "http://127.0.0.1:1/",
  server_secret: "secret"
}

/** What calls produced: journal rows, events, and `transcript.updated` as `role: content`. */
export interface Log {
  readonly rows: Array<JournalRow>
  readonly events: Array<EventDraft>
  readonly transcript: Array<string>
}

/** An agent's server that answers from functions. */
export interface VirtualServer {
  readonly callStarted: (body: CallStartedRequest) => Effect.Effect<unknown>
  readonly toolCall: (body: ToolCallRequest) => Effect.Effect<unknown>
  /** The text messages of the call; by default each is sent. */
  readonly sendSms?: (sms: CommandOf<"SendSms">) => Effect.Effect<string, MessageFailed>
}

/** Layers that log in memory and answer as the agent's server. */
export const memory = (log: Log, server: VirtualServer) =>
  Layer.mergeAll(
    Layer.succeed(LiveCallWriter, {
      journal: { append: (row) => void log.rows.push(row), flush: Effect.void },
      events: { emit: (event) => void log.events.push(event) },
      answered: { mark: () => {} },
      serverRequests: { add: () => {} }
    }),
    Layer.succeed(Recorder, { begin: () => expect.fail("nothing is to be recorded"), isWriting: () => false }),
    CallKnowledge.layerNone,
    Layer.succeed(CallMessages, { send: (_, __, sms) => server.sendSms?.(sms) ?? Effect.succeed("sms_1") }),
    Layer.succeed(AgentServerClient, {
      callStarted: (_, body) => server.callStarted(body),
      toolCall: (_, body) => server.toolCall(body),
      transcriptUpdated: (_, body) => Effect.sync(() => void log.transcript.push(`${body.role}: ${body.content}`))
    })
  )

/** A caller in virtual time: speaks in 20 ms frames, presses digits, and hangs up. */
export const caller = Effect.gen(function* () {
  const { textToSpeech } = yield* Providers
  const voice = textToSpeech.at(-1)
  if (voice === undefined) return yield* Effect.dieMessage("no voice")
  let listener: (event: CallEvent) => void = () => {}
  let frames = 0
  const transfers: Array<string> = []
  const hangups: Array<string> = []
  const leg: CallLeg = {
    format: mulaw8k,
    listen: (l) => {
      listener = l
    },
    send: () => void frames++,
    mark: () => {},
    clear: () => {},
    hangup: (reason) => void hangups.push(reason),
    transferBlind: (target) => void transfers.push(target)
  }
  const connection: IncomingCall = {
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
  const press = (keys: string, source: "rfc4733" | "in-band" | "signaling" = "signaling") =>
    Effect.sync(() => {
      for (const digit of keys) listener({ _tag: "Dtmf", digit, source })
    })
  /** A tone of 1 kHz, and silence after it. */
  const beep = Effect.gen(function* () {
    const bytes = new Uint8Array(160)
    for (let frame = 0; frame < 35; frame++) {
      const level = frame < 25 ? 9000 : 0
      const pcm = Int16Array.from({ length: 160 }, (_, n) => Math.round(level * Math.sin((2 * Math.PI * n) / 8)))
      pcmToMulaw(pcm, 0, 160, bytes, 0)
      listener({ _tag: "Audio", payload: bytes })
      yield* Effect.sleep("20 millis")
    }
  })
  const progress = (state: TransferState) => Effect.sync(() => listener({ _tag: "TransferProgress", state }))
  const hangup = Effect.sync(() => listener({ _tag: "Ended", cause: "hangup" }))
  return { connection, leg, say, beep, press, progress, hangup, hangups, transfers, frames: () => frames }
})

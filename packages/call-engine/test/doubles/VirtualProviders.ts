import { replay } from "@svc/conversation/Replay"
import { facts } from "@svc/conversation/testing/Script"
import * as PluginLoader from "@svc/plugin-host/PluginLoader"
import { legFormats, mulaw8k } from "@svc/providers/Audio"
import { healthy } from "@svc/providers/Health"
import { Providers } from "@svc/providers/Providers"
import type { SpeechEvent, SpeechToText } from "@svc/providers/SpeechToText"
import type { CallEvent } from "@svc/providers/Telephony"
import { ConfigProvider, type Context, type Duration, Effect, FiberSet, Layer } from "effect"
import { VirtualTime } from "../../src/media/VirtualTime.ts"
import { phoneServices } from "../../src/session/PhoneServices.ts"
import * as PhoneSession from "../../src/session/PhoneSession.ts"
import { configuration } from "./Engine.ts"
import { agent, callerOn, type LegKind, type Log, memory } from "./VirtualPhone.ts"

/** Whole calls in virtual time, with faulty providers. */

type Loaded = Context.Tag.Service<Providers>

export interface VirtualCall {
  readonly log: Log
  readonly session: PhoneSession.PhoneSession
  /** Why the leg was hung up, each time. */
  readonly hangups: ReadonlyArray<string>
  readonly wait: (time: Duration.DurationInput) => Effect.Effect<void>
  /** The process stalls for a time. */
  readonly stall: (time: Duration.DurationInput) => Effect.Effect<void>
  readonly say: (text: string) => Effect.Effect<void>
  /** Sends samples in the sample rate of the leg. */
  readonly play: (audio: Int16Array) => Effect.Effect<void>
  /** Emits an event of the leg. */
  readonly emit: (event: CallEvent) => Effect.Effect<void>
  /** The network reports keys as events. */
  readonly press: (keys: string, source: "rfc4733" | "signaling") => Effect.Effect<void>
  readonly hangup: Effect.Effect<void>
  /** Destinations to which the leg was asked to transfer the caller. */
  readonly transfers: ReadonlyArray<string>
  /** The frames that the caller heard, in the format of the leg. */
  readonly heard: ReadonlyArray<Uint8Array>
  /** `role: content` of each turn of the transcript. */
  readonly turns: () => ReadonlyArray<string>
}

type Change = (loaded: Loaded) => Partial<Loaded>

const standard: unknown = configuration({ otherwise: "Ok." }).json

/** Runs `count` concurrent calls and hangs up at the end. Their journals must replay without a difference. */
export const together = <A>(
  count: number,
  providers: Change,
  act: (calls: ReadonlyArray<VirtualCall>, wait: VirtualCall["wait"]) => Effect.Effect<A>,
  answer: unknown = standard,
  settings: ReadonlyArray<readonly [string, string]> = [],
  leg: LegKind = { format: mulaw8k }
) =>
  Effect.gen(function* () {
    const log: Log = { rows: [], events: [], transcript: [] }
    const rowsOf = (id: number) => log.rows.filter((row) => row.call_id === id)
    const changed = Layer.effect(
      Providers,
      Effect.map(Providers, (loaded) => ({ ...loaded, ...providers(loaded) }))
    ).pipe(Layer.provide(PluginLoader.layer()))
    const server = memory(log, { callStarted: () => Effect.succeed(answer), toolCall: () => Effect.succeed("ok") })
    const ids = Array.from({ length: count }, (_, i) => i + 1)
    const result = yield* Effect.scoped(
      Effect.gen(function* () {
        const time = yield* VirtualTime
        const background = yield* FiberSet.runtime(yield* FiberSet.make<void>())<never>()
        const services = yield* phoneServices((effect) => void background(effect))
        const speak = yield* FiberSet.runtime(yield* FiberSet.make<void>())<never>()
        const wait = (duration: Duration.DurationInput) => Effect.asVoid(time.advance(duration))
        const calls = yield* Effect.forEach(ids, (id) =>
          Effect.gen(function* () {
            const phone = yield* callerOn(leg)
            const session = yield* PhoneSession.make(services, {
              id,
              connection: phone.connection,
              agent,
              facts: { ...facts, ...services.facts },
              formats: legFormats
            })
            return {
              log,
              session,
              hangups: phone.hangups,
              wait,
              stall: time.stall,
              say: (text: string) => Effect.sync(() => void speak(phone.say(text))),
              play: (audio: Int16Array) => Effect.sync(() => void speak(phone.play(audio))),
              emit: phone.emit,
              press: phone.press,
              hangup: phone.hangup,
              transfers: phone.transfers,
              heard: phone.heard,
              turns: () => replay(rowsOf(id))?.state.transcript.map((t) => `${t.role}: ${t.content}`) ?? []
            }
          })
        )
        const result = yield* act(calls, wait)
        yield* Effect.forEach(calls, (call) => call.hangup)
        yield* wait("3 seconds")
        return result
      })
    ).pipe(Effect.provide(Layer.mergeAll(server, VirtualTime.layer(facts.started_at))), Effect.provide(changed))
    const states = yield* Effect.forEach(ids, (id) => {
      const replayed = replay(rowsOf(id))
      return replayed === undefined || replayed.differing.length > 0
        ? Effect.dieMessage(`rows ${replayed?.differing} of call ${id} play differently`)
        : Effect.succeed(replayed.state)
    })
    return { result, states }
  }).pipe(
    Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["SVC_PLUGINS", "@svc/plugin-simulated"], ...settings])))
  )

/** The same with one call. */
export const during = <A>(
  providers: Change,
  act: (call: VirtualCall) => Effect.Effect<A>,
  answer: unknown = standard,
  settings: ReadonlyArray<readonly [string, string]> = [],
  leg?: LegKind
) =>
  Effect.flatMap(
    together(
      1,
      providers,
      ([call]) => (call === undefined ? Effect.dieMessage("no call") : act(call)),
      answer,
      settings,
      leg
    ),
    ({ result, states: [state] }) =>
      state === undefined ? Effect.dieMessage("no call") : Effect.succeed({ result, state })
  )

/** Speech-to-text that a test scripts: `onFrame` for each frame, `finish` at the end; both may emit events. */
export const scriptedSpeechToText = (parts: {
  readonly id?: string
  readonly opens?: Effect.Effect<void>
  readonly onFrame?: (frame: number, emit: (event: SpeechEvent) => void) => void
  readonly finish?: (emit: (event: SpeechEvent) => void) => Effect.Effect<void>
}): Context.Tag.Service<SpeechToText> => ({
  id: parts.id ?? "played",
  capabilities: { languages: ["en-US"], endpointing: "provider", sampleRates: [8000], keyterms: false },
  health: Effect.succeed(healthy),
  open: ({ onEvent }) =>
    Effect.as(parts.opens ?? Effect.void, {
      push: (() => {
        let frame = 0
        return () => parts.onFrame?.(frame++, onEvent)
      })(),
      finish: Effect.suspend(() => parts.finish?.(onEvent) ?? Effect.void)
    })
})

import { mulaw8k } from "@svc/providers/Audio"
import { healthy } from "@svc/providers/Health"
import * as PluginLoader from "@svc/providers/PluginLoader"
import { Providers } from "@svc/providers/Providers"
import type { SpeechEvent, SpeechToText } from "@svc/providers/SpeechToText"
import { ConfigProvider, type Context, type Duration, Effect, FiberSet, Layer } from "effect"
import { VirtualTime } from "../src/media/VirtualTime.ts"
import { replay } from "../src/Replay.ts"
import * as CallSession from "../src/session/CallSession.ts"
import { sessionServices } from "../src/session/SessionServices.ts"
import { configuration } from "./Engine.ts"
import { facts } from "./Script.ts"
import { agent, caller, type Log, memory } from "./VirtualPhone.ts"

/** Whole calls in virtual time, with providers that a test makes misbehave. */

type Loaded = Context.Tag.Service<Providers>

export interface VirtualCall {
  readonly log: Log
  readonly session: CallSession.CallSession
  /** Why the leg was hung up, each time. */
  readonly hangups: ReadonlyArray<string>
  readonly wait: (time: Duration.DurationInput) => Effect.Effect<void>
  readonly say: (text: string) => Effect.Effect<void>
  readonly hangup: Effect.Effect<void>
  /** Role and content of each turn that was told. */
  readonly turns: () => ReadonlyArray<string>
}

/** Makes a call, lets the test act in it, and hangs up. Its journal must play again without a difference. */
export const during = <A>(
  providers: (loaded: Loaded) => Partial<Loaded>,
  act: (call: VirtualCall) => Effect.Effect<A>,
  answer: unknown = configuration({ otherwise: "Ok." }).json
) =>
  Effect.gen(function* () {
    const log: Log = { rows: [], events: [], told: [] }
    const changed = Layer.effect(
      Providers,
      Effect.map(Providers, (loaded) => ({ ...loaded, ...providers(loaded) }))
    ).pipe(Layer.provide(PluginLoader.layer()))
    const server = memory(log, { callStarted: () => Effect.succeed(answer), toolCall: () => Effect.succeed("ok") })
    const result = yield* Effect.scoped(
      Effect.gen(function* () {
        const time = yield* VirtualTime
        const background = yield* FiberSet.runtime(yield* FiberSet.make<void>())<never>()
        const services = yield* sessionServices((effect) => void background(effect))
        const phone = yield* caller
        const session = yield* CallSession.make(services, {
          id: 1,
          incoming: phone.incoming,
          agent,
          facts: { ...facts, ...services.facts },
          formats: [mulaw8k]
        })
        const wait = (duration: Duration.DurationInput) => Effect.asVoid(time.advance(duration))
        const speak = yield* FiberSet.runtime(yield* FiberSet.make<void>())<never>()
        const result = yield* act({
          log,
          session,
          hangups: phone.hangups,
          wait,
          say: (text) => Effect.sync(() => void speak(phone.say(text))),
          hangup: phone.hangup,
          turns: () => replay(log.rows)?.state.transcript.map((t) => `${t.role}: ${t.content}`) ?? []
        })
        yield* phone.hangup
        yield* wait("3 seconds")
        return result
      })
    ).pipe(Effect.provide(Layer.mergeAll(server, VirtualTime.layer(facts.started_at))), Effect.provide(changed))
    const replayed = replay(log.rows)
    if (replayed === undefined || replayed.differing.length > 0) {
      return yield* Effect.dieMessage(`rows ${replayed?.differing} play differently`)
    }
    return { result, state: replayed.state, log }
  }).pipe(Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["SVC_PLUGINS", "@svc/plugin-simulated"]]))))

/** A recognizer that a test plays: `onFrame` for each frame, `finish` at the end; both may tell events. */
export const recognizer = (parts: {
  readonly id?: string
  readonly opens?: Effect.Effect<void>
  readonly onFrame?: (frame: number, tell: (event: SpeechEvent) => void) => void
  readonly finish?: (tell: (event: SpeechEvent) => void) => Effect.Effect<void>
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

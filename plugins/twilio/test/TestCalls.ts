import { mulaw8k } from "@svc/providers/Audio"
import type { CallEvent, CallLeg, IncomingCall } from "@svc/providers/Telephony"
import { Effect, Queue, type Scope, Stream } from "effect"
import { expect } from "vitest"
import type { EmulatedCall } from "../src/testing/EmulatedCall.ts"
import { type SetupOptions, setUp, type TwilioSetup } from "../src/testing/TwilioSetup.ts"

export const numbers = { from: "+12025550100", to: "+12025550199" }

/** Waits until a condition holds, at most 10 s. */
export const until = (what: string, condition: () => boolean): Effect.Effect<void> =>
  Effect.gen(function* () {
    const end = performance.now() + 10_000
    while (!condition()) {
      if (performance.now() > end) throw new Error(`${what} did not happen`)
      yield* Effect.sleep(5)
    }
  })

/** A call that is answered, seen from both sides. */
export interface TestCall {
  readonly call: EmulatedCall
  readonly leg: CallLeg
  readonly events: ReadonlyArray<CallEvent>
  readonly tags: () => ReadonlyArray<string>
}

export interface Calls extends TwilioSetup {
  readonly incoming: Queue.Queue<IncomingCall>
  /** Answers the next incoming call. */
  readonly answer: (call: EmulatedCall) => Effect.Effect<TestCall>
  readonly connect: Effect.Effect<TestCall>
}

/** What a leg emits, without audio, in short. */
export const summary = (event: CallEvent): string => {
  switch (event._tag) {
    case "Media":
      return event.on ? "media on" : "media off"
    case "Ended":
      return `ended ${event.cause}`
    case "TransferProgress":
      return `transfer ${event.state}`
    case "Answerer":
      return `answerer ${event.verdict}`
    case "Dtmf":
      return `key ${event.digit}`
    default:
      return event._tag
  }
}

export const listen = (leg: CallLeg): ReadonlyArray<CallEvent> => {
  const events: Array<CallEvent> = []
  leg.listen((event) => void events.push(event._tag === "Audio" ? { ...event, payload: event.payload.slice() } : event))
  return events
}

const callsOf = (made: TwilioSetup): Effect.Effect<Calls, never, Scope.Scope> =>
  Effect.gen(function* () {
    const incoming = yield* Queue.unbounded<IncomingCall>()
    yield* Effect.forkScoped(Stream.runForEach(made.telephony.incoming, (call) => Queue.offer(incoming, call)))
    const answer = (call: EmulatedCall): Effect.Effect<TestCall> =>
      Effect.gen(function* () {
        const offered = yield* Queue.take(incoming)
        expect(offered.id).toBe(call.sid)
        const leg = yield* Effect.orDie(offered.answer({ callId: "call_test", formats: [mulaw8k] }))
        const events = listen(leg)
        const tags = () => events.filter(({ _tag }) => _tag !== "Audio" && _tag !== "Mark").map(summary)
        return { call, leg, events, tags }
      })
    return { ...made, incoming, answer, connect: Effect.suspend(() => answer(made.carrier.dial(numbers))) }
  })

export const calls = (options?: SetupOptions): Effect.Effect<Calls, never, Scope.Scope> =>
  Effect.flatMap(setUp(options), callsOf)

/** Sends `count` frames whose bytes are `label`, 20 ms apart. */
export const speak = (leg: CallLeg, label: number, count = 10): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (let n = 0; n < count; n++) {
      leg.send(new Uint8Array(160).fill(label))
      yield* Effect.sleep(20)
    }
  })

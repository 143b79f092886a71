import { Effect, Queue, type Scope, Stream } from "effect"
import { type AudioFormat, frameBytes, frameMs } from "../Audio.ts"
import { type CallEvent, type CallLeg, type IncomingCall, Telephony } from "../Telephony.ts"
import { type Bench, bench, type Check, CheckFailed, type CheckOptions, mustNotThrow } from "./Check.ts"
import type { ConnectPhone, OtherBehaviour, OtherPhone, Phone, PhoneCall } from "./Phone.ts"

export interface TelephonyCheckOptions extends CheckOptions<Telephony> {
  readonly phone: ConnectPhone
  /** Numbers that the network takes; made-up ones by default. */
  readonly numbers?: { readonly from: string; readonly to: string }
  /** A number to which the network takes no message, where the author can stage that. */
  readonly refusesSms?: string
}

/** Both ends of one call that was answered. */
export interface Connected {
  readonly leg: CallLeg
  readonly phone: PhoneCall
  /** What the leg told so far; audio is copied. */
  readonly events: ReadonlyArray<CallEvent>
}

/** A telephony plugin with a phone on its network. */
export interface Network {
  readonly telephony: typeof Telephony.Service
  readonly phone: Phone
  /** A phone to transfer to, or to dial; `why` it is needed. */
  readonly other: (why: string, behaves: OtherBehaviour) => Effect.Effect<OtherPhone, CheckFailed, Scope.Scope>
  /** Dials and waits until the call comes in. */
  readonly ring: Effect.Effect<{ readonly phone: PhoneCall; readonly call: IncomingCall }, CheckFailed, Scope.Scope>
  readonly answer: (call: IncomingCall, formats?: ReadonlyArray<AudioFormat>) => Effect.Effect<CallLeg, CheckFailed>
  /** Dials, answers and listens. */
  readonly connect: Effect.Effect<Connected, CheckFailed, Scope.Scope>
}

export interface TelephonyBench
  extends Pick<Bench<Telephony, typeof Telephony.Service>, "eventually" | "quiet" | "within"> {
  readonly check: (name: string, body: (network: Network) => Effect.Effect<void, CheckFailed, Scope.Scope>) => Check
  readonly numbers: { readonly from: string; readonly to: string }
  readonly bench: Bench<Telephony, typeof Telephony.Service>
}

/** Byte values that mean silence in one of the formats, or stand for it in places. */
const silences: ReadonlySet<number> = new Set([0x00, 0x55, 0xd5, 0x7f, 0xff, 0x80])

/** A frame that can be told from others: all its bytes are the same. `index` from 0 to 79. */
export const marked = (format: AudioFormat, index: number): Uint8Array =>
  new Uint8Array(frameBytes(format)).fill(1 + (index % 80) + (index % 80 >= 0x54 ? 1 : 0))

/** The marks in audio, in order, repetitions and silence left out. */
export const marksIn = (audio: Uint8Array): ReadonlyArray<number> => {
  const found: Array<number> = []
  for (const byte of audio) if (!silences.has(byte) && found.at(-1) !== byte) found.push(byte)
  return found
}

/** The marks of frames `from` to `to` (exclusive). */
export const marksOf = (format: AudioFormat, from: number, to: number): ReadonlyArray<number> =>
  Array.from({ length: to - from }, (_, index) => marked(format, from + index)[0] ?? 0)

/** All audio that a leg told. */
export const audioOf = (events: ReadonlyArray<CallEvent>): Uint8Array =>
  new Uint8Array(events.flatMap((event) => (event._tag === "Audio" ? [...event.payload] : [])))

/** Sends frames `from` to `to` from one buffer that is used again and again, 20 ms apart. */
export const play = (leg: CallLeg, from: number, to: number): Effect.Effect<void, CheckFailed> => {
  const buffer = new Uint8Array(frameBytes(leg.format))
  return Effect.forEach(
    Array.from({ length: to - from }, (_, index) => from + index),
    (index) =>
      Effect.zipRight(
        mustNotThrow("send", () => {
          buffer.set(marked(leg.format, index))
          leg.send(buffer)
          buffer.fill(0xff)
        }),
        Effect.sleep(frameMs)
      ),
    { discard: true }
  )
}

/** Listens, and keeps what is told. */
export const listen = (leg: CallLeg): Effect.Effect<ReadonlyArray<CallEvent>, CheckFailed> => {
  const events: Array<CallEvent> = []
  return mustNotThrow("listen", () => {
    leg.listen((event) => {
      // Not `slice`, which of a Buffer is no copy.
      events.push(event._tag === "Audio" ? { ...event, payload: new Uint8Array(event.payload) } : event)
    })
    return events
  })
}

export const telephonyBench = (options: TelephonyCheckOptions): TelephonyBench => {
  const tools = bench(Telephony, options)
  const { within } = tools
  const numbers = options.numbers ?? { from: "+12025550100", to: "+12025550199" }

  const network = (telephony: typeof Telephony.Service): Effect.Effect<Network, CheckFailed, Scope.Scope> =>
    Effect.gen(function* () {
      const calls = yield* Queue.unbounded<IncomingCall>()
      yield* Effect.forkScoped(Stream.runForEach(telephony.incoming, (call) => Queue.offer(calls, call)))
      const phone: Phone = yield* within("connecting the phone", options.phone(telephony))
      const ring = Effect.gen(function* () {
        const dialled = yield* phone.dial(numbers)
        return { phone: dialled, call: yield* within("a call coming in", Queue.take(calls)) }
      })
      const answer: Network["answer"] = (call, formats = telephony.capabilities.formats.slice(0, 1)) =>
        within(
          "answer",
          Effect.suspend(() => call.answer({ callId: `call_${call.id}`, formats }))
        ).pipe(
          Effect.mapError((error) =>
            error instanceof CheckFailed ? error : new CheckFailed({ reason: `answer failed: ${error.reason}` })
          )
        )
      const connect = Effect.gen(function* () {
        const { call, phone } = yield* ring
        yield* mustNotThrow("ringing", () => call.ringing(`call_${call.id}`))
        const leg = yield* answer(call)
        return { leg, phone, events: yield* listen(leg) }
      })
      const other: Network["other"] = (why, behaves) =>
        phone.other === undefined
          ? Effect.fail(new CheckFailed({ reason: `${why} is declared; give the phone \`other\`` }))
          : phone.other(behaves)
      return { telephony, phone, other, ring, answer, connect }
    })

  return {
    ...tools,
    numbers,
    bench: tools,
    check: (name, body) => tools.check(name, (telephony) => Effect.flatMap(network(telephony), body))
  }
}

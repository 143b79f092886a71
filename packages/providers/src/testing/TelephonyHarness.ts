import { Effect, type Layer, Queue, type Scope, Stream } from "effect"
import { type AudioFormat, frameBytes, frameMs } from "../Audio.ts"
import type { CarrierAddress } from "../Carrier.ts"
import { type CallEvent, type CallLeg, type IncomingCall, Telephony } from "../Telephony.ts"
import {
  type Check,
  CheckFailed,
  type CheckOptions,
  makeHarness,
  mustNotThrow,
  mustSucceed,
  type Waits
} from "./Check.ts"
import type { NumbersForSale } from "./NumbersChecks.ts"
import type { ConnectPhone, OtherBehaviour, OtherPhone, Phone, PhoneCall } from "./Phone.ts"

export interface TelephonyCheckOptions extends CheckOptions<Telephony> {
  readonly phone: ConnectPhone
  /** Numbers that the network accepts; fictitious ones by default. */
  readonly numbers?: { readonly from: string; readonly to: string }
  /** A number to which the network refuses text messages. Without it the refusal is not checked. */
  readonly refusesSms?: string
  /** What the checks of `numbers` buy. Required when the plugin provides `numbers`. */
  readonly forSale?: NumbersForSale
  /** An address that `regulatory` accepts; one in the Netherlands by default. */
  readonly address?: CarrierAddress
}

/** Both ends of one answered call. */
export interface Connected {
  readonly leg: CallLeg
  readonly phone: PhoneCall
  /** The events of the leg so far; audio is copied. */
  readonly events: ReadonlyArray<CallEvent>
}

/** A telephony plugin with a phone on its network. */
export interface Network {
  readonly telephony: typeof Telephony.Service
  readonly phone: Phone
  /** A phone to transfer to or to dial. `why` names the capability that needs it. */
  readonly other: (why: string, behaves: OtherBehaviour) => Effect.Effect<OtherPhone, CheckFailed, Scope.Scope>
  /** Dials, and waits for the incoming call. */
  readonly ring: Effect.Effect<{ readonly phone: PhoneCall; readonly call: IncomingCall }, CheckFailed, Scope.Scope>
  readonly answer: (call: IncomingCall, formats?: ReadonlyArray<AudioFormat>) => Effect.Effect<CallLeg, CheckFailed>
  /** Dials, answers and listens. */
  readonly connect: Effect.Effect<Connected, CheckFailed, Scope.Scope>
}

/** The tools of the telephony checks. */
export interface TelephonyHarness extends Waits {
  readonly check: (name: string, body: (network: Network) => Effect.Effect<void, CheckFailed, Scope.Scope>) => Check
  /** A check with a faulty peer; none when its layer was omitted. */
  readonly fault: (
    layer: Layer.Layer<Telephony, unknown> | undefined,
    name: string,
    body: (telephony: Pick<Network, "telephony">) => Effect.Effect<void, CheckFailed, Scope.Scope>
  ) => ReadonlyArray<Check>
  readonly numbers: { readonly from: string; readonly to: string }
}

/** Byte values of silence, or of filling, in one of the formats. */
const silences: ReadonlySet<number> = new Set([0x00, 0x55, 0xd5, 0x7f, 0xff, 0x80])

/** A frame that can be recognized: all its bytes have the same value, its label, which depends on `index` (0 to 79). */
export const labelled = (format: AudioFormat, index: number): Uint8Array =>
  new Uint8Array(frameBytes(format)).fill(1 + (index % 80))

/** The labels in audio, in order, without repetitions and silence. */
export const labelsIn = (audio: Uint8Array): ReadonlyArray<number> => {
  const found: Array<number> = []
  for (const byte of audio) if (!silences.has(byte) && found.at(-1) !== byte) found.push(byte)
  return found
}

/** The labels of the frames `from` to `to` (exclusive). */
export const labelsOf = (format: AudioFormat, from: number, to: number): ReadonlyArray<number> =>
  Array.from({ length: to - from }, (_, index) => labelled(format, from + index)[0] ?? 0)

/** Whether two lists have the same elements. */
export const same = (left: ReadonlyArray<unknown>, right: ReadonlyArray<unknown>): boolean =>
  left.length === right.length && left.every((value, index) => value === right[index])

/** How often a leg emitted `Ended`. */
export const countEnded = (events: ReadonlyArray<CallEvent>): number =>
  events.filter(({ _tag }) => _tag === "Ended").length

/** All audio that a leg emitted. */
export const audioOf = (events: ReadonlyArray<CallEvent>): Uint8Array =>
  new Uint8Array(Buffer.concat(events.flatMap((event) => (event._tag === "Audio" ? [event.payload] : []))))

/** Sends the frames `from` to `to` (exclusive) from one reused buffer, 20 ms apart. */
export const play = (leg: CallLeg, from: number, to: number): Effect.Effect<void, CheckFailed> => {
  const buffer = new Uint8Array(frameBytes(leg.format))
  return Effect.forEach(
    Array.from({ length: to - from }, (_, index) => from + index),
    (index) =>
      Effect.zipRight(
        mustNotThrow("send", () => {
          buffer.set(labelled(leg.format, index))
          leg.send(buffer)
          buffer.fill(0xff)
        }),
        Effect.sleep(frameMs)
      ),
    { discard: true }
  )
}

/** Listens, and records the events. */
export const listen = (leg: CallLeg): Effect.Effect<ReadonlyArray<CallEvent>, CheckFailed> => {
  const events: Array<CallEvent> = []
  return mustNotThrow("listen", () => {
    leg.listen((event) => {
      // Not `slice`, which does not copy a Buffer.
      events.push(event._tag === "Audio" ? { ...event, payload: new Uint8Array(event.payload) } : event)
    })
    return events
  })
}

/** The harness of all telephony checks: each runs with a phone on the network. */
export const telephonyHarness = (options: TelephonyCheckOptions): TelephonyHarness => {
  const harness = makeHarness(Telephony, options)
  const { within } = harness
  const numbers = options.numbers ?? { from: "+12025550100", to: "+12025550199" }

  const network = (telephony: typeof Telephony.Service): Effect.Effect<Network, CheckFailed, Scope.Scope> =>
    Effect.gen(function* () {
      const calls = yield* Queue.unbounded<IncomingCall>()
      yield* Effect.forkScoped(Stream.runForEach(telephony.incoming, (call) => Queue.offer(calls, call)))
      const phone: Phone = yield* within("connecting the phone of the suite", options.phone(telephony))
      const ring = Effect.gen(function* () {
        const dialled = yield* phone.dial(numbers)
        return { phone: dialled, call: yield* within("an incoming call", Queue.take(calls)) }
      })
      const answer: Network["answer"] = (call, formats = telephony.capabilities.formats.slice(0, 1)) =>
        within(
          "answer",
          Effect.suspend(() => call.answer({ callId: `call_${call.id}`, formats }))
        ).pipe(mustSucceed("answer"))
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
    ...harness,
    numbers,
    check: (name, body) => harness.check(name, (telephony) => Effect.flatMap(network(telephony), body)),
    fault: (layer, name, body) => harness.fault(layer, name, (telephony) => body({ telephony }))
  }
}

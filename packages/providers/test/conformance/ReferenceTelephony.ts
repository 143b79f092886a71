import { type Clock, Deferred, Effect, Fiber, Layer, Queue, type Scope, Stream } from "effect"
import { type AudioFormat, mulaw8k } from "../../src/Audio.ts"
import { healthy } from "../../src/Health.ts"
import { type CallEvent, CallGone, type CallLeg, DialFailed, Telephony } from "../../src/Telephony.ts"
import type { ConnectPhone, OtherBehaviour, Phone, PhoneCall } from "../../src/testing/Phone.ts"
import { type MessagingBug, referenceMessaging } from "./ReferenceMessaging.ts"
import { Others } from "./ReferenceOthers.ts"

/** What a telephone network can do wrong. */
export type TelephonyBug =
  | "brings no calls"
  | "forgets the caller's number"
  | "never rings"
  | "hangs on answer"
  | "dies on answer"
  | "answers in one format"
  | "keeps refusals to itself"
  | "never notices a caller who gives up"
  | "cancels every call"
  | "answers calls that are gone"
  | "reorders the caller's audio"
  | "half frames"
  | "forgets what came before listen"
  | "keeps frames"
  | "reorders our audio"
  | "mark played too early"
  | "never marks"
  | "labels cleared marks as played"
  | "loses cleared marks"
  | "plays after clear"
  | "throws on clear"
  | "hangup not told"
  | "throws after the end"
  | "audio after the end"
  | "ends twice"
  | "never ends"
  | "never notices a broken connection"
  | "reorders keys"
  | "sends no keys"
  | "mixes calls"
  | MessagingBug
  | "garbage ends the network"
  | "leaks fibers"
  | "transfers nowhere"
  | "keeps the outcome of a transfer to itself"
  | "tells the outcome of a transfer twice"
  | "calls every transfer completed"
  | "ends a call whose transfer failed"
  | "hears on after a transfer"
  | "rings on after the caller left"
  | "hangs on dial"
  | "connects what is busy"
  | "rings on after an interrupted dial"
  | "dials in any format"
  | "dials without audio"

const pcm16k: AudioFormat = { encoding: "pcm16", sampleRate: 16000 }

type Item = { readonly frame: Uint8Array } | { readonly mark: string }

/** The phones that each network of this file can be reached by, and can reach. */
const networks = new WeakMap<object, Phone>()

/** One call: a queue of frames and marks that a fiber plays, 20 ms each, as a carrier does. */
const call = (
  is: (...bugs: ReadonlyArray<TelephonyBug>) => boolean,
  canceled: Deferred.Deferred<void>,
  others: Array<(item: Item) => void>,
  phones: Others,
  scope: Scope.Scope,
  clock: Clock.Clock
) => {
  let state: ReturnType<PhoneCall["state"]> = "dialling"
  let listener: ((event: CallEvent) => void) | undefined
  let backlog: Array<CallEvent> = []
  let queue: Array<Item> = []
  let held: Item | undefined
  let keys = ""
  let swap: Uint8Array | undefined
  const heard: Array<Uint8Array> = []
  let transfer: Fiber.RuntimeFiber<void> | undefined
  let away = false

  const tell = (event: CallEvent) => {
    if (listener !== undefined) listener(event)
    else if (!is("forgets what came before listen")) backlog.push(event)
  }
  const end = (cause: "hangup" | "failed") => {
    if (state === "rejected" || state === "ended") return
    const answered = state === "answered"
    state = "ended"
    if (transfer !== undefined) Effect.runFork(Fiber.interruptFork(transfer))
    if (!answered) {
      if (!is("never notices a caller who gives up")) Deferred.unsafeDone(canceled, Effect.void)
      return
    }
    if (is("never ends") || (cause === "failed" && is("never notices a broken connection"))) return
    tell({ _tag: "Ended", cause })
    if (is("ends twice")) tell({ _tag: "Ended", cause })
    if (is("audio after the end")) tell({ _tag: "Audio", payload: new Uint8Array(160) })
  }
  const playNext = Effect.sync(() => {
    if (state !== "answered") return
    const item = queue.shift()
    if (item === undefined) return
    if ("mark" in item) {
      if (!is("never marks")) tell({ _tag: "Mark", name: item.mark, outcome: "played" })
    } else heard.push(item.frame.slice())
  })
  const enqueue = (item: Item) => {
    if (is("mixes calls")) for (const other of others) other(item)
    else queue.push(item)
  }
  others.push((item) => queue.push(item))

  const told = (progress: Extract<CallEvent, { readonly _tag: "TransferProgress" }>["state"]) => {
    if (is("keeps the outcome of a transfer to itself") && progress !== "ringing") return
    tell({ _tag: "TransferProgress", state: progress })
    if (is("tells the outcome of a transfer twice")) tell({ _tag: "TransferProgress", state: progress })
  }
  const transferTo = (target: string) => {
    if (state !== "answered" || away) return
    const bugs = { ringsOn: is("rings on after the caller left"), answersAll: is("calls every transfer completed") }
    const going = phones
      .call(target, bugs, () => tell({ _tag: "TransferProgress", state: "ringing" }))
      .pipe(
        Effect.match({
          onFailure: ({ outcome }) => {
            told(is("calls every transfer completed") ? "completed" : outcome)
            if (is("ends a call whose transfer failed")) end("hangup")
          },
          onSuccess: () => {
            told("completed")
            away = !is("hears on after a transfer")
          }
        })
      )
    Effect.runSync(
      Effect.map(Effect.forkIn(going, scope), (fiber) => {
        transfer = fiber
      }).pipe(Effect.withClock(clock))
    )
  }

  const leg = (format: AudioFormat): CallLeg => ({
    format,
    listen: (installed) => {
      listener = installed
      for (const event of backlog) installed(event)
      backlog = []
    },
    send: (frame) => {
      if (away) return
      if (state !== "answered") {
        if (is("throws after the end")) throw new Error("no call")
        return
      }
      const item = { frame: is("keeps frames") ? frame : frame.slice() }
      if (!is("reorders our audio")) return enqueue(item)
      if (held === undefined) held = item
      else {
        enqueue(item)
        enqueue(held)
        held = undefined
      }
    },
    mark: (name) => {
      if (is("mark played too early")) tell({ _tag: "Mark", name, outcome: "played" })
      else if (state === "answered") enqueue({ mark: name })
    },
    clear: () => {
      if (is("throws on clear")) throw new Error("cannot clear")
      if (state !== "answered") return
      const dropped = queue
      if (is("plays after clear")) return
      queue = []
      for (const item of dropped) {
        if (!("mark" in item) || is("loses cleared marks")) continue
        tell({ _tag: "Mark", name: item.mark, outcome: is("labels cleared marks as played") ? "played" : "cleared" })
      }
    },
    hangup: () => {
      if (state === "answered" && !is("hangup not told")) state = "ended"
      if (transfer !== undefined) Effect.runFork(Fiber.interruptFork(transfer))
    },
    ...(is("transfers nowhere") ? {} : { transferBlind: transferTo }),
    sendDtmf: (digits) => {
      if (state === "answered" && !is("sends no keys")) keys += digits
    }
  })
  const phone: PhoneCall = {
    state: () => state,
    send: (frame) =>
      Effect.sync(() => {
        if (state !== "answered" || away) return
        const emit = (payload: Uint8Array) =>
          tell({ _tag: "Audio", payload: is("half frames") ? payload.subarray(1) : payload })
        if (!is("reorders the caller's audio")) return emit(frame)
        if (swap === undefined) swap = frame
        else {
          emit(frame)
          emit(swap)
          swap = undefined
        }
      }),
    heard: () => new Uint8Array(heard.flatMap((frame) => [...frame])),
    hangup: Effect.sync(() => end("hangup")),
    drop: Effect.sync(() => end("failed")),
    press: (digits) =>
      Effect.sync(() => {
        for (const digit of is("reorders keys") ? [...digits].reverse() : digits) {
          tell({ _tag: "Dtmf", digit, source: "signaling" })
        }
      }),
    keys: () => keys,
    garbage: Effect.void
  }
  return {
    phone,
    leg,
    playNext,
    gone: () => state === "ended" || state === "rejected",
    ring: () => {
      if (state === "dialling" && !is("never rings")) state = "ringing"
    },
    reject: () => {
      if ((state === "dialling" || state === "ringing") && !is("keeps refusals to itself")) state = "rejected"
    },
    answer: () => {
      state = "answered"
    },
    end: () => {
      state = "ended"
    }
  }
}

/** A telephone network wholly in memory. */
export const referenceTelephony = (bug?: TelephonyBug): Layer.Layer<Telephony> => {
  const is = (...bugs: ReadonlyArray<TelephonyBug>) => bug !== undefined && bugs.includes(bug)
  return Layer.scoped(
    Telephony,
    Effect.gen(function* () {
      const incoming = yield* Queue.unbounded<Stream.Stream.Success<(typeof Telephony.Service)["incoming"]>>()
      const scope = yield* Effect.scope
      const others: Array<(item: Item) => void> = []
      const phones = new Others()
      let broken = false
      let count = 0
      const formats = [mulaw8k, pcm16k]
      const { messages, messaging, text } = yield* referenceMessaging(is)
      const telephony: typeof Telephony.Service = {
        id: "reference",
        capabilities: {
          formats,
          dtmfIn: true,
          dtmfOut: true,
          transfer: "bridge",
          earlyMedia: false,
          playbackMarks: "exact"
        },
        incoming: Stream.fromQueue(incoming),
        outbound: {
          dial: ({ formats: offered, to }) =>
            Effect.gen(function* () {
              if (is("hangs on dial")) return yield* Effect.never
              const format = offered[0] ?? (is("dials in any format") ? mulaw8k : undefined)
              if (format === undefined) return yield* new DialFailed({ outcome: "failed", reason: "no format" })
              const bugs = {
                ringsOn: is("rings on after an interrupted dial"),
                answersAll: is("connects what is busy")
              }
              yield* phones.call(to, bugs)
              const line = lines.get(to)
              if (line === undefined) return yield* Effect.dieMessage("no line")
              if (!is("dials without audio")) yield* playing(line)
              return line.leg(format)
            })
        },
        health: Effect.succeed(healthy),
        sms: messaging,
        routes: []
      }
      const lines = new Map<string, ReturnType<typeof call>>()
      const playing = (line: ReturnType<typeof call>) =>
        Effect.zipRight(Effect.sleep(20), line.playNext).pipe(
          Effect.repeat({ until: () => line.gone() && !is("leaks fibers") }),
          Effect.forkIn(scope)
        )
      const other = (behaves: OtherBehaviour) =>
        Effect.gen(function* () {
          const line = call(is, yield* Deferred.make<void>(), others, phones, scope, yield* Effect.clock)
          const number = phones.add(behaves, line)
          lines.set(number, line)
          return { number, call: line.phone }
        })
      const dial = ({ from, to }: { readonly from: string; readonly to: string }) =>
        Effect.gen(function* () {
          const canceled = yield* Deferred.make<void>()
          const line = call(is, canceled, others, phones, scope, yield* Effect.clock)
          if (is("cancels every call")) yield* Deferred.succeed(canceled, undefined)
          const player = playing(line)
          if (!is("brings no calls") && !broken) {
            yield* Queue.offer(incoming, {
              id: `reference-${++count}`,
              from: is("forgets the caller's number") ? null : from,
              to,
              headers: {},
              ringing: () => line.ring(),
              reject: () => line.reject(),
              canceled: Deferred.await(canceled),
              answer: ({ formats: offered }) =>
                Effect.gen(function* () {
                  if (is("hangs on answer")) return yield* Effect.never
                  if (is("dies on answer")) return yield* Effect.die("no media")
                  if (line.gone() && !is("answers calls that are gone")) {
                    return yield* new CallGone({ reason: "the caller hung up" })
                  }
                  line.answer()
                  yield* player
                  return line.leg(is("answers in one format") ? mulaw8k : (offered[0] ?? mulaw8k))
                })
            })
          }
          const garbage = Effect.sync(() => {
            broken = is("garbage ends the network")
          })
          return { ...line.phone, garbage }
        })
      networks.set(telephony, { dial, other, messages, text })
      return telephony
    })
  )
}

/** A phone on that network. */
export const connectPhone: ConnectPhone = (telephony) =>
  Effect.orDieWith(Effect.fromNullable(networks.get(telephony)), () => new Error("not the reference network"))

import { type Clock, Deferred, Effect, Fiber, type Scope } from "effect"
import { type AudioFormat, frameBytes } from "../../src/Audio.ts"
import type { CallEvent, CallLeg, TransferState } from "../../src/Telephony.ts"
import type { PhoneCall } from "../../src/testing/Phone.ts"
import type { MessagingBug } from "./ReferenceMessaging.ts"
import type { ReferencePhones } from "./ReferencePhones.ts"

/** Faults of a network that delivers packets. */
export type PacketBug =
  | "numbers some packets only"
  | "repeats sequences"
  | "counts no pauses"
  | "counts milliseconds"
  | "has no timestamps"

/** How a network delivers the caller's audio: by the frame, in pieces of so many bytes, or as numbered packets. */
export type Delivery = "frames" | "packets" | number

/** Faults of a telephone network. */
export type TelephonyBug =
  | "emits no incoming calls"
  | "drops the caller's number"
  | "ignores ringing"
  | "hangs on answer"
  | "dies on answer"
  | "answers in one format only"
  | "does not pass reject on"
  | "never completes canceled"
  | "completes canceled for every call"
  | "answers canceled calls"
  | "reorders the caller's audio"
  | "emits incomplete frames"
  | "cuts samples"
  | "drops events from before listen"
  | "keeps a reference to frames"
  | "reorders the agent's audio"
  | "plays one frame of a message"
  | "confirms marks too early"
  | "never confirms marks"
  | "confirms cleared marks as played"
  | "drops cleared marks"
  | "confirms marks twice"
  | "confirms cleared marks in reverse order"
  | "ignores clear"
  | "throws on clear"
  | "does not pass hangup on"
  | "throws after Ended"
  | "emits audio after Ended"
  | "emits Ended twice"
  | "never emits Ended"
  | "emits no Ended for a broken connection"
  | "reorders digits"
  | "sends no digits"
  | "mixes calls"
  | MessagingBug
  | "stops on malformed data"
  | "leaks fibers"
  | "has no transferBlind"
  | "emits no outcome of a transfer"
  | "emits the outcome of a transfer twice"
  | "completes every transfer"
  | "ends the call after a failed transfer"
  | "passes audio after a transfer"
  | "continues to ring after the caller's hangup"
  | "hangs on dial"
  | "connects busy phones"
  | "continues to ring after an interrupted dial"
  | "accepts any format in dial"
  | "dials without audio"
  | "places calls with another id than their legs"
  | PacketBug
  | "passes no early media"
  | "passes early media after an interrupted dial"
  | "passes early media after the answer"
  | "emits early media again"

export type Item = { readonly frame: Uint8Array } | { readonly mark: string }

/** One call: a queue of frames and marks, which a fiber plays at one frame per 20 ms, as a carrier does. */
export const makeReferenceCall = (
  is: (...bugs: ReadonlyArray<TelephonyBug>) => boolean,
  canceled: Deferred.Deferred<void>,
  queues: Array<(item: Item) => void>,
  phones: ReferencePhones,
  scope: Scope.Scope,
  clock: Clock.Clock,
  delivery: Delivery = "frames"
) => {
  let state: ReturnType<PhoneCall["state"]> = "dialling"
  let listener: ((event: CallEvent) => void) | undefined
  let backlog: Array<CallEvent> = []
  let queue: Array<Item> = []
  let held: Item | undefined
  let sentDigits = ""
  let swap: Uint8Array | undefined
  const heard: Array<Uint8Array> = []
  let transfer: Fiber.RuntimeFiber<void> | undefined
  let transferred = false
  let perMs = 8
  let packets = 0
  /** What the network carries before the answer. */
  let onEarly: ((frame: Uint8Array) => void) | undefined

  /** Emits audio of the phone as the network delivers it. */
  const emitAudio = (payload: Uint8Array): void => {
    if (typeof delivery === "number") {
      for (let at = 0; at < payload.length; at += delivery)
        emit({ _tag: "Audio", payload: payload.subarray(at, at + delivery) })
      return
    }
    if (is("cuts samples")) {
      emit({ _tag: "Audio", payload: payload.subarray(0, 3) })
      emit({ _tag: "Audio", payload: payload.subarray(3) })
      return
    }
    if (delivery === "frames") {
      emit({ _tag: "Audio", payload: is("emits incomplete frames") ? payload.subarray(1) : payload })
      return
    }
    const count = packets++
    const now = clock.unsafeCurrentTimeMillis()
    const ms = is("counts no pauses") ? 20 * count : now
    const timestamp = (4_294_960_000 + ms * (is("counts milliseconds") ? 1 : perMs)) >>> 0
    const sequence = (65_530 + (is("repeats sequences") ? count >> 1 : count)) & 0xffff
    if (is("numbers some packets only") && count % 5 === 4) emit({ _tag: "Audio", payload })
    else emit({ _tag: "Audio", payload, sequence, ...(is("has no timestamps") ? {} : { timestamp }) })
  }

  const emit = (event: CallEvent) => {
    if (listener !== undefined) listener(event)
    else if (!is("drops events from before listen")) backlog.push(event)
  }
  const end = (cause: "hangup" | "failed") => {
    if (state === "rejected" || state === "ended") return
    const answered = state === "answered"
    state = "ended"
    if (transfer !== undefined) Effect.runFork(Fiber.interruptFork(transfer))
    if (!answered) {
      if (!is("never completes canceled")) Deferred.unsafeDone(canceled, Effect.void)
      return
    }
    if (is("never emits Ended") || (cause === "failed" && is("emits no Ended for a broken connection"))) return
    emit({ _tag: "Ended", cause })
    if (is("emits Ended twice")) emit({ _tag: "Ended", cause })
    if (is("emits audio after Ended")) emit({ _tag: "Audio", payload: new Uint8Array(160) })
  }
  const playNext = Effect.sync(() => {
    if (state !== "answered") return
    const item = queue.shift()
    if (item === undefined) return
    if ("mark" in item) {
      if (!is("never confirms marks")) emit({ _tag: "Mark", name: item.mark, outcome: "played" })
      if (is("confirms marks twice")) emit({ _tag: "Mark", name: item.mark, outcome: "played" })
    } else heard.push(item.frame.slice())
  })
  const enqueue = (item: Item) => {
    if (is("mixes calls")) for (const add of queues) add(item)
    else queue.push(item)
  }
  queues.push((item) => queue.push(item))

  const enqueueFrame = (item: Item) => {
    if (!is("reorders the agent's audio")) return enqueue(item)
    if (held === undefined) held = item
    else {
      enqueue(item)
      enqueue(held)
      held = undefined
    }
  }

  const emitProgress = (progress: TransferState) => {
    if (is("emits no outcome of a transfer") && progress !== "ringing") return
    emit({ _tag: "TransferProgress", state: progress })
    if (is("emits the outcome of a transfer twice")) emit({ _tag: "TransferProgress", state: progress })
  }
  const transferTo = (target: string) => {
    if (state !== "answered" || transferred) return
    const bugs = {
      ringsOn: is("continues to ring after the caller's hangup"),
      answersAll: is("completes every transfer")
    }
    const ringing = phones
      .call(target, bugs, () => emit({ _tag: "TransferProgress", state: "ringing" }))
      .pipe(
        Effect.match({
          onFailure: ({ outcome }) => {
            emitProgress(is("completes every transfer") ? "completed" : outcome)
            if (is("ends the call after a failed transfer")) end("hangup")
          },
          onSuccess: () => {
            emitProgress("completed")
            transferred = !is("passes audio after a transfer")
          }
        })
      )
    Effect.runSync(
      Effect.map(Effect.forkIn(ringing, scope), (fiber) => {
        transfer = fiber
      }).pipe(Effect.withClock(clock))
    )
  }

  const leg = (format: AudioFormat): CallLeg => {
    perMs = format.sampleRate / 1000
    return legIn(format)
  }
  const legIn = (format: AudioFormat): CallLeg => ({
    format,
    aheadMs: 100,
    listen: (installed) => {
      listener = installed
      for (const event of backlog) installed(event)
      backlog = []
    },
    send: (frame) => {
      if (transferred) return
      if (state !== "answered") {
        if (is("throws after Ended")) throw new Error("no call")
        return
      }
      const audio = is("keeps a reference to frames") ? frame : frame.slice()
      const size = frameBytes(format)
      for (let at = 0; at < audio.length; at += size) {
        if (at === 0 || !is("plays one frame of a message")) enqueueFrame({ frame: audio.subarray(at, at + size) })
      }
    },
    mark: (name) => {
      if (is("confirms marks too early")) emit({ _tag: "Mark", name, outcome: "played" })
      else if (state === "answered") enqueue({ mark: name })
    },
    clear: () => {
      if (is("throws on clear")) throw new Error("cannot clear")
      if (state !== "answered") return
      const dropped = queue
      if (is("ignores clear")) return
      queue = []
      for (const item of is("confirms cleared marks in reverse order") ? dropped.reverse() : dropped) {
        if (!("mark" in item) || is("drops cleared marks")) continue
        emit({ _tag: "Mark", name: item.mark, outcome: is("confirms cleared marks as played") ? "played" : "cleared" })
      }
    },
    hangup: () => {
      if (state === "answered" && !is("does not pass hangup on")) state = "ended"
      if (transfer !== undefined) Effect.runFork(Fiber.interruptFork(transfer))
    },
    ...(is("has no transferBlind") ? {} : { transferBlind: transferTo }),
    sendDtmf: (digits) => {
      if (state === "answered" && !is("sends no digits")) sentDigits += digits
    }
  })
  const phone: PhoneCall = {
    state: () => state,
    send: (frame) =>
      Effect.sync(() => {
        if (state !== "answered" || transferred) return
        if (is("passes early media after the answer")) onEarly?.(frame)
        if (!is("reorders the caller's audio")) return emitAudio(frame)
        if (swap === undefined) swap = frame
        else {
          emitAudio(frame)
          emitAudio(swap)
          swap = undefined
        }
      }),
    heard: () => new Uint8Array(Buffer.concat(heard)),
    hangup: Effect.sync(() => end("hangup")),
    drop: Effect.sync(() => end("failed")),
    press: (digits) =>
      Effect.sync(() => {
        for (const digit of is("reorders digits") ? [...digits].reverse() : digits) {
          emit({ _tag: "Dtmf", digit, source: "signaling" })
        }
      }),
    digits: () => sentDigits,
    garbage: Effect.void
  }
  return {
    phone,
    leg,
    playNext,
    /** The phone sends audio before the answer. */
    early: (frame: Uint8Array) => {
      if (state === "answered") return
      onEarly?.(frame)
      if (onEarly !== undefined && is("emits early media again")) emit({ _tag: "Audio", payload: frame })
    },
    /** Who gets audio from before the answer. */
    passEarly: (pass: typeof onEarly) => {
      onEarly = pass
    },
    isOver: () => state === "ended" || state === "rejected",
    ring: () => {
      if (state === "dialling" && !is("ignores ringing")) state = "ringing"
    },
    reject: () => {
      if ((state === "dialling" || state === "ringing") && !is("does not pass reject on")) state = "rejected"
    },
    answer: () => {
      state = "answered"
    },
    end: () => {
      state = "ended"
    }
  }
}

export type ReferenceCall = ReturnType<typeof makeReferenceCall>

import { frameBytes, frameMs } from "@svc/providers/Audio"
import type { Telephony } from "@svc/providers/Telephony"
import { makeHostDouble } from "@svc/providers/testing/HostDouble"
import type { PhoneCall } from "@svc/providers/testing/Phone"
import { telephonySuite } from "@svc/providers/testing/TelephonySuite"
import { Effect, Layer, type Scope } from "effect"
import { format } from "../src/BrowserCall.ts"
import * as BrowserTelephony from "../src/BrowserTelephony.ts"
import { connected, openLink, type PageSocket } from "./TestPage.ts"

const audioBytes = frameBytes(format)

const stateOf = ({ closedWith, events }: PageSocket): ReturnType<PhoneCall["state"]> => {
  if (events.includes("refused")) return "rejected"
  if (events.includes("ended") || closedWith !== undefined) return "ended"
  if (events.includes("answered")) return "answered"
  return events.includes("ringing") ? "ringing" : "dialling"
}

/** A page that plays a frame every 20 ms, and confirms the marks between them. */
const phoneOf = (socket: PageSocket): Effect.Effect<PhoneCall, never, Scope.Scope> =>
  Effect.gen(function* () {
    let n = 0
    const played: Array<Uint8Array> = []
    let waiting: Array<Uint8Array | string> = []
    socket.onReceived = (received) => {
      if (received instanceof Uint8Array) {
        for (let at = 0; at < received.length; at += audioBytes) waiting.push(received.subarray(at, at + audioBytes))
      } else if (received.event === "mark") waiting.push(String(received["name"]))
      else if (received.event === "clear") waiting = []
    }
    const confirmMarks = () => {
      while (typeof waiting[0] === "string") socket.sends({ event: "mark", name: waiting.shift(), n: ++n })
    }
    const playOne = Effect.sync(() => {
      confirmMarks()
      const frame = waiting.shift()
      if (frame instanceof Uint8Array) played.push(frame)
      confirmMarks()
    })
    yield* Effect.forkScoped(Effect.forever(Effect.zipRight(playOne, Effect.sleep(frameMs))))
    return {
      state: () => stateOf(socket),
      send: (frame) => Effect.sync(() => socket.sendsRaw(frame)),
      heard: () => new Uint8Array(Buffer.concat(played)),
      hangup: Effect.sync(() => socket.sends({ event: "hangup" })),
      drop: Effect.sync(() => socket.ends(1006)),
      press: (digits) =>
        Effect.sync(() => {
          for (const digit of digits) socket.sends({ event: "dtmf", digit, n: ++n })
        }),
      digits: () => socket.messages.flatMap(({ digits, event }) => (event === "dtmf" ? [String(digits)] : [])).join(""),
      garbage: Effect.sync(() => {
        socket.sendsRaw("not even JSON")
        socket.sendsRaw(new Uint8Array(3))
      })
    }
  })

const layer: Layer.Layer<Telephony, unknown> = Layer.unwrapEffect(
  Effect.map(makeHostDouble(), (double) => {
    openLink(double)
    return BrowserTelephony.layer({ host: double.host, origins: [] })
  })
)

telephonySuite({
  name: "calls of web pages",
  time: "virtual",
  // A page has 10 s to reconnect.
  deadline: "15 seconds",
  layer,
  phone: (telephony) =>
    Effect.succeed({
      dial: () =>
        Effect.gen(function* () {
          const socket = yield* connected(telephony)
          yield* Effect.addFinalizer(() => Effect.sync(() => socket.ends(1001)))
          return yield* phoneOf(socket)
        })
    })
})

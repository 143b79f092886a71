import { expect, it } from "@effect/vitest"
import { mulaw8k } from "@svc/providers/Audio"
import { Effect, Fiber, TestClock } from "effect"
import { codecFor } from "../src/Codec.ts"
import { TelnyxCall } from "../src/TelnyxCall.ts"
import { heardOn, tags } from "./TestCalls.ts"
import { connect, testNetwork } from "./TestNetwork.ts"

const id = "v3:1"

/** An incoming call whose `answer` was sent. */
const answering = Effect.gen(function* () {
  const made = yield* testNetwork
  const codec = codecFor([mulaw8k])
  if (codec === undefined) throw new Error("PCMU is missing")
  const call = new TelnyxCall({
    network: made.network,
    codec,
    ownNumber: "+12025550199",
    isAlive: () => Effect.succeed(true),
    isRinging: false
  })
  call.identify(id, undefined)
  const url = String(call.streamRequest()["stream_url"])
  const connected = yield* Effect.fork(call.connected)
  const starts = () => made.commands.filter(({ action }) => action === "streaming_start")
  return { made, call, url, connected, starts }
})

it.scoped("an answered call without a media connection requests it once more after 2 s, under the same token", () =>
  Effect.gen(function* () {
    const { call, connected, made, starts, url } = yield* answering
    call.onWebhook("call.answered", { call_control_id: id })
    call.expectStream()
    yield* TestClock.adjust("1900 millis")
    expect(starts()).toEqual([])
    yield* TestClock.adjust("100 millis")
    expect(starts()).toMatchObject([{ callControlId: id, body: { stream_url: url, stream_bidirectional_mode: "rtp" } }])
    yield* TestClock.adjust("2 seconds")
    expect(starts().length).toBe(1)
    const socket = connect(made, url)
    socket.start()
    yield* Fiber.join(connected)
    // Telnyx may open the other one too.
    expect(connect(made, url).closed()).toBe(1008)
    expect(socket.closed()).toBeUndefined()
  })
)

it.scoped("an answered call with a media connection, or one that is over, requests no other", () =>
  Effect.gen(function* () {
    const open = yield* answering
    open.call.expectStream()
    const socket = connect(open.made, open.url)
    yield* TestClock.adjust("2 seconds")
    socket.start("audio/x-mulaw")
    yield* Fiber.join(open.connected)
    expect(open.starts()).toEqual([])

    const over = yield* answering
    over.call.expectStream()
    over.call.hangup()
    yield* TestClock.adjust("2 seconds")
    expect(over.starts()).toEqual([])
  })
)

it.scoped("each lost media connection is replaced, and one lost within 5 s of its start ends the call", () =>
  Effect.gen(function* () {
    const { call, made, starts, url } = yield* answering
    const events = heardOn(call.leg)
    let socket = connect(made, url)
    socket.start()
    for (const count of [1, 2]) {
      socket.drop()
      yield* TestClock.adjust("300 millis")
      expect(starts().length).toBe(count)
      socket = connect(made, String(starts().at(-1)?.body["stream_url"]))
      socket.start()
      yield* TestClock.adjust(count === 1 ? "5 seconds" : "4 seconds")
    }
    socket.drop()
    yield* TestClock.adjust("300 millis")
    expect(starts().length).toBe(2)
    expect(tags(events)).toEqual(["Media off", "Media on", "Media off", "Media on", "Media off", "Ended failed"])
    expect(made.commands.at(-1)).toMatchObject({ callControlId: id, action: "hangup" })
  })
)

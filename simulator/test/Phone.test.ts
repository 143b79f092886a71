import { describe, expect, it } from "@effect/vitest"
import { Chunk, Effect, Layer, Stream } from "effect"
import { Phone } from "../src/Phone.ts"
import { retryDelay } from "../src/PhoneConnection.ts"
import { type PhoneEvent, readFrame } from "../src/PhoneEvent.ts"
import { ServerAddress } from "../src/ServerAddress.ts"
import { fakeServer, numbers } from "./FakeServer.ts"

const phoneAt = (url: string) => Layer.provide(Phone.layer, Layer.succeed(ServerAddress, { url, key: null }))

/** Reads events up to the first one of a kind. */
const readTo = (tag: PhoneEvent["_tag"], pick: (event: PhoneEvent) => boolean = () => true) =>
  Effect.flatMap(Phone, (phone) =>
    phone.events.pipe(
      Stream.takeUntil((event) => event._tag === tag && pick(event)),
      Stream.runCollect,
      Effect.map(Chunk.toReadonlyArray)
    )
  )
const messages = (events: ReadonlyArray<PhoneEvent>) =>
  events.flatMap((event) => (event._tag === "Received" ? [event.message.event] : []))

describe("a phone", () => {
  it.scopedLive("emits Disconnected when the server dies and reconnects by itself", () =>
    Effect.gen(function* () {
      const server = yield* fakeServer
      yield* Effect.gen(function* () {
        expect((yield* readTo("Connected")).map((e) => e._tag)).toEqual(["Connecting", "Connected"])
        server.die()
        const away = (yield* readTo("Disconnected")).at(-1)
        expect(away).toMatchObject({ reason: "the connection was lost", retry_ms: 250 })
        yield* Effect.promise(() => server.start())
        expect((yield* readTo("Connected")).at(-1)?._tag).toBe("Connected")
      }).pipe(Effect.provide(phoneAt(server.url)))
    })
  )

  it.scopedLive("dial fails with NotConnected while the server is away", () =>
    Effect.gen(function* () {
      const server = yield* fakeServer
      server.die()
      yield* Effect.gen(function* () {
        const phone = yield* Phone
        yield* readTo("Disconnected")
        const error = yield* Effect.flip(phone.dial({ to: numbers.friendly, from: "+15550000099" }))
        expect(error.message).toBe("cannot dial: the server is away")
      }).pipe(Effect.provide(phoneAt(server.url)))
    })
  )

  it.scopedLive("uses a new connection for each call, so that no message of the previous call reaches it", () =>
    Effect.gen(function* () {
      const server = yield* fakeServer
      yield* Effect.gen(function* () {
        const phone = yield* Phone
        const final = (event: PhoneEvent) =>
          event._tag === "Received" && event.message.event === "heard" && event.message.final
        yield* readTo("Connected")
        yield* phone.dial({ to: numbers.friendly, from: "+15550000099" })
        expect(messages(yield* readTo("Received", final))[0]).toBe("ringing")
        yield* phone.dial({ to: numbers.friendly, from: "+15550000099" })
        const second = yield* readTo("Received", final)
        expect(second.map((e) => e._tag)).not.toContain("Disconnected")
        expect(messages(second).slice(0, 2)).toEqual(["ringing", "answered"])
        expect(server.received.map((m) => m.event)).toEqual(["dial", "dial"])
      }).pipe(Effect.provide(phoneAt(server.url)))
    })
  )
})

describe("a frame of the network", () => {
  it.each([
    ['{"event":"ringing"}', "Received"],
    ['{"event":"heard","text":"Hi","final":true}', "Received"],
    ['{"event":"ringing","extra":1}', "Received"],
    ["", "not a message of the network"],
    ["[]", "not a message of the network"],
    ["null", "not a message of the network"],
    ['{"event":', "not a message of the network"],
    ['{"event":"fireworks"}', 'unknown event "fireworks"'],
    ['{"event":"answered"}', 'the fields of "answered" are wrong'],
    ['{"event":"heard","text":"Hi"}', 'the fields of "heard" are wrong']
  ])("%s is %s", (raw, expected) => {
    const event = readFrame(raw)
    expect(event._tag === "Unreadable" ? event.reason : event._tag).toBe(expected)
  })
  it("that is too long is reported with its first 200 characters", () => {
    const event = readFrame("x".repeat(100_000))
    expect(event).toMatchObject({ _tag: "Unreadable", raw: "x".repeat(200) })
  })
})

describe("retryDelay", () => {
  it("doubles from 250 ms to 5 seconds", () => {
    expect([1, 2, 3, 4, 5, 6, 50].map(retryDelay)).toEqual([250, 500, 1000, 2000, 4000, 5000, 5000])
  })
})

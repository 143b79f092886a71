import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { setUp, startAt } from "../src/testing/TelnyxSetup.ts"
import { answered, commandsOf, frame, incomingOf, tags, until } from "./TestCalls.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-telnyx-"))),
  (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
)

it.scopedLive("a media socket that closes in mid-call is asked for again, and the call goes on", () =>
  Effect.gen(function* () {
    const setup = yield* setUp()
    const { events, leg, phone } = yield* answered(setup, yield* incomingOf(setup))
    phone.sendAudio(frame(1))
    yield* until(() => events.length > 0)
    yield* phone.closeStream
    yield* until(() => tags(events).includes("Media on"))
    expect(tags(events)).toEqual(["Media off", "Media on"])
    phone.sendAudio(frame(2))
    leg.send(frame(3))
    leg.mark("end")
    yield* until(() => tags(events).includes("Mark"))
    yield* until(() => events.some((event) => event._tag === "Audio" && event.payload[0] === 2))
    expect(phone.heard()).toContain(3)
    const packets = events.flatMap((event) => (event._tag === "Audio" ? [event] : []))
    // The numbers go on, and the time counts the interruption.
    expect(packets.map(({ sequence }) => sequence)).toEqual([0, 1])
    expect(packets[1]?.timestamp).toBeGreaterThan(1600)
    expect(setup.double.counted("streams_reopened")).toBe(1)
    expect(commandsOf(setup, "streaming_start").length).toBe(1)
  })
)

it.scopedLive("a media socket that closes again at once ends the call as failed, and it is hung up", () =>
  Effect.gen(function* () {
    const setup = yield* setUp()
    const { events, phone } = yield* answered(setup, yield* incomingOf(setup))
    yield* phone.closeStream
    yield* until(() => tags(events).includes("Media on"))
    yield* phone.closeStream
    yield* until(() => phone.state === "ended")
    expect(tags(events)).toEqual(["Media off", "Media on", "Media off", "Ended failed"])
  })
)

it.scopedLive("a hang-up without a stop, whose webhook is late, ends the call once as hung up", () =>
  Effect.gen(function* () {
    const setup = yield* setUp()
    const { events, phone } = yield* answered(setup, yield* incomingOf(setup))
    setup.carrier.faults.withoutStop = true
    setup.carrier.faults.delayOf = (type) => (type === "call.hangup" ? 700 : 0)
    setup.carrier.faults.copies = 2
    yield* setup.carrier.hangUp(phone)
    yield* until(() => tags(events).some((tag) => tag.startsWith("Ended")))
    yield* Effect.sleep(100)
    expect(tags(events)).toEqual(["Media off", "Ended hangup"])
    expect(events.at(-1)).toMatchObject({ code: "normal_clearing" })
  })
)

it.scopedLive("a hang-up whose media connection stays open ends the call and closes the connection", () =>
  Effect.gen(function* () {
    const setup = yield* setUp()
    const { events, phone } = yield* answered(setup, yield* incomingOf(setup))
    const { webhooks, webhookUrl } = setup.carrier
    const payload = { call_control_id: phone.id, hangup_cause: "normal_clearing", hangup_source: "caller" }
    yield* webhooks.send(webhookUrl, "call.hangup", payload)
    yield* until(() => setup.server.openSockets() === 0)
    expect(tags(events)).toEqual(["Ended hangup"])
  })
)

it.scopedLive("packets out of order keep their numbers and times, and unknown messages are ignored", () =>
  Effect.gen(function* () {
    const setup = yield* setUp()
    const { events, phone } = yield* answered(setup, yield* incomingOf(setup))
    for (const [chunk, ms] of [
      [1, 0],
      [3, 40],
      [2, 20],
      [4, 60]
    ] as const) {
      phone.sendChunk(frame(chunk), chunk, ms)
    }
    phone.raw("no JSON")
    phone.raw(JSON.stringify({ event: "media", media: {} }))
    phone.raw(JSON.stringify({ event: "something new" }))
    phone.sendChunk(frame(5), 5, 80)
    yield* until(() => events.length === 5)
    expect(events.map((event) => (event._tag === "Audio" ? [event.sequence, event.timestamp] : event))).toEqual([
      [0, 0],
      [2, 320],
      [1, 160],
      [3, 480],
      [4, 640]
    ])
  })
)

it.scopedLive("a hang-up of the engine that meets 500 is repeated until the carrier has it", () =>
  Effect.gen(function* () {
    const setup = yield* setUp()
    const { events, leg, phone } = yield* answered(setup, yield* incomingOf(setup))
    let failures = 2
    setup.carrier.faults.intercept = ({ path }, response) => {
      if (!path.endsWith("/hangup") || failures-- <= 0) return false
      response.writeHead(500).end()
      return true
    }
    leg.hangup("over")
    yield* until(() => phone.state === "ended")
    yield* until(() => setup.server.openSockets() === 0)
    expect(tags(events)).toEqual([])
  })
)

it.scopedLive("a server that stops hangs up its calls, and one that was killed at its next start", () =>
  Effect.gen(function* () {
    const data = yield* folder
    const first = yield* setUp({ folder: data })
    const calls = yield* incomingOf(first)
    const stopped = yield* answered(first, calls)
    yield* until(() => existsSync(join(data, "calls")) && readdirSync(join(data, "calls")).length === 1)
    // A second server with the folder of one that was killed.
    const scope = yield* Scope.make()
    yield* startAt(first.carrier, first.server, { folder: data }).pipe(Scope.extend(scope))
    yield* until(() => stopped.phone.state === "ended")
    yield* until(() => readdirSync(join(data, "calls")).length === 0)

    const second = yield* startAt(first.carrier, first.server, { folder: data }).pipe(Scope.extend(scope))
    const open = yield* answered(second, yield* incomingOf(second).pipe(Scope.extend(scope)))
    yield* Scope.close(scope, Exit.void)
    yield* until(() => open.phone.state === "ended")
    expect(tags(open.events)).toEqual(["Ended failed"])
  })
)

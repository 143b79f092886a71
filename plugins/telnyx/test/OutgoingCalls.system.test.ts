import { expect, it } from "@effect/vitest"
import { mulaw8k } from "@svc/providers/Audio"
import type { DialProgress } from "@svc/providers/Telephony"
import { Effect, Fiber } from "effect"
import { setUp, type TelnyxSetup } from "../src/testing/TelnyxSetup.ts"
import { commandsOf, frame, heardOn, numbers, tags, until } from "./TestCalls.ts"

const dial = ({ telephony }: TelnyxSetup, to: string, progress: DialProgress = {}) =>
  Effect.suspend(() => {
    const { outbound } = telephony
    if (outbound === undefined) throw new Error("the plugin places no calls")
    return outbound.dial({ callId: "call_out", to, from: numbers.to, formats: [mulaw8k] }, progress)
  })
const placed = (setup: TelnyxSetup) => setup.carrier.requests.filter(({ path }) => path === "/v2/calls")

it.scopedLive("a call is placed by the number's application, rings, and has the carrier's verdict", () =>
  Effect.gen(function* () {
    const setup = yield* setUp()
    setup.carrier.inventory.rented.push({ id: "1", phone_number: numbers.to, connection_id: "app-7", status: "active" })
    setup.carrier.addPhone("+12025557001", "answers")
    setup.carrier.faults.verdict = "machine"
    let rang = 0
    const leg = yield* dial(setup, "+12025557001", { onRinging: () => void rang++ })
    const events = heardOn(leg)
    yield* until(() => tags(events).includes("Answerer machine"))
    expect(rang).toBe(1)
    expect(placed(setup)[0]?.json).toMatchObject({
      connection_id: "app-7",
      from: numbers.to,
      stream_bidirectional_mode: "rtp",
      answering_machine_detection: "detect"
    })
    expect(leg.carrierCallId).toBe(setup.carrier.callTo("+12025557001")?.id)
  })
)

it.scopedLive(
  "onPlaced gets the call_control_id once, also of calls that are busy or ring until the engine gives up",
  () =>
    Effect.gen(function* () {
      const setup = yield* setUp({ settings: { connectionId: "app-1" } })
      const placed: Array<string> = []
      const onPlaced = (id: string) => void placed.push(id)
      const called = ["+12025557011", "+12025557012", "+12025557013"] as const
      const [busy, answers, rings] = called
      setup.carrier.addPhone(busy, "busy")
      setup.carrier.addPhone(answers, "answers")
      setup.carrier.addPhone(rings, "rings")
      expect((yield* Effect.flip(dial(setup, busy, { onPlaced }))).outcome).toBe("busy")
      expect((yield* dial(setup, answers, { onPlaced })).carrierCallId).toBe(placed.at(-1))
      const ringing = yield* Effect.fork(dial(setup, rings, { onPlaced }))
      yield* until(() => placed.length === 3)
      yield* Fiber.interrupt(ringing)
      expect(placed).toEqual(called.map((to) => setup.carrier.callTo(to)?.id))
    })
)

it.scopedLive("a call without an application for its number or webhook is placed by the account's only one", () =>
  Effect.gen(function* () {
    const setup = yield* setUp()
    const { applications } = setup.carrier.inventory
    applications.push({ id: "app-8", webhook_event_url: "https://elsewhere.test" })
    setup.carrier.addPhone("+12025557009", "busy")
    yield* Effect.flip(dial(setup, "+12025557009"))
    applications.push({ id: "app-9", webhook_event_url: null })
    yield* Effect.flip(dial(setup, "+12025557009"))
    expect(placed(setup).map(({ json }) => json["connection_id"])).toEqual(["app-8", undefined])
    const { numbers } = setup.telephony
    const [number = ""] = setup.carrier.inventory.forSale
    applications.pop()
    yield* numbers?.purchase({ key: "order:1", number, address: null }) ?? Effect.void
    expect(setup.carrier.inventory.orders.map((order) => order["connection_id"])).toEqual([undefined])
  })
)

it.scopedLive("a call whose answer was lost is placed once, and connected", () =>
  Effect.gen(function* () {
    const setup = yield* setUp({ settings: { connectionId: "app-1" } })
    setup.carrier.addPhone("+12025557002", "answers")
    // The call is placed, and the connection breaks; Telnyx ignores the repetition.
    let isFirst = true
    setup.carrier.faults.intercept = (request, response) => {
      if (request.path !== "/v2/calls") return false
      if (!isFirst) {
        response.writeHead(200, { "content-type": "application/json" }).end("{}")
        return true
      }
      isFirst = false
      const { end } = response
      response.end = () => {
        response.end = end
        response.destroy()
        return response
      }
      return false
    }
    const leg = yield* dial(setup, "+12025557002")
    expect(new Set(placed(setup).map(({ json }) => json["command_id"])).size).toBe(1)
    expect([...setup.carrier.calls.values()].length).toBe(1)
    leg.hangup("over")
    yield* until(() => setup.carrier.callTo("+12025557002")?.state === "ended")
  })
)

it.scopedLive("a call that is given up before Telnyx has answered is hung up when it is known", () =>
  Effect.gen(function* () {
    const setup = yield* setUp({ settings: { connectionId: "app-1" } })
    setup.carrier.addPhone("+12025557003", "rings")
    setup.carrier.faults.delayOf = (type) => (type === "call.initiated" ? 300 : 0)
    setup.carrier.faults.intercept = (request, response) => {
      if (request.path !== "/v2/calls") return false
      const { end } = response
      response.end = (...given: ReadonlyArray<unknown>) => {
        setTimeout(() => Reflect.apply(end, response, [...given]), 200)
        return response
      }
      return false
    }
    const fiber = yield* Effect.fork(dial(setup, "+12025557003"))
    yield* until(() => setup.carrier.callTo("+12025557003") !== undefined)
    yield* Fiber.interrupt(fiber)
    yield* until(() => setup.carrier.callTo("+12025557003")?.state === "ended")
  })
)

it.scopedLive("a call that Telnyx refuses fails with its reason, without the key", () =>
  Effect.gen(function* () {
    const setup = yield* setUp({ settings: { connectionId: "app-1" } })
    setup.carrier.faults.intercept = (request, response) => {
      if (request.path !== "/v2/calls") return false
      const error = { code: "10015", title: "Invalid", detail: `no outbound profile for ${setup.carrier.apiKey}` }
      response.writeHead(422, { "content-type": "application/json" }).end(JSON.stringify({ errors: [error] }))
      return true
    }
    const failure = yield* Effect.flip(dial(setup, "+12025557004"))
    expect(failure.outcome).toBe("failed")
    expect(failure.reason).toContain("no outbound profile for … (10015)")
  })
)

it.scopedLive("a transfer that closes the media connection and fails goes on over a new one", () =>
  Effect.gen(function* () {
    const setup = yield* setUp({ settings: { connectionId: "app-1" } })
    setup.carrier.faults.transferClosesMedia = true
    setup.carrier.addPhone("+12025557005", "answers")
    setup.carrier.addPhone("+12025557006", "busy")
    const leg = yield* dial(setup, "+12025557005")
    const events = heardOn(leg)
    leg.transferBlind?.("+12025557006")
    yield* until(() => tags(events).includes("Transfer busy"))
    expect(tags(events).filter((tag) => tag.startsWith("Media"))).toEqual(["Media off", "Media on"])
    expect(tags(events).at(-1)).toBe("Transfer busy")
    const phone = setup.carrier.callTo("+12025557005")
    leg.send(frame(9))
    leg.mark("heard")
    yield* until(() => tags(events).includes("Mark"))
    expect(phone?.heard()).toContain(9)
    expect(commandsOf(setup, "transfer")[0]?.json).toMatchObject({ to: "+12025557006", from: numbers.to })
  })
)

it.scopedLive("the destination's hang-up after a transfer ends the call on both sides", () =>
  Effect.gen(function* () {
    const setup = yield* setUp({ settings: { connectionId: "app-1" } })
    setup.carrier.addPhone("+12025557007", "answers")
    setup.carrier.addPhone("+12025557008", "answers")
    const leg = yield* dial(setup, "+12025557007")
    const events = heardOn(leg)
    leg.transferBlind?.("+12025557008")
    yield* until(() => tags(events).includes("Transfer completed"))
    // The agent is out of the call.
    yield* until(() => setup.server.openSockets() === 0)
    const other = setup.carrier.callTo("+12025557008")
    if (other !== undefined) yield* setup.carrier.hangUp(other)
    yield* until(() => tags(events).includes("Ended hangup"))
    yield* until(() => setup.carrier.callTo("+12025557007")?.state === "ended")
  })
)

import { describe, expect, it } from "@effect/vitest"
import { type BridgeFailed, type CallEvent, Telephony } from "@svc/providers/Telephony"
import { Effect, Fiber, Queue } from "effect"
import type * as Dialog from "../src/dialog/Dialog.ts"
import * as Message from "../src/message/Message.ts"
import { scriptedTrunk } from "./ScriptedTrunk.ts"
import { plugin } from "./SipPhones.ts"
import { connected, type Trunk, type TrunkCall } from "./TrunkCall.ts"

const offering: Message.Headers = [
  { name: "allow", value: "INVITE, ACK, BYE, CANCEL, REFER, NOTIFY" },
  { name: "supported", value: "replaces, timer" }
]

interface Two {
  readonly trunk: Trunk
  readonly one: TrunkCall
  readonly other: TrunkCall
  /** Joins them, in the background. */
  readonly join: Effect.Effect<Fiber.RuntimeFiber<void, BridgeFailed>>
  /** The outcome of joining them. */
  readonly joining: Fiber.RuntimeFiber<void, BridgeFailed>
}

/** Two answered calls at a trunk, which are being joined. */
const joined = (headers: Message.Headers, run: (two: Two) => Effect.Effect<void, BridgeFailed>) =>
  Effect.gen(function* () {
    const trunk = yield* scriptedTrunk()
    const layer = plugin(0, { trunkUri: `sip:127.0.0.1:${trunk.port}`, rtpPorts: "30400-30449" })
    yield* Effect.gen(function* () {
      const one = yield* connected(trunk, headers)
      const other = yield* connected(trunk, headers)
      const { bridge } = yield* Telephony
      if (bridge === undefined) return yield* Effect.dieMessage("the plugin joins no calls")
      const join = Effect.fork(bridge(one.leg, other.leg))
      yield* run({ trunk, one, other, join, joining: yield* join })
    }).pipe(Effect.provide(layer))
  }).pipe(Effect.scoped)

const sipfrag = (line: string): Dialog.Content => ({
  headers: [
    { name: "event", value: "refer" },
    { name: "content-type", value: "message/sipfrag" }
  ],
  body: Buffer.from(`${line}\r\n`)
})

const failure = ({ joining }: Pick<Two, "joining">) =>
  Effect.map(Effect.orDie(Effect.flip(Fiber.join(joining))), ({ reason }) => reason)

const endsOf = (call: TrunkCall): Effect.Effect<CallEvent> => Queue.take(call.events)

describe("Two calls at a trunk that offers REFER with Replaces", () => {
  it.live("are joined there: REFER on the first names the second, and both end after the outcome", () =>
    joined(offering, (two) =>
      Effect.gen(function* () {
        const { joining, one, other, trunk } = two
        const refer = yield* trunk.request("REFER")
        expect(Message.callId(refer)).toBe(Message.callId(one.invite))
        const callId = Message.callId(other.invite)
        const fromTag = Message.tag(other.invite, "from")
        const replaces = `${callId}%3Bto-tag%3Dtrunk%3Bfrom-tag%3D${fromTag}`
        expect(Message.header(refer, "refer-to")).toBe(`<sip:trunk@127.0.0.1:${trunk.port}?Replaces=${replaces}>`)
        trunk.respond(refer, 202)
        yield* one.ask("NOTIFY", sipfrag("SIP/2.0 100 Trying"))
        // The trunk ends the call that was replaced before it reports the outcome.
        expect((yield* other.ask("BYE")).status).toBe(200)
        expect(yield* Queue.size(other.events)).toBe(0)
        yield* one.ask("NOTIFY", sipfrag("SIP/2.0 200 OK"))
        yield* Fiber.join(joining)
        expect(yield* endsOf(other)).toMatchObject({ _tag: "Ended", cause: "hangup" })
        expect(yield* endsOf(one)).toMatchObject({ _tag: "Ended", cause: "hangup" })
        const bye = yield* trunk.request("BYE")
        expect(Message.callId(bye)).toBe(Message.callId(one.invite))
      })
    )
  )

  it.live("are joined when the trunk hangs up the first call in place of the outcome", () =>
    joined(offering, ({ joining, one, trunk }) =>
      Effect.gen(function* () {
        trunk.respond(yield* trunk.request("REFER"), 202)
        yield* one.ask("BYE")
        yield* Fiber.join(joining)
        expect(yield* endsOf(one)).toMatchObject({ _tag: "Ended", cause: "hangup" })
      })
    )
  )

  it.live("go on when it refuses, at once or after it has tried, so that the engine joins them", () =>
    joined(offering, (two) =>
      Effect.gen(function* () {
        const { one, other, trunk } = two
        trunk.respond(yield* trunk.request("REFER"), 403)
        expect(yield* failure(two)).toContain("403")
        const joining = yield* two.join
        trunk.respond(yield* trunk.request("REFER"), 202)
        yield* one.ask("NOTIFY", sipfrag("SIP/2.0 481 Call/Transaction Does Not Exist"))
        expect(yield* failure({ joining })).toContain("481")
        for (const call of [one, other]) {
          expect((yield* call.ask("OPTIONS")).status).toBe(200)
          expect(yield* Queue.size(call.events)).toBe(0)
        }
      })
    )
  )

  it.live("report the end of the second one after the trunk's refusal, when it ends in the meantime", () =>
    joined(offering, (two) =>
      Effect.gen(function* () {
        const refer = yield* two.trunk.request("REFER")
        yield* two.other.ask("BYE")
        expect(yield* Queue.size(two.other.events)).toBe(0)
        two.trunk.respond(refer, 481)
        expect(yield* failure(two)).toContain("481")
        expect(yield* endsOf(two.other)).toMatchObject({ _tag: "Ended", cause: "hangup" })
      })
    )
  )
})

describe("Two calls at a trunk that does not offer REFER with Replaces", () => {
  it.live("are left to the engine, and no REFER is sent", () =>
    joined([{ name: "allow", value: "INVITE, ACK, BYE, REFER" }], (two) =>
      Effect.gen(function* () {
        expect(yield* failure(two)).toBe("the trunk does not offer REFER with Replaces")
        yield* two.one.ask("OPTIONS")
      })
    )
  )
})

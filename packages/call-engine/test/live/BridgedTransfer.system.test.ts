import { expect, layer } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { Calls } from "../../src/record/Calls.ts"
import { agentOnNumber, Base, configuration, dial, Engine, phone, until } from "../doubles/Engine.ts"
import * as Record from "../doubles/Record.ts"

let numbers = 0

/** Registers a destination with this behaviour. */
const other = (behaviour: string, ring_ms = 20) =>
  Effect.map(phone, (registered) => {
    const number = `+1555778${String(1000 + ++numbers)}`
    registered.send({ event: "register", numbers: [number], behaviour, ring_ms })
    return { number, phone: registered }
  })

/** A call in which the agent has said its first message. */
const greetedWith = (providers: unknown, more: Readonly<Record<string, unknown>> = {}) =>
  Effect.gen(function* () {
    const found = yield* agentOnNumber(() =>
      configuration(
        {
          rules: [
            { user: "sales", tool: "transfer_call", arguments: { destination: "sales", reason: "a chair" } },
            { tool_result: "transfer_call", say: "That did not work." }
          ],
          otherwise: "Ok.",
          providers
        },
        more
      )
    )
    const caller = yield* dial(found.number)
    yield* caller.hears(/^Hello\.$/)
    const record = yield* until(Record.now(found.number), (r) => r?.status === "in-progress")
    return { ...found, caller, id: record?.call_id ?? "" }
  })
/** The same on a network that transfers no calls. */
const greeted = greetedWith({ leg: { transfer: "refused" } })

layer(Layer.provideMerge(Engine, Base), { timeout: "60 seconds", excludeTestServices: true })(
  "a transfer that the network refuses",
  (it) => {
    it.scoped("joins two legs: each party hears the other, and not the agent, until one hangs up", () =>
      Effect.gen(function* () {
        const calls = yield* Calls
        const { caller, id, number, project } = yield* greeted
        const sales = yield* other("answer", 300)
        yield* calls.transfer(project, id, sales.number)
        yield* sales.phone.until("answered")
        sales.phone.send({ event: "say", text: "Sales here" })
        yield* caller.hears(/^Sales here$/)
        caller.send({ event: "say", text: "A chair please" })
        yield* sales.phone.hears(/^A chair please$/)
        caller.send({ event: "dtmf", digits: "7" })
        expect(yield* sales.phone.until("dtmf")).toMatchObject({ digits: "7" })
        sales.phone.send({ event: "hangup" })
        yield* caller.until("hangup")
        const call = yield* Record.settled(number)
        expect(call.outcome).toBe("completed transferred transfer")
        expect(Record.dataOf(call, "transfer.completed")).toMatchObject([{ transfer_to: sales.number }])
        const record = yield* calls.get(project, id)
        expect(record.transfer_duration_seconds).toBeGreaterThan(0)
        const said = record.transcript?.map(({ content }) => content) ?? []
        expect(said.filter((text) => /Sales|chair/.test(text))).toEqual([])
      })
    )

    it.scoped("ends the destination's call when the caller hangs up, also while it rings", () =>
      Effect.gen(function* () {
        const calls = yield* Calls
        const joined = yield* greeted
        const sales = yield* other("answer")
        yield* calls.transfer(joined.project, joined.id, sales.number)
        joined.caller.send({ event: "hangup" })
        yield* sales.phone.until("hangup")
        expect((yield* Record.settled(joined.number)).outcome).toBe("completed transferred transfer")

        const ringing = yield* greeted
        const support = yield* other("no-answer")
        const asked = yield* Effect.fork(Effect.flip(calls.transfer(ringing.project, ringing.id, support.number)))
        yield* support.phone.until("incoming")
        ringing.caller.send({ event: "hangup" })
        yield* support.phone.until("hangup")
        expect((yield* Fiber.join(asked)).message).toBe("transfer failed: the caller hung up")
        expect((yield* Record.settled(ringing.number)).outcome).toBe("completed answered caller-hangup")
      })
    )

    it.scoped("returns the reason when the destination declines, and the caller is back with the agent", () =>
      Effect.gen(function* () {
        const calls = yield* Calls
        const { caller, id, number, project } = yield* greeted
        const error = yield* Effect.flip(calls.transfer(project, id, (yield* other("reject")).number))
        expect(error.message).toBe("transfer failed: rejected")
        yield* caller.hears(/^That did not work\.$/)
        caller.send({ event: "say", text: "Never mind" })
        yield* caller.hears(/^Ok\.$/)
        caller.send({ event: "hangup" })
        expect((yield* Record.settled(number)).outcome).toBe("completed answered caller-hangup")
      })
    )

    it.scoped("ends both calls when the API ends the call", () =>
      Effect.gen(function* () {
        const calls = yield* Calls
        const { caller, id, number, project } = yield* greeted
        const sales = yield* other("answer")
        yield* calls.transfer(project, id, sales.number)
        yield* calls.end(project, id)
        yield* sales.phone.until("hangup")
        yield* caller.until("hangup")
        expect((yield* Record.settled(number)).outcome).toBe("completed transferred transfer")
      })
    )
  }
)

layer(Layer.provideMerge(Engine, Base), { timeout: "60 seconds", excludeTestServices: true })(
  "a transfer with a transfer_announcement",
  (it) => {
    it.scoped("is heard by the destination first, which is then joined with the caller", () =>
      Effect.gen(function* () {
        const sales = yield* other("answer", 300)
        const { caller, number } = yield* greetedWith(
          {},
          { transfer_announcement: "A call about {{reason}}", transfer_destinations: { sales: sales.number } }
        )
        caller.send({ event: "say", text: "I want sales" })
        yield* sales.phone.until("answered")
        yield* sales.phone.hears(/^A call about a chair$/)
        yield* until(Record.now(number), (r) => r?.events.some(({ event }) => event === "transfer.completed") === true)
        sales.phone.send({ event: "say", text: "Sales here" })
        yield* caller.hears(/^Sales here$/)
        caller.send({ event: "hangup" })
        yield* sales.phone.until("hangup")
        const call = yield* Record.settled(number)
        expect(call.outcome).toBe("completed transferred transfer")
        const [ended] = Record.dataOf(call, "call.ended")
        expect(ended).toMatchObject({ transferred_to: sales.number })
      })
    )

    it.scoped("that the destination does not want leaves the caller with the agent", () =>
      Effect.gen(function* () {
        const calls = yield* Calls
        const { caller, id, number, project } = yield* greetedWith(
          {},
          { transfer_announcement: "There is a caller who would like to talk with you about a chair" }
        )
        const sales = yield* other("answer")
        const asked = yield* Effect.fork(Effect.flip(calls.transfer(project, id, sales.number)))
        yield* sales.phone.until("answered")
        sales.phone.send({ event: "hangup" })
        expect((yield* Fiber.join(asked)).message).toBe("transfer failed: rejected")
        yield* caller.hears(/^That did not work\.$/)
        caller.send({ event: "hangup" })
        expect((yield* Record.settled(number)).outcome).toBe("completed answered caller-hangup")
      })
    )
  }
)

import { expect, layer } from "@effect/vitest"
import { Effect, Either, Fiber, Layer } from "effect"
import { Calls } from "../../src/record/Calls.ts"
import { agentOnNumber, Base, configuration, dial, Engine, phone, until } from "../doubles/Engine.ts"
import * as Record from "../doubles/Record.ts"

const tagOf = (result: Either.Either<unknown, { readonly _tag: string }>): string =>
  Either.isLeft(result) ? result.left._tag : "accepted"

let numbers = 0

/** Registers a destination with this behaviour. */
const other = (behaviour: string, ring_ms = 20) =>
  Effect.map(phone, (registered) => {
    const number = `+1555777${String(1000 + ++numbers)}`
    registered.send({ event: "register", numbers: [number], behaviour, ring_ms })
    return { number, phone: registered }
  })

/** A call in which the agent has said its first message. */
const greetedWith = (more: Readonly<Record<string, unknown>>) =>
  Effect.gen(function* () {
    const found = yield* agentOnNumber(() =>
      configuration(
        {
          rules: [
            { user: "sales", tool: "transfer_call", arguments: { destination: "sales" } },
            { tool_result: "transfer_call", say: "That did not work." }
          ],
          otherwise: "Ok."
        },
        more
      )
    )
    const caller = yield* dial(found.number)
    yield* caller.hears(/^Hello\.$/)
    const record = yield* until(Record.now(found.number), (r) => r?.status === "in-progress")
    return { ...found, caller, id: record?.call_id ?? "" }
  })

const greeted = greetedWith({})

/** A premium-rate number that would answer. */
const premium = Effect.map(phone, (registered) => {
  registered.send({ event: "register", numbers: ["+19005550123"], behaviour: "answer", ring_ms: 20 })
  return "+19005550123"
})

layer(Layer.provideMerge(Engine, Base), { timeout: "60 seconds", excludeTestServices: true })("a transfer", (it) => {
  it.scoped("by the API moves the caller, and the record has transferred_to and transfer_duration_seconds", () =>
    Effect.gen(function* () {
      const calls = yield* Calls
      const { caller, id, number, project } = yield* greeted
      const sales = yield* other("answer")
      yield* calls.transfer(project, id, sales.number)
      expect(yield* caller.until("transferred")).toEqual({ event: "transferred", destination: sales.number })
      expect(tagOf(yield* Effect.either(calls.transfer(project, id, sales.number)))).toBe("CallNotInProgress")
      const call = yield* Record.settled(number)
      expect(call.outcome).toBe("completed transferred transfer")
      const record = yield* calls.get(project, id)
      expect(record).toMatchObject({
        transferred_to: sales.number,
        transfer_duration_seconds: 1,
        transfer_cost: 0,
        tool_call_count: 0
      })
      expect(Record.dataOf(call, "call.ended")).toMatchObject([
        { transferred_to: sales.number, disposition: "transferred", ended_reason: "transfer" }
      ])
      expect(call.events.flatMap(({ event }) => (event.startsWith("transfer.") ? [event] : []))).toEqual([
        "transfer.initiated",
        "transfer.completed"
      ])
      expect(tagOf(yield* Effect.either(calls.transfer(project, id, sales.number)))).toBe("CallNotInProgress")
    })
  )

  it.scoped("that fails returns the reason, and the conversation continues", () =>
    Effect.gen(function* () {
      const calls = yield* Calls
      const { caller, id, number, project } = yield* greeted
      const error = yield* Effect.flip(calls.transfer(project, id, (yield* other("busy")).number))
      expect(error).toMatchObject({ code: "TRANSFER_FAILED", message: "transfer failed: busy" })
      const nowhere = yield* Effect.flip(calls.transfer(project, id, "+15557770000"))
      expect(nowhere.message).toBe("transfer failed: nobody has the number +15557770000")
      yield* caller.hears(/^That did not work\.$/)
      caller.send({ event: "say", text: "Never mind" })
      yield* caller.hears(/^Ok\.$/)
      caller.send({ event: "hangup" })
      const call = yield* Record.settled(number)
      expect(call.outcome).toBe("completed answered caller-hangup")
    })
  )

  it.scoped("by the API to a number that must not be called is refused, and the call goes on unchanged", () =>
    Effect.gen(function* () {
      const calls = yield* Calls
      const { caller, id, number, project } = yield* greeted
      expect(yield* Effect.flip(calls.transfer(project, id, yield* premium))).toMatchObject({
        code: "TRANSFER_FAILED",
        message: "transfer failed: the destination must not be a premium-rate number"
      })
      caller.send({ event: "say", text: "Go on" })
      yield* caller.hears(/^Ok\.$/)
      caller.send({ event: "hangup" })
      const call = yield* Record.settled(number)
      expect(call.outcome).toBe("completed answered caller-hangup")
      expect(call.events.filter(({ event }) => event.startsWith("transfer."))).toEqual([])
    })
  )

  for (const [kind, more] of [
    ["", {}],
    ["attended, ", { transfer_announcement: "A caller for you." }]
  ] as const) {
    it.scoped(`by the tool, ${kind}to a number that must not be called fails, and the tool's result says why`, () =>
      Effect.gen(function* () {
        const { caller, number } = yield* greetedWith({ transfer_destinations: { sales: yield* premium }, ...more })
        caller.send({ event: "say", text: "Put me through to sales" })
        yield* caller.hears(/^That did not work\.$/)
        caller.send({ event: "hangup" })
        const call = yield* Record.settled(number)
        expect(call.outcome).toBe("completed answered caller-hangup")
        expect(Record.dataOf(call, "transfer.failed")).toMatchObject([
          { transfer_to: "+19005550123", failure_reason: "the destination must not be a premium-rate number" }
        ])
        expect(JSON.stringify(Record.dataOf(call, "tool.completed"))).toContain("must not be a premium-rate number")
      })
    )
  }

  it.scoped("requested 50 times at once starts once", () =>
    Effect.gen(function* () {
      const calls = yield* Calls
      const { caller, id, number, project } = yield* greeted
      const sales = yield* other("answer", 1500)
      const results = yield* Effect.all(
        Array.from({ length: 50 }, () => Effect.either(calls.transfer(project, id, sales.number))),
        { concurrency: "unbounded" }
      )
      expect(results.filter(Either.isRight)).toHaveLength(1)
      expect(new Set(results.map(tagOf))).toEqual(new Set(["accepted", "TransferAlreadyActive"]))
      caller.send({ event: "hangup" })
      const call = yield* Record.settled(number)
      expect(Record.dataOf(call, "transfer.initiated")).toHaveLength(1)
      expect(Record.dataOf(call, "transfer.completed")).toHaveLength(1)
    })
  )

  it.scoped("whose caller hangs up while it rings fails as the call ends", () =>
    Effect.gen(function* () {
      const calls = yield* Calls
      const { caller, id, number, project } = yield* greeted
      const sales = yield* other("no-answer")
      const asked = yield* Effect.fork(Effect.flip(calls.transfer(project, id, sales.number)))
      yield* sales.phone.until("incoming")
      caller.send({ event: "hangup" })
      expect((yield* Fiber.join(asked)).message).toBe("transfer failed: the caller hung up")
      expect((yield* Record.settled(number)).outcome).toBe("completed answered caller-hangup")
      yield* sales.phone.until("hangup")
    })
  )

  it.scoped("is refused for calls of other projects, ringing calls and unknown calls", () =>
    Effect.gen(function* () {
      const calls = yield* Calls
      const [mine, foreign] = [yield* agentOnNumber(() => undefined), yield* agentOnNumber(() => undefined)]
      const caller = yield* dial(mine.number)
      yield* caller.until("ringing")
      const found = yield* until(Record.now(mine.number), (r) => r !== undefined)
      const ask = (project: typeof mine.project, id: string) =>
        Effect.map(Effect.either(calls.transfer(project, id, "+15557770001")), tagOf)
      expect(yield* ask(mine.project, found?.call_id ?? "")).toBe("CallNotInProgress")
      expect(yield* ask(foreign.project, found?.call_id ?? "")).toBe("CallNotFound")
      expect(yield* ask(mine.project, "call_000000000000000000000000")).toBe("CallNotFound")
      caller.close()
      yield* Record.settled(mine.number)
    })
  )
})

import { expect, layer } from "@effect/vitest"
import { GatherRequest } from "@svc/api/calls/Gather"
import { Effect, Either, Layer, Schema } from "effect"
import { Calls } from "../../src/record/Calls.ts"
import { agentOnNumber, Base, configuration, dial, Engine, until } from "../doubles/Engine.ts"
import * as Record from "../doubles/Record.ts"

const request = Schema.decodeUnknownSync(GatherRequest)

const tagOf = (result: Either.Either<unknown, { readonly _tag: string }>): string =>
  Either.isLeft(result) ? result.left._tag : "accepted"

layer(Layer.provideMerge(Engine, Base), { timeout: "60 seconds", excludeTestServices: true })("a gather", (it) => {
  it.scoped("requested 50 times at once starts once, and its outcome is an event", () =>
    Effect.gen(function* () {
      const calls = yield* Calls
      const { number, project } = yield* agentOnNumber(() => configuration({ otherwise: "Ok." }))
      const caller = yield* dial(number)
      yield* caller.hears(/^Hello\.$/)
      const found = yield* until(Record.now(number), (r) => r?.status === "in-progress")
      const body = request({ prompt: "Your number?", max_digits: 3 })
      const results = yield* Effect.all(
        Array.from({ length: 50 }, () => Effect.either(calls.gather(project, found?.call_id ?? "", body))),
        { concurrency: "unbounded" }
      )
      expect(results.filter(Either.isRight).map(({ right }) => right)).toEqual([found?.id])
      expect(new Set(results.map(tagOf))).toEqual(new Set(["accepted", "GatherAlreadyActive"]))
      yield* caller.hears(/^Your number\?$/)
      caller.send({ event: "dtmf", digits: "123" })
      yield* until(Record.now(number), (r) => r?.call_events.includes("call.gather.completed") === true)
      caller.send({ event: "hangup" })
      const call = yield* Record.settled(number)
      expect(Record.dataOf(call, "call.gather.completed")).toEqual([
        { call_id: call.call_id, agent_id: expect.stringMatching(/^agent_/), status: "completed", input: "123" }
      ])
      expect(call.transcript).toEqual(["assistant: Hello.", "assistant: Your number?"])
      const late = yield* Effect.either(calls.gather(project, call.call_id, body))
      expect(tagOf(late)).toBe("CallNotInProgress")
    })
  )

  it.scoped("is refused for calls of other projects, ringing calls, and a voice that does not speak the language", () =>
    Effect.gen(function* () {
      const calls = yield* Calls
      const [mine, other] = [yield* agentOnNumber(() => undefined), yield* agentOnNumber(() => undefined)]
      const caller = yield* dial(mine.number)
      yield* caller.until("ringing")
      const found = yield* until(Record.now(mine.number), (r) => r !== undefined)
      const ask = (project: typeof mine.project, body: unknown) =>
        Effect.map(Effect.either(calls.gather(project, found?.call_id ?? "", request(body))), tagOf)
      expect(yield* ask(mine.project, { prompt: "Type." })).toBe("CallNotInProgress")
      expect(yield* ask(other.project, { prompt: "Type." })).toBe("CallNotFound")
      expect(yield* ask(mine.project, { prompt: "Type.", voice: "Lotte" })).toBe("ValidationError")
      expect(yield* ask(mine.project, { prompt: "Type.", voice: "Nobody" })).toBe("ValidationError")
      caller.close()
      yield* Record.settled(mine.number)
    })
  )
})

import { describe, expect, it } from "@effect/vitest"
import { Cause, Data, Effect, Logger } from "effect"
import { withReasons } from "../src/Logging.ts"

class SpeechFailed extends Data.TaggedError("SpeechFailed")<{ readonly reason: string }> {}
class Refused extends Data.TaggedError("Refused")<{ readonly status: number }> {}

const unreadable = new Error("x")
Object.defineProperty(unreadable, "message", {
  get: () => {
    throw new Error("no")
  }
})

const formats = { logfmt: Logger.logfmtLogger, json: Logger.jsonLogger }

/** The line that is logged. */
const lineOf = (logger: Logger.Logger<unknown, string>, effect: Effect.Effect<void>) =>
  Effect.suspend(() => {
    const lines: Array<string> = []
    const collecting = Logger.map(withReasons(logger), (line) => void lines.push(line))
    return Effect.as(Effect.provide(effect, Logger.replace(Logger.defaultLogger, collecting)), lines)
  })

describe("The log", () => {
  const cases: ReadonlyArray<readonly [string, Effect.Effect<void>, string]> = [
    ["an error beside a message", Effect.logError("It failed", new Error("boom")), "boom"],
    ["an error alone", Effect.logError(new Error("boom")), "boom"],
    ["a defect", Effect.logError("It failed", Cause.die(new Error("boom"))), "boom"],
    ["a typed error with a reason", Effect.logError("It failed", new SpeechFailed({ reason: "boom" })), "boom"],
    [
      "a cause of a typed error",
      Effect.logError("It failed", Cause.fail(new SpeechFailed({ reason: "boom" }))),
      "boom"
    ],
    ["a typed error with fields", Effect.logError("It failed", Cause.fail(new Refused({ status: 418 }))), "418"],
    ["an error in an object", Effect.logError("It failed", { error: new Error("boom") }), "boom"],
    [
      "an error in an annotation",
      Effect.annotateLogs(Effect.logError("It failed"), { why: new Error("boom") }),
      "boom"
    ],
    [
      "an error in an object in an annotation",
      Effect.annotateLogs(Effect.logError("It failed"), { why: { last: [new Error("boom")] } }),
      "boom"
    ],
    ["what caused an error", Effect.logError("It failed", new Error("outer", { cause: new Error("boom") })), "boom"],
    ["an error without a message", Effect.logError("It failed", new TypeError("")), "TypeError: no message"],
    ["a thrown object", Effect.logError("It failed", Cause.die({ code: "boom" })), "boom"],
    ["a thrown undefined", Effect.logError("It failed", Cause.die(undefined)), "undefined"],
    ["an error that cannot be read", Effect.logError("It failed", unreadable), "cannot be read"]
  ]
  for (const [what, effect, reason] of cases) {
    it.effect(`names the reason of ${what}`, () =>
      Effect.gen(function* () {
        for (const logger of Object.values(formats)) {
          const lines = yield* lineOf(logger, effect)
          expect(lines).toHaveLength(1)
          expect(lines[0]).toContain(reason)
          expect(lines[0]).not.toMatch(/=\{\}|:\{\}(?!,"fiberId"|,"spans")/)
          expect(lines[0]).not.toContain("An error has occurred")
        }
      })
    )
  }
})

import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { started } from "./PseudoTerminal.ts"

describe("the demo in a terminal", () => {
  it.scopedLive(
    "answers a digit that is typed in a menu, shows a tool, and prints the summary when it quits",
    () =>
      Effect.gen(function* () {
        const terminal = yield* started("simulator/dist/demo/main.js")
        yield* Effect.promise(async () => {
          await terminal.shows("has a menu first:")
          terminal.type("\u001b[B\r")
          await terminal.shows("the agent waits for digits")
          terminal.type("2")
          await terminal.shows("We are open nine to five.")
          await terminal.shows("try: what is free on Friday?")
          terminal.type("What is free on Friday?\r")
          await terminal.shows('find_free_slots {"day":"Friday"} →')
          await terminal.shows("Agent Friday: 9:00 or 10:30.")
          terminal.type("\u001b")
          await terminal.shows("Debug page:")
          terminal.type("q")
          expect(await terminal.exited).toBe(0)
        })
        const printed = terminal.output.slice(terminal.output.lastIndexOf("\u001b[?1049l"))
        expect(printed).toMatch(/Call to \+15550100101 ended after 0:\d\d: you hung up/)
        expect(printed).toMatch(/Debug page: http:\/\/127\.0\.0\.1:\d+\/debug\/calls\/[0-9a-f]{64}/)
      }),
    120_000
  )
})

import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { parse } from "../src/Script.ts"
import { describe as name } from "../src/ScriptSteps.ts"

const steps = (yaml: string) => `steps:\n${yaml.replace(/^/gm, "  ")}`

/** What is wrong, the script, and the message with line and column. */
const bad: ReadonlyArray<readonly [string, string, ReadonlyArray<string | RegExp>]> = [
  ["an empty file", "", ['1:1: a script begins with "steps:", a list of steps']],
  ["a list", "- say: hello", ['1:1: a script begins with "steps:", a list of steps']],
  ["invalid YAML", "steps:\n  - expect: [}", [/^2:14: not YAML: /]],
  ["nesting without end", "[".repeat(20_000), [/^1:\d+: not YAML: /]],
  ["a part that contains itself", "steps: &a\n  - say: *a", [/^ not readable: /]],
  ["no steps", "name: nothing", ["1:1: steps: is missing"]],
  ["an empty list of steps", "steps: []", ["1:1: steps: a script has at least one step"]],
  [
    "an unknown field",
    "step: red\nsteps:\n  - hangup: true",
    [/^1:1: step: unknown field; did you mean steps\? \(valid are .*name.*\)$/]
  ],
  ["a timeout in words", "timeout: soon\nsteps:\n  - hangup: true", ['1:1: timeout: expected a number, found "soon"']],
  ["a step that is not an object", steps("- hangup"), [/^2:5: step 1: a step is an object with one of expect, say/]],
  ["an unknown step", steps("- shout: hello"), [/^2:5: step 1, shout: unknown step; known are expect, /]],
  ["a misspelled step", steps("- epxect: hello"), [/^2:5: step 1, epxect: unknown step; did you mean expect\? known/]],
  ["an empty step", steps("- {}"), [/^2:5: step 1: the step is empty/]],
  ["two steps in one", steps("- expect: a\n  say: b"), [/^2:5: step 1: expect and say are steps of their own/]],
  [
    "a pattern that does not compile",
    steps("- hangup: true\n- expect: '(('"),
    [/^3:5: step 2, expect: Invalid regular expression/]
  ],
  ["an empty pattern", steps("- expect: ''"), [/^2:5: step 1, expect: /]],
  ["nothing to say", steps("- say: ''"), [/^2:5: step 1, say: /]],
  [
    "digits as a number",
    steps("- dtmf: 123"),
    ['2:5: step 1, dtmf: expected a text, found 123: put it in quotes, "123"']
  ],
  [
    "a number without quotes",
    `to: +15550100100\n${steps("- hangup: true")}`,
    ['1:1: to: expected a text, found 15550100100: put it in quotes, "+15550100100"']
  ],
  ["letters as digits", steps("- dtmf: 12x"), ['2:5: step 1, dtmf: digits are 0-9, * and #, in quotes: dtmf: "123"']],
  ["a negative wait", steps("- wait_ms: -5"), [/^2:5: step 1, wait_ms: /]],
  [
    "an unknown field in a step",
    steps("- expect: hi\n  withn: 5"),
    ["3:5: step 1, withn: unknown field; did you mean within? (valid are expect, within)"]
  ],
  ["a wrong part of a choice", steps("- expect_hangup: { caus: x }"), [/^2:22: step 1, expect_hangup\.caus: unknown/]],
  [
    "an unknown status",
    steps("- expect_call: { status: done }"),
    [/^2:20: step 1, expect_call\.status: expected "ring/]
  ],
  [
    "an unknown role",
    steps("- expect_call: { transcript: [{ role: agent, content: hi }] }"),
    ['2:35: step 1, expect_call.transcript[0].role: expected "assistant" or "user", found "agent"']
  ],
  [
    "a tool's pattern that does not compile",
    steps("- expect_tool: { name: find, arguments: { day: '/((/' } }"),
    [/^2:45: step 1, expect_tool\.arguments\.day: Invalid regular expression/]
  ],
  [
    "a latency without a limit",
    steps("- expect_latency: { turn: last }"),
    [/expect_latency: names at least one of resp/]
  ],
  ["several problems", steps("- say: ''\n- dtmf: x"), [/^2:5: step 1, say/, /^3:5: step 2, dtmf/]]
]

describe("a script", () => {
  it.effect("is parsed with all kinds of steps, patterns that ignore case, and defaults", () =>
    Effect.gen(function* () {
      const script = yield* parse(`
name: All of them
to: "+15550000001"
steps:
  - expect: good (morning|day)
    within: 3
  - say: Hello
  - interrupt: Stop
    after: moment
  - dtmf: "12#"
  - wait_ms: 10
  - hangup:
  - expect_hangup: { cause: agent-hangup }
  - expect_call: { status: completed, ended_reason: null, tools_called: [] }
  - expect_tool: book
  - expect_tool: { name: book, arguments: { day: "/fri/" }, result: true, status: completed }
  - expect_event: call.ended
  - expect_event: { event: call.dtmf.received, data: { digit: "1" }, delivered: true, status_code: 200, url: hook }
  - expect_latency: { response_ms: 800, turn: last }
`)
      expect(script).toMatchObject({ name: "All of them", to: "+15550000001", from: undefined, timeout: 20 })
      expect(script.steps.map(name)).toEqual([
        "expect /good (morning|day)/",
        'say "Hello"',
        'interrupt "Stop"',
        "dtmf 12#",
        "wait 10 ms",
        "hang up",
        "expect a hang-up",
        "expect the call record",
        "expect tool book",
        "expect tool book",
        "expect event call.ended",
        "expect event call.dtmf.received",
        "expect the latency"
      ])
      const first = script.steps[0]
      expect(first !== undefined && "expect" in first && first.expect.test("GOOD DAY")).toBe(true)
    })
  )

  it.effect("has 10,000 steps, or as many mistakes, of which 20 are shown", () =>
    Effect.gen(function* () {
      const many = (step: string) => `steps:\n${`  - ${step}\n`.repeat(10_000)}`
      expect((yield* parse(many("wait_ms: 0"))).steps).toHaveLength(10_000)
      const error = yield* Effect.flip(parse(many("wait_ms: -1")))
      expect(error.message.split("\n")).toHaveLength(21)
      expect(error.message).toMatch(/and 9980 more$/)
    })
  )

  for (const [what, yaml, problems] of bad) {
    it.effect(`with ${what} is refused with the place of each problem`, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(parse(yaml, "call.yaml"))
        expect(error.problems).toHaveLength(problems.length)
        const found = error.message.split("\n")
        for (const [n, problem] of problems.entries()) {
          if (typeof problem === "string") expect(found[n]).toBe(`call.yaml:${problem}`)
          else expect(found[n]?.replace("call.yaml:", "")).toMatch(problem)
        }
      })
    )
  }
})

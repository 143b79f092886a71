import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { describe as name, parse } from "../src/Script.ts"

const steps = (yaml: string) => `steps:\n${yaml.replace(/^/gm, "  ")}`

const bad: ReadonlyArray<readonly [string, string, ReadonlyArray<string | RegExp>]> = [
  ["an empty file", "", ["a script is an object with steps"]],
  ["a list", "- say: hello", ["a script is an object with steps"]],
  ["invalid YAML", "steps: [}", [/^YAML: /]],
  ["no steps", "name: nothing", [/^steps: is missing/]],
  ["an empty list of steps", "steps: []", ["steps: a script has at least one step"]],
  ["an unknown field", "colour: red\nsteps:\n  - hangup: true", [/^colour: is unexpected/]],
  ["a timeout in words", "timeout: soon\nsteps:\n  - hangup: true", [/^timeout: Expected number/]],
  ["a step that is not an object", steps("- hangup"), [/^steps\[0\]: a step is an object with one of expect, say/]],
  ["an unknown step", steps("- shout: hello"), [/^steps\[0\]: unknown step shout; known are/]],
  ["two steps in one", steps("- expect: a\n  say: b"), [/^steps\[0\]: expect and say are steps of their own/]],
  [
    "a pattern that does not compile",
    steps("- hangup: true\n- expect: '(('"),
    [/^steps\[1\]\.expect: Invalid regular expression/]
  ],
  ["an empty pattern", steps("- expect: ''"), [/^steps\[0\]\.expect: /]],
  ["nothing to say", steps("- say: ''"), [/^steps\[0\]\.say: /]],
  ["digits as a number", steps("- dtmf: 123"), [/^steps\[0\]\.dtmf: Expected string/]],
  ["letters as digits", steps("- dtmf: 12x"), ['steps[0].dtmf: digits are 0-9, * and #, in quotes: dtmf: "123"']],
  ["a negative wait", steps("- wait_ms: -5"), [/^steps\[0\]\.wait_ms: /]],
  ["an unknown field in a step", steps("- expect: hi\n  withn: 5"), [/^steps\[0\]\.withn: is unexpected/]],
  ["an unknown status", steps("- expect_call: { status: done }"), [/^steps\[0\]\.expect_call\.status: /]],
  [
    "an unknown role",
    steps("- expect_call: { transcript: [{ role: agent, content: hi }] }"),
    ['steps[0].expect_call.transcript[0].role: Expected "assistant" or "user", actual "agent"']
  ],
  ["several problems", steps("- say: ''\n- dtmf: x"), [/^steps\[0\]\.say/, /^steps\[1\]\.dtmf/]]
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
        "expect the call record"
      ])
      const first = script.steps[0]
      expect(first !== undefined && "expect" in first && first.expect.test("GOOD DAY")).toBe(true)
    })
  )

  for (const [what, yaml, problems] of bad) {
    it.effect(`with ${what} is refused with the place of each problem`, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(parse(yaml))
        expect(error.problems).toHaveLength(problems.length)
        for (const [n, problem] of problems.entries()) {
          if (typeof problem === "string") expect(error.problems[n]).toBe(problem)
          else expect(error.problems[n]).toMatch(problem)
        }
      })
    )
  }
})

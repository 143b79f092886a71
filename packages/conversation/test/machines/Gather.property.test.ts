import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { GatherRules } from "../../src/answers/GatherRules.ts"
import { start, step } from "../../src/Conversation.ts"
import { digest, type RecordedInput, replay } from "../../src/Replay.ts"
import { facts, Script, tool } from "../../src/testing/Script.ts"
import { propertyRuns } from "../doubles/PropertyRuns.ts"
import { spokenMs, VirtualShell } from "../doubles/VirtualShell.ts"

/** Callers who press any digits at any times. */

const rules: fc.Arbitrary<GatherRules> = fc.record({
  prompt: fc.constantFrom("", "Please type your number."),
  voice: fc.constantFrom(null, "female"),
  language: fc.constant(null),
  max_digits: fc.integer({ min: 1, max: 20 }),
  terminator: fc.constantFrom("#", "", "*", "0"),
  timeout_seconds: fc.integer({ min: 1, max: 60 })
})

const presses = fc.array(
  fc.record({ after: fc.integer({ min: 0, max: 20_000 }), key: fc.constantFrom(..."0123456789*#") }),
  { maxLength: 40 }
)

interface World {
  readonly kind: "request" | "tool" | "menu"
  readonly rules: GatherRules
  readonly max_retries: number
  readonly presses: ReadonlyArray<{ readonly after: number; readonly key: string }>
}

const world: fc.Arbitrary<World> = fc.record({
  kind: fc.constantFrom("request" as const, "tool" as const, "menu" as const),
  rules,
  max_retries: fc.integer({ min: 0, max: 10 }),
  presses
})

/** A call with a gather from the start. Its own limits are not reached. */
const asking = ({ kind, max_retries, rules }: World): VirtualShell => {
  const far = { max_duration: 100_000 }
  if (kind === "menu") {
    const script = new Script({ ...facts, agent: { ...facts.agent, ...far } })
    script.input({ _tag: "MenuAnswered", menu: { rules, max_retries }, warnings: [] }).input({ _tag: "Answered" })
    return new VirtualShell(script)
  }
  const shell = new VirtualShell(Script.greeted({ ...far, tools: [{ ...tool("pin"), gather: rules }] }))
  if (kind === "request") {
    shell.input({ _tag: "GatherRequested", rules })
    return shell
  }
  shell.script.say("Check my pin")
  shell.input({ _tag: "ModelToolCalls", turn: 1, calls: [{ id: "t", name: "pin", arguments: {} }] })
  shell.input({ _tag: "ModelDone", turn: 1 })
  return shell
}

/**
 * The longest that a gather may take: each attempt its prompt, and a timeout for each digit and for the wait before
 * them.
 */
const longest = ({ max_retries, rules }: World): number =>
  (max_retries + 1) * (spokenMs + (rules.max_digits + 1) * rules.timeout_seconds * 1000)

const play = (given: World): Script => {
  const shell = asking(given)
  const begun = shell.script.at
  for (const { after, key } of given.presses) {
    shell.advance(after)
    shell.input({ _tag: "Dtmf", digit: key })
  }
  shell.advance(Math.max(0, begun + longest(given) - shell.script.at))
  return shell.script
}

const ends = (s: Script) =>
  s.commands.flatMap((c) => (c._tag === "Emit" && c.event === "call.gather.completed" ? [c.data] : []))

const runs = propertyRuns(1000)

describe("with any digits at any times", () => {
  it("a gather ends once, in bounded time, with at most max_digits", () => {
    fc.assert(
      fc.property(world, (given) => {
        const script = play(given)
        expect(script.state.gathers).toEqual([])
        const [end, ...more] = ends(script)
        expect(more).toEqual([])
        expect(end?.input ?? "1").toMatch(new RegExp(`^[0-9]{1,${given.rules.max_digits}}$`))
        if (end?.status === "completed") expect(end.input).not.toBeNull()
      }),
      runs
    )
  })

  it("the requester gets the outcome once, with the same digits as the event", () => {
    fc.assert(
      fc.property(world, (given) => {
        const script = play(given)
        const delivered = script.commands.flatMap((c): ReadonlyArray<unknown> => {
          if (c._tag === "InvokeTool") return [c.arguments["gathered_input"]]
          return c._tag === "FetchConfig" && c.gathered !== undefined ? [c.gathered.gathered_input] : []
        })
        expect(delivered).toEqual(given.kind === "request" ? [] : [ends(script)[0]?.input])
      }),
      runs
    )
  })

  it("its journal replays without a difference", () => {
    fc.assert(
      fc.property(world, (given) => {
        const { inputs } = play(given)
        const first = given.kind === "menu" ? { ...facts, agent: { ...facts.agent, max_duration: 100_000 } } : facts
        let [state, commands] = start(first)
        const rows: Array<RecordedInput> = [{ seq: 0, input: first, commands: digest(commands) }]
        for (const input of inputs) {
          ;[state, commands] = step(state, input)
          rows.push({ seq: rows.length, input, commands: digest(commands) })
        }
        const again = replay(JSON.parse(JSON.stringify(rows)))
        expect(again?.differing).toEqual([])
        expect(again?.state).toEqual(state)
      }),
      propertyRuns(200)
    )
  })
})

import { describe, expect, it } from "@effect/vitest"
import { LanguageModel, type ModelDelta, type ModelMessage, type ModelRequest } from "@svc/providers/LanguageModel"
import { Effect, Exit, Fiber, TestClock } from "effect"
import { ScriptedModel } from "../src/ScriptedModel.ts"

const prompt = (script: unknown): ModelMessage => ({
  role: "system",
  content: `You are a receptionist.\n\n\`\`\`script\n${typeof script === "string" ? script : JSON.stringify(script)}\n\`\`\`\nBe kind.`
})
const user = (content: string): ModelMessage => ({ role: "user", content })
const agent = (content: string): ModelMessage => ({ role: "assistant", content })
const result = (name: string, content: unknown): ModelMessage => ({
  role: "tool",
  tool_call_id: "call_1",
  name,
  content: typeof content === "string" ? content : JSON.stringify(content)
})

const request = (messages: ReadonlyArray<ModelMessage>, more: Partial<ModelRequest> = {}): ModelRequest => ({
  callId: "call_x",
  messages,
  tools: [],
  variables: { from: "+31201234567", to: "+31207654321" },
  ...more
})

const generate = (asked: ModelRequest) =>
  Effect.gen(function* () {
    const model = yield* LanguageModel
    const deltas: Array<ModelDelta> = []
    yield* model.generate(asked, (delta) => deltas.push(delta))
    return deltas
  }).pipe(Effect.provide(ScriptedModel))

const textOf = (deltas: ReadonlyArray<ModelDelta>) =>
  deltas.map((delta) => (delta._tag === "Text" ? delta.text : "")).join("")
const callsOf = (deltas: ReadonlyArray<ModelDelta>) =>
  deltas.flatMap((delta) => (delta._tag === "ToolCall" ? [delta.call] : []))

const says = (messages: ReadonlyArray<ModelMessage>) => Effect.map(generate(request(messages)), textOf)

const reasonOf = (asked: ModelRequest) => Effect.map(Effect.flip(generate(asked)), ({ reason }) => reason)

describe("without a script", () => {
  it.effect("repeats what the caller said", () =>
    Effect.gen(function* () {
      const deltas = yield* generate(request([{ role: "system", content: "Be kind." }, user("Hello there")]))
      expect(deltas).toEqual([
        { _tag: "Text", text: "You said: Hello there" },
        { _tag: "Usage", inputTokens: 5, outputTokens: 6 },
        { _tag: "Done", reason: "stop" }
      ])
    })
  )

  it.effect("extracts an empty object", () =>
    Effect.gen(function* () {
      expect(textOf(yield* generate(request([user("hi")], { responseSchema: { type: "object" } })))).toBe("{}")
    })
  )
})

describe("rules", () => {
  const script = prompt({
    rules: [
      { user: "^my name is (\\w+)(?: from (\\w+))?", say: "Hello $1 of '$2', you call from {{from}}. $3 {{what}}" },
      { user: "name", say: "A name?" },
      { user: "book", say: "One moment.", tool: "book", arguments: { who: "{{user}}", at: { times: ["$0", 9] } } },
      { user: "both (\\w+)", tools: [{ tool: "a", arguments: { x: "$1" } }, { tool: "b" }] },
      { tool_result: "book", say: "Booked for {{result.slot.0.time}}{{result.none}} as {{ result.id }}." },
      { tool_result: "b", say: "B is {{result}}" }
    ],
    otherwise: "Sorry, {{user}}?"
  })

  it.effect("the first one that matches the last words acts, in whatever case", () =>
    Effect.gen(function* () {
      expect(yield* says([script, user("book it"), agent("ok"), user("MY NAME IS Ann")])).toBe(
        "Hello Ann of '', you call from +31201234567. $3 {{what}}"
      )
      expect(yield* says([script, user("what is your name")])).toBe("A name?")
      expect(yield* says([script, user("nothing known")])).toBe("Sorry, nothing known?")
    })
  )

  it.effect("text comes before the call, and arguments are filled in at any depth", () =>
    Effect.gen(function* () {
      const deltas = yield* generate(request([script, user("please book")]))
      expect(deltas).toEqual([
        { _tag: "Text", text: "One moment." },
        {
          _tag: "ToolCall",
          call: { id: "call_2_1", name: "book", arguments: { who: "please book", at: { times: ["$0", 9] } } }
        },
        { _tag: "Usage", inputTokens: expect.any(Number), outputTokens: 3 },
        { _tag: "Done", reason: "tool_calls" }
      ])
    })
  )

  it.effect("several calls are made in one turn, with different ids, whether or not the tools were offered", () =>
    Effect.gen(function* () {
      expect(callsOf(yield* generate(request([script, user("both here")])))).toEqual([
        { id: "call_2_1", name: "a", arguments: { x: "here" } },
        { id: "call_2_2", name: "b", arguments: {} }
      ])
    })
  )

  it.effect("a result is answered by its own rule, with parts of it", () =>
    Effect.gen(function* () {
      const booked = result("book", { id: 7, slot: [{ time: "ten" }] })
      expect(yield* says([script, user("book"), booked])).toBe("Booked for ten as 7.")
    })
  )

  it.effect("of several results the last one that has a rule counts", () =>
    Effect.gen(function* () {
      expect(yield* says([script, user("both"), result("b", "plain text"), result("a", {})])).toBe("B is plain text")
    })
  )

  it.effect("a result without a rule is told otherwise, or as it is", () =>
    Effect.gen(function* () {
      expect(yield* says([script, user("u"), result("c", "done")])).toBe("Sorry, u?")
      expect(yield* says([prompt({ rules: [] }), user("u"), result("c", { ok: true })])).toBe('{"ok":true}')
    })
  )

  it.effect("what is put in is not filled in again", () =>
    Effect.gen(function* () {
      expect(yield* says([prompt({ rules: [{ user: "(.*)", say: "$1" }] }), user("{{from}} $1")])).toBe("{{from}} $1")
    })
  )

  it.effect("a path into a result finds own fields only", () =>
    Effect.gen(function* () {
      const own = prompt({ rules: [{ tool_result: "t", say: "[{{result.constructor.name}}{{result.x.length}}]" }] })
      expect(yield* says([own, user("u"), result("t", { x: "abc" })])).toBe("[]")
    })
  )
})

describe("once", () => {
  const script = prompt({
    rules: [
      { user: "hello", say: "Welcome!", once: true },
      { user: "hello", say: "Again." }
    ]
  })

  it.effect("a rule acts only the first time in a call, read off the conversation", () =>
    Effect.gen(function* () {
      expect(yield* says([script, user("hello")])).toBe("Welcome!")
      expect(yield* says([script, user("hello")])).toBe("Welcome!")
      expect(yield* says([script, user("hello"), agent("Welcome!"), user("hello")])).toBe("Again.")
    })
  )

  it.effect("words that were never answered do not use it up", () =>
    Effect.gen(function* () {
      expect(yield* says([script, user("hello"), user("hello?")])).toBe("Welcome!")
    })
  )
})

describe("speed and failure", () => {
  it.effect("waits before the first word, then gives words at their rate", () =>
    Effect.gen(function* () {
      const model = yield* LanguageModel
      const words: Array<string> = []
      const script = prompt({ otherwise: "one two three", first_token_ms: 300, tokens_per_second: 10 })
      const fiber = yield* Effect.fork(
        model.generate(request([script, user("x")]), (delta) => delta._tag === "Text" && words.push(delta.text))
      )
      const after = (ms: number) => Effect.map(TestClock.adjust(ms), () => words.length)
      expect([yield* after(299), yield* after(1), yield* after(99), yield* after(1), yield* after(100)]).toEqual([
        0, 1, 1, 2, 3
      ])
      expect(words.join("")).toBe("one two three")
      yield* Fiber.join(fiber)
    }).pipe(Effect.provide(ScriptedModel))
  )

  it.effect("says nothing more once it is interrupted", () =>
    Effect.gen(function* () {
      const model = yield* LanguageModel
      const deltas: Array<ModelDelta> = []
      const script = prompt({ otherwise: "one two three", tokens_per_second: 1 })
      const fiber = yield* Effect.fork(model.generate(request([script, user("x")]), (delta) => deltas.push(delta)))
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(fiber)
      yield* TestClock.adjust("1 minute")
      expect(textOf(deltas)).toBe("one two ")
    }).pipe(Effect.provide(ScriptedModel))
  )

  it.effect("fails with an error", () =>
    Effect.gen(function* () {
      expect(yield* reasonOf(request([prompt({ fail: "error" }), user("x")]))).toBe(
        "the script tells the model to fail"
      )
    })
  )

  it.effect("hangs until it is interrupted", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(generate(request([prompt({ fail: "hang" }), user("x")])))
      yield* TestClock.adjust("1 day")
      expect(yield* Fiber.poll(fiber)).toEqual(expect.objectContaining({ _tag: "None" }))
      expect(Exit.isInterrupted(yield* Fiber.interrupt(fiber))).toBe(true)
    })
  )

  it.effect("says nothing at all", () =>
    Effect.gen(function* () {
      const deltas = yield* generate(request([prompt({ fail: "empty", otherwise: "x" }), user("x")]))
      expect(deltas.map(({ _tag }) => _tag)).toEqual(["Usage", "Done"])
    })
  )
})

describe("extraction", () => {
  const script = prompt({
    extract: {
      name: "name is (\\w+)",
      last: "^bye (.*)$",
      guests: "(\\d+) people",
      vegetarian: "vegetarian (\\w+)",
      missing: "never said",
      whole: "twelve \\w+"
    }
  })
  const conversation = [
    script,
    user("My NAME is Ann"),
    agent("name is Agent"),
    user("for 12 people, twelve chairs, vegetarian no"),
    user("bye now")
  ]
  const responseSchema = {
    type: "object",
    properties: { guests: { type: "number" }, vegetarian: { type: ["boolean", "null"] }, name: { type: "string" } }
  }

  it.effect("gives the first groups over all that the caller said, in the types asked for", () =>
    Effect.gen(function* () {
      const deltas = yield* generate(request(conversation, { responseSchema }))
      expect(JSON.parse(textOf(deltas))).toEqual({
        name: "Ann",
        last: "now",
        guests: 12,
        vegetarian: false,
        whole: "twelve chairs"
      })
      expect(deltas.at(-1)).toEqual({ _tag: "Done", reason: "stop" })
    })
  )
})

describe("a bad script", () => {
  it.effect.each([
    ["not JSON", "{ rules: [ }", /not valid JSON/],
    ["not an object", "[]", /not right/],
    ["rules that are no list", { rules: "x" }, /rules/],
    ["a rule that listens to nothing", { rules: [{ say: "x" }] }, /rules\.0/],
    ["a broken pattern", { rules: [{ user: "(" }] }, /rules\.0\.user.*not a regular expression/],
    ["a broken pattern of a field", { extract: { a: "[" } }, /extract\.a.*not a regular expression/],
    ["an unknown failure", { fail: "explode" }, /fail/],
    ["a negative wait", { first_token_ms: -1 }, /first_token_ms/],
    ["a say that is no text", { rules: [{ user: "x", say: 5 }] }, /rules\.0\.say/]
  ] as const)("says what is wrong: %s", ([, script, reason]) =>
    Effect.gen(function* () {
      expect(yield* reasonOf(request([prompt(script), user("x")]))).toMatch(reason)
    })
  )

  it.effect("says that its fence is not closed", () =>
    Effect.gen(function* () {
      const open: ModelMessage = { role: "system", content: "Hi\n```script\n{}\n" }
      expect(yield* reasonOf(request([open, user("x")]))).toMatch(/no closing fence/)
    })
  )

  it.effect.each([
    ["nested repetitions", "^(a+)+$", `${"a".repeat(60)}!`],
    ["alternatives that overlap", "^(a|a)*$", `${"a".repeat(60)}!`],
    ["many repetitions in a row", "a*a*a*a*a*a*a*a*!", "a".repeat(900)]
  ] as const)("is stopped when a pattern runs away, and the pattern is not tried again: %s", ([, pattern, words]) =>
    Effect.gen(function* () {
      const asked = request([prompt({ rules: [{ user: pattern, say: "x" }] }), user(words)])
      expect(yield* reasonOf(asked)).toMatch(/takes too long/)
      expect(yield* reasonOf(asked)).toMatch(/takes too long/)
    })
  )

  it.effect("a pattern that only looks dangerous works", () =>
    Effect.gen(function* () {
      const script = prompt({ rules: [{ user: "i am ((?:\\w+ )+)and (.+)", say: "$1/$2" }] })
      expect(yield* says([script, user("I am Ann Lee and glad")])).toBe("Ann Lee /glad")
    })
  )
})

describe("finding the script", () => {
  it.effect.each([
    ["tildes", '~~~script\n{"otherwise":"yes"}\n~~~'],
    ["Windows line ends", 'Hi\r\n```script\r\n{"otherwise":"yes"}\r\n```\r\n'],
    ["indentation and a longer fence", '  ```` script \n{"otherwise":"yes"}\n  ````'],
    ["other blocks before it", '```json\n{}\n```\n```script\n{"otherwise":"yes"}\n```'],
    ["a second script after it", '```script\n{"otherwise":"yes"}\n```\n```script\n{"otherwise":"no"}\n```']
  ] as const)("works with %s", ([, content]) =>
    Effect.gen(function* () {
      expect(yield* says([{ role: "system", content }, user("x")])).toBe("yes")
    })
  )
})

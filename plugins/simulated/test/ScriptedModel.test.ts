import { describe, expect, it } from "@effect/vitest"
import { LanguageModel, type ModelDelta, type ModelMessage, type ModelRequest } from "@svc/providers/LanguageModel"
import { Effect, Exit, Fiber, Layer, TestClock } from "effect"
import { CallRealism } from "../src/Realism/CallRealism.ts"
import { ScriptedModel } from "../src/ScriptedModel.ts"

const Model = Layer.provide(ScriptedModel, CallRealism.layer)

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
  }).pipe(Effect.provide(Model))

const textOf = (deltas: ReadonlyArray<ModelDelta>) =>
  deltas.map((delta) => (delta._tag === "Text" ? delta.text : "")).join("")
const callsOf = (deltas: ReadonlyArray<ModelDelta>) =>
  deltas.flatMap((delta) => (delta._tag === "ToolCall" ? [delta.call] : []))

const says = (messages: ReadonlyArray<ModelMessage>) => Effect.map(generate(request(messages)), textOf)

const reasonOf = (asked: ModelRequest) => Effect.map(Effect.flip(generate(asked)), ({ reason }) => reason)

describe("without a script", () => {
  it.effect("the model repeats the caller's words", () =>
    Effect.gen(function* () {
      const deltas = yield* generate(request([{ role: "system", content: "Be kind." }, user("Hello there")]))
      expect(deltas).toEqual([
        { _tag: "Text", text: "You said: Hello there" },
        { _tag: "Usage", inputTokens: 5, outputTokens: 6 },
        { _tag: "Done", reason: "stop" }
      ])
    })
  )

  it.effect("the words `use <tool> with <json>` call that tool, or are answered with what is wrong", () =>
    Effect.gen(function* () {
      const parameters = { type: "object", properties: {} }
      const tools = ["book", "end_call"].map((name) => ({ name, description: name, parameters }))
      const answer = (words: string, system = "Be kind.") =>
        generate(request([{ role: "system", content: system }, user(words)], { tools }))
      const argumentsOf = (words: string) =>
        Effect.map(answer(words), (deltas) => callsOf(deltas).map((call) => [call.name, call.arguments]))
      expect(yield* argumentsOf('use book with {"people": 2, "at": {"day": "Friday"}}')).toEqual([
        ["book", { people: 2, at: { day: "Friday" } }]
      ])
      expect(yield* argumentsOf("Use BOOK with {}.")).toEqual([["book", {}]])
      expect(textOf(yield* answer("use pay with {}"))).toBe("There is no tool pay. The agent has book, end_call.")
      for (const words of ["use book with [1]", "use book with two people", 'use book with {"a"'])
        expect(textOf(yield* answer(words))).toBe(
          `What follows "with" must be a JSON object, such as {"day": "Friday"}.`
        )
      expect(textOf(yield* answer("I use book"))).toBe("You said: I use book")
      const scripted = yield* answer("use book with {}", '```script\n{"otherwise": "No."}\n```')
      expect([textOf(scripted), callsOf(scripted)]).toEqual(["No.", []])
    })
  )

  it.effect("the result of a tool is said in words, never as JSON", () =>
    Effect.gen(function* () {
      const told = (content: unknown) => says([user("use book with {}"), result("book", content)])
      expect(yield* told({ slots: ["9:00", "10:30"], is_free: true, at: { day: "Friday", room: 4 } })).toBe(
        "slots: 9:00, 10:30; is free: yes; at: day: Friday; room: 4"
      )
      expect(yield* told({ note: null, seats: [] })).toBe("note: none; seats: none")
      for (const empty of [{}, [], "null", ""]) expect(yield* told(empty)).toBe("The tool returned nothing.")
      expect(yield* told(["a", "b"])).toBe("a, b")
      expect(yield* told("Free at 9:00.")).toBe("Free at 9:00.")
      expect(yield* told({ error: "status 500" })).toBe("I'm sorry, that did not work.")
    })
  )

  it.effect("a request with responseSchema is answered with an empty object", () =>
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

  it.effect("the first rule that matches the last words applies, ignoring case", () =>
    Effect.gen(function* () {
      expect(yield* says([script, user("book it"), agent("ok"), user("MY NAME IS Ann")])).toBe(
        "Hello Ann of '', you call from +31201234567. $3 {{what}}"
      )
      expect(yield* says([script, user("what is your name")])).toBe("A name?")
      expect(yield* says([script, user("nothing known")])).toBe("Sorry, nothing known?")
    })
  )

  it.effect("the text of say comes before the tool call, and arguments are substituted at any depth", () =>
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

  it.effect("tools makes several tool calls with different ids, whether or not the tools were offered", () =>
    Effect.gen(function* () {
      expect(callsOf(yield* generate(request([script, user("both here")])))).toEqual([
        { id: "call_2_1", name: "a", arguments: { x: "here" } },
        { id: "call_2_2", name: "b", arguments: {} }
      ])
    })
  )

  it.effect("a tool_result rule answers the result of its tool and can use parts of it", () =>
    Effect.gen(function* () {
      const booked = result("book", { id: 7, slot: [{ time: "ten" }] })
      expect(yield* says([script, user("book"), booked])).toBe("Booked for ten as 7.")
    })
  )

  it.effect("of several results the last one with a tool_result rule is answered", () =>
    Effect.gen(function* () {
      expect(yield* says([script, user("both"), result("b", "plain text"), result("a", {})])).toBe("B is plain text")
    })
  )

  it.effect("a result without a rule is answered with otherwise or with the result itself", () =>
    Effect.gen(function* () {
      expect(yield* says([script, user("u"), result("c", "done")])).toBe("Sorry, u?")
      expect(yield* says([prompt({ rules: [] }), user("u"), result("c", { ok: true })])).toBe('{"ok":true}')
    })
  )

  it.effect("a tool that failed is answered with a plain sentence, unless the script has words for the error", () =>
    Effect.gen(function* () {
      const failed = result("book", { error: "status 500" })
      expect(yield* says([script, user("book"), failed])).toBe("I'm sorry, that did not work.")
      expect(yield* says([prompt({ rules: [] }), user("u"), failed])).toBe("I'm sorry, that did not work.")
      const worded = prompt({ rules: [{ tool_result: "book", say: "It says {{result.error}}." }] })
      expect(yield* says([worded, user("u"), failed])).toBe("It says status 500.")
      const fixed = prompt({ rules: [{ tool_result: "book", say: "Please call again." }] })
      expect(yield* says([fixed, user("u"), failed])).toBe("Please call again.")
    })
  )

  it.effect("substituted text is not substituted again", () =>
    Effect.gen(function* () {
      expect(yield* says([prompt({ rules: [{ user: "(.*)", say: "$1" }] }), user("{{from}} $1")])).toBe("{{from}} $1")
    })
  )

  it.effect("a path into a result finds own properties only", () =>
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

  it.effect("a rule with once applies only to its first match in the conversation", () =>
    Effect.gen(function* () {
      expect(yield* says([script, user("hello")])).toBe("Welcome!")
      expect(yield* says([script, user("hello")])).toBe("Welcome!")
      expect(yield* says([script, user("hello"), agent("Welcome!"), user("hello")])).toBe("Again.")
    })
  )

  it.effect("unanswered words do not count as a match", () =>
    Effect.gen(function* () {
      expect(yield* says([script, user("hello"), user("hello?")])).toBe("Welcome!")
    })
  )
})

describe("speed and failure", () => {
  it.effect("the first word comes after first_token_ms, the next ones at tokens_per_second", () =>
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
    }).pipe(Effect.provide(Model))
  )

  it.effect("no word follows an interruption", () =>
    Effect.gen(function* () {
      const model = yield* LanguageModel
      const deltas: Array<ModelDelta> = []
      const script = prompt({ otherwise: "one two three", tokens_per_second: 1 })
      const fiber = yield* Effect.fork(model.generate(request([script, user("x")]), (delta) => deltas.push(delta)))
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(fiber)
      yield* TestClock.adjust("1 minute")
      expect(textOf(deltas)).toBe("one two ")
    }).pipe(Effect.provide(Model))
  )

  it.effect("fail error fails each request", () =>
    Effect.gen(function* () {
      expect(yield* reasonOf(request([prompt({ fail: "error" }), user("x")]))).toBe(
        "the script tells the model to fail"
      )
    })
  )

  it.effect("fail hang never answers until it is interrupted", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(generate(request([prompt({ fail: "hang" }), user("x")])))
      yield* TestClock.adjust("1 day")
      expect(yield* Fiber.poll(fiber)).toEqual(expect.objectContaining({ _tag: "None" }))
      expect(Exit.isInterrupted(yield* Fiber.interrupt(fiber))).toBe(true)
    })
  )

  it.effect("fail empty answers without text", () =>
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

  it.effect("extract returns the first groups over all words of the caller, in the types of responseSchema", () =>
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

describe("an invalid script", () => {
  it.effect.each([
    ["not JSON", "{ rules: [ }", /not valid JSON/],
    ["not an object", "[]", /not right/],
    ["rules that are not a list", { rules: "x" }, /rules/],
    ["a rule without user or tool_result", { rules: [{ say: "x" }] }, /rules\.0/],
    ["an invalid pattern", { rules: [{ user: "(" }] }, /rules\.0\.user.*not a regular expression/],
    ["an invalid pattern of extract", { extract: { a: "[" } }, /extract\.a.*not a regular expression/],
    ["an unknown failure", { fail: "explode" }, /fail/],
    ["a negative wait", { first_token_ms: -1 }, /first_token_ms/],
    ["a say that is not a string", { rules: [{ user: "x", say: 5 }] }, /rules\.0\.say/]
  ] as const)("is refused with its error: %s", ([, script, reason]) =>
    Effect.gen(function* () {
      expect(yield* reasonOf(request([prompt(script), user("x")]))).toMatch(reason)
    })
  )

  it.effect("is refused when its fenced block is not closed", () =>
    Effect.gen(function* () {
      const open: ModelMessage = { role: "system", content: "Hi\n```script\n{}\n" }
      expect(yield* reasonOf(request([open, user("x")]))).toMatch(/no closing fence/)
    })
  )

  it.effect.each([
    ["nested repetitions", "^(a+)+$", `${"a".repeat(60)}!`],
    ["overlapping alternatives", "^(a|a)*$", `${"a".repeat(60)}!`],
    ["many repetitions in a row", "a*a*a*a*a*a*a*a*!", "a".repeat(900)]
  ] as const)("a pattern that backtracks too long is stopped and not tried again: %s", ([, pattern, words]) =>
    Effect.gen(function* () {
      const asked = request([prompt({ rules: [{ user: pattern, say: "x" }] }), user(words)])
      expect(yield* reasonOf(asked)).toMatch(/takes too long/)
      expect(yield* reasonOf(asked)).toMatch(/takes too long/)
    })
  )

  it.effect("a pattern that only looks slow matches", () =>
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

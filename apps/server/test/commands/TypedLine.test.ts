import { describe, expect, it } from "@effect/vitest"
import type { TestSessionMessage } from "@svc/api/test-sessions/TestSession"
import { actionOf, lineOf } from "../../src/commands/test-session/TypedLine.ts"

const send = (message: object) => ({ _tag: "Send", message })

describe("a typed line of svc chat", () => {
  it("is a text, digits after # or /digits, or a command", () => {
    expect(
      [" hello ", "#1234", "/digits 12 34#", "#", "##", "#12#", "/end", "/help", "", "  ", "1/2", "//"].map(actionOf)
    ).toEqual([
      send({ content: "hello" }),
      send({ digits: "1234" }),
      send({ digits: "1234#" }),
      send({ digits: "#" }),
      send({ digits: "#" }),
      send({ digits: "12#" }),
      { _tag: "End" },
      { _tag: "Help" },
      { _tag: "Nothing" },
      { _tag: "Nothing" },
      send({ content: "1/2" }),
      send({ content: "//" })
    ])
  })

  it("that is no digits or no command is not sent, and says what can be typed", () => {
    for (const [line, reason] of [
      ["#12a", /type #12 or \/digits 12/],
      ["/digits", /digits are 1 to 32/],
      [`#${"1".repeat(33)}`, /digits are 1 to 32/],
      ["/quit", /no command \/quit: \/help/]
    ] as const) {
      expect(actionOf(line)).toEqual({ _tag: "Wrong", reason: expect.stringMatching(reason) })
    }
  })
})

describe("a message in svc chat", () => {
  const tool = (fields: Partial<TestSessionMessage>): TestSessionMessage => ({
    role: "tool",
    content: "{}",
    timestamp: "",
    tool_name: "book",
    ...fields
  })

  it("of a tool is one line with arguments, outcome and duration", () => {
    const book = { arguments: { people: 4 }, duration_ms: 120 }
    expect(
      [
        tool({ ...book, content: '{"id":7}' }),
        tool({ ...book, content: '"yes"' }),
        tool({ ...book, content: '{"error":"full"}' }),
        tool({ ...book, content: '{"error":{"code":1}}' }),
        tool({ ...book, content: '{"simulated":true,"result":{"status":"sent"}}' }),
        tool({ ...book, content: '{"simulated":true,"result":{"error":"no number"}}' }),
        tool({ content: "null" })
      ].map(lineOf)
    ).toEqual([
      'tool book({"people":4}) -> ok 120 ms',
      'tool book({"people":4}) -> ok 120 ms',
      'tool book({"people":4}) -> failed 120 ms: full',
      'tool book({"people":4}) -> failed 120 ms: {"code":1}',
      'tool book({"people":4}) -> ok 120 ms (simulated)',
      'tool book({"people":4}) -> failed 120 ms (simulated): no number',
      "tool book() -> ok"
    ])
    expect(lineOf(tool({ arguments: { text: "x".repeat(500) } }))).toHaveLength("tool book() -> ok".length + 201)
  })

  it("shows no control characters, which could rewrite the terminal, and indents further lines", () => {
    const content = "one\r\ntwo\u001b[2J\u0007\u009b3\nthree"
    expect(lineOf({ role: "assistant", content, timestamp: "" })).toBe(
      "agent: one\n  two\ufffd[2J\ufffd\ufffd3\n  three"
    )
    expect(lineOf({ role: "user", content: "hi", timestamp: "" })).toBe("caller: hi")
  })
})

import { describe, expect, it } from "vitest"
import { ChatStream } from "../src/ChatStream.ts"
import { EventStream } from "../src/EventStream.ts"

const eventsOf = (parts: ReadonlyArray<Uint8Array>): ReadonlyArray<string> => {
  const stream = new EventStream()
  return [...parts.flatMap((part) => stream.push(part) ?? ["invalid"]), ...stream.end()]
}

describe("EventStream", () => {
  const lines = [
    ": a comment",
    "event: message",
    "id: 7",
    'data: {"a":"Zoë 😀"}',
    "",
    "data:two",
    "data: lines",
    "retry: 5",
    "",
    "",
    "data",
    "",
    "data: [DONE]"
  ]

  it.each([["\n"], ["\r\n"], ["\r"]])("gives the same events wherever its bytes are cut, with line ends %j", (end) => {
    const bytes = Buffer.from(lines.join(end), "utf8")
    const expected = ['{"a":"Zoë 😀"}', "two\nlines", "", "[DONE]"]
    expect(eventsOf([bytes])).toEqual(expected)
    expect(eventsOf([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(expected)
    for (let cut = 0; cut <= bytes.length; cut++) {
      expect(eventsOf([bytes.subarray(0, cut), bytes.subarray(cut)]), `cut at ${cut}`).toEqual(expected)
    }
  })

  it("refuses a line without an end", () => {
    const stream = new EventStream()
    const piece = Buffer.alloc(300_000, "x")
    expect([stream.push(piece), stream.push(piece), stream.push(piece)]).toEqual([[], [], []])
    expect(stream.push(piece)).toBeUndefined()
  })
})

describe("ChatStream", () => {
  const call = (piece: unknown) => JSON.stringify({ choices: [{ delta: { tool_calls: [piece] } }] })
  const finish = (reason: string) => JSON.stringify({ choices: [{ delta: {}, finish_reason: reason }] })
  const read = (data: ReadonlyArray<string>) => {
    const deltas: Array<unknown> = []
    const stream = new ChatStream((delta) => deltas.push(delta))
    const problem = data.map((one) => stream.push(one)).find((one) => one !== undefined) ?? stream.end()
    return { deltas, problem }
  }

  it("emits a tool call as soon as its arguments are complete, before the stream ends", () => {
    const deltas: Array<unknown> = []
    const stream = new ChatStream((delta) => deltas.push(delta))
    stream.push(call({ index: 0, id: "a", function: { name: "find", arguments: '{"where":{"city":' } }))
    stream.push(call({ index: 0, function: { arguments: '"Oslo}"}' } }))
    expect(deltas).toEqual([])
    stream.push(call({ index: 0, function: { arguments: "}" } }))
    expect(deltas).toEqual([
      { _tag: "ToolCall", call: { id: "a", name: "find", arguments: { where: { city: "Oslo}" } } } }
    ])
  })

  it.each([
    [
      "without indices",
      [
        { id: "a", function: { name: "x", arguments: "{}" } },
        { id: "b", function: { name: "y", arguments: "{}" } }
      ]
    ],
    [
      "with index 0 for each",
      [
        { index: 0, id: "a", function: { name: "x", arguments: "{}" } },
        { index: 0, id: "b", function: { name: "y", arguments: "{}" } }
      ]
    ],
    [
      "with objects as arguments",
      [
        { index: 0, id: "a", function: { name: "x", arguments: {} } },
        { index: 1, id: "b", function: { name: "y", arguments: {} } }
      ]
    ],
    [
      "without arguments",
      [
        { index: 0, id: "a", function: { name: "x" } },
        { index: 1, id: "b", function: { name: "y", arguments: "" } }
      ]
    ]
  ])("takes calls %s", (_, pieces) => {
    const { deltas } = read([...pieces.map(call), finish("stop"), "[DONE]"])
    expect(deltas).toEqual([
      { _tag: "ToolCall", call: { id: "a", name: "x", arguments: {} } },
      { _tag: "ToolCall", call: { id: "b", name: "y", arguments: {} } },
      { _tag: "Done", reason: "tool_calls" }
    ])
  })

  it("gives each call an id of its own when the server gives none or one twice", () => {
    const piece = (index: number, id?: string) => call({ index, id, function: { name: "x", arguments: "{}" } })
    const { deltas } = read([piece(0), piece(1), piece(2, "a"), piece(3, "a"), finish("tool_calls")])
    const ids = deltas.flatMap((delta) => Object(delta).call?.id ?? [])
    expect(ids).toHaveLength(4)
    expect(new Set(ids).size).toBe(4)
    expect(ids).not.toContain("")
  })

  it("fails for arguments that are no object, and drops a call that the limit of tokens has cut", () => {
    const broken = call({ index: 0, id: "a", function: { name: "find", arguments: '{"day": ' } })
    expect(read([broken, finish("tool_calls")]).problem).toBe(
      'the arguments of the tool call "find" are no JSON object'
    )
    expect(read([broken, finish("length")])).toEqual({
      deltas: [{ _tag: "Done", reason: "length" }],
      problem: undefined
    })
  })

  it("reads parts, refusals and thoughts, and knows the reasons of the end", () => {
    const text = (delta: unknown) => JSON.stringify({ choices: [{ delta }] })
    const { deltas } = read([
      text({ reasoning_content: "Let me think" }),
      text({
        content: [
          { type: "thinking", thinking: [] },
          { type: "text", text: "Hi" }
        ]
      }),
      text({ refusal: "!" }),
      finish("content_filter")
    ])
    expect(deltas).toEqual([
      { _tag: "Text", text: "Hi" },
      { _tag: "Text", text: "!" },
      { _tag: "Done", reason: "content_filter" }
    ])
  })

  it("ends once, and fails when the answer was not complete or has an error", () => {
    expect(read([JSON.stringify({ choices: [{ delta: { content: "Hi" } }] })]).problem).toContain("was closed before")
    expect(read([JSON.stringify({ error: { message: "out of memory" } })]).problem).toBe(
      "the server broke off: out of memory"
    )
    expect(read(["{"]).problem).toContain("not in the format")
    expect(read(["[DONE]"]).deltas).toEqual([{ _tag: "Done", reason: "stop" }])
  })
})

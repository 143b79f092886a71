import { turnLatency } from "@svc/api/testing/CallFixtures"
import { describe, expect, it } from "vitest"
import { speechMs } from "../src/Dialogue.ts"
import { Action, type Input, Update } from "../src/PhoneInput.ts"
import { reduce } from "../src/PhoneReducer.ts"
import { answered, brief, clear, dialled, heard, play, said, utterances } from "./PhoneInputs.ts"
import { timelineOf } from "./Records.ts"

describe("an utterance of the agent", () => {
  const cases: ReadonlyArray<readonly [string, ReadonlyArray<readonly [number, Input]>, ReadonlyArray<string>]> = [
    [
      "grows with each heard message",
      [
        [1, heard("Good")],
        [2, heard("Good morning")]
      ],
      ["agent: Good morning …"]
    ],
    [
      "ends with the final message",
      [
        [1, heard("Hi")],
        [2, heard("Hi there", true)]
      ],
      ["agent: Hi there"]
    ],
    ["may consist of a final message only", [[1, heard("Hi", true)]], ["agent: Hi"]],
    [
      "begins with the first message after a final one",
      [
        [1, heard("One.", true)],
        [2, heard("Two.", true)]
      ],
      ["agent: One.", "agent: Two."]
    ],
    ["is not added for an empty text", [[1, heard("", true)]], []],
    [
      "keeps its text when the final message is empty",
      [
        [1, heard("Hel")],
        [2, heard("", true)]
      ],
      ["agent: Hel"]
    ],
    [
      "continues after the caller has spoken",
      [
        [1, heard("Well")],
        [2, said("Stop")],
        [3, heard("Well then", true)]
      ],
      ["agent: Well then", "caller: Stop"]
    ],
    [
      "is cut when clear comes just after the final message",
      [
        [1, heard("We ar")],
        [2, heard("We are op", true)],
        [3, clear]
      ],
      ["agent: We are op ✂"]
    ],
    [
      "is cut when clear comes before the final message",
      [
        [1, heard("We ar")],
        [2, clear],
        [3, heard("We are op", true)]
      ],
      ["agent: We are op ✂"]
    ],
    [
      "is cut when no final message follows clear",
      [
        [1, heard("We ar")],
        [2, clear]
      ],
      ["agent: We ar ✂"]
    ],
    [
      "is not cut by a clear long after the final message",
      [
        [1, heard("Done.", true)],
        [900, clear]
      ],
      ["agent: Done."]
    ],
    [
      "is a new one after a cut",
      [
        [1, heard("We ar")],
        [2, clear],
        [3, heard("Sorry?", true)]
      ],
      ["agent: We ar ✂", "agent: Sorry?"]
    ],
    [
      "is a new one after a cut without a final message",
      [
        [1, heard("We ar")],
        [2, clear],
        [3, heard("So")],
        [4, heard("Sorry", true)]
      ],
      ["agent: We ar ✂", "agent: Sorry"]
    ],
    ["is not added by clear", [[1, clear]], []],
    [
      "is cut by the end of the call",
      [
        [1, heard("And furth")],
        [2, Action.HungUp()]
      ],
      ["agent: And furth ✂"]
    ],
    [
      "is not added after the end of the call",
      [
        [1, Action.HungUp()],
        [2, heard("Hello", true)]
      ],
      []
    ]
  ]
  it.each(cases)("%s", (_, inputs, expected) => {
    expect(brief(play([0, dialled], [0, answered], ...inputs))).toEqual(expected)
  })
})

describe("the latency of an answer", () => {
  const spoken = speechMs("Hello?")
  const answer = (ms: number) =>
    play([0, dialled], [0, answered], [100, said("Hello?")], [100 + spoken + 120 + ms, heard("Yes")])

  it("is estimated from the end of the caller's speech to the first character of the answer", () => {
    expect(utterances(answer(300))[1]?.latency).toEqual({ ms: 300, estimated: true })
  })
  it("is never negative", () => {
    expect(utterances(answer(-60))[1]?.latency).toEqual({ ms: 0, estimated: true })
  })
  it("is not set for an utterance that begins while the caller speaks", () => {
    const state = play(
      [0, dialled],
      [0, answered],
      [100, said("Hello?")],
      [150, heard("And", true)],
      [2000, heard("Yes")]
    )
    expect(utterances(state).map((l) => l.latency?.estimated ?? null)).toEqual([null, null, true])
  })
  it("is set only for the first utterance of an answer, and not for a greeting", () => {
    const state = play(
      [0, dialled],
      [0, answered],
      [50, heard("Hi.", true)],
      [100, said("Hello?")],
      [2000, heard("A.", true)],
      [2100, heard("B.", true)]
    )
    expect(utterances(state).map((l) => l.latency !== null)).toEqual([false, false, true, false])
  })
  it("is estimated from the end of several utterances of the caller", () => {
    const state = play(
      [0, dialled],
      [0, answered],
      [100, said("Hello?")],
      [150, said("Hello?")],
      [100 + 2 * spoken + 320, heard("Yes")]
    )
    expect(utterances(state)[2]?.latency?.ms).toBe(200)
  })
  it("is replaced by the response_ms of the call record, turn by turn", () => {
    const turn = (index: number, response_ms: number | null) => ({
      index,
      role: "assistant" as const,
      text: "",
      started_at: 0,
      ended_at: null,
      interrupted: false,
      stages: turnLatency({ response_ms })
    })
    const timeline = timelineOf("call_1", { turns: [turn(0, null), turn(1, 12)] })
    const state = reduce(answer(300), Update.TimelineRead({ call: 1, timeline }), 5000)
    expect(utterances(state)[1]?.latency).toEqual({ ms: 12, estimated: false })
  })
})

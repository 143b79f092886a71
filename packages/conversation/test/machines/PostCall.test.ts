import { describe, expect, it } from "vitest"
import type { CallConfig } from "../../src/answers/CallConfig.ts"
import { recordOf } from "../../src/CallRecord.ts"
import { timelineOf } from "../../src/CallTimeline.ts"
import { start, step } from "../../src/Conversation.ts"
import { digest, type RecordedInput, replay } from "../../src/Replay.ts"
import { facts, Script } from "../../src/testing/Script.ts"

/** Extraction and post_call_sms, between the hang-up and the record. */

const extraction: CallConfig["extraction"] = [
  { name: "name", type: "string" },
  { name: "age", type: "number" }
]
const post_call_sms = { to: "caller", message: "Thanks for {{duration_seconds}} s, {{call_id}}.", sender_name: "Shop" }

/** A call in which the caller has spoken, and hung up after 12.4 s. */
const ended = (change: Partial<CallConfig>, given: Parameters<typeof Script.live>[1] = {}): Script => {
  const s = Script.greeted(change, given).say("I am Anna")
  s.take()
  return s.wait(12_400).input({ _tag: "CallerHungUp" })
}
const takePostCall = (s: Script): ReadonlyArray<string> =>
  s.take().filter((c) => /^(Hangup|Extract|SendSms|Note|Finish|(Start|Stop)Timer (extr|post))/.test(c))
const finish = "Finish completed answered caller-hangup"

const rowsOf = (s: Script): ReadonlyArray<RecordedInput> => {
  let [state, commands] = start(s.state.facts)
  const rows: Array<RecordedInput> = [{ seq: 0, input: s.state.facts, commands: digest(commands) }]
  for (const [i, input] of s.inputs.entries()) {
    ;[state, commands] = step(state, input)
    rows.push({ seq: i + 1, input, commands: digest(commands) })
  }
  return rows
}

describe("a call that is over", () => {
  it("without extraction and post_call_sms is finished at once", () => {
    expect(takePostCall(ended({}))).toEqual(["Hangup caller-hangup", finish])
  })

  it("is extracted, then sends post_call_sms, then is finished; ended_at is when the caller hung up", () => {
    const s = ended({ extraction, post_call_sms })
    const [asked] = s.commands.filter((c) => c._tag === "Extract")
    expect(asked).toMatchObject({ fields: extraction })
    expect(asked?._tag === "Extract" ? asked.messages.map(({ content, role }) => `${role}: ${content}`) : []).toEqual([
      "system: You answer the phone.",
      "assistant: Hello there.",
      "user: I am Anna",
      expect.stringMatching(/^user: The phone call is over/)
    ])
    expect(takePostCall(s)).toEqual(["Hangup caller-hangup", "Extract", "StartTimer extraction 8500"])
    s.wait(800).input({ _tag: "Extracted", answer: { name: "Anna", age: "unknown" } })
    const [sms] = s.commands.filter((c) => c._tag === "SendSms")
    expect(sms).toEqual({
      _tag: "SendSms",
      id: "post_call",
      to: "+15550001111",
      message: `Thanks for 12 s, ${facts.call_id}.`,
      sender_name: "Shop"
    })
    expect(takePostCall(s)).toEqual(["StopTimer extraction", "SendSms", "StartTimer post_call_sms 3000"])
    s.wait(100).input({ _tag: "PostCallSmsDone", failed: null })
    expect(takePostCall(s)).toEqual(["StopTimer post_call_sms", finish])
    expect(recordOf(s.state)).toMatchObject({
      extracted_data: { name: "Anna", age: null },
      status: "completed",
      ended_reason: "caller-hangup",
      duration_seconds: 12
    })
    expect(replay(JSON.parse(JSON.stringify(rowsOf(s))))).toMatchObject({ differing: [], state: { phase: "over" } })
  })

  it.each([
    ["the model fails", (s: Script) => s.input({ _tag: "ExtractionFailed", reason: "no model" })],
    ["the model hangs", (s: Script) => s.wait(8_500).fire("extraction")],
    ["the answer is no object", (s: Script) => s.input({ _tag: "Extracted", answer: ["Anna"] })]
  ])("has null values when %s, and continues", (_, act) => {
    const s = act(ended({ extraction, post_call_sms }))
    expect(recordOf(s.state).extracted_data).toEqual({ name: null, age: null })
    expect(s.commands.some((c) => c._tag === "SendSms")).toBe(true)
    s.input({ _tag: "PostCallSmsDone", failed: "refused" })
    expect(s.state.phase).toBe("over")
    expect(timelineOf(rowsOf(s))?.events.entries.map(({ what }) => what)).toContain("post_call_sms failed: refused")
  })

  it("ignores an extraction and an outcome of post_call_sms that come too late", () => {
    const s = ended({ extraction, post_call_sms }).wait(8_500).fire("extraction")
    s.input({ _tag: "Extracted", answer: { name: "Anna" } })
    expect(recordOf(s.state).extracted_data).toEqual({ name: null, age: null })
    s.wait(3_000).fire("post_call_sms")
    expect(takePostCall(s).at(-1)).toBe(finish)
    const done = s.state
    s.input({ _tag: "PostCallSmsDone", failed: null })
    expect(s.state).toBe(done)
  })

  it("ignores all later inputs of the conversation", () => {
    const s = ended({ extraction })
    s.take()
    s.say("Wait").input({ _tag: "Dtmf", digit: "1" }).input({ _tag: "EndRequested", by: "api" })
    s.input({ _tag: "CallerHungUp" }).input({ _tag: "LegFailed", reason: "x" }).fire("inactivity")
    expect(s.take()).toEqual([])
    expect(s.state.phase).toBe("post_call")
  })

  it.each(["extracting", "texting"])("keeps its outcome when the process dies while %s", (stage) => {
    const s = ended({ extraction, post_call_sms })
    if (stage === "texting") s.input({ _tag: "Extracted", answer: { age: 40 } })
    s.input({ _tag: "Crashed", reason: "gone" })
    expect(recordOf(s.state)).toMatchObject({
      status: "completed",
      disposition: "answered",
      ended_reason: "caller-hangup",
      extracted_data: { name: null, age: stage === "texting" ? 40 : null }
    })
    expect(s.state.phase).toBe("over")
  })

  it("whose process died has null values, without an extraction or a message", () => {
    const s = Script.greeted({ extraction, post_call_sms }).say("I am Anna")
    s.take()
    s.input({ _tag: "Crashed", reason: "gone" })
    expect(s.state.phase).toBe("over")
    expect(recordOf(s.state)).toMatchObject({ status: "failed", extracted_data: { name: null, age: null } })
    expect(s.commands.some((c) => c._tag === "SendSms")).toBe(false)
  })

  it("does not delay a process that stops", () => {
    const s = ended({ extraction, post_call_sms })
    s.input({ _tag: "EndRequested", by: "shutdown" })
    expect(takePostCall(s).at(-1)).toBe(finish)
    const live = Script.greeted({ extraction, end_session_message: null }).say("I am Anna")
    live.take()
    live.input({ _tag: "EndRequested", by: "shutdown" })
    expect(takePostCall(live)).toContain("StartTimer extraction 1000")
  })

  it("with an empty transcript asks no model, and one that was never answered sends no message", () => {
    const silent = Script.live({ extraction, first_message: null }).wait(1000).input({ _tag: "CallerHungUp" })
    expect(silent.commands.some((c) => c._tag === "Extract")).toBe(false)
    expect(recordOf(silent.state).extracted_data).toEqual({ name: null, age: null })
    const { config } = Script.live({ extraction, post_call_sms }).state
    if (config === null) throw new Error("a live call has a configuration")
    const refused = new Script().input({ _tag: "ConfigAnswered", config })
    refused.input({ _tag: "AnswerFailed", reason: "gone" })
    expect(refused.take().filter((c) => /Extract|SendSms/.test(c))).toEqual([])
    expect(refused.state.phase).toBe("over")
  })

  it("with an unknown caller or a too long message sends no post_call_sms, with a Note", () => {
    const unknown = ended({ post_call_sms }, { from: null })
    expect(unknown.commands.some((c) => c._tag === "SendSms")).toBe(false)
    expect(timelineOf(rowsOf(unknown))?.events.entries.map(({ what }) => what)).toContain(
      "the message after the call was not sent: the caller's number is not known"
    )
    const long = ended({ post_call_sms: { ...post_call_sms, message: `{{duration_seconds}}${"x".repeat(159)}` } })
    expect(long.commands.some((c) => c._tag === "SendSms")).toBe(false)
    expect(takePostCall(long)).toEqual(["Hangup caller-hangup", "Note", finish])
    const fixed = ended({ post_call_sms: { ...post_call_sms, to: "+31612345678" } }, { from: null })
    expect(fixed.commands.find((c) => c._tag === "SendSms")).toMatchObject({ to: "+31612345678" })
  })
})

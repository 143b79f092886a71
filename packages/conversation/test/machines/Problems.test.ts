import { maxCallWarnings } from "@svc/api/calls/CallFailure"
import { describe, expect, it } from "vitest"
import { recordOf } from "../../src/CallRecord.ts"
import { step } from "../../src/Conversation.ts"
import { facts, Script } from "../../src/testing/Script.ts"

const fault = { cause: "not-found", what: "POST https://a.example/x answered 404 with text/html in 12 ms" } as const
const problems = (s: Script) => {
  const { failure, status, warnings, warnings_dropped } = recordOf(s.state)
  return { status, failure, warnings, warnings_dropped }
}
const outbound = { ring_timeout_seconds: 30, metadata: {} }
const gone = { reason: "gone" } as const
const calls = [{ id: "t", name: "lookup", arguments: {} }]

describe("the failure of a call", () => {
  it("has stage call.started, what the server answered, and what to do", () => {
    const s = new Script().input({ _tag: "ConfigFailed", reason: "status 404", fault })
    expect(problems(s)).toMatchObject({
      status: "failed",
      failure: {
        stage: "call.started",
        reason: fault.what,
        hint: expect.stringMatching(
          /^Set the agent's server_url to .*system_prompt.*docs\/reference\/agent-server\.md\.$/
        )
      }
    })
  })

  it("has the reason alone in journals of earlier versions", () => {
    const { failure } = problems(new Script().input({ _tag: "ConfigFailed", reason: "status 404" }))
    expect(failure).toMatchObject({ stage: "call.started", reason: "status 404" })
    expect(failure?.hint).toContain("it must answer call.started")
  })

  const stages: ReadonlyArray<readonly [string, string, RegExp, () => Script]> = [
    [
      "language-model",
      "two failures of the model",
      /failed twice in a row.*gone$/,
      () =>
        Script.greeted()
          .say("Hi")
          .input({ _tag: "ModelFailed", turn: 1, ...gone })
          .play("u1")
          .say("Hi")
          .input({ _tag: "ModelFailed", turn: 3, ...gone })
          .input({ _tag: "CallerHungUp" })
    ],
    [
      "text-to-speech",
      "two texts that the voice failed to speak",
      /failed twice in a row.*gone$/,
      () => {
        const s = Script.greeted().say("Hi")
        for (const text of ["One.", "Two."]) s.input({ _tag: "ModelSentence", turn: 1, text })
        // The first text is tried twice.
        s.input({ _tag: "SpeechFailed", id: "u1", ...gone }).input({ _tag: "SpeechCleared", cuts: [] })
        return s.input({ _tag: "SpeechFailed", id: "u3", ...gone }).input({ _tag: "SpeechFailed", id: "u4", ...gone })
      }
    ],
    [
      "speech-to-text",
      "three failures of the recognizer",
      /failed three times within a minute.*gone$/,
      () =>
        Script.greeted({ end_session_message: null })
          .input({ _tag: "RecognizerFailed", ...gone })
          .input({ _tag: "RecognizerFailed", ...gone })
          .input({ _tag: "RecognizerFailed", ...gone })
          .play("u1")
    ],
    [
      "telephony",
      "a broken connection",
      /telephone network failed: gone$/,
      () => Script.greeted().input({ _tag: "LegFailed", ...gone })
    ],
    [
      "telephony",
      "an answer that the network could not give",
      /^the call could not be answered: gone$/,
      () => {
        const { config } = Script.live().state
        if (config === null) throw new Error("a live call has a configuration")
        return new Script()
          .input({ _tag: "ConfigAnswered", config })
          .input({ _tag: "AnswerFailed", ...gone, failed: true })
      }
    ],
    [
      "telephony",
      "a call that was declined",
      /^the call was declined: gone$/,
      () => new Script({ ...facts, outbound }).input({ _tag: "DialFailed", outcome: "rejected", ...gone })
    ],
    [
      "telephony",
      "a call that could not be placed",
      /^the call could not be placed: the phone is not registered; let it register$/,
      () =>
        new Script({ ...facts, outbound }).input({
          _tag: "DialFailed",
          outcome: "failed",
          reason: "the phone is not registered; let it register"
        })
    ],
    [
      "server",
      "a stop before the answer",
      /stopped before the call was answered/,
      () => new Script().input({ _tag: "EndRequested", by: "shutdown" })
    ],
    [
      "server",
      "a defect",
      /^an error in Svc ended the call$/,
      () => Script.greeted().input({ _tag: "Crashed", ...gone })
    ],
    [
      "server",
      "a node that died",
      /another one completed the record/,
      () => Script.greeted().input({ _tag: "Crashed", ...gone, recovered: true })
    ]
  ]
  for (const [stage, name, reason, played] of stages) {
    it(`has stage ${stage} after ${name}`, () => {
      expect(problems(played())).toMatchObject({
        status: "failed",
        failure: { stage, reason: expect.stringMatching(reason), hint: expect.stringMatching(/\S/) }
      })
    })
  }

  it("is one warning of a fault that was warned of before the model failed of it", () => {
    const s = Script.greeted()
    for (let n = 0; n < 2; n++) s.input({ _tag: "ProviderWarned", stage: "language-model", reason: "no such field" })
    s.say("Hi").input({ _tag: "ModelFailed", turn: 1, reason: "no such field" })
    expect(s.state.warnings).toEqual([{ at: 0, what: "language-model", reason: "no such field" }])
  })

  it("is null for a call that was busy, ended well, or whose end was decided before", () => {
    const busy = new Script({ ...facts, outbound }).input({ _tag: "DialFailed", outcome: "busy", reason: "busy" })
    const ended = Script.greeted().input({ _tag: "EndRequested", by: "api" }).input({ _tag: "LegFailed", reason: "x" })
    for (const s of [busy, Script.greeted().input({ _tag: "CallerHungUp" }), ended]) {
      expect(problems(s).failure).toBeNull()
    }
  })

  it("has no query strings, credentials or keys", () => {
    const reason =
      "fetch wss://user:pass@stt.example/v1?token=abc#x failed: Bearer abcdef123456, Incorrect API key sk-proj-1234567890"
    const { failure } = problems(Script.greeted().input({ _tag: "LegFailed", reason }))
    expect(failure?.reason).toContain("wss://stt.example/v1 failed")
    for (const secret of ["pass", "token=", "abcdef", "12345678"]) expect(failure?.reason).not.toContain(secret)
  })

  it("keeps the names of settings, which are no keys", () => {
    const reason = "403 Forbidden; check SVC_SIP_TRUNK_USERNAME and SVC_SIP_TRUNK_PASSWORD, not svc_live_abcdef123456"
    const { failure } = problems(Script.greeted().input({ _tag: "LegFailed", reason }))
    expect(failure?.reason).toContain("check SVC_SIP_TRUNK_USERNAME and SVC_SIP_TRUNK_PASSWORD, not …")
  })

  it("is of limited length, in one line", () => {
    const { failure } = problems(Script.greeted().input({ _tag: "LegFailed", reason: `a\nb${"x".repeat(10_000)}` }))
    expect(failure?.reason.length).toBeLessThan(700)
    expect(failure?.reason).toContain("a b")
  })
})

describe("the warnings of a call", () => {
  it("name the fields of the configuration that were left out, with the time in seconds", () => {
    const warnings = [{ field: "tools.0", reason: "name is missing (there is nam)" }]
    const { config } = Script.live().state
    if (config === null) throw new Error("a live call has its configuration")
    const s = new Script().wait(1500).input({ _tag: "ConfigAnswered", config: { ...config, warnings } })
    expect(problems(s).warnings).toEqual([
      { at: 1.5, what: "call.started: tools.0", reason: "left out: name is missing (there is nam)" }
    ])
  })

  it("name a tool that failed and one that was too slow, with what to do", () => {
    const s = Script.greeted().say("Hi").input({ _tag: "ModelToolCalls", turn: 1, calls })
    s.input({ _tag: "ToolFailed", id: "t", reason: "status 404", fault }).input({ _tag: "ModelDone", turn: 1 })
    s.input({ _tag: "ModelToolCalls", turn: 2, calls: [{ ...calls[0], id: "u", name: "slow", arguments: {} }] })
    s.fire("tool:u")
    expect(problems(s).warnings).toMatchObject([
      { what: "tool.call: lookup", reason: expect.stringMatching(/404 with text\/html in 12 ms\. Set the agent's/) },
      {
        what: "tool.call: slow",
        reason: expect.stringMatching(/^no answer to tool\.call within 2 s\. .*timeout_seconds/)
      }
    ])
    // The model gets neither the address nor the hint.
    expect(JSON.stringify(s.state.entries)).not.toContain("a.example")
  })

  it("have one entry for all transcript.updated that failed, with their number", () => {
    const s = Script.greeted().wait(1000)
    s.input({ _tag: "TranscriptFailed", count: 1, reason: "status 404", fault })
    expect(problems(s).warnings).toMatchObject([
      { at: 1, reason: expect.stringMatching(/^1 turn did not arrive: POST /) }
    ])
    s.wait(1000).input({ _tag: "TranscriptFailed", count: 3, reason: "status 404", fault })
    expect(problems(s).warnings).toMatchObject([
      { at: 1, what: "transcript.updated", reason: expect.stringMatching(/^4 turns did not arrive: POST /) }
    ])
  })

  it("name a recording that ended early", () => {
    const reason = "the recording ends after 12 s: the spool is full"
    const s = Script.greeted().wait(1000).input({ _tag: "RecordingFailed", reason })
    expect(problems(s)).toMatchObject({ failure: null, warnings: [{ at: 1, what: "recording", reason }] })
  })

  it("name a provider that failed once", () => {
    const s = Script.greeted().input({ _tag: "RecognizerFailed", reason: "gone" })
    expect(problems(s)).toMatchObject({ failure: null, warnings: [{ what: "speech-to-text", reason: "gone" }] })
  })

  it("are at most 20; the others are counted", () => {
    const many = Array.from({ length: 19 }, (_, n) => ({ field: `tools.${n}`, reason: "bad" }))
    const { config } = Script.live().state
    if (config === null) throw new Error("a live call has its configuration")
    const [state] = step(new Script().state, {
      _tag: "ConfigAnswered",
      at: 0,
      config: { ...config, warnings: many, warnings_dropped: 5 }
    })
    const s = new Script()
    s.state = state
    for (let n = 0; n < 3; n++) s.input({ _tag: "Answered" }).input({ _tag: "RecognizerFailed", reason: "gone" })
    expect(problems(s).warnings.length).toBeLessThanOrEqual(maxCallWarnings)
    expect(problems(s).warnings_dropped).toBeGreaterThanOrEqual(5)
  })
})

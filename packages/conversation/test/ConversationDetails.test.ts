import { describe, expect, it } from "vitest"
import { Warnings } from "../src/answers/FieldReader.ts"
import { isGender, menuOf } from "../src/answers/GatherAnswer.ts"
import { destinationsOf } from "../src/answers/TransferAnswer.ts"
import { blankRecord } from "../src/CallRecord.ts"
import { timelineOf } from "../src/CallTimeline.ts"
import type { Command } from "../src/Command.ts"
import { longestMs } from "../src/machines/Transfer.ts"
import { greetingMs, maxWaitMs } from "../src/machines/Voicemail.ts"
import { digest } from "../src/Replay.ts"
import { config, facts, Script } from "../src/testing/Script.ts"

/** The data of the events of one name. */
const dataOf = (s: Script, event: string) =>
  s.commands.flatMap((c) => (c._tag === "Emit" && c.event === event ? [c.data] : []))

const commandsOf = <Tag extends Command["_tag"]>(s: Script, tag: Tag) =>
  s.commands.filter((c): c is Extract<Command, { readonly _tag: Tag }> => c._tag === tag)

const call = (id: string, name: string, args: Readonly<Record<string, unknown>> = {}) => ({ id, name, arguments: args })

describe("call.ringing and call.started", () => {
  it("contain from and to", () => {
    const s = Script.live()
    const numbers = { from: facts.from, to: facts.to }
    expect(dataOf(s, "call.ringing")).toEqual([expect.objectContaining(numbers)])
    expect(dataOf(s, "call.started")).toEqual([expect.objectContaining(numbers)])
  })
})

describe("speech-to-text", () => {
  it("is started with stt_format and stt_keyterms of the configuration", () => {
    const s = Script.live({ stt_format: "raw", stt_keyterms: ["Svc"] })
    expect(commandsOf(s, "Listen")).toEqual([expect.objectContaining({ format: "raw", keyterms: ["Svc"] })])
  })

  it("that fails three times within a minute ends the call when nothing became final in between", () => {
    const s = Script.greeted()
    for (const ms of [0, 29_999, 30_000]) {
      expect(s.state.phase).toBe("live")
      s.input({ _tag: "CallerPartial", text: "Hello" })
      s.wait(ms).input({ _tag: "RecognizerFailed", reason: "gone" })
    }
    expect(s.state.phase).toBe("ending")
  })

  it("that breaks again and again is opened again as long as words become final in between", () => {
    const s = Script.greeted()
    s.commands.length = 0
    for (let n = 0; n < 10; n++) {
      s.input({ _tag: "CallerFinal", text: "Hello" }).input({ _tag: "CallerEndOfTurn" })
      s.wait(3000).input({ _tag: "RecognizerFailed", reason: "gone", broke: true })
    }
    expect(s.state.phase).toBe("live")
    expect(commandsOf(s, "Listen")).toHaveLength(10)
  })

  it("that fails every half minute, or every hour, is opened again each time", () => {
    for (const ms of [30_000, 3_600_000]) {
      const s = Script.greeted()
      s.commands.length = 0
      for (let n = 0; n < 10; n++) s.wait(ms).input({ _tag: "RecognizerFailed", reason: "gone" })
      expect(commandsOf(s, "Listen")).toHaveLength(10)
      expect(s.state.stt_failed_at.length).toBeLessThanOrEqual(2)
    }
  })

  it("fails after enough speech without words, counted from the last end of turn", () => {
    const s = Script.greeted()
    const speakUnintelligibly = (ms: number) =>
      s
        .input({ _tag: "CallerSpeechStarted" })
        .wait(ms)
        .input({ _tag: "CallerSpeechStopped" })
        .wait(2000)
        .fire("endpoint")
    speakUnintelligibly(5000)
    s.input({ _tag: "CallerEndOfTurn" })
    s.take()
    speakUnintelligibly(5000)
    expect(s.take()).not.toContain("Listen")
    speakUnintelligibly(3000)
    expect(s.take()).toContain("Listen")
  })
})

describe("the model", () => {
  it("counts as silent when its sentence is blank", () => {
    const s = Script.greeted()
    s.say("Hi").take()
    s.input({ _tag: "ModelSentence", turn: 1, text: "  " })
    expect(s.take()).toEqual([])
  })

  it("that fails while the farewell is spoken changes nothing", () => {
    const s = Script.greeted()
    s.say("Hi").input({ _tag: "EndRequested", by: "api" })
    s.take()
    s.input({ _tag: "ModelFailed", turn: 1, reason: "gone" })
    expect(s.take()).toEqual([])
  })

  it("stops the filler timer when it calls a tool", () => {
    const s = Script.greeted({}, { filler_ms: 800 })
    s.say("Look it up").take()
    s.input({ _tag: "ModelToolCalls", turn: 1, calls: [call("t", "lookup")] })
    expect(s.take()).toContain("StopTimer filler")
  })

  it("that calls end_call has its disposition in the events and the record of the tool", () => {
    const s = Script.greeted()
    s.say("Bye")
    s.input({ _tag: "ModelToolCalls", turn: 1, calls: [call("e", "end_call", { disposition: "resolved" })] })
    const [completed] = dataOf(s, "tool.completed")
    expect(completed).toMatchObject({ tool_call_id: "e", result: { disposition: expect.any(String) } })
    const tools = s.state.entries.flatMap((e) => (e.kind === "agent" ? e.tools : []))
    expect(tools).toEqual([
      expect.objectContaining({ id: "e", pending: false, result: { disposition: expect.any(String) } })
    ])
  })

  it("gets an answer at once for a tool that it was not offered, and nothing is invoked", () => {
    const s = Script.greeted()
    s.say("Hi").take()
    s.input({ _tag: "ModelToolCalls", turn: 1, calls: [call("x", "unknown")] })
    const tools = s.state.entries.flatMap((e) => (e.kind === "agent" ? e.tools : []))
    expect(tools).toEqual([
      expect.objectContaining({
        id: "x",
        pending: false,
        not_invoked: true,
        result: { error: "There is no tool unknown." }
      })
    ])
    expect(dataOf(s, "tool.invoked")).toEqual([])
  })

  it("ignores the answer of an unknown tool", () => {
    const s = Script.greeted()
    s.take()
    s.input({ _tag: "ToolAnswered", id: "nothing", result: 1 }).input({
      _tag: "ToolFailed",
      id: "nothing",
      reason: "x"
    })
    expect(s.take()).toEqual([])
  })
})

describe("a filler", () => {
  const asked = () => {
    const s = Script.greeted({}, { filler_ms: 800 })
    s.say("Hi").wait(800).take()
    return s
  }

  it("is said once while the model is slow", () => {
    const s = asked()
    s.fire("filler")
    expect(commandsOf(s, "Speak")).toHaveLength(1)
    s.take()
    s.fire("filler")
    expect(commandsOf(s, "Speak")).toHaveLength(0)
  })

  it("is not said while the caller speaks", () => {
    const s = asked()
    s.input({ _tag: "CallerSpeechStarted" })
    s.take()
    s.fire("filler")
    expect(commandsOf(s, "Speak")).toEqual([])
  })

  it("is not said while an interruption is undecided", () => {
    const s = Script.live({}, { filler_ms: 800 })
    s.input({ _tag: "SpeechStarted", id: "u0" }).input({ _tag: "CallerSpeechStarted" }).wait(500).fire("barge_in")
    s.input({ _tag: "SpeechCleared", cuts: [{ id: "u0", played: "Hel" }] }).input({ _tag: "CallerSpeechStopped" })
    s.take()
    s.fire("filler")
    expect(commandsOf(s, "Speak")).toEqual([])
  })
})

describe("a gather through the API", () => {
  const rules = {
    prompt: "Your number?",
    voice: "Sarah",
    language: "en-US",
    max_digits: 1,
    terminator: "#",
    timeout_seconds: 5
  } as const

  it("has no effect while a transfer is in progress, and works after one that timed out", () => {
    const s = Script.greeted()
    s.input({ _tag: "TransferRequested", destination: "+15550004444" })
    s.input({ _tag: "GatherRequested", rules })
    expect(s.state.gathers).toEqual([])
    s.wait(35_000).fire("transfer")
    expect(s.state.transfer?.stage).toBe("timed out")
    s.input({ _tag: "GatherRequested", rules })
    expect(s.state.gathers).toHaveLength(1)
  })
})

describe("a transfer", () => {
  const request = (s: Script) => s.input({ _tag: "TransferRequested", destination: "+15550004444" })

  it("that waits for the agent to finish speaking ignores reports of the network", () => {
    const s = Script.greeted({ transfer_destinations: { sales: "+15550003333" } })
    s.say("Sales").input({ _tag: "ModelSentence", turn: 1, text: "One moment." })
    s.input({ _tag: "ModelToolCalls", turn: 1, calls: [call("t", "transfer_call", { destination: "sales" })] })
    s.input({ _tag: "ModelDone", turn: 1 })
    expect(s.state.transfer?.stage).toBe("waiting")
    s.input({ _tag: "TransferProgressed", state: "completed", reason: null })
    expect(s.state.phase).toBe("live")
    s.input({ _tag: "TransferProgressed", state: "busy", reason: null })
    expect(s.state.transfer?.stage).toBe("waiting")
  })

  it("that completes while the agent speaks cuts what was not played, and records what was", () => {
    const s = Script.greeted()
    request(s).wait(35_000).fire("transfer")
    // The model got the failure and speaks when the network reports `completed` late.
    const turn = s.state.model?.turn ?? -1
    s.input({ _tag: "ModelSentence", turn, text: "It failed." }).input({ _tag: "ModelSentence", turn, text: "Sorry." })
    const [first = "", second = ""] = commandsOf(s, "Speak").map(({ id }) => id)
    s.play(first).input({ _tag: "SpeechStarted", id: second }).wait(300)
    s.take()
    s.input({ _tag: "TransferProgressed", state: "completed", reason: null })
    expect(dataOf(s, "ai.speech.ended")).toEqual([expect.objectContaining({ text: "It failed.", duration_ms: 300 })])
    expect(s.take()).toEqual(expect.arrayContaining(["CancelModel", `StartTimer transfer ${longestMs}`]))
    const states = s.state.entries.flatMap((e) => (e.kind === "agent" ? e.utterances.map((u) => u.state) : []))
    expect(states).toEqual(["played", "played", "cut"])
    expect(s.transcript.at(-1)).toBe("assistant: It failed.")
    expect(s.state.phase).toBe("transferred")
  })
})

describe("a voicemail", () => {
  const answered = () => {
    const s = new Script({ ...facts, outbound: { ring_timeout_seconds: 30, metadata: {} } })
    s.input({ _tag: "Answered" })
    s.input({ _tag: "ConfigAnswered", config: { ...config, first_message: null, voicemail_message: "Call us back." } })
    s.take()
    return s
  }

  it("is detected by the model's tool among other calls, which stops the detection timers", () => {
    const s = answered()
    s.say("Leave us a note").take()
    const calls = [call("t", "lookup"), call("v", "svc_voicemail_reached")]
    s.input({ _tag: "ModelToolCalls", turn: s.state.model?.turn ?? -1, calls })
    expect(s.state.voicemail).toBe("machine")
    expect(s.take()).toEqual(
      expect.arrayContaining(["StopTimer voicemail_doubt", `StartTimer voicemail_patience ${maxWaitMs}`])
    )
  })

  it("gets its message after a beep, and none of its timers keeps running", () => {
    const s = answered()
    s.input({ _tag: "CallerSpeechStarted" })
    expect(s.take()).toContain(`StartTimer voicemail_greeting ${greetingMs}`)
    s.wait(greetingMs).fire("voicemail_greeting")
    s.input({ _tag: "CallerSpeechStopped" }).input({ _tag: "BeepHeard" })
    const taken = s.take()
    expect(taken).toEqual(
      expect.arrayContaining(["StopTimer voicemail_silence", "StopTimer voicemail_patience", "Speak u0 Call us back."])
    )
  })

  it("is no longer detected after voicemail_doubt has fired, and its greeting timer stops", () => {
    const s = answered()
    s.input({ _tag: "CallerSpeechStarted" }).fire("voicemail_doubt")
    expect(s.state.voicemail).toBe("person")
    expect(s.take()).toContain("StopTimer voicemail_greeting")
  })
})

describe("the timeline of a call", () => {
  const lines = (input: Parameters<Script["input"]>[0]) => {
    const s = Script.greeted()
    s.input(input)
    const rows = [facts, ...s.inputs].map((one, seq) => ({ seq, input: one, commands: "" }))
    return timelineOf(rows)?.events.entries ?? []
  }

  it("says whether the end was requested through the API or by the server", () => {
    expect(lines({ _tag: "EndRequested", by: "api" }).map(({ what }) => what)).toContain(
      "end requested through the API"
    )
    expect(lines({ _tag: "EndRequested", by: "shutdown" }).map(({ what }) => what)).toContain("the server is stopping")
  })

  it("has no data for an input without details", () => {
    const hungUp = lines({ _tag: "CallerHungUp" }).find(({ what }) => what === "hung up")
    expect(hungUp).toMatchObject({ actor: "caller", data: null })
  })
})

describe("the record of a call without a conversation", () => {
  it("has no duration, turns and tool calls", () => {
    expect(blankRecord).toMatchObject({
      duration_seconds: 0,
      transfer_duration_seconds: 0,
      turn_count: 0,
      tool_call_count: 0
    })
  })
})

describe("the digest of commands", () => {
  it("depends on the order of lists, and not on that of fields", () => {
    const speak = (messages: ReadonlyArray<unknown>) =>
      digest([{ _tag: "AskModel", turn: 1, messages, tools: [] } as unknown as Command])
    expect(speak([1, 2])).not.toBe(speak([2, 1]))
    expect(speak([{ a: 1, b: 2 }])).toBe(speak([{ b: 2, a: 1 }]))
    expect(speak([1])).not.toBe(speak([{ 0: 1 }]))
  })
})

describe("the answer to call.started", () => {
  it("may name a voice by gender", () => {
    expect(["female", "male", "Sarah", ""].map(isGender)).toEqual([true, true, false, false])
  })

  it("refuses a pre_gather that is not an object, with a warning", () => {
    const warnings = new Warnings()
    expect(menuOf({ pre_gather: "yes" }, warnings)).toBe(null)
    expect(warnings.fields.warnings).toEqual([{ field: "pre_gather", reason: "pre_gather must be an object" }])
  })

  it("has no pre_gather when it is null or absent, without a warning", () => {
    const warnings = new Warnings()
    expect([menuOf({ pre_gather: null }, warnings), menuOf({}, warnings), menuOf(null, warnings)]).toEqual([
      null,
      null,
      null
    ])
    expect(warnings.fields).toEqual({ warnings: [] })
  })

  it("has no transfer_destinations when they are null or absent, without a warning", () => {
    const warnings = new Warnings()
    expect([destinationsOf(null, warnings), destinationsOf(undefined, warnings)]).toEqual([{}, {}])
    expect(warnings.fields).toEqual({ warnings: [] })
  })
})

import { describe, expect, it } from "vitest"
import type { CallConfig } from "../../src/answers/CallConfig.ts"
import { recordOf } from "../../src/CallRecord.ts"
import type { Command } from "../../src/Command.ts"
import { start, step } from "../../src/Conversation.ts"
import { decisionMs, greetingMs, maxWaitMs, silenceMs } from "../../src/machines/Voicemail.ts"
import { soundsLikeVoicemail } from "../../src/phrases/VoicemailGreetings.ts"
import { digest, type RecordedInput, replay } from "../../src/Replay.ts"
import { config, facts, Script } from "../../src/testing/Script.ts"
import { spokenMs, VirtualShell } from "../doubles/VirtualShell.ts"

const message = "Please call us back."

class Call extends VirtualShell {
  constructor() {
    super(new Script({ ...facts, outbound: { ring_timeout_seconds: 30, metadata: { order: 7, from: "us" } } }))
  }

  /** Answered, with the configuration 100 ms later. */
  static answered(change: Partial<CallConfig> = {}): Call {
    const call = new Call()
    call.advance(3000)
    call.input({ _tag: "Answered" })
    call.advance(100)
    call.input({ _tag: "ConfigAnswered", config: { ...config, voicemail_message: message, ...change } })
    return call
  }

  speak(text: string, ms = 1000): this {
    this.input({ _tag: "CallerSpeechStarted" })
    this.input({ _tag: "CallerPartial", text })
    this.advance(ms)
    this.input({ _tag: "CallerFinal", text })
    this.input({ _tag: "CallerEndOfTurn" })
    this.input({ _tag: "CallerSpeechStopped" })
    return this
  }

  of<Tag extends Command["_tag"]>(tag: Tag): ReadonlyArray<Extract<Command, { readonly _tag: Tag }>> {
    return this.script.commands.filter((c): c is Extract<Command, { readonly _tag: Tag }> => c._tag === tag)
  }

  get said(): ReadonlyArray<string> {
    return this.of("Speak").map(({ text }) => text)
  }

  get outcome(): string {
    const { disposition, ended_reason, status } = this.script.state.outcome ?? {}
    return `${status} ${disposition} ${ended_reason}`
  }
}

describe("an outbound call", () => {
  it("rings first, and sends call.started to the agent's server when it is answered", () => {
    const call = new Call()
    expect(call.script.commands.map(({ _tag }) => _tag)).toEqual(["Emit", "Dial", "StartTimer"])
    expect(call.script.events).toEqual(["call.ringing"])
    call.advance(5000)
    call.input({ _tag: "Answered" })
    expect(call.script.events).toEqual(["call.ringing", "call.started"])
    expect(call.of("FetchConfig")).toEqual([{ _tag: "FetchConfig" }])
    expect(call.of("StopTimer").map(({ timer }) => timer)).toEqual(["ring"])
    expect(call.script.state.answered_at).toBe(5000)
    call.input({ _tag: "ConfigAnswered", config })
    expect(call.said).toEqual(["Hello there."])
    call.advance(60_000)
    call.input({ _tag: "CallerHungUp" })
    expect(call.outcome).toBe("completed answered caller-hangup")
    expect(recordOf(call.script.state).duration_seconds).toBe(60)
  })

  it("ends with the outcome of the dialling when it is not answered", () => {
    for (const [outcome, end] of [
      ["busy", "busy busy null"],
      ["no-answer", "no-answer no-answer null"],
      ["rejected", "failed failed error"],
      ["failed", "failed failed error"]
    ] as const) {
      const call = new Call()
      call.input({ _tag: "DialFailed", outcome, reason: "" })
      expect(call.outcome).toBe(end)
      expect(call.of("FetchConfig")).toEqual([])
    }
  })

  it("stops ringing after ring_timeout_seconds, also when the network hangs", () => {
    const call = new Call()
    call.advance(29_999)
    expect(call.outcome).toContain("undefined")
    call.advance(1)
    expect(call.outcome).toBe("no-answer no-answer null")
    expect(call.of("Hangup")).toHaveLength(1)
    call.input({ _tag: "Answered" })
    expect(call.of("FetchConfig")).toEqual([])
  })

  it("fails when its process dies or stops while it rings, and when there is no configuration", () => {
    const died = new Call()
    died.input({ _tag: "Crashed", reason: "killed" })
    const stopped = new Call()
    stopped.input({ _tag: "EndRequested", by: "shutdown" })
    const unconfigured = new Call()
    unconfigured.input({ _tag: "Answered" })
    unconfigured.input({ _tag: "ConfigFailed", reason: "no server" })
    for (const call of [died, stopped, unconfigured]) expect(call.outcome).toBe("failed failed error")
  })

  it("replays from its journal, also from one that ends while it rings", () => {
    const call = Call.answered().speak("My voicemail")
    call.input({ _tag: "BeepHeard" })
    call.advance(spokenMs)
    const outbound = { ...facts, outbound: { ring_timeout_seconds: 30, metadata: { order: 7, from: "us" } } }
    let [state, commands] = start(outbound)
    const rows: Array<RecordedInput> = [{ seq: 0, input: outbound, commands: digest(commands) }]
    for (const [index, input] of call.script.inputs.entries()) {
      ;[state, commands] = step(state, input)
      rows.push({ seq: index + 1, input, commands: digest(commands) })
    }
    const stored: ReadonlyArray<RecordedInput> = JSON.parse(JSON.stringify(rows))
    const replayed = replay(stored)
    expect(replayed?.differing).toEqual([])
    expect(replayed?.state.outcome).toEqual(call.script.state.outcome)
    const ringing = replay(stored.slice(0, 1))?.state
    const [over] = ringing === undefined ? [undefined] : step(ringing, { _tag: "Crashed", at: 0, reason: "killed" })
    expect(over?.outcome).toEqual({ status: "failed", disposition: "failed", ended_reason: "error" })
  })

  it("may begin with a menu", () => {
    const call = new Call()
    call.input({ _tag: "Answered" })
    const rules = { prompt: "Press 1", voice: null, language: null, max_digits: 1, terminator: "#", timeout_seconds: 5 }
    call.input({ _tag: "MenuAnswered", menu: { rules, max_retries: 0 }, warnings: [] })
    call.advance(spokenMs)
    call.input({ _tag: "Dtmf", digit: "1" })
    expect(call.of("FetchConfig").at(-1)?.gathered?.gathered_digit).toBe("1")
    call.input({ _tag: "ConfigAnswered", config })
    expect(call.script.state.phase).toBe("live")
  })

  it("can be ended before its configuration has arrived", () => {
    const call = new Call()
    call.input({ _tag: "Answered" })
    call.input({ _tag: "EndRequested", by: "api" })
    expect(call.outcome).toBe("completed answered api")
  })

  it("has the metadata of its request, overridden by that of the agent's server", () => {
    const call = Call.answered({ metadata: { from: "server" } })
    expect(recordOf(call.script.state).metadata).toEqual({ order: 7, from: "server" })
  })

  it("plays first_message completely to a caller who says hello first, and answers once", () => {
    const call = new Call()
    call.input({ _tag: "Answered" })
    call.input({ _tag: "CallerSpeechStarted" })
    call.advance(200)
    call.input({ _tag: "ConfigAnswered", config })
    call.input({ _tag: "CallerFinal", text: "Hello?" })
    call.input({ _tag: "CallerEndOfTurn" })
    call.input({ _tag: "CallerSpeechStopped" })
    call.advance(spokenMs)
    expect(call.of("StopSpeaking")).toEqual([])
    expect(call.of("AskModel")).toEqual([])
    expect(call.script.transcript).toEqual(["user: Hello?", "assistant: Hello there."])
    call.speak("Who is this?")
    expect(call.of("AskModel")).toHaveLength(1)
  })

  it("without first_message answers the caller's hello by the model", () => {
    const call = new Call()
    call.input({ _tag: "Answered" })
    call.input({ _tag: "CallerSpeechStarted" })
    call.input({ _tag: "ConfigAnswered", config: { ...config, first_message: null } })
    call.input({ _tag: "CallerFinal", text: "Hello?" })
    call.input({ _tag: "CallerEndOfTurn" })
    expect(call.of("AskModel")).toHaveLength(1)
  })
})

describe("a voicemail", () => {
  it("detected by its words gets the message after the beep, then the call is hung up", () => {
    const call = Call.answered()
    call.speak("You have reached the voicemail of somebody. Please leave a message after the beep.", 5000)
    expect(call.of("StopSpeaking")).toHaveLength(1)
    expect(call.of("AskModel")).toEqual([])
    call.advance(1000)
    expect(call.said).toEqual(["Hello there."])
    call.input({ _tag: "BeepHeard" })
    expect(call.said).toEqual(["Hello there.", message])
    call.advance(spokenMs)
    expect(call.outcome).toBe("completed voicemail agent-hangup")
  })

  it("without a beep gets the message after a silence, or after the longest wait", () => {
    const quiet = Call.answered().speak("This is my voicemail")
    quiet.advance(silenceMs - 1)
    expect(quiet.said).not.toContain(message)
    quiet.advance(1)
    expect(quiet.said).toContain(message)
    const endless = Call.answered()
    endless.input({ _tag: "CallerSpeechStarted" })
    endless.input({ _tag: "CallerPartial", text: "My voicemail" })
    endless.advance(maxWaitMs)
    expect(endless.said).toContain(message)
  })

  it("detected by a beep alone gets the message at once", () => {
    const call = Call.answered({ first_message: null })
    call.input({ _tag: "BeepHeard" })
    call.advance(spokenMs)
    expect(call.said).toEqual([message])
    expect(call.outcome).toBe("completed voicemail agent-hangup")
  })

  it("that beeps before the configuration gets the message in place of first_message", () => {
    const call = new Call()
    call.input({ _tag: "Answered" })
    call.input({ _tag: "BeepHeard" })
    call.input({ _tag: "ConfigAnswered", config: { ...config, voicemail_message: message } })
    expect(call.said).toEqual([message])
  })

  it("is detected by the length of its greeting", () => {
    const call = Call.answered()
    call.input({ _tag: "CallerSpeechStarted" })
    for (let spoken = 0; spoken < greetingMs - 1000; spoken += 1000) {
      call.advance(1000)
      call.input({ _tag: "CallerPartial", text: "Hi this is Ann" })
    }
    call.advance(999)
    expect(call.script.state.voicemail).toBe("unknown")
    call.advance(1)
    expect(call.script.state.voicemail).toBe("machine")
  })

  it("is detected by the model's tool, which is offered only until it is decided", () => {
    const call = Call.answered()
    call.advance(spokenMs)
    call.speak("Hi this is Ann")
    expect(call.of("AskModel")[0]?.tools.map(({ name }) => name)).toContain("svc_voicemail_reached")
    const calls = [{ id: "v", name: "svc_voicemail_reached", arguments: {} }]
    call.input({ _tag: "ModelToolCalls", turn: 1, calls })
    expect(call.script.state.voicemail).toBe("machine")
    expect(call.of("InvokeTool")).toEqual([])
    call.advance(silenceMs + spokenMs)
    expect(call.outcome).toBe("completed voicemail agent-hangup")
    const inbound = Script.greeted()
    inbound.say("Hello")
    expect(
      inbound.commands.flatMap((c) => (c._tag === "AskModel" ? c.tools.map(({ name }) => name) : []))
    ).not.toContain("svc_voicemail_reached")
  })

  it("is hung up at once, without a farewell, if there is no voicemail_message", () => {
    const call = Call.answered({ voicemail_message: null })
    call.advance(spokenMs)
    call.speak("Please leave a message")
    expect(call.said).toEqual(["Hello there."])
    expect(call.outcome).toBe("completed voicemail agent-hangup")
  })

  it("that hangs up before the message has the disposition voicemail", () => {
    const call = Call.answered().speak("My voicemail")
    call.input({ _tag: "CallerHungUp" })
    expect(call.script.state.outcome).toMatchObject({ status: "completed", disposition: "voicemail" })
  })

  it("is not detected for a person who speaks briefly, or later in the call", () => {
    const call = Call.answered()
    call.advance(spokenMs)
    call.speak("Hello, this is Ann", 3000)
    call.advance(decisionMs)
    expect(call.script.state.voicemail).toBe("person")
    call.input({ _tag: "ModelDone", turn: 1 })
    call.speak("I was just listening to my voicemail", 9000)
    call.input({ _tag: "BeepHeard" })
    expect(call.script.state.phase).toBe("live")
    expect(call.script.state.voicemail).toBe("person")
  })

  it("is never detected in an inbound call", () => {
    const script = Script.greeted()
    script.say("Please leave a message after the beep").input({ _tag: "BeepHeard" })
    expect(script.state.voicemail).toBeNull()
    expect(script.state.phase).toBe("live")
  })
})

describe("the carrier's verdict about who answered", () => {
  const report = (call: Call, verdict: "human" | "machine" | "fax" | "unknown"): Call => {
    call.input({ _tag: "AnswererReported", verdict })
    return call
  }

  it("machine silences the agent until the beep, then the message is left", () => {
    const call = report(Call.answered(), "machine")
    expect(call.of("StopSpeaking")).toHaveLength(1)
    call.input({ _tag: "CallerSpeechStarted" })
    call.advance(silenceMs + 1000)
    expect(call.said).toEqual(["Hello there."])
    call.input({ _tag: "BeepHeard" })
    call.advance(spokenMs)
    expect(call.said).toEqual(["Hello there.", message])
    expect(call.outcome).toBe("completed voicemail agent-hangup")
  })

  it("machine without a voicemail_message hangs up at once", () => {
    const call = report(Call.answered({ voicemail_message: null }), "machine")
    expect(call.said).toEqual(["Hello there."])
    expect(call.outcome).toBe("completed voicemail agent-hangup")
  })

  it("machine before the configuration waits for the end of the greeting, or for the beep", () => {
    const early = () => {
      const call = new Call()
      call.input({ _tag: "Answered" })
      report(call, "machine")
      call.input({ _tag: "CallerSpeechStarted" })
      return call
    }
    const configured: CallConfig = { ...config, voicemail_message: message }
    const quiet = early()
    quiet.input({ _tag: "ConfigAnswered", config: configured })
    expect(quiet.said).toEqual([])
    quiet.input({ _tag: "CallerSpeechStopped" })
    quiet.advance(silenceMs)
    expect(quiet.said).toEqual([message])
    const beeped = early()
    beeped.input({ _tag: "BeepHeard" })
    beeped.input({ _tag: "ConfigAnswered", config: configured })
    expect(beeped.said).toEqual([message])
    const silent = new Call()
    silent.input({ _tag: "Answered" })
    report(silent, "machine").input({ _tag: "ConfigAnswered", config: configured })
    silent.advance(silenceMs)
    expect(silent.said).toEqual([message])
    const endless = early()
    endless.input({ _tag: "ConfigAnswered", config: configured })
    endless.advance(maxWaitMs)
    expect(endless.said).toEqual([message])
    const unwanted = early()
    unwanted.input({ _tag: "ConfigAnswered", config })
    expect(unwanted.outcome).toBe("completed voicemail agent-hangup")
  })

  it("human ends our own detection, and the model is no longer offered its tool", () => {
    const call = report(Call.answered(), "human")
    expect(call.of("StopTimer").map(({ timer }) => timer)).toContain("voicemail_doubt")
    call.advance(spokenMs)
    call.speak("Please leave a message with my colleague", greetingMs + 1000)
    call.input({ _tag: "BeepHeard" })
    expect(call.script.state.voicemail).toBe("person")
    expect(
      call
        .of("AskModel")
        .at(-1)
        ?.tools.map(({ name }) => name)
    ).not.toContain("svc_voicemail_reached")
  })

  it("fax hangs up at once without a message, with the disposition voicemail and a warning", () => {
    const live = report(Call.answered(), "fax")
    expect(live.said).toEqual(["Hello there."])
    expect(live.outcome).toBe("completed voicemail agent-hangup")
    expect(recordOf(live.script.state).warnings).toEqual([
      { at: 3.1, what: "telephony", reason: expect.stringContaining("a fax machine took the call") }
    ])
    const unconfigured = new Call()
    unconfigured.input({ _tag: "Answered" })
    report(unconfigured, "fax")
    expect(unconfigured.outcome).toBe("completed voicemail agent-hangup")
  })

  it("unknown leaves the decision to our own detection", () => {
    const call = report(Call.answered(), "unknown")
    expect(call.script.state.voicemail).toBe("unknown")
    call.speak("My voicemail")
    expect(call.script.state.voicemail).toBe("machine")
  })

  it("changes nothing once it is decided, by us or by the carrier", () => {
    const verdicts = ["human", "machine", "fax", "unknown"] as const
    for (const decided of [
      () => report(Call.answered(), "human"),
      () => report(Call.answered(), "machine"),
      () => Call.answered().speak("My voicemail"),
      () => {
        const call = Call.answered()
        call.advance(decisionMs)
        return call
      }
    ]) {
      for (const verdict of verdicts) {
        const call = decided()
        const { commands, state } = call.script
        const before = commands.length
        report(call, verdict)
        expect(call.script.commands.slice(before)).toEqual([])
        expect(call.script.state).toEqual(state)
      }
    }
  })

  it("changes nothing in an inbound call, and before the answer", () => {
    for (const verdict of ["human", "machine", "fax"] as const) {
      const inbound = Script.greeted()
      const { state } = inbound
      inbound.input({ _tag: "AnswererReported", verdict })
      expect(inbound.state).toEqual(state)
      const ringing = report(new Call(), verdict)
      expect(ringing.script.state.voicemail).toBeNull()
      expect(ringing.outcome).toContain("undefined")
    }
  })
})

describe("words of a voicemail", () => {
  it("are detected in all languages of the platform", () => {
    for (const words of [
      "You have reached the voicemail of 5550100.",
      "We can't take your call right now",
      "Deje su mensaje después de la señal",
      "Spreek een bericht in na de piep",
      "Bitte hinterlassen Sie eine Nachricht nach dem Signalton",
      "Laissez un message après le bip",
      "Risponde la segreteria telefonica",
      "Deixe a sua mensagem após o sinal",
      "Zostaw wiadomość po sygnale",
      "Lämna ett meddelande efter tonen",
      "Læg en besked efter klartonen",
      "Legg igjen en beskjed etter pipetonen",
      "Jätä viesti äänimerkin jälkeen"
    ]) {
      expect([words, soundsLikeVoicemail(words)]).toEqual([words, true])
    }
  })

  it("are not detected in greetings of people", () => {
    for (const words of [
      "Hello?",
      "Ann speaking, how can I help you?",
      "Müller, guten Tag",
      "Allô, oui ?",
      "Pronto, chi parla?",
      "Met Jan de Vries",
      "Dr. Smith's office, please hold"
    ]) {
      expect([words, soundsLikeVoicemail(words)]).toEqual([words, false])
    }
  })
})

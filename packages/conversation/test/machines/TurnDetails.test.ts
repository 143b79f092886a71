import { describe, expect, it } from "vitest"
import type { Command } from "../../src/Command.ts"
import { facts, Script } from "../../src/testing/Script.ts"

const dataOf = (s: Script, event: string) =>
  s.commands.flatMap((c) => (c._tag === "Emit" && c.event === event ? [c.data] : []))

const commandsOf = <Tag extends Command["_tag"]>(s: Script, tag: Tag) =>
  s.commands.filter((c): c is Extract<Command, { readonly _tag: Tag }> => c._tag === tag)

const timeOf = (at: number) => new Date(facts.started_at + at).toISOString()

/** A live call in which the agent speaks its greeting as `u0`. */
const speaking = (greeting = "Hello there.", given: Partial<typeof facts> = {}) => {
  const s = Script.live({ first_message: greeting }, given).input({ _tag: "SpeechStarted", id: "u0" })
  s.commands.length = 0
  return s
}

/** A call in which sound without words has stopped the greeting, after `played`. */
const held = (played = "Hello") => {
  const s = speaking().input({ _tag: "CallerSpeechStarted" }).wait(500).fire("barge_in")
  s.input({ _tag: "SpeechCleared", cuts: [{ id: "u0", played }] })
  s.commands.length = 0
  return s
}

/** Speech of which nothing is understood. */
const mumble = (s: Script, ms: number) =>
  s
    .wait(1000)
    .input({ _tag: "CallerSpeechStarted" })
    .wait(ms)
    .input({ _tag: "CallerSpeechStopped" })
    .wait(2000)
    .fire("endpoint")

describe("events of the caller's speech", () => {
  it("speech.started and speech.ended contain from, and the times of the sound, not of its detection", () => {
    const s = Script.greeted().wait(1000).input({ _tag: "CallerSpeechStarted", late: 200 })
    s.wait(1000).input({ _tag: "CallerFinal", text: "Hello" }).input({ _tag: "CallerSpeechStopped", late: 300 })
    s.wait(500).input({ _tag: "CallerEndOfTurn" })
    const { from } = facts
    expect(dataOf(s, "speech.started")).toEqual([expect.objectContaining({ from, timestamp: timeOf(800) })])
    expect(dataOf(s, "speech.ended")).toEqual([
      expect.objectContaining({ from, timestamp: timeOf(1700), transcript: "Hello" })
    ])
  })

  it("speech.started contains the time of the input when it has no lateness", () => {
    const s = Script.greeted().wait(1000).input({ _tag: "CallerSpeechStarted" })
    expect(dataOf(s, "speech.started")).toEqual([expect.objectContaining({ timestamp: timeOf(1000) })])
  })

  it("the transcript has the time at which the caller began to speak", () => {
    const s = Script.greeted().wait(1000).input({ _tag: "CallerSpeechStarted" })
    s.wait(700).input({ _tag: "CallerFinal", text: "Hello" }).input({ _tag: "CallerEndOfTurn" })
    expect(s.state.transcript.at(-1)).toMatchObject({ content: "Hello", timestamp: 1 })
  })

  it("a blank transcript starts no speech and no timer", () => {
    const s = Script.greeted().input({ _tag: "CallerFinal", text: "  " }).input({ _tag: "CallerPartial", text: "" })
    expect(s.take()).toEqual([])
    expect(s.state.caller.speaking).toBe(false)
  })

  it("a second start of the sound changes nothing", () => {
    const s = speaking().input({ _tag: "CallerSpeechStarted" })
    expect(s.take()).toEqual(["Emit speech.started", "StartTimer barge_in 500"])
    s.wait(100).input({ _tag: "CallerSpeechStarted" })
    expect(s.take()).toEqual([])
  })

  it("an end of sound without its start changes nothing", () => {
    const s = Script.greeted().input({ _tag: "CallerPartial", text: "Hello" })
    s.commands.length = 0
    expect(s.wait(100).input({ _tag: "CallerSpeechStopped" }).take()).toEqual([])
  })

  it("sound that ends after the end of the turn is not waited for", () => {
    const s = Script.greeted().input({ _tag: "CallerSpeechStarted" }).input({ _tag: "CallerFinal", text: "Hello" })
    s.input({ _tag: "CallerEndOfTurn" })
    s.commands.length = 0
    expect(s.input({ _tag: "CallerSpeechStopped" }).take()).toEqual([])
  })

  it("that were taken as turns before they were final are not heard again, also when several are outstanding", () => {
    const s = Script.greeted()
    for (const text of ["Good day to you", "I want a table"]) {
      s.input({ _tag: "CallerPartial", text }).input({ _tag: "CallerEndOfTurn" })
    }
    const users = () => s.transcript.filter((line) => line.startsWith("user: "))
    const said = ["user: Good day to you", "user: I want a table"]
    s.input({ _tag: "CallerPartial", text: "For two" })
    for (const text of ["good day to you.", "I want a table."]) s.input({ _tag: "CallerFinal", text })
    expect(users()).toEqual(said)
    s.input({ _tag: "CallerFinal", text: "For two" }).input({ _tag: "CallerEndOfTurn" })
    expect(users()).toEqual([...said, "user: For two"])
  })

  it("are a turn of their own when the caller says the same again", () => {
    const s = Script.greeted()
    // The first transcript never becomes final.
    for (const final of [false, true]) {
      s.input({ _tag: "CallerPartial", text: "Yes please" })
      if (final) s.input({ _tag: "CallerFinal", text: "Yes please." })
      s.input({ _tag: "CallerEndOfTurn" })
    }
    expect(s.transcript.filter((line) => line.startsWith("user: "))).toEqual(["user: Yes please", "user: Yes please."])
  })

  it("final transcripts are trimmed and joined with one space", () => {
    const s = Script.greeted()
    for (const text of [" Hello ", " there "]) s.input({ _tag: "CallerFinal", text })
    expect(s.input({ _tag: "CallerEndOfTurn" }).transcript.at(-1)).toBe("user: Hello there")
  })
})

describe("the end of the caller's turn", () => {
  it("stops being waited for when the caller speaks on", () => {
    const s = Script.greeted().input({ _tag: "CallerSpeechStarted" }).input({ _tag: "CallerFinal", text: "Hello" })
    s.input({ _tag: "CallerSpeechStopped" })
    s.commands.length = 0
    expect(s.input({ _tag: "CallerSpeechStarted" }).take()).toEqual(["StopTimer endpoint", "StartTimer barge_in 500"])
  })

  it("comes 500 ms after a final transcript, 2 s after a partial one, and 3 s while there is sound", () => {
    const delays = (run: (s: Script) => Script) =>
      commandsOf(run(Script.greeted({}, { endpointing: "none" })), "StartTimer")
        .filter(({ timer }) => timer === "endpoint")
        .map(({ ms }) => ms)
    expect(delays((s) => s.input({ _tag: "CallerFinal", text: "Hello" }))).toEqual([500])
    expect(delays((s) => s.input({ _tag: "CallerPartial", text: "Hello" }))).toEqual([2000])
    const voiced = (s: Script) =>
      s
        .input({ _tag: "CallerSpeechStarted" })
        .input({ _tag: "CallerFinal", text: "Hello" })
        .input({ _tag: "CallerSpeechStopped" })
    expect(delays(voiced)).toEqual([3000, 500])
  })

  it("is waited for as the speech-to-text provider in use wants it", () => {
    const providers = { recognizers: ["provider", "none"] as const, models: 1, voices: 1 }
    const s = Script.greeted({}, { providers }).input({ _tag: "RecognizerFailed", reason: "gone" })
    s.commands.length = 0
    expect(s.input({ _tag: "CallerFinal", text: "Hello" }).take()).toContain("StartTimer endpoint 500")
  })

  it("stops the barge_in timer", () => {
    const s = speaking().input({ _tag: "CallerSpeechStarted" })
    s.commands.length = 0
    expect(s.input({ _tag: "CallerEndOfTurn" }).take()).toContain("StopTimer barge_in")
  })

  it("with words that could have become a backchannel, and did not, interrupts the agent", () => {
    const s = speaking().input({ _tag: "CallerPartial", text: "ye" })
    s.commands.length = 0
    const taken = s.input({ _tag: "CallerEndOfTurn" }).take()
    expect(taken).toContain("StopSpeaking")
    expect(taken).toContain("AskModel 1")
  })

  it("writes down what the agent said before the words that interrupted it", () => {
    const s = held().input({ _tag: "CallerPartial", text: "ye" }).input({ _tag: "CallerEndOfTurn" })
    expect(s.transcript).toEqual(["assistant: Hello", "user: ye"])
  })
})

describe("speech without words", () => {
  const listens = (s: Script) => commandsOf(s, "Listen").length

  it("counts from 0 again after words, up to 8 s", () => {
    const run = (ms: number) => {
      const s = mumble(Script.greeted({}, { endpointing: "none" }), 5000)
      s.wait(1000).input({ _tag: "CallerFinal", text: "Hello" }).wait(500).fire("endpoint")
      return listens(mumble(s, ms))
    }
    expect(run(7999)).toBe(0)
    expect(run(8000)).toBe(1)
  })
})

describe("an answer before the end of the agent's question", () => {
  const asking = () => speaking("Shall I go on?").input({ _tag: "CallerSpeechStarted" })

  it("is a turn when the question is over", () => {
    const s = asking().input({ _tag: "CallerFinal", text: "Yes" }).input({ _tag: "CallerEndOfTurn" })
    s.input({ _tag: "CallerSpeechStopped" })
    expect(s.take()).not.toContain("AskModel 1")
    expect(s.input({ _tag: "SpeechPlayed", id: "u0" }).take()).toContain("AskModel 1")
    expect(s.transcript).toEqual(["assistant: Shall I go on?", "user: Yes"])
  })

  it("is not a turn while the caller's sound goes on", () => {
    const s = asking().input({ _tag: "CallerFinal", text: "Yes" }).input({ _tag: "CallerEndOfTurn" })
    s.input({ _tag: "SpeechPlayed", id: "u0" })
    expect(s.take()).not.toContain("AskModel 1")
    expect(s.input({ _tag: "CallerSpeechStopped" }).take()).toContain("AskModel 1")
  })

  it("is not a turn while more words of the caller come", () => {
    const s = asking().input({ _tag: "CallerFinal", text: "Yes" }).input({ _tag: "CallerEndOfTurn" })
    s.input({ _tag: "CallerSpeechStopped" }).input({ _tag: "CallerPartial", text: "yes" })
    s.input({ _tag: "SpeechPlayed", id: "u0" })
    expect(s.take()).not.toContain("AskModel 1")
  })

  it("keeps words of which there was only a partial transcript", () => {
    const s = asking().input({ _tag: "CallerPartial", text: "Yes" }).input({ _tag: "CallerEndOfTurn" })
    s.input({ _tag: "CallerFinal", text: "okay" }).input({ _tag: "CallerSpeechStopped" })
    s.input({ _tag: "SpeechPlayed", id: "u0" }).input({ _tag: "CallerEndOfTurn" })
    expect(s.transcript.at(-1)).toBe("user: Yes okay")
  })

  it("is no turn when the model may add to the question", () => {
    const s = Script.greeted().say("Hi").input({ _tag: "ModelSentence", turn: 1, text: "Ready?" })
    s.input({ _tag: "SpeechStarted", id: "u1" }).say("Yes")
    s.commands.length = 0
    s.input({ _tag: "SpeechPlayed", id: "u1" }).input({ _tag: "ModelDone", turn: 1 })
    expect(commandsOf(s, "AskModel")).toEqual([])
    expect(s.transcript.at(-1)).toBe("assistant: Ready?")
  })

  it("does not wait any more after it was taken", () => {
    const s = asking().input({ _tag: "CallerFinal", text: "Yes" }).input({ _tag: "CallerEndOfTurn" })
    s.input({ _tag: "CallerSpeechStopped" }).input({ _tag: "SpeechPlayed", id: "u0" })
    s.wait(1000).input({ _tag: "CallerSpeechStarted" }).wait(100)
    s.commands.length = 0
    expect(s.input({ _tag: "CallerSpeechStopped" }).take()).toEqual(["StopTimer barge_in", "StartTimer endpoint 2000"])
  })

  it("waits behind the farewell when the call is ended meanwhile", () => {
    const s = asking().input({ _tag: "CallerFinal", text: "Yes" }).input({ _tag: "CallerEndOfTurn" })
    s.input({ _tag: "CallerSpeechStopped" }).input({ _tag: "EndRequested", by: "api" })
    s.input({ _tag: "SpeechCleared", cuts: [] }).play("u1")
    expect(s.transcript.slice(-2)).toEqual(["assistant: Goodbye.", "user: Yes"])
  })
})

describe("an interruption", () => {
  it("without words is over when the agent speaks on, and inactivity counts after that", () => {
    const s = Script.live({ inactivity_timeout: 10 }).input({ _tag: "SpeechStarted", id: "u0" })
    s.input({ _tag: "CallerSpeechStarted" }).wait(500).fire("barge_in").input({ _tag: "CallerSpeechStopped" })
    s.input({ _tag: "SpeechCleared", cuts: [{ id: "u0", played: "Hello" }] }).wait(2000)
    s.fire("endpoint").fire("resume").play("u1")
    expect(s.state.interruption).toBeNull()
    expect(s.take()).toContain("StartTimer inactivity 10000")
  })

  it("with a partial backchannel stays undecided, and ends with the final one", () => {
    const s = held().input({ _tag: "CallerSpeechStopped" }).input({ _tag: "CallerPartial", text: "Yeah" })
    expect(s.take().filter((c) => c.startsWith("Speak"))).toEqual([])
    const taken = s.input({ _tag: "CallerFinal", text: "Yeah" }).take()
    expect(taken).toContain("StopTimer resume")
    expect(taken).toContain("Speak u1 there.")
  })

  it("with a final backchannel does not end while there is sound", () => {
    const s = held()
    expect(s.input({ _tag: "CallerFinal", text: "Yeah" }).fire("resume").take()).toEqual(["StartTimer endpoint 3000"])
    expect(s.wait(3000).input({ _tag: "CallerSpeechStopped" }).take()).toContain("StartTimer resume 500")
    expect(s.wait(500).fire("resume").take()).toContain("Speak u1 there.")
  })

  it("with a final backchannel does not end before it is known how much was played", () => {
    const s = speaking().input({ _tag: "CallerSpeechStarted" }).wait(500).fire("barge_in")
    s.commands.length = 0
    s.input({ _tag: "CallerFinal", text: "Yeah" })
    expect(s.take().filter((c) => c.startsWith("Speak"))).toEqual([])
    expect(s.input({ _tag: "SpeechCleared", cuts: [] }).take()).toEqual(["StartTimer resume 2000"])
  })

  it("by words after sound stops the resume timer and emits barge_in with the time of the sound", () => {
    const s = held().wait(300).input({ _tag: "CallerPartial", text: "Stop it" })
    expect(dataOf(s, "barge_in")).toEqual([
      expect.objectContaining({
        from: facts.from,
        user_text: "Stop it",
        interrupted_text: "Hello there.",
        timestamp: timeOf(500)
      })
    ])
    expect(s.take()).toContain("StopTimer resume")
  })

  it("by words emits barge_in with the first of them, whatever follows until the speech is stopped", () => {
    const s = Script.greeted().say("Hi").input({ _tag: "ModelSentence", turn: 1, text: "One." })
    s.input({ _tag: "SpeechStarted", id: "u1" }).input({ _tag: "CallerPartial", text: "Stop" })
    s.input({ _tag: "ModelSentence", turn: 1, text: "Two." }).input({ _tag: "CallerPartial", text: "Stop it" })
    s.input({ _tag: "SpeechCleared", cuts: [] })
    expect(dataOf(s, "barge_in")).toEqual([expect.objectContaining({ user_text: "Stop" })])
  })

  it("emits barge_in with all of a turn of which the first sentence was played", () => {
    const s = Script.greeted().say("Hi").input({ _tag: "ModelSentence", turn: 1, text: "One." })
    s.input({ _tag: "ModelSentence", turn: 1, text: "Two." }).play("u1").input({ _tag: "SpeechStarted", id: "u2" })
    s.input({ _tag: "CallerPartial", text: "Stop" }).input({ _tag: "SpeechCleared", cuts: [] })
    expect(dataOf(s, "barge_in")).toEqual([expect.objectContaining({ interrupted_text: "One. Two." })])
    expect(s.take()).toContain("CancelModel")
  })

  it("of a filler and the answer behind it cancels the model and emits barge_in with both", () => {
    const s = Script.greeted({}, { filler_ms: 800 }).say("Hi").wait(800).fire("filler")
    s.input({ _tag: "SpeechStarted", id: "u1" }).input({ _tag: "ModelSentence", turn: 1, text: "Two." })
    s.input({ _tag: "CallerPartial", text: "Stop" }).input({ _tag: "SpeechCleared", cuts: [] })
    expect(dataOf(s, "barge_in")).toEqual([
      expect.objectContaining({ interrupted_text: expect.stringContaining("Two.") })
    ])
    expect(s.take()).toContain("CancelModel")
  })

  it("that is undecided when the call is ended keeps neither the farewell nor the hang-up waiting", () => {
    const s = held().input({ _tag: "EndRequested", by: "api" })
    expect(s.take()).toContain("Speak u1 Goodbye.")
    expect(s.play("u1").take()).toContain("Hangup api")
    expect(s.transcript).toEqual(["assistant: Hello", "assistant: Goodbye."])
  })

  it("whose played part is not yet known when the call is ended has it in the transcript", () => {
    const s = speaking().input({ _tag: "CallerSpeechStarted" }).wait(500).fire("barge_in")
    s.input({ _tag: "EndRequested", by: "api" })
    s.input({ _tag: "SpeechCleared", cuts: [{ id: "u0", played: "Hello" }] })
    expect(s.transcript).toEqual(["assistant: Hello"])
  })

  it("does not lose what a failed voice had played when the call is ended", () => {
    const providers = { recognizers: ["provider"] as const, models: 1, voices: 2 }
    const s = speaking("Hello there.", { providers }).input({ _tag: "SpeechFailed", id: "u0", reason: "gone" })
    s.input({ _tag: "EndRequested", by: "api" })
    s.input({ _tag: "SpeechCleared", cuts: [{ id: "u0", played: "Hello" }] })
    expect(s.transcript).toEqual(["assistant: Hello"])
  })
})

describe("sound with short pauses", () => {
  /** The caller makes sound for `sound` ms and is silent for `pause` ms; both are reported `late` ms later. */
  const paused = (sound: number, pause: number, late = 60) => {
    const s = speaking()
      .wait(1000 + late)
      .input({ _tag: "CallerSpeechStarted", late })
    s.wait(sound).input({ _tag: "CallerSpeechStopped", late })
    s.commands.length = 0
    return s.wait(pause).input({ _tag: "CallerSpeechStarted", late })
  }

  it("stops the agent after interrupt_after_ms from its beginning, the pauses included", () => {
    const s = paused(200, 180)
    expect(s.take()).toEqual(["StopTimer endpoint", "StartTimer barge_in 60"])
    s.wait(60).fire("barge_in")
    expect([s.take(), s.at]).toEqual([["StopSpeaking"], 1500])
  })

  it("stops the agent at once when interrupt_after_ms ended in a pause", () => {
    expect(paused(290, 320).take()).toContain("StartTimer barge_in 0")
  })

  it("begins anew after a longer pause", () => {
    expect(paused(200, 321).take()).toContain("StartTimer barge_in 440")
  })

  it("begins anew after the end of a turn", () => {
    const s = speaking().input({ _tag: "CallerSpeechStarted" }).wait(200).input({ _tag: "CallerFinal", text: "uh-huh" })
    s.input({ _tag: "CallerSpeechStopped" }).input({ _tag: "CallerEndOfTurn" })
    s.commands.length = 0
    expect(s.wait(100).input({ _tag: "CallerSpeechStarted" }).take()).toContain("StartTimer barge_in 500")
  })

  it("that are a backchannel have the longer time, also when the word is recognized in a pause", () => {
    const s = speaking().input({ _tag: "CallerSpeechStarted" }).wait(200).input({ _tag: "CallerSpeechStopped" })
    s.wait(50).input({ _tag: "CallerPartial", text: "uh-huh" })
    s.commands.length = 0
    expect(s.wait(100).input({ _tag: "CallerSpeechStarted" }).take()).toContain("StartTimer barge_in 900")
  })
})

describe("a requested transfer", () => {
  const transfer = { _tag: "TransferRequested", destination: "+15550003333" } as const

  it("ends an undecided interruption and its timer", () => {
    const s = held().input(transfer)
    expect(s.take()).toContain("StopTimer resume")
    expect(s.state.interruption).toBeNull()
    expect(s.transcript).toEqual(["assistant: Hello"])
  })

  it("stops the barge_in timer", () => {
    const s = speaking().input({ _tag: "CallerSpeechStarted" }).input(transfer)
    expect(s.take()).toContain("StopTimer barge_in")
  })

  it("does not stop the voice of an agent that is silent", () => {
    expect(Script.greeted().input(transfer).take()).not.toContain("StopSpeaking")
  })

  it("writes the caller's last words down once", () => {
    const s = Script.greeted().input(transfer).input({ _tag: "CallerFinal", text: "Thank" })
    s.input({ _tag: "CallerPartial", text: "you" })
    s.input({ _tag: "TransferProgressed", state: "completed", reason: null }).input({ _tag: "CallerHungUp" })
    expect(s.transcript.slice(1)).toEqual(["user: Thank you"])
  })
})

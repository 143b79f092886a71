import { describe, expect, it } from "vitest"
import { EchoCall, type EchoLine } from "../src/media/EchoCall.ts"

/** About 6 s of speech. */
const greeting = "Good morning, this is the office of Doctor Smith. We are open from nine to five. How may I help you?"

const paths = [0, 6, 12, 20, 28].flatMap((echo_db) =>
  [60, 120, 250, 400].map((echo_delay_ms) => ({ echo_db, echo_delay_ms }))
)

/** On lines with other troubles. */
const somePaths = paths.filter(
  ({ echo_db, echo_delay_ms }) => echo_db % 12 !== 6 && echo_db !== 20 && echo_delay_ms !== 400
)

/** An agent that answers with the caller's words, also those that are none. */
const answering = (line: EchoLine): EchoCall => {
  const call = new EchoCall(line)
  call.onFinal = (text) => {
    if (call.understood.length < 4) call.agent(`You said ${text}.`, 40)
  }
  return call
}

/** What is understood if the caller speaks `after` so many ms of the greeting, and again `pause` ms after the answer. */
const conversation = (line: EchoLine, after: number, pause: number): ReadonlyArray<string> => {
  const call = answering(line)
  call.agent(greeting)
  call.wait(6500 + after)
  call.caller("One two")
  call.wait(700 + 1900 + pause)
  call.caller("Three")
  call.wait(4000)
  return call.understood
}

describe("speech-to-text on a line with the agent's echo", () => {
  it.each(paths)("hears the caller only, $echo_db dB down after $echo_delay_ms ms", (leg) => {
    expect(conversation({ leg }, 3000, 3000)).toEqual(["One two", "Three"])
    expect(conversation({ leg }, 0, 0)).toEqual(["One two", "Three"])
  })

  it.each(somePaths)("hears the caller only on a line that sends nothing in silence, %o", (path) => {
    expect(conversation({ leg: { ...path, dtx: true } }, 100, 100)).toEqual(["One two", "Three"])
  })

  it.each(somePaths)("hears the caller only with packets that are late, %o", (leg) => {
    expect(conversation({ leg, impairments: { jitter_ms: 60 } }, 100, 100)).toEqual(["One two", "Three"])
  })

  it.each(somePaths)("hears the caller only with timers that are late, %o", (leg) => {
    expect(conversation({ leg, lateMs: 12, startsAt: 13.7 }, 100, 100)).toEqual(["One two", "Three"])
  })

  it.each(paths.filter(({ echo_db }) => echo_db > 0))("hears a caller who interrupts, %o", (leg) => {
    const call = new EchoCall({ leg })
    let isSpeaking = true
    call.onPartial = () => {
      if (isSpeaking) call.media.clear()
      isSpeaking = false
    }
    call.agent(greeting)
    call.wait(3000)
    call.caller("Stop now please")
    call.wait(4000)
    expect(isSpeaking).toBe(false)
    call.agent("Very well.")
    call.wait(3000)
    expect(call.understood).toEqual(["Stop now please"])
  })

  it("finds an echo that begins in a call within a second", () => {
    const leg: { echo_db?: number } = {}
    const call = new EchoCall({ leg })
    call.agent(greeting)
    call.wait(8000)
    expect(call.understood).toEqual([])
    leg.echo_db = 6
    call.agent(greeting)
    call.wait(8000)
    expect(call.understood.join("").length).toBeLessThan(16)
    call.understood.length = 0
    call.agent(greeting)
    call.wait(8000)
    call.caller("One two")
    call.wait(2000)
    expect(call.understood).toEqual(["One two"])
  })

  it("loses nothing of a caller without an echo, also when he repeats the agent's words", () => {
    const call = new EchoCall({})
    call.onFinal = (text) => {
      if (call.understood.length < 3) call.agent(text, 40)
    }
    call.agent("One two.")
    for (const words of ["One two.", "One two.", "Yes"]) {
      call.wait(2000)
      call.caller(words)
    }
    call.wait(2000)
    expect(call.understood).toEqual(["One two.", "One two.", "Yes"])
    expect(conversation({}, 0, 0)).toEqual(["One two", "Three"])
  })

  it("gets the words of a caller who interrupts without an echo as soon as they are spoken", () => {
    const times: Array<number> = []
    for (const isAgentSpeaking of [true, false]) {
      const call = new EchoCall({})
      call.agent(greeting)
      call.wait(isAgentSpeaking ? 3000 : 9000)
      let heardAfter = 0
      call.onPartial = () => times.push(heardAfter)
      call.caller("No")
      for (; heardAfter < 400; heardAfter += 20) call.wait(20)
    }
    expect(times[0]).toBe(times[1])
  })
})

import { describe, expect, it } from "vitest"
import { SpeechCuts } from "../src/Realtime/SpeechCuts.ts"

/** Cuts of audio at 8 kHz: their lengths and ends, in milliseconds. */
const cutting = () => {
  const cuts: Array<{ readonly ms: number; readonly end: number }> = []
  let sent = 0
  const speech = new SpeechCuts({
    sampleRate: 8000,
    send: (samples) => {
      sent += samples.length
    },
    cut: (samples, end) => void cuts.push({ ms: samples / 8, end })
  })
  const push = (ms: number, level: number) => {
    for (let at = 0; at < ms; at += 20) speech.push(new Int16Array(160).fill(level))
  }
  return { cuts, speech, push, sentMs: () => sent / 8 }
}
const [loud, low] = [8000, 500]

describe("stretches of speech", () => {
  it("begin 500 ms before the voice activity and end with it", () => {
    const { cuts, push, sentMs, speech } = cutting()
    push(1000, low)
    expect([speech.isIdle, sentMs()]).toEqual([true, 0])
    speech.voiceActivity(true)
    push(500, loud)
    expect(speech.isIdle).toBe(false)
    speech.voiceActivity(false)
    push(100, low)
    speech.voiceActivity(true)
    push(200, loud)
    speech.voiceActivity(false)
    // What was sent before is not sent again.
    expect(cuts).toEqual([
      { ms: 1000, end: 1500 },
      { ms: 300, end: 1800 }
    ])
    expect([speech.isIdle, sentMs()]).toEqual([true, 1300])
  })

  it("are at least 100 ms long, filled up with silence", () => {
    const { cuts, push, speech } = cutting()
    speech.voiceActivity(true)
    speech.voiceActivity(false)
    expect(cuts).toEqual([])
    speech.voiceActivity(true)
    push(40, loud)
    speech.voiceActivity(false)
    expect(cuts).toEqual([{ ms: 100, end: 40 }])
  })

  it("are cut in a gap between words after 6 s, and after 9 s without one", () => {
    const { cuts, push, speech } = cutting()
    speech.voiceActivity(true)
    push(3000, loud)
    push(60, low)
    push(3500, loud)
    push(60, low)
    push(9500, loud)
    speech.voiceActivity(false)
    expect(cuts).toEqual([
      { ms: 6580, end: 6580 },
      { ms: 9000, end: 15_580 },
      { ms: 540, end: 16_120 }
    ])
  })

  it("are empty at no time", () => {
    const { cuts, push, speech } = cutting()
    speech.cut()
    push(20, loud)
    speech.cut()
    speech.push(new Int16Array(0))
    expect(cuts).toEqual([])
  })
})

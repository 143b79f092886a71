import { describe, expect, it } from "vitest"
import { EchoCanceller } from "../src/EchoCanceller.ts"
import { agentTrack, echoOf, onQuietLine } from "../src/testing/Echo.ts"
import { recordings } from "../src/testing/Recordings.ts"
import { louder, mix, rms, type Signal } from "../src/testing/Signal.ts"

const agent = agentTrack(recordings("agent"), 10, -26, 7)
const length = 160
const second = 8000

/** What remains of each frame, and how it is taken, after the echo was found in 300 ms of it. */
const cancelled = (heard: Int16Array, at: (n: number) => number = (n) => 20 * n) => {
  const canceller = new EchoCanceller(8000)
  return Array.from({ length: heard.length / length }, (_, n) => {
    const frame = heard.subarray(n * length, n * length + length)
    canceller.send(agent.subarray(n * length, n * length + length), 20 * n)
    canceller.push(frame, at(n), true)
    if (canceller.line !== "present" && n % 15 === 0) canceller.finds(300)
    return { sound: canceller.sound, level: rms(frame), left: rms(canceller.clean), line: canceller.line }
  })
}

const line = (down: number, delayMs: number, voice?: Signal): Int16Array => {
  const echo = echoOf(agent, { down, delayMs, kind: "line" }, 3)
  return onQuietLine(voice === undefined ? echo : mix(echo, voice), 5)
}

const [{ signal } = { signal: new Float32Array() }] = recordings("callers")
const caller = new Float32Array(agent.length)
caller.set(louder(signal, -26).slice(0, 3 * second), 5 * second)

describe("EchoCanceller", () => {
  it.each([0, 12, 20].flatMap((down) => [20, 130, 600].map((delayMs) => ({ down, delayMs }))))(
    "finds an echo $down dB down after $delayMs ms within 2 s, and takes 20 dB of it away",
    ({ delayMs, down }) => {
      const frames = cancelled(line(down, delayMs))
      expect(frames[100]?.line).toBe("present")
      const loud = frames.slice(150).filter(({ level }) => level > 200)
      const share = (of: "level" | "left") => loud.reduce((sum, frame) => sum + frame[of] ** 2, 0)
      expect(share("left") / share("level")).toBeLessThan(0.01)
      expect(frames.slice(150).filter(({ sound }) => sound === "caller")).toEqual([])
    }
  )

  it("finds none in a caller, nor in noise", () => {
    for (const frames of [cancelled(onQuietLine(caller, 5)), cancelled(line(80, 100))]) {
      expect(new Set(frames.map((frame) => frame.line))).toEqual(new Set(["unknown"]))
    }
  })

  it("finds none in a few frames of noise that are like some of the agent's", () => {
    const canceller = new EchoCanceller(8000)
    const tone = (hz: number) => Int16Array.from({ length }, (_, n) => 9000 * Math.sin((2 * Math.PI * hz * n) / 8000))
    const noise = onQuietLine(new Float32Array(20 * length), 8)
    // Both begin with the same sound of 60 ms, as two words may.
    for (let n = 0; n < 18; n++) canceller.send(tone(n < 3 ? 400 : 900 + 50 * n), 20 * n)
    for (let n = 0; n < 20; n++) {
      canceller.push(
        n < 17 ? noise.map((sample) => 20 * sample).subarray(n * length, (n + 1) * length) : tone(400),
        20 * n,
        true
      )
      if (n >= 14) expect(canceller.finds((n + 1) * 20)).toBe(false)
    }
    expect(canceller.line).toBe("unknown")
  })

  it("finds none in a word that ends like the agent's and begins otherwise", () => {
    const canceller = new EchoCanceller(8000)
    const tone = (hz: number) => Int16Array.from({ length }, (_, n) => 9000 * Math.sin((2 * Math.PI * hz * n) / 8000))
    const [ofAgent, ofCaller, ofBoth] = [400, 450, 500].map((hz) => (n: number) => tone(hz + 200 * Math.floor(n / 3)))
    for (let n = 0; n < 46; n++) {
      if (n < 22) canceller.send((n < 12 ? ofAgent : ofBoth)?.(n) ?? tone(0), 20 * n)
      const said = n - 24
      canceller.push((said < 0 ? undefined : said < 12 ? ofCaller : ofBoth)?.(said) ?? tone(0), 20 * n, true)
      if (said >= 14) expect(canceller.finds((said + 1) * 20)).toBe(false)
    }
    expect(canceller.line).toBe("unknown")
  })

  it("leaves a caller over the echo as he is", () => {
    const both = cancelled(line(12, 130, caller))
    const heard = onQuietLine(caller, 5)
    const spoken = both
      .map(({ left, sound }, n) => ({ left, sound, own: rms(heard.subarray(n * length, n * length + length)) }))
      .filter(({ own }) => own > 400)
    expect(spoken.filter(({ sound }) => sound === "echo").length / spoken.length).toBeLessThan(0.05)
    for (const { left, own } of spoken) expect(Math.abs(left - own) / own).toBeLessThan(0.5)
  })

  it("follows at once when the times of what is heard move by some frames, and takes no other sound for it", () => {
    const frames = cancelled(line(6, 130), (n) => 20 * n + (n >= 300 ? 80 : 0))
    expect(frames[299]?.line).toBe("present")
    const moved = frames.slice(305).filter(({ level }) => level > 200)
    expect(moved.filter(({ sound }) => sound === "echo").length / moved.length).toBeGreaterThan(0.9)
  })
})

import loadFvad from "@echogarden/fvad-wasm"
import { describe, expect, it } from "@effect/vitest"
import { FvadPool } from "@svc/audio/FvadPool"
import { SpeechDetector } from "@svc/audio/SpeechDetector"
import { agentTrack, type EchoPath, echoOf, onQuietLine } from "@svc/audio/testing/Echo"
import { recordings } from "@svc/audio/testing/Recordings"
import { louder, mix, rms, type Signal } from "@svc/audio/testing/Signal"
import type { VoiceActivityDetector } from "@svc/providers/VoiceActivity"
import { EchoGuard } from "../../src/media/EchoGuard.ts"

const pool = new FvadPool(await loadFvad())
const callers = recordings("callers")
const seconds = 20
const agent = agentTrack(recordings("agent"), seconds, -26, 7)
const frameLength = 160
/** The level from which a frame is sound. */
const audible = 100

/** A caller who speaks from 8 s on, with pauses of 3 s. */
const caller = (() => {
  const signal = new Float32Array(seconds * 8000)
  let at = 8 * 8000
  for (const utterance of callers) {
    if (at + utterance.signal.length > signal.length) break
    signal.set(louder(utterance.signal, -26), at)
    at += utterance.signal.length + 3 * 8000
  }
  return signal
})()
const isCalling = (from: number) => rms(caller, from, from + frameLength) > audible

/** What passes of each frame that is heard while the agent speaks: the levels. */
const guarded = (heard: Int16Array, detector: VoiceActivityDetector): ReadonlyArray<ReadonlyArray<number>> => {
  let passed: Array<number> = []
  const guard = new EchoGuard({ sampleRate: 8000, delayMs: 0, pass: (frame) => void passed.push(rms(frame)) })
  return Array.from({ length: heard.length / frameLength }, (_, n) => {
    passed = []
    const from = n * frameLength
    const frame = heard.subarray(from, from + frameLength)
    const sent = agent.subarray(from, from + frameLength)
    const isSent = sent.some((sample) => Math.abs(sample) > 8)
    if (isSent) guard.sent(sent, n * 20)
    detector.sent?.(isSent ? sent : undefined)
    guard.judge(frame, detector.push(frame) === "speech", n * 20)
    guard.passOn(frame)
    return passed
  })
}

const through = (path: EchoPath, voice?: Signal) => {
  const echo = echoOf(agent, path, 3)
  return guarded(onQuietLine(voice === undefined ? echo : mix(echo, voice), 5), new SpeechDetector(8000, pool.open()))
}

const soundsIn = (levels: ReadonlyArray<ReadonlyArray<number>>) =>
  levels.flat().filter((level) => level > audible).length

describe("EchoGuard", () => {
  const paths = [0, 6, 12, 20, 28].flatMap((down) => [60, 200, 400].map((delayMs) => ({ down, delayMs })))

  it.each(paths)("lets nothing pass of the echo of a line, $down dB down after $delayMs ms", (path) => {
    expect(soundsIn(through({ ...path, kind: "line" }))).toBe(0)
  })

  it.each(paths)("passes on a caller who talks over the echo of a line, $down dB down after $delayMs ms", (path) => {
    const levels = through({ ...path, kind: "line" }, caller)
    const speech = levels.filter((_, n) => isCalling(n * frameLength))
    expect(soundsIn(speech) / speech.length).toBeGreaterThan(path.down < 6 ? 0.6 : 0.7)
  })

  it("passes every frame on as it is while the agent is silent, whatever the detector says", () => {
    const passed: Array<Int16Array> = []
    const guard = new EchoGuard({
      sampleRate: 8000,
      delayMs: 0,
      pass: (frame) => void passed.push(frame.slice())
    })
    const frames = Array.from({ length: 50 }, (_, n) => Int16Array.from({ length: frameLength }, (_, i) => n * 200 + i))
    for (const [n, frame] of frames.entries()) {
      guard.judge(frame, n % 7 === 3, n * 20)
      guard.passOn(frame)
    }
    expect(passed).toEqual(frames)
  })

  it("passes what a caller says while the agent speaks on a line without an echo, whatever the detector says", () => {
    const silent: VoiceActivityDetector = { push: () => "silence" }
    const levels = guarded(onQuietLine(caller, 5), silent)
    const spoken = caller.filter((_, n) => n % frameLength === 0).filter((_, n) => isCalling(n * frameLength)).length
    expect(soundsIn(levels)).toBeGreaterThanOrEqual(spoken)
    expect(levels.flat()).toHaveLength(levels.length)
  })
})

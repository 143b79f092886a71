import { spawn, spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { MPEGDecoder } from "mpg123-decoder"
import { describe, expect, it } from "vitest"

const root = fileURLToPath(new URL("../..", import.meta.url))
const isInstalled = spawnSync("espeak-ng", ["--version"]).status === 0

const runDemo = (args: ReadonlyArray<string>, more: NodeJS.ProcessEnv = {}) =>
  new Promise<{ readonly code: number | null; readonly output: string }>((resolve) => {
    const fromSources = ["--conditions=@svc/source", "--import", "tsx", "simulator/src/demo/main.ts"]
    const child = spawn(process.execPath, [...fromSources, ...args], {
      cwd: root,
      env: { ...process.env, ...more },
      stdio: ["ignore", "pipe", "pipe"]
    })
    let output = ""
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (data) => {
        output += String(data)
      })
    }
    child.on("close", (code) => resolve({ code, output }))
  })

const decode = async (file: Uint8Array) => {
  const decoder = new MPEGDecoder()
  await decoder.ready
  const { channelData, sampleRate } = decoder.decode(file)
  decoder.free()
  return { caller: channelData[0] ?? new Float32Array(0), agent: channelData[1] ?? new Float32Array(0), sampleRate }
}

/** Stretches of 32 ms that are not quiet. */
const loud = (samples: Float32Array, sampleRate: number): ReadonlyArray<Float32Array> => {
  const size = Math.round(sampleRate * 0.032)
  return Array.from({ length: Math.floor(samples.length / size) }, (_, n) =>
    samples.subarray(n * size, (n + 1) * size)
  ).filter((part) => part.reduce((sum, sample) => sum + sample * sample, 0) / size > 0.0004)
}

/** The strength of a frequency in a stretch, without a scale. */
const strength = (part: Float32Array, sampleRate: number, hz: number): number => {
  let [real, imaginary] = [0, 0]
  part.forEach((sample, i) => {
    // A Hann window, so that neighbouring frequencies do not leak.
    const windowed = sample * (0.5 - 0.5 * Math.cos((2 * Math.PI * i) / part.length))
    real += windowed * Math.cos((2 * Math.PI * hz * i) / sampleRate)
    imaginary += windowed * Math.sin((2 * Math.PI * hz * i) / sampleRate)
  })
  return Math.hypot(real, imaginary)
}

/** The share of a band of frequencies in the energy between 100 and 3,900 Hz. */
const share = (parts: ReadonlyArray<Float32Array>, sampleRate: number, from: number, to: number): number => {
  let [inside, all] = [0, 0]
  for (const part of parts) {
    for (let hz = 100; hz < 3900; hz += 31.25) {
      const energy = strength(part, sampleRate, hz) ** 2
      all += energy
      if (hz >= from && hz < to) inside += energy
    }
  }
  return inside / all
}

describe.skipIf(!isInstalled)(
  isInstalled ? "the demo with a real voice" : "espeak-ng is not installed: the demo with its voice was not tested",
  () => {
    it("plays a call, and its recording has a voice on the agent's side and tones on the caller's", {
      timeout: 120_000
    }, async () => {
      const recordings = mkdtempSync(join(tmpdir(), "svc-demo-voice-"))
      try {
        const { code, output } = await runDemo(["--voice", "espeak", "--recordings", recordings])
        expect(code, output).toBe(0)
        expect(output).toContain("assistant  Friday: 9:00 or 10:30.")
        const [file = ""] = readdirSync(join(recordings, "recordings"))
        const { agent, caller, sampleRate } = await decode(readFileSync(join(recordings, "recordings", file)))
        const seconds = Number(/duration {6}(\d+) s/.exec(output)?.[1])
        expect(Math.abs(agent.length / sampleRate - seconds)).toBeLessThan(1.5)

        const voice = loud(agent, sampleRate)
        const tones = loud(caller, sampleRate)
        // Three sentences, of at least five seconds together, with the pauses in them.
        expect(voice.length * 0.032).toBeGreaterThan(2)
        expect(voice.length * 0.032).toBeLessThan(8)
        // A voice has its fundamental and first formant there; tone speech has hardly anything.
        expect(share(voice, sampleRate, 100, 600)).toBeGreaterThan(0.25)
        expect(share(tones, sampleRate, 100, 600)).toBeLessThan(0.15)
      } finally {
        rmSync(recordings, { recursive: true, force: true })
      }
    })
  }
)

describe("the demo with a voice that is not installed", () => {
  it("says what to install, and starts nothing", async () => {
    const { code, output } = await runDemo(["--voice", "espeak"], { PATH: "/nowhere" })
    expect(code).toBe(1)
    expect(output).toBe("espeak-ng is not installed: install it first (on Debian: apt-get install espeak-ng)\n")
  })
})

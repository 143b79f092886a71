// How well the built-in voice activity detector finds speech in noise and echo, and what it costs: npm run bench:ear
import { parseArgs } from "node:util"
import { codecOf } from "@svc/audio/Codec"
import { DtmfDetector } from "@svc/audio/DtmfDetector"
import { JitterBuffer } from "@svc/audio/JitterBuffer"
import { agentTrack } from "@svc/audio/testing/Echo"
import * as Measurement from "@svc/audio/testing/Measurement"
import {
  firstNoises,
  groupOf,
  heldOutNoises,
  type NoiseName,
  secondNoises,
  thirdNoises
} from "@svc/audio/testing/Noise"
import { louder, mix, sampleRate, throughTelephone } from "@svc/audio/testing/Signal"
import { speechTrack, type Utterance } from "@svc/audio/testing/SpeechTrack"
import * as Targets from "@svc/audio/testing/Targets"
import { builtInVoiceActivity } from "@svc/call-engine/media/BuiltInVoiceActivity"
import { Effect } from "effect"
import * as EspeakSpeech from "./EspeakSpeech.ts"
import { table } from "./Table.ts"
import { type Line, verdictOf } from "./Verdict.ts"

const { values: options } = parseArgs({ options: { quick: { type: "boolean" }, only: { type: "string" } } })
const quick = options.quick === true
const runs = (part: string): boolean => options.only === undefined || options.only === part
const speechLevel = -26
/** Seconds of a noise under speech, and alone. */
const noiseSeconds = quick ? 60 : 300
const aloneSeconds = quick ? 60 : 600
const echoCalls = quick ? 3 : 10

const detectors = await Effect.runPromise(builtInVoiceActivity)
const open: Measurement.OpenDetector = () => detectors.open(sampleRate)

const agent = EspeakSpeech.agent()
const every = quick ? 4 : 1
const callers = EspeakSpeech.callers().filter((_, i) => i % every === 0)
const secondCallers = EspeakSpeech.secondCallers().filter((_, i) => i % every === 0)
const heldOutCallers = EspeakSpeech.heldOutCallers().filter((_, i) => i % every === 0)

const percent = (share: number): number => share * 100
const cell = (value: number, digits = 0): string => (Number.isFinite(value) ? value.toFixed(digits) : "–").padStart(7)
const print = (text: string): void => console.log(text)

/** A figure, what it is of, and its target. */
interface Judged {
  readonly of: string
  readonly noise?: NoiseName
  readonly figure: number
  readonly target: Targets.Target
}

/** The figure that is furthest from its must, as a line of the result. */
const worst = (what: string, unit: Line["unit"], judged: ReadonlyArray<Judged>, atLeast = false): Line => {
  const excess = ({ figure, target }: Judged): number => (atLeast ? target.must - figure : figure - target.must)
  const missesGoal = ({ figure, target }: Judged): number => (atLeast ? target.goal - figure : figure - target.goal)
  const [first] = judged.toSorted((a, b) => excess(b) - excess(a) || missesGoal(b) - missesGoal(a))
  if (first === undefined) throw new Error(`nothing was measured for "${what}"`)
  const scale = unit === "%" ? 100 : 1
  return {
    what: `${what}: worst is ${first.of}`,
    figure: first.figure * scale,
    unit,
    budget: {
      must: first.target.must * scale,
      goal: first.target.goal * scale,
      ...(atLeast ? { atLeast } : { atMost: true })
    }
  }
}

/** Speech in each noise, and each noise alone. */
const measureNoises = (): ReadonlyArray<Line> => {
  const found: Record<Targets.Snr, Array<Judged>> = { 20: [], 10: [] }
  const onsets: Record<Targets.Snr, Array<Judged>> = { 20: [], 10: [] }
  const ends: Array<Judged> = []
  const falseSpeech: Record<Targets.Snr, Array<Judged>> = { 20: [], 10: [] }
  const stretches: Array<Judged> = []
  print(
    "noise         dB  found %  onset median p95 ms  end median p95  missed  alone: speech %  stretches ≥ 100 250 500"
  )
  const measure = (names: ReadonlyArray<NoiseName>, utterances: ReadonlyArray<Utterance>): void => {
    const track = speechTrack(utterances, speechLevel, 5)
    const noises = new Measurement.NoiseStore(utterances)
    for (const name of names) {
      for (const snr of [20, 10] as const) {
        const speech = Measurement.speechIn(open, track, noises.get(name, noiseSeconds, 5), snr, speechLevel)
        const alone = Measurement.falseSpeech(open, name, noises.get(name, aloneSeconds, 3), speechLevel - snr)
        const onset = Measurement.quantile(speech.onsets, 0.5)
        const end = Measurement.quantile(speech.ends, 0.5)
        const of = `${name} ${snr} dB`
        const perTenMinutes = alone.stretches.map((count) => (count * 600) / aloneSeconds)
        found[snr].push({ of, noise: name, figure: speech.share, target: Targets.foundTarget(name, snr) })
        onsets[snr].push({ of, figure: onset, target: Targets.onsetTarget(snr) })
        ends.push({ of, figure: end, target: Targets.endTarget })
        falseSpeech[snr].push({ of, figure: alone.share, target: Targets.falseSpeechTarget(name, snr) })
        stretches.push({ of, figure: perTenMinutes[1] ?? 0, target: Targets.falseStretchesTarget(name, snr) })
        print(
          [
            `${name.padEnd(12)}  ${snr}`,
            cell(percent(speech.share), 1),
            cell(onset),
            cell(Measurement.quantile(speech.onsets, 0.95)),
            cell(end),
            cell(Measurement.quantile(speech.ends, 0.95)),
            cell(speech.missed),
            cell(percent(alone.share), 2),
            ...perTenMinutes.map((count) => cell(count))
          ].join(" ")
        )
      }
    }
  }
  measure(firstNoises, callers)
  print("other noises, languages and voices")
  measure(secondNoises, secondCallers)
  print("more people in rooms, more blows")
  measure(thirdNoises, [...callers, ...secondCallers])
  print("held out: noises, languages and voices that no constant was chosen with")
  measure(heldOutNoises, heldOutCallers)
  return [
    worst("speech found at 20 dB", "%", found[20], true),
    ...(["others", "music", "babble"] as const).map((group) => {
      const isIn = ({ noise = "white" }: Judged) => {
        const own = groupOf(noise)
        return group === (own === "music" || own === "babble" ? own : "others")
      }
      return worst(`speech found at 10 dB, ${group}`, "%", found[10].filter(isIn), true)
    }),
    worst("noise called speech at 20 dB", "%", falseSpeech[20]),
    worst("noise called speech at 10 dB", "%", falseSpeech[10]),
    worst("onset at 20 dB, median", "ms", onsets[20]),
    worst("onset at 10 dB, median", "ms", onsets[10]),
    worst("end, median", "ms", ends),
    worst("250 ms of speech in 10 min of noise", "", stretches)
  ]
}

/** Paths, and who speaks on them. */
interface EchoMaterial {
  readonly delays: ReadonlyArray<number>
  readonly downs: ReadonlyArray<number>
  readonly agent: ReadonlyArray<Utterance>
  readonly callers: ReadonlyArray<Utterance>
}
const firstEcho: EchoMaterial = { delays: quick ? [137] : [60, 137, 250, 400], downs: [6, 12, 20], agent, callers }
const secondEcho: EchoMaterial = {
  delays: quick ? [205] : [95, 205, 320],
  downs: [9, 17],
  agent: EspeakSpeech.secondAgent(),
  callers: secondCallers
}
const heldOutEcho: EchoMaterial = {
  delays: quick ? [170] : [75, 170, 365],
  downs: [7, 14],
  agent: EspeakSpeech.heldOutAgent(),
  callers: heldOutCallers
}

/** The agent's own echo, without and with a caller. */
const measureEcho = (): ReadonlyArray<Line> => {
  const fixed: Array<Judged> = []
  const moved: Array<Judged> = []
  const heard: Array<Judged> = []
  const latency: Array<Judged> = []
  print("\necho: path   ms  down  false ≥ 100 250 500  callers at its level: heard %  median p95 ms  ≥ 250 ms %")
  const measure = (name: string, kind: "line" | "room" | "moving", material: EchoMaterial): void => {
    for (const delayMs of material.delays) {
      for (const down of material.downs) {
        const path = { kind: kind === "room" ? "room" : "line", delayMs, down } as const
        const calls = Measurement.echoCalls({
          lines: material.agent,
          calls: echoCalls,
          seconds: 60,
          path,
          ...(kind === "moving" ? { movesTo: { kind: "room", delayMs: delayMs + 120, down: down - 4 } } : {})
        })
        const of = `${name}${kind} ${delayMs} ms ${down} dB`
        const falses = Measurement.falseInterruptions(open, calls).map((count) => (count * 10) / echoCalls)
        const both = Measurement.heardCallers(open, calls, material.callers, 0)
        const share = both.heard / both.callers
        const median = Measurement.quantile(both.delays, 0.5)
        if (kind === "moving") {
          // One change in each call: the figure is for one change.
          moved.push({ of, figure: (falses[1] ?? 0) / 10, target: Targets.movedEchoTarget })
        } else {
          fixed.push({ of, figure: falses[1] ?? 0, target: Targets.echoTarget })
          heard.push({ of, figure: share, target: Targets.callersTarget })
          latency.push({ of, figure: median, target: Targets.callerDelayTarget })
        }
        print(
          [
            `${kind.padEnd(6)} ${String(delayMs).padStart(8)} ${String(down).padStart(5)}`,
            ...falses.map((count) => cell(count)),
            cell(percent(share), 1),
            cell(median),
            cell(Measurement.quantile(both.delays, 0.95)),
            cell(percent(both.interrupting / both.longCallers), 1)
          ].join(" ")
        )
      }
    }
  }
  const kinds = ["line", "room", "moving"] as const
  for (const kind of kinds) measure("", kind, firstEcho)
  print("other delays, callers and agents")
  for (const kind of kinds) measure("", kind, secondEcho)
  print("held out: delays, callers and agents that no constant was chosen with")
  for (const kind of kinds) measure("held out ", kind, heldOutEcho)
  return [
    worst("interruptions by the own echo in 10 min", "", fixed),
    worst("interruptions by the own echo after a change of its path", "", moved),
    worst("callers at the level of the echo heard", "%", heard, true),
    worst("time until such a caller is heard, median", "ms", latency)
  ]
}

/** Seconds of CPU time for a second of packets of 20 ms, one in a hundred of which is lost, in a jitter buffer. */
const jitterBufferCost = (heard: Int16Array): number => {
  const codec = codecOf({ encoding: "mulaw", sampleRate })
  const bytes = new Uint8Array(heard.length)
  codec.encode(heard, 0, heard.length, bytes, 0)
  let best = Number.POSITIVE_INFINITY
  for (let run = 0; run < 8; run++) {
    const buffer = new JitterBuffer({ sampleRate, codec, onFrame: () => {} })
    const before = process.cpuUsage()
    for (let index = 0; (index + 1) * 160 <= bytes.length; index++) {
      if (index % 100 !== 99) {
        buffer.pushPacket(bytes.subarray(index * 160, (index + 1) * 160), index & 0xffff, index * 160, index * 20)
      }
      buffer.tick(index * 20)
    }
    const { system, user } = process.cpuUsage(before)
    best = Math.min(best, (user + system) / 1e6 / (heard.length / sampleRate))
  }
  return best
}

/** Digits that are found in speech, where none is pressed, at three levels. */
const measureDigits = (): ReadonlyArray<Line> => {
  const seconds = quick ? 300 : 3600
  const levels = [-36, -26, -16]
  const found: Array<string> = levels.map(() => "")
  let [samples, cpu] = [0, 0]
  for (const { signal } of EspeakSpeech.longSpeech(seconds)) {
    samples += signal.length
    for (const [i, level] of levels.entries()) {
      const heard = throughTelephone(louder(signal, level))
      const detector = new DtmfDetector(sampleRate)
      const before = process.cpuUsage()
      found[i] = (found[i] ?? "") + detector.push(heard)
      const { system, user } = process.cpuUsage(before)
      cpu += user + system
    }
  }
  const heardSeconds = samples / sampleRate
  for (const [i, level] of levels.entries()) {
    print(`digits in ${(heardSeconds / 60).toFixed(0)} min of speech at ${level} dBov: "${found[i]}"`)
  }
  print(`cost: ${(cpu / 1000 / (heardSeconds * levels.length)).toFixed(3)} ms of CPU time per second of speech`)
  return [
    worst(
      "digits in an hour of speech",
      "",
      levels.map((level, i) => ({
        of: `${level} dBov`,
        figure: ((found[i] ?? "").length * 3600) / heardSeconds,
        target: Targets.digitsTarget
      }))
    )
  ]
}

/** The CPU time of calls in which each side speaks half of the time. */
const measureCost = (): ReadonlyArray<Line> => {
  const seconds = 60
  const { signal } = speechTrack(callers, speechLevel, 7)
  const noise = new Measurement.NoiseStore(callers).get("pink", seconds, 7)
  const heard = throughTelephone(mix(signal.slice(0, seconds * sampleRate), louder(noise, speechLevel - 30)))
  const sent = agentTrack(agent, seconds, -20, 7)
  // Five seconds of the agent, five seconds without it.
  for (let at = 0; at < sent.length; at++) if (Math.floor(at / sampleRate / 5) % 2 === 1) sent[at] = 0
  let best = Number.POSITIVE_INFINITY
  for (let run = 0; run < 8; run++) {
    const before = process.cpuUsage()
    Measurement.decisions(open, heard, sent)
    const { system, user } = process.cpuUsage(before)
    best = Math.min(best, (user + system) / 1e6 / (heard.length / sampleRate))
  }
  const buffer = jitterBufferCost(heard)
  const ms = (seconds: number): string => (seconds * 1000).toFixed(3)
  print(
    `\ncost: ${ms(best)} ms of CPU time per second of a call, and ${ms(buffer)} ms for the jitter buffer; best of 8 runs`
  )
  return [
    worst("a core for 500 calls", "%", [
      { of: "half of the time each", figure: (best + buffer) * 500, target: Targets.costTarget }
    ])
  ]
}

const lines = [
  ...(runs("noise") ? measureNoises() : []),
  ...(runs("echo") ? measureEcho() : []),
  ...(runs("digits") ? measureDigits() : []),
  ...(runs("cost") ? measureCost() : [])
]
print(`\n${table("Voice activity", lines)}`)
process.exitCode = lines.some((line) => verdictOf(line) === "missed") ? 1 : 0

import { readFile } from "node:fs/promises"
import { signalProcessing } from "@svc/call-engine/media/SignalProcessing"
import { mulawToPcm } from "@svc/providers/G711"
import { Effect } from "effect"

/** PCM16 mono. */
export interface Speech {
  readonly samples: Int16Array
  /** Hz. */
  readonly sampleRate: number
}

export const frameMs = 20

/** A synthetic voice that says {@link file://./Probes.ts sampleText}: mu-law at 8 kHz. */
export const recorded: Effect.Effect<Speech> = Effect.promise(() =>
  readFile(new URL("../../../assets/speech-sample.ulaw", import.meta.url))
).pipe(
  Effect.map((bytes) => {
    const samples = new Int16Array(bytes.length)
    mulawToPcm(bytes, 0, bytes.length, samples, 0)
    return { samples, sampleRate: 8000 }
  })
)

/** The samples at another rate. */
export const atRate = ({ sampleRate, samples }: Speech, rate: number): Effect.Effect<Int16Array> =>
  sampleRate === rate
    ? Effect.succeed(samples)
    : Effect.map(signalProcessing, ({ makeResampler }) => {
        const resampler = makeResampler(sampleRate, rate)
        const [most, rest] = [resampler.push(samples), resampler.end()]
        const all = new Int16Array(most.length + rest.length)
        all.set(most)
        all.set(rest, most.length)
        return all
      })

/** Frames of 20 ms; the last is filled with silence. */
export const framesOf = (samples: Int16Array, rate: number): ReadonlyArray<Int16Array> => {
  const size = (rate * frameMs) / 1000
  return Array.from({ length: Math.ceil(samples.length / size) }, (_, n) => {
    const frame = new Int16Array(size)
    frame.set(samples.subarray(n * size, (n + 1) * size))
    return frame
  })
}

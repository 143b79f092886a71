import { nearestRate, Resampler } from "@svc/audio/Resampler"
import type { SpeechToText, SpeechToTextOptions, SpeechToTextSession } from "@svc/providers/SpeechToText"
import { type Context, Effect } from "effect"

/** A session that takes audio of another sample rate. */
const converted = (session: SpeechToTextSession, from: number, to: number): SpeechToTextSession => {
  const resampler = new Resampler(from, to)
  return {
    ...session,
    push: (frame) => session.push(resampler.push(frame)),
    finish: Effect.suspend(() => {
      session.push(resampler.end())
      return session.finish
    })
  }
}

/** Opens a session that takes audio of the sample rate of `options`, whatever rates its provider has. */
export const openSession = (stt: Context.Tag.Service<SpeechToText>, options: SpeechToTextOptions) => {
  const sampleRate = nearestRate(options.sampleRate, stt.capabilities.sampleRates)
  return Effect.map(stt.open({ ...options, sampleRate }), (session) =>
    sampleRate === options.sampleRate ? session : converted(session, options.sampleRate, sampleRate)
  )
}

import { SpeechDetector } from "@svc/audio/SpeechDetector"
import { CallMedia } from "@svc/call-engine/media/CallMedia"
import { FrameWheel } from "@svc/call-engine/media/FrameWheel"
import { mulaw } from "@svc/plugin-simulated/Law"
import { CallerAudio } from "@svc/plugin-simulated/Network/CallerAudio"
import { type Impairments, LineImpairments } from "@svc/plugin-simulated/Network/LineImpairments"
import { ManualTime } from "@svc/plugin-simulated/Network/ManualTime"
import { MediaClock } from "@svc/plugin-simulated/Network/NetworkClock"
import type { TimeSource } from "@svc/plugin-simulated/Network/TimeSource"
import type { LegRealism } from "@svc/plugin-simulated/Realism/Realism"
import { Seeded } from "@svc/plugin-simulated/Realism/Seeded"
import { ToneDecoder } from "@svc/plugin-simulated/ToneSpeech/ToneDecoder"
import { ToneEncoder } from "@svc/plugin-simulated/ToneSpeech/ToneEncoder"
import { renderFrame } from "@svc/plugin-simulated/ToneSpeech/ToneFrames"
import { mulaw8k } from "@svc/providers/Audio"

/** The line of a call. Timers of both sides fire up to `lateMs` late. */
export interface EchoLine {
  readonly leg?: LegRealism
  readonly impairments?: Impairments
  readonly startsAt?: number
  readonly lateMs?: number
}

/**
 * The media of one call between the engine and a phone of the simulated network, in time that is advanced explicitly. The
 * agent's words are given; the caller's are what tone speech-to-text understands.
 */
export class EchoCall {
  /** What speech-to-text understood: each utterance when it ended. */
  readonly understood: Array<string> = []
  /** Called with each of them, and with the first letter and each word of one. */
  onFinal: (text: string) => void = () => {}
  onPartial: (text: string) => void = () => {}
  readonly media: CallMedia
  readonly #time = new ManualTime()
  readonly #timers: TimeSource
  readonly #phone: CallerAudio
  #utterances = 0

  constructor({ impairments = {}, lateMs = 0, leg = {}, startsAt = 0 }: EchoLine) {
    this.#time.advance(startsAt)
    const late = new Seeded(7)
    const timers: TimeSource = {
      now: this.#time.now,
      schedule: (callback, ms) => this.#time.schedule(callback, ms + lateMs * late.next())
    }
    this.#timers = timers
    const decoder = new ToneDecoder({
      started: () => {},
      progressed: (text) => this.onPartial(text),
      ended: (text) => {
        if (text === "") return
        this.understood.push(text)
        this.onFinal(text)
      }
    })
    let isWaiting = false
    const tick = (): void => {
      isWaiting = false
      wheel.tickDueSlots(timers.now() + 0.3, timers.now)
      wait()
    }
    const wait = (): void => {
      if (isWaiting || wheel.idle) return
      isWaiting = true
      timers.schedule(tick, Math.max(1, Math.ceil(wheel.nextDue - timers.now() - 0.3)))
    }
    const wheel = new FrameWheel(wait)
    this.#phone = new CallerAudio(
      new MediaClock(timers),
      new LineImpairments(impairments, 3),
      (payload, packet) => this.media.receive(payload, packet?.sequence, packet?.timestamp),
      { law: mulaw, realism: () => leg, random: new Seeded(5) }
    )
    this.media = new CallMedia({
      format: mulaw8k,
      wheel,
      now: timers.now,
      send: (frame) => this.#phone.played(frame.slice()),
      detector: new SpeechDetector(mulaw8k.sampleRate),
      listener: {
        onFrame: () => {},
        onCleanFrame: (frame) => decoder.push(frame),
        onVoiceActivity: () => {},
        onStarted: () => {},
        onPlayed: () => {}
      }
    })
  }

  wait(ms: number): void {
    this.#time.advance(ms)
  }

  /** The agent speaks, `after` so many ms. */
  agent(text: string, after = 0): void {
    if (after > 0) {
      this.#timers.schedule(() => this.agent(text), after)
      return
    }
    const encoder = new ToneEncoder(text)
    const frame = new Int16Array(160)
    this.media.begin(`u${this.#utterances++}`, text)
    for (let key = encoder.next(); key >= 0; key = encoder.next()) {
      renderFrame(key, mulaw8k.sampleRate, frame, 0)
      this.media.write(frame)
    }
    this.media.end()
  }

  caller(text: string): void {
    this.#phone.say(text)
  }
}

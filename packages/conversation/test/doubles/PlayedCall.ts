import type { Command } from "../../src/Command.ts"
import { type Conversation, start, step } from "../../src/Conversation.ts"
import type { Facts, Input, UntimedInput } from "../../src/Input.ts"
import type { Timer } from "../../src/Timer.ts"

/** The delays of the simulated providers of a played call. */
export interface ProviderDelays {
  /** Milliseconds from Speak to the first audio; null: speech is reported only by inputs of the test. */
  readonly voice: number | null
  /** Milliseconds until speech-to-text has finished after StopListening; null: it hangs. */
  readonly recognizer: number | null
}

export const defaultDelays: ProviderDelays = { voice: 100, recognizer: 0 }

/** Characters per second of text-to-speech. */
const speed = 15

interface Speech {
  readonly id: string
  readonly text: string
  readonly asked: number
  readonly starts: number
  readonly ends: number
  started: boolean
}

/** One input and its commands. */
export interface Played {
  readonly input: Input
  readonly commands: ReadonlyArray<Command>
}

/**
 * A conversation with simulated providers in virtual time: speech is played at 15 characters per second, timers fire
 * when due, and the played part of stopped speech is reported to the character.
 */
export class PlayedCall {
  state: Conversation
  at = 0
  readonly steps: Array<Played> = []
  readonly first: ReadonlyArray<Command>
  private readonly delays: ProviderDelays
  private readonly timers = new Map<Timer, number>()
  private speeches: Array<Speech> = []
  /** Speech that was stopped, and what was played of each. */
  private held: ReadonlyArray<{ readonly speech: Speech; readonly played: string }> = []
  private finishes = Number.POSITIVE_INFINITY
  private readonly pending: Array<UntimedInput> = []
  private feeding = false

  constructor(facts: Facts, delays: ProviderDelays = defaultDelays) {
    this.delays = delays
    const [state, commands] = start(facts)
    this.state = state
    this.first = commands
  }

  get commands(): ReadonlyArray<Command> {
    return [...this.first, ...this.steps.flatMap(({ commands }) => commands)]
  }

  input(untimed: UntimedInput): this {
    this.pending.push(untimed)
    if (this.feeding) return this
    this.feeding = true
    for (let next = this.pending.shift(); next !== undefined; next = this.pending.shift()) {
      if (this.state.phase === "over") continue
      const input = { ...next, at: this.at } as Input // an input with its time
      const [state, commands] = step(this.state, input)
      this.state = state
      this.steps.push({ input, commands })
      for (const command of commands) this.obey(command)
    }
    this.feeding = false
    return this
  }

  /** Advances time; due inputs are fed in order, each at its time. */
  until(end: number): this {
    for (;;) {
      const speech = this.speeches[0]
      const sound = speech === undefined ? Number.POSITIVE_INFINITY : speech.started ? speech.ends : speech.starts
      const [timer, due] = [...this.timers].sort(([, a], [, b]) => a - b)[0] ?? [undefined, Number.POSITIVE_INFINITY]
      const next = Math.min(sound, due, this.finishes)
      if (next > end) break
      this.at = Math.max(this.at, next)
      if (next === this.finishes) {
        this.finishes = Number.POSITIVE_INFINITY
        this.input({ _tag: "RecognizerFinished" })
      } else if (speech !== undefined && next === sound) {
        if (speech.started) this.speeches.shift()
        const { asked, id, started } = speech
        speech.started = true
        if (started) this.input({ _tag: "SpeechPlayed", id })
        else if (asked > speech.starts) this.input({ _tag: "SpeechStarted", id })
        else {
          const voice = { asked_at: asked, audio_at: asked + (this.delays.voice ?? 0) }
          this.input({ _tag: "SpeechStarted", id, voice })
        }
      } else if (timer !== undefined) {
        this.timers.delete(timer)
        this.input({ _tag: "TimerFired", timer })
      }
    }
    this.at = Math.max(this.at, end)
    return this
  }

  private obey(command: Command): void {
    if (command._tag === "StartTimer") this.timers.set(command.timer, this.at + command.ms)
    else if (command._tag === "StopTimer") this.timers.delete(command.timer)
    else if (command._tag === "StopListening")
      this.finishes = this.at + (this.delays.recognizer ?? Number.POSITIVE_INFINITY)
    else if (command._tag === "Hangup") this.speeches = []
    else if (command._tag === "Speak" && this.delays.voice !== null) {
      const { id, text } = command
      const starts = Math.max(this.at + this.delays.voice, this.speeches.at(-1)?.ends ?? 0)
      const ends = starts + Math.round((text.length * 1000) / speed)
      this.speeches.push({ id, text, asked: this.at, starts, ends, started: false })
    } else if (command._tag === "StopSpeaking") {
      const stopped = this.speeches.map((speech) => ({
        speech,
        played: speech.text.slice(0, Math.max(0, Math.floor(((this.at - speech.starts) * speed) / 1000)))
      }))
      this.speeches = []
      // Only what has audio is held.
      this.held = command.hold === true && stopped[0]?.speech.started === true ? stopped : []
      const held = this.held.length > 0 ? { held: true as const } : {}
      this.input({
        _tag: "SpeechCleared",
        cuts: stopped.map(({ played, speech }) => ({ id: speech.id, played, ...held }))
      })
    } else if (command._tag === "ResumeSpeaking") {
      let starts = this.at
      this.speeches = this.held.map(({ played, speech }) => {
        const isWhole = speech.text.charAt(played.length) === " "
        const rest = speech.text.length - (isWhole ? played.length : played.lastIndexOf(" ")) - 1
        const from = starts
        starts += Math.round((rest * 1000) / speed)
        const before = Math.round(((speech.text.length - rest) * 1000) / speed)
        return { ...speech, asked: this.at, starts: from - before, ends: starts, started: false }
      })
      this.held = []
    } else if (command._tag === "DropSpeech") this.held = []
  }
}

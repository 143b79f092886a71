import type { Timer } from "../../src/Timer.ts"
import type { Script } from "../../src/testing/Script.ts"

/** How long every utterance plays, in milliseconds. */
export const spokenMs = 1000

/** A simulated shell in virtual time: plays every utterance, and fires timers when they are due. */
export class VirtualShell {
  readonly script: Script
  private done = 0
  private readonly timers = new Map<Timer, number>()
  private queue: Array<{ readonly id: string; readonly until: number }> = []

  constructor(script: Script) {
    this.script = script
    this.obey()
  }

  input(input: Parameters<Script["input"]>[0]): void {
    this.script.input(input)
    this.obey()
  }

  /** Advances time; due inputs are fed in order, each at its time. */
  advance(ms: number): void {
    const end = this.script.at + ms
    for (;;) {
      const [utterance] = this.queue
      const [timer, due] = [...this.timers].sort(([, a], [, b]) => a - b)[0] ?? [undefined, Number.POSITIVE_INFINITY]
      const next = Math.min(utterance?.until ?? Number.POSITIVE_INFINITY, due)
      if (next > end) break
      this.script.at = next
      if (utterance !== undefined && utterance.until === next) {
        this.queue.shift()
        this.input({ _tag: "SpeechPlayed", id: utterance.id })
      } else if (timer !== undefined) {
        this.timers.delete(timer)
        this.input({ _tag: "TimerFired", timer })
      }
    }
    this.script.at = end
  }

  private obey(): void {
    const { at, commands } = this.script
    while (this.done < commands.length) {
      const command = commands[this.done++]
      if (command?._tag === "StartTimer") this.timers.set(command.timer, at + command.ms)
      else if (command?._tag === "StopTimer") this.timers.delete(command.timer)
      else if (command?._tag === "Speak") {
        this.queue.push({ id: command.id, until: (this.queue.at(-1)?.until ?? at) + spokenMs })
        this.script.input({ _tag: "SpeechStarted", id: command.id })
      } else if (command?._tag === "StopSpeaking") {
        const cuts = this.queue.map(({ id }) => ({ id, played: "" }))
        this.queue = []
        this.script.input({ _tag: "SpeechCleared", cuts })
      }
    }
  }
}

import { Deferred, Effect } from "effect"
import { BrowserCaller } from "./BrowserCaller.ts"
import { type BenchCaller, Caller } from "./Caller.ts"
import { Pacer } from "./Pacer.ts"
import type { Dialling, LoadFigures, ProcessFigures } from "./ProcessRequests.ts"
import { AudioFigures } from "./ReceivedAudio.ts"

/** All callers, and the figures of the audio they received. */
export class Callers {
  private readonly pacer = new Pacer()
  private readonly heard = new AudioFigures()
  private callers: ReadonlyArray<BenchCaller> = []

  /** Places the calls one after the other; completes when each is answered or has failed. */
  dial({ browser = false, calls, continuous, rampMs, to, url }: Dialling): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      const dialled: Array<BenchCaller> = []
      this.callers = dialled
      const answers: Array<Deferred.Deferred<void>> = []
      for (let index = 0; index < calls; index++) {
        const answered = yield* Deferred.make<void>()
        answers.push(answered)
        const settled = () => Deferred.unsafeDone(answered, Effect.void)
        const options = { url, to, index, continuous, figures: this.heard, settled }
        const caller = browser ? new BrowserCaller(options) : new Caller(options)
        dialled.push(caller)
        this.pacer.add(caller)
        yield* Effect.sleep(rampMs / calls)
      }
      yield* Effect.forEach(answers, (answered) => Deferred.await(answered), { discard: true })
    })
  }

  measure(): void {
    this.heard.clear()
  }

  get figures(): Omit<LoadFigures, keyof ProcessFigures> {
    const { answer, frames, jitter, lateness, missing, turns } = this.heard
    return {
      lateness: lateness.quantiles,
      jitter: jitter.quantiles,
      answer: answer.quantiles,
      frames,
      missing,
      turns,
      up: this.callers.filter((caller) => caller.up).length,
      dropped: this.callers.filter((caller) => caller.dropped).length
    }
  }

  hangUp(): ReadonlyArray<string> {
    for (const caller of this.callers) {
      caller.hangUp()
      this.pacer.remove(caller)
    }
    return this.callers.flatMap(({ callId }) => callId ?? [])
  }

  close(): void {
    this.hangUp()
    this.pacer.stop()
  }
}

import { Deferred, Effect } from "effect"
import { Caller } from "./Caller.ts"
import { HeardFigures } from "./Hearing.ts"
import type { Dialling, Effort, LoadFigures } from "./Messages.ts"
import { Pace } from "./Pace.ts"

/** All callers, and what they heard. */
export class Exchange {
  private readonly pace = new Pace()
  private readonly heard = new HeardFigures()
  private callers: ReadonlyArray<Caller> = []

  /** Places the calls one after the other; completes when each is answered or has failed. */
  dial({ calls, continuous, rampMs, to, url }: Dialling): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      const dialled: Array<Caller> = []
      this.callers = dialled
      const answers: Array<Deferred.Deferred<void>> = []
      for (let index = 0; index < calls; index++) {
        const answered = yield* Deferred.make<void>()
        answers.push(answered)
        const settled = () => Deferred.unsafeDone(answered, Effect.void)
        const caller = new Caller({ url, to, index, continuous, figures: this.heard, settled })
        dialled.push(caller)
        this.pace.add(caller)
        yield* Effect.sleep(rampMs / calls)
      }
      yield* Effect.forEach(answers, (answered) => Deferred.await(answered), { discard: true })
    })
  }

  measure(): void {
    this.heard.clear()
  }

  get figures(): Omit<LoadFigures, keyof Effort> {
    const { answer, frames, jitter, lateness, missing, turns } = this.heard
    return {
      lateness: lateness.quantiles,
      jitter: jitter.quantiles,
      answer: answer.quantiles,
      frames,
      missing,
      turns,
      up: this.callers.filter((caller) => caller.up).length,
      fallen: this.callers.filter((caller) => caller.fallen).length
    }
  }

  hangUp(): ReadonlyArray<string> {
    for (const caller of this.callers) {
      caller.hangUp()
      this.pace.remove(caller)
    }
    return this.callers.flatMap(({ callId }) => callId ?? [])
  }

  close(): void {
    this.hangUp()
    this.pace.stop()
  }
}

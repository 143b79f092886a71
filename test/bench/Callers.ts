import * as dgram from "node:dgram"
import { Deferred, Effect } from "effect"
import { SipPhone } from "../src/sip/SipPhone.ts"
import { BrowserCaller } from "./BrowserCaller.ts"
import { type BenchCaller, Caller } from "./Caller.ts"
import { Pacer } from "./Pacer.ts"
import type { Dialling, LoadFigures, ProcessFigures } from "./ProcessRequests.ts"
import { AudioFigures } from "./ReceivedAudio.ts"
import { SipCaller } from "./SipCaller.ts"

/** A SIP phone for all calls, on a free port. */
const phoneFor = (url: string): Effect.Effect<SipPhone> =>
  Effect.async((resume) => {
    const socket = dgram.createSocket({ type: "udp4", recvBufferSize: 1 << 22 })
    socket.bind(0, "127.0.0.1", () => {
      const phone = new SipPhone(socket)
      phone.connect(Number(new URL(url).port))
      resume(Effect.succeed(phone))
    })
  })

/** All callers, and the figures of the audio they received. */
export class Callers {
  private readonly pacer = new Pacer()
  private readonly heard = new AudioFigures()
  private callers: ReadonlyArray<BenchCaller> = []
  private phone: SipPhone | undefined

  /** Places the calls one after the other; completes when each is answered or has failed. */
  dial({ network = "simulated", calls, continuous, rampMs, to, url }: Dialling): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      const dialled: Array<BenchCaller> = []
      this.callers = dialled
      if (network === "sip") this.phone ??= yield* phoneFor(url)
      const { phone } = this
      const answers: Array<Deferred.Deferred<void>> = []
      for (let index = 0; index < calls; index++) {
        const answered = yield* Deferred.make<void>()
        answers.push(answered)
        const settled = () => Deferred.unsafeDone(answered, Effect.void)
        const options = { url, to, index, continuous, figures: this.heard, settled }
        const caller =
          network === "browser"
            ? new BrowserCaller(options)
            : phone === undefined
              ? new Caller(options)
              : new SipCaller(phone, options)
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
    this.phone?.close()
  }
}

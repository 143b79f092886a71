import { aheadMs } from "@svc/providers/BatchedMedia"
import { LegEvents } from "@svc/providers/LegEvents"
import type { CallEvent, CallLeg, TransferState } from "@svc/providers/Telephony"
import { Deferred, Effect, FiberId } from "effect"
import type { CallListener, CallNetwork } from "./CallNetwork.ts"
import { CallStream } from "./CallStream.ts"
import type { Codec } from "./Codec.ts"
import { DigitCount, type DigitSource } from "./DigitCount.ts"
import { endedBy, verdictOf } from "./HangupCause.ts"
import { StreamReplacement } from "./StreamReplacement.ts"
import { Transfer } from "./Transfer.ts"
import type { CallPayload } from "./WebhookEvent.ts"

/** Milliseconds without a message after which Telnyx is asked whether the call is still there. */
const silentMs = 20_000

export interface CallOptions {
  readonly network: CallNetwork
  readonly codec: Codec
  /** The platform's number in the call. */
  readonly ownNumber: string
  /** Asks Telnyx whether the call goes on; undefined: it does not say. */
  readonly isAlive: (callControlId: string) => Effect.Effect<boolean | undefined>
  /** It is not answered yet: what is heard until then is no part of the conversation. */
  readonly isRinging: boolean
}

/**
 * A call, from when it is answered or placed.
 *
 * | state      | event                                    | next       | then                                         |
 * |------------|------------------------------------------|------------|----------------------------------------------|
 * | connecting | the media starts                         | live       |                                              |
 * | connecting | no connection 2 s after the answer       | connecting | `streaming_start`, once, for the same token  |
 * | connecting | Telnyx hangs up                          | over       | `connected` fails                            |
 * | live       | the media connection ends                | live       | Media off; another stream is requested       |
 * | live       | it ends during a transfer                | live       | Media off; requested when the transfer fails |
 * | live       | another stream starts                    | live       | Media on                                     |
 * | live       | no other stream can be had               | over       | Ended failed, and hung up                    |
 * | live       | Telnyx hangs up                          | over       | Ended                                        |
 * | any        | the engine hangs up                      | over       | hung up at Telnyx                            |
 */
export class TelnyxCall implements CallListener {
  readonly #options: CallOptions
  readonly #network: CallNetwork
  readonly #events = new LegEvents()
  readonly #connected = Deferred.unsafeMake<void, CallPayload>(FiberId.none)
  readonly #stream: CallStream
  #state: "connecting" | "live" | "over" = "connecting"
  #id: string | undefined
  #session: string | undefined
  readonly #replacement: StreamReplacement
  #isAway = false
  #transfer: Transfer | undefined
  readonly #digits = new DigitCount()
  #isAsking = false
  #isRinging: boolean
  readonly #commandsInOrder = Effect.unsafeMakeSemaphore(1)

  constructor(options: CallOptions) {
    this.#options = options
    this.#isRinging = options.isRinging
    this.#network = options.network
    this.#stream = new CallStream({
      network: options.network,
      callControlId: () => this.#id,
      codec: options.codec,
      listener: {
        emit: (event) => this.#emit(event),
        onDigit: (digit) => this.#onDigit("stream", digit),
        onStarted: () => this.#onStarted(),
        onLost: (reason) => this.#onLost(reason)
      }
    })
    this.#replacement = new StreamReplacement({
      network: options.network,
      stream: this.#stream,
      callControlId: () => this.#id,
      isLive: () => this.#state === "live",
      onFailed: (reason) => this.#fail(reason)
    })
    this.#network.live.add(this)
  }

  /** Completes when media flows; fails with the hang-up when Telnyx ends the call before. */
  get connected(): Effect.Effect<void, CallPayload> {
    return Deferred.await(this.#connected)
  }

  get isOver(): boolean {
    return this.#state === "over"
  }

  get id(): string | undefined {
    return this.#id
  }

  /** Telnyx's ids of the call are known. */
  identify(id: string, session: string | undefined): void {
    if (this.#id === undefined) {
      this.#id = id
      this.#network.listeners.byId.set(id, this)
      if (this.#state === "live") this.#network.fork(this.#network.files.add(id))
    }
    this.#session ??= session
    // It was hung up before its id was known.
    if (this.#state === "over") this.#hangupNow()
  }

  /** The phone was answered. */
  answer(): void {
    this.#isRinging = false
  }

  /** The fields about the stream in the command that answers or places the call. */
  streamRequest(): Readonly<Record<string, unknown>> {
    return this.#stream.request()
  }

  /**
   * Telnyx has answered the call, and is to open the media connection. When it does not, the connection is requested once
   * more at the same address, so that the first request may still be met.
   */
  expectStream(): void {
    if (this.#isStreamExpected || this.#state !== "connecting") return
    this.#isStreamExpected = true
    this.#network.fork(Effect.raceFirst(this.#stream.requestMissing, Deferred.await(this.#settled)))
  }

  #isStreamExpected = false
  /** Media flows, or the call is over. */
  readonly #settled = Deferred.unsafeMake<void>(FiberId.none)

  readonly onWebhook = (type: string, payload: CallPayload): void => {
    if (this.#state === "over") return
    if (type === "call.hangup") {
      if (this.#state === "connecting") this.#refuse(payload)
      else this.#end(endedBy(payload))
      return
    }
    if (type === "call.answered") this.expectStream()
    const verdict = verdictOf(type, payload)
    if (verdict !== undefined) this.#emit({ _tag: "Answerer", verdict })
    else if (type === "call.dtmf.received") this.#onDigit("webhook", payload.digit ?? "")
    else if (type === "call.bridged") this.#transfer?.bridged()
    else if (type === "streaming.failed" && this.#state === "live" && !this.#stream.isStarted) {
      this.#network.log.warning(`Telnyx could not stream a call: ${payload.failure_reason ?? "no reason"}`)
    }
  }

  /** Asks Telnyx whether a call that sends nothing still exists. */
  readonly check = (): void => {
    const heardAt = this.#stream.heardAt
    const id = this.#id
    if (heardAt === null || id === undefined || this.#isAsking || this.#network.now() - heardAt < silentMs) return
    this.#isAsking = true
    this.#network.fork(
      Effect.map(this.#options.isAlive(id), (isAlive) => {
        this.#isAsking = false
        if (isAlive === false)
          this.#end({ _tag: "Ended", cause: "failed", reason: "Telnyx says that the call is over" })
      })
    )
  }

  /** The server stops: the caller must not be left in silence. */
  readonly shutDown: Effect.Effect<void> = Effect.suspend(() => {
    const id = this.#id
    if (this.#state === "over") return Effect.void
    this.#events.emit({ _tag: "Ended", cause: "failed", reason: "the server stops" })
    this.#close()
    if (id === undefined) return Effect.void
    return Effect.zipRight(this.#network.commands.hangup(id), this.#network.files.remove(id))
  })

  /** The engine ends the call. */
  readonly hangup = (): void => {
    if (this.#state === "over") return
    this.#events.close()
    this.#state = "over"
    this.#transfer?.end()
    this.#hangupNow()
  }

  get leg(): CallLeg {
    return {
      format: this.#options.codec.format,
      aheadMs,
      ...(this.#id === undefined ? {} : { carrierCallId: this.#id }),
      marks: "echoed",
      listen: this.#events.listen,
      send: (frame) => {
        if (this.#takesAudio) this.#stream.send(frame)
      },
      mark: (name) => {
        if (this.#takesAudio) this.#stream.mark(name)
      },
      clear: () => {
        if (this.#takesAudio) this.#stream.clear()
      },
      hangup: () => this.hangup(),
      sendDtmf: (digits) => {
        if (this.#state === "live") this.#command("send_dtmf", { digits })
      },
      transferBlind: (target) => this.#beginTransfer(target)
    }
  }

  get #takesAudio(): boolean {
    return this.#state === "live" && this.#transfer?.isCompleted !== true
  }

  #emit(event: CallEvent): void {
    if (this.#state === "over" || this.#transfer?.isCompleted === true) return
    if (event._tag === "Audio" && (this.#isRinging || this.#state === "connecting")) return
    this.#events.emit(event)
  }

  /** Commands that must keep their order. */
  #command(action: string, body: Readonly<Record<string, unknown>>): void {
    const id = this.#id
    if (id === undefined) return
    this.#network.fork(
      this.#commandsInOrder.withPermits(1)(
        Effect.catchAll(this.#network.commands.command(id, action, body), ({ reason }) =>
          Effect.sync(() => {
            if (this.#state !== "over") this.#network.log.warning(`Telnyx did not carry out ${action}: ${reason}`)
          })
        )
      )
    )
  }

  #onDigit(source: DigitSource, digit: string): void {
    const counted = this.#digits.count(source, digit)
    if (counted !== undefined) this.#emit({ _tag: "Dtmf", digit: counted, source: "signaling" })
  }

  #onStarted(): void {
    if (this.#state === "over") {
      this.#stream.close()
      return
    }
    Deferred.unsafeDone(this.#settled, Effect.void)
    this.#replacement.started()
    if (this.#state === "connecting") {
      this.#state = "live"
      if (this.#id !== undefined) this.#network.fork(this.#network.files.add(this.#id))
      Deferred.unsafeDone(this.#connected, Effect.void)
    } else if (this.#isAway) {
      this.#isAway = false
      this.#emit({ _tag: "Media", on: true })
    }
  }

  #onLost(reason: string): void {
    if (this.#state !== "live" || this.#isAway || this.#transfer?.isCompleted === true) return
    this.#isAway = true
    this.#emit({ _tag: "Media", on: false })
    // The transfer may have closed it; if the transfer fails, another stream is requested.
    if (this.#transfer !== undefined) return
    this.#network.fork(this.#replacement.afterLoss(reason))
  }

  #fail(reason: string): void {
    if (this.#state !== "live") return
    const id = this.#id
    this.#end({ _tag: "Ended", cause: "failed", reason })
    if (id !== undefined) this.#network.fork(this.#network.commands.hangup(id))
  }

  #end(event: Extract<CallEvent, { readonly _tag: "Ended" }>): void {
    if (this.#state === "over") return
    this.#events.emit(event)
    this.#close()
    if (this.#id !== undefined) this.#network.fork(this.#network.files.remove(this.#id))
  }

  #close(): void {
    this.#state = "over"
    this.#transfer?.end()
    this.#stream.close()
    this.#forget()
  }

  #forget(): void {
    Deferred.unsafeDone(this.#settled, Effect.void)
    this.#network.live.delete(this)
    if (this.#id !== undefined) this.#network.listeners.byId.delete(this.#id)
  }

  /** Telnyx has ended the call before it was connected. */
  #refuse(payload: CallPayload): void {
    this.#close()
    Deferred.unsafeDone(this.#connected, Effect.fail(payload))
  }

  #hangupNow(): void {
    const id = this.#id
    this.#forget()
    if (id === undefined) {
      // `identify` hangs it up when Telnyx reports it after all.
      this.#stream.close()
      return
    }
    this.#network.fork(
      Effect.zipRight(
        Effect.map(this.#network.commands.hangup(id), () => this.#stream.close()),
        this.#network.files.remove(id)
      )
    )
  }

  #beginTransfer(target: string): void {
    const callControlId = this.#id
    if (this.#state !== "live" || this.#transfer !== undefined || callControlId === undefined) return
    this.#transfer = new Transfer({
      network: this.#network,
      callControlId,
      session: this.#session,
      from: this.#options.ownNumber,
      target,
      onProgress: (state, reason) => this.#onProgress(state, reason),
      onEnded: (payload) => {
        this.#end(endedBy(payload))
        // Telnyx ends this leg too, unless the transfer asked for something else.
        this.#network.fork(this.#network.commands.hangup(callControlId))
      }
    })
  }

  #onProgress(state: TransferState, reason: string | undefined): void {
    if (this.#state !== "live") return
    const progress = { _tag: "TransferProgress", state, ...(reason === undefined ? {} : { reason }) } as const
    if (state === "ringing" || state === "completed") this.#events.emit(progress)
    if (state === "ringing") return
    if (state === "completed") {
      // The two must not hear the agent, nor the agent the two.
      this.#command("streaming_stop", {})
      this.#stream.close()
      return
    }
    const isAway = this.#isAway
    this.#transfer = undefined
    if (!isAway) {
      this.#events.emit(progress)
      return
    }
    // The agent can go on only when there is media again.
    this.#network.fork(
      Effect.map(this.#replacement.replace("the transfer had closed the media connection"), () => {
        if (this.#state !== "over") this.#events.emit(progress)
      })
    )
  }
}

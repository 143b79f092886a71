import { randomUUID } from "node:crypto"
import type { TransferState } from "@svc/providers/Telephony"
import { Effect } from "effect"
import type { CallListener, CallNetwork } from "./CallNetwork.ts"
import { outcomeOf, reasonOf } from "./HangupCause.ts"
import { type CallPayload, clientState } from "./WebhookEvent.ts"

/** How long the destination may ring, in seconds: the engine waits 30 s for the outcome. */
const ringSeconds = 25
/** When an outcome that Telnyx does not report is given up, in milliseconds. */
export const outcomeMs = 28_000
/** How long the leg of a transfer that was given up may still be reported, so that it is hung up. */
const lateFor = "2 minutes"

/** The events of the destination's leg that show the progress of the transfer. */
const progressEvents: ReadonlySet<string> = new Set(["call.initiated", "call.answered", "call.bridged", "call.hangup"])

export interface TransferOptions {
  readonly network: CallNetwork
  /** The call that is transferred. */
  readonly callControlId: string
  readonly session: string | undefined
  readonly from: string
  readonly target: string
  /** The outcome comes once, `ringing` at most once before it. */
  readonly onProgress: (state: TransferState, reason?: string) => void
  /** The destination hung up after the transfer was completed. */
  readonly onEnded: (payload: CallPayload) => void
}

/**
 * A blind transfer: Telnyx dials the destination and joins it to the call when it answers.
 *
 * | state     | event                                            | next      | then                       |
 * |-----------|--------------------------------------------------|-----------|----------------------------|
 * | dialling  | `call.initiated` of the destination              | dialling  | ringing, once              |
 * | dialling  | it is answered, or the legs are bridged          | completed | completed                  |
 * | dialling  | it hangs up; the command is refused; 28 s        | over      | busy, no-answer, …         |
 * | dialling  | the call ends                                    | over      | its leg is hung up         |
 * | completed | the destination hangs up                         | over      | the call has ended         |
 * | over      | an event of the destination that came late       | over      | its leg is hung up         |
 */
export class Transfer implements CallListener {
  readonly #options: TransferOptions
  readonly #token = `transfer:${randomUUID()}`
  #state: "dialling" | "completed" | "over" = "dialling"
  #other: string | undefined
  #hasRung = false
  #stopLimit: () => void

  constructor(options: TransferOptions) {
    const { callControlId, from, network, session, target } = options
    this.#options = options
    network.listeners.byState.set(this.#token, this)
    if (session !== undefined) network.listeners.bySession.set(session, this)
    const begun = network.now()
    this.#stopLimit = network.transferLimit.watch(
      () => begun,
      () => this.#fail("no-answer", "the destination does not answer")
    )
    network.fork(
      network.commands
        .command(callControlId, "transfer", {
          to: target,
          from,
          timeout_secs: ringSeconds,
          target_leg_client_state: clientState(this.#token),
          webhook_url: network.webhookUrl
        })
        .pipe(
          Effect.asVoid,
          // The outcome of a command without an answer comes by webhook, or at the limit.
          Effect.catchAll(({ outcome, reason }) =>
            Effect.sync(() => {
              if (outcome !== "unknown") this.#fail("failed", reason)
            })
          )
        )
    )
  }

  get isCompleted(): boolean {
    return this.#state === "completed"
  }

  /** A webhook of the other leg, or of an unknown one of the same session. */
  readonly onWebhook = (type: string, payload: CallPayload): void => {
    const { callControlId, network, onEnded, onProgress } = this.#options
    const id = payload.call_control_id
    if (id === callControlId || !progressEvents.has(type)) return
    if (this.#other === undefined) {
      this.#other = id
      network.listeners.byId.set(id, this)
    }
    if (type === "call.hangup") {
      network.listeners.byId.delete(id)
      if (this.#state === "dialling") this.#fail(outcomeOf(payload), reasonOf(payload))
      else if (this.#state === "completed") {
        this.#state = "over"
        this.#forget()
        onEnded(payload)
      }
      return
    }
    if (this.#state === "over") {
      network.fork(network.commands.hangup(id))
      return
    }
    if (type !== "call.initiated") this.bridged()
    else if (this.#state === "dialling" && !this.#hasRung) {
      this.#hasRung = true
      onProgress("ringing")
    }
  }

  /** The two legs are joined. */
  bridged(): void {
    if (this.#state !== "dialling") return
    this.#state = "completed"
    this.#stopLimit()
    this.#options.onProgress("completed")
  }

  /** The call is over: the other leg is hung up, now or when it becomes known. */
  end(): void {
    if (this.#state === "over") return
    this.#state = "over"
    this.#stopLimit()
    this.#giveUp()
  }

  #fail(state: "busy" | "no-answer" | "rejected" | "failed", reason: string): void {
    if (this.#state !== "dialling") return
    this.#state = "over"
    this.#stopLimit()
    this.#giveUp()
    this.#options.onProgress(state, reason)
  }

  #giveUp(): void {
    const { network } = this.#options
    const other = this.#other
    if (other !== undefined && network.listeners.byId.has(other)) network.fork(network.commands.hangup(other))
    network.fork(
      Effect.delay(
        Effect.sync(() => this.#forget()),
        lateFor
      )
    )
  }

  #forget(): void {
    const { byId, bySession, byState } = this.#options.network.listeners
    const { session } = this.#options
    byState.delete(this.#token)
    if (session !== undefined && bySession.get(session) === this) bySession.delete(session)
    if (this.#other !== undefined) byId.delete(this.#other)
  }
}

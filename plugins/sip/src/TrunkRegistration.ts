import { randomBytes } from "node:crypto"
import type { Health } from "@svc/providers/Health"
import { healthy } from "@svc/providers/Health"
import type { Host } from "@svc/providers/Host"
import { Effect, type Scope } from "effect"
import type { AgentEvent } from "./dialog/AgentEffect.ts"
import * as Registration from "./dialog/Registration.ts"
import { contact } from "./message/Contact.ts"
import type { Request } from "./message/Message.ts"
import * as Uri from "./message/Uri.ts"
import type { Signaling } from "./Signaling.ts"
import type { TrunkStatus } from "./Status.ts"
import { addressAt, hostOf, type Trunk, transportOf } from "./Trunk.ts"
import { adviceOf, advised, unreachedText } from "./TrunkAdvice.ts"
import { bracketed } from "./transport/LocalAddress.ts"

/** How often a registration looks at its time, and how long it may take to end. */
const pollEvery = "1 second"
const stopWithin = "2 seconds"

export interface TrunkRegistration {
  readonly health: () => Health
  /** Waits for the outcome of the first try. */
  readonly settled: Effect.Effect<void>
  readonly status: () => Pick<TrunkStatus, "state" | "next_register_in_seconds" | "last_error">
  /** What the user agent reports of requests outside of calls. */
  readonly on: (event: AgentEvent) => void
}

/** Keeps us registered at the trunk until the end of the scope, which unregisters. */
export const start = (
  signaling: Signaling,
  trunk: Trunk,
  log: Host["log"]
): Effect.Effect<TrunkRegistration, never, Scope.Scope> =>
  Effect.gen(function* () {
    const user = trunk.account?.username
    /** The owner of the requests in the user agent. */
    const owner = `registration ${trunk.variable}`
    const transport = transportOf(trunk)
    const host = bracketed(signaling.addressFor(hostOf(trunk), transport))
    const stopped = yield* Effect.makeLatch()
    const settled = yield* Effect.makeLatch()
    /** What failed, for people, and what they can do. */
    const problemOf = (failure: string): string => {
      const status = Number(/^\d{3}/.exec(failure)?.[0] ?? 0)
      const advice = status === 404 ? `check ${trunk.variable}_URI` : adviceOf(trunk, status, status === 0)
      const outcome = status === 0 ? "did not register us" : "refused to register us"
      return advised(`the trunk of ${trunk.variable}_URI ${outcome}: ${failure}`, advice)
    }
    const random = (): string => randomBytes(16).toString("hex")
    const [first, requests] = Registration.start({
      registrar: Uri.text({ ...trunk.uri, user: undefined }),
      address: addressAt(trunk, user),
      contact: contact({
        transport,
        host,
        port: signaling.portOf(transport),
        user,
        isSips: trunk.uri.scheme === "sips"
      }),
      account: trunk.account,
      callId: random(),
      tag: random().slice(0, 16),
      salt: random()
    })
    let is = first
    const send = (all: ReadonlyArray<Request>): void => {
      for (const request of all) signaling.perform(signaling.agent.request(owner, request))
    }
    const keep = ([next, more]: Registration.Step): void => {
      if (next.failure !== undefined && next.failure !== is.failure) {
        log.warning(`SIP: ${problemOf(next.failure)}`)
      }
      if (next.state === "registered" && is.state !== "registered")
        log.info(`SIP: registered at the trunk of ${trunk.variable}_URI`)
      is = next
      if (is.state === "stopped") stopped.unsafeOpen()
      if (is.state !== "registering") settled.unsafeOpen()
      send(more)
    }
    const polling = Effect.forever(
      Effect.zipRight(
        Effect.sleep(pollEvery),
        Effect.sync(() => keep(Registration.advance(is, signaling.now())))
      )
    )
    // Not before the owner has what this returns, and passes events to it: DNS may answer at once.
    const begin = Effect.sync(() => send(requests))
    yield* Effect.forkScoped(Effect.zipRight(begin, polling))
    yield* Effect.addFinalizer(() =>
      Effect.zipRight(
        Effect.sync(() => keep(Registration.stop(is))),
        Effect.ignore(Effect.timeout(stopped.await, stopWithin))
      )
    )
    return {
      health: () => (is.failure === undefined ? healthy : { healthy: false, reason: problemOf(is.failure) }),
      settled: settled.await,
      status: () => {
        const wait = (is.dueAt - signaling.now()) / 1000
        return {
          state: is.state,
          next_register_in_seconds: Number.isFinite(wait) ? Math.max(0, Math.round(wait)) : null,
          last_error: is.failure ?? null
        }
      },
      on: (event) => {
        if (event._tag === "Response" && event.call === owner) {
          keep(Registration.response(is, event.sent, event.response, signaling.now()))
        }
        if (event._tag === "Failed" && event.call === owner) {
          const problem = unreachedText(trunk, event.reason, signaling.problemOf(owner))
          keep(Registration.failed(is, problem, signaling.now()))
        }
      }
    }
  })

import { randomBytes } from "node:crypto"
import { mulaw8k } from "@svc/providers/Audio"
import { flushAfterMs } from "@svc/providers/BatchedMedia"
import { ExpectedSockets, tokenMs } from "@svc/providers/ExpectedSockets"
import type { Host } from "@svc/providers/Host"
import type { Route } from "@svc/providers/Route"
import * as SharedTimeout from "@svc/providers/SharedTimeout"
import { type CallLeg, DialFailed, type IncomingCall, type Outbound } from "@svc/providers/Telephony"
import { Effect, FiberSet, Queue, Schedule, type Scope, Stream } from "effect"
import type { CallNetwork, DestinationState, StartedCall } from "./CallNetwork.ts"
import { finalStatus } from "./CallStatus.ts"
import { DialledCall } from "./DialledCall.ts"
import { OfferedCall } from "./OfferedCall.ts"
import { RecentSids } from "./RecentSids.ts"
import { readStreamMessage } from "./StreamMessage.ts"
import type { TwilioApi } from "./TwilioApi.ts"
import { TwilioCall } from "./TwilioCall.ts"
import * as Twiml from "./Twiml.ts"
import type { Webhooks } from "./Webhook.ts"

const checkEvery = "250 millis"
/** How long a stop of the server waits until Twilio has ended the calls. */
const stopWithin = "3 seconds"
/** Calls whose SIDs are remembered, so that a request that is sent again starts none. */
const mostRemembered = 100_000
/** How long the effect of a change may take to show when its answer was lost, before it counts as failed. */
const showWithin = "2 seconds"
/** Seconds that a phone rings at most. The engine gives up sooner. */
const ringSeconds = "150"

export interface TwilioCalls {
  readonly incoming: Stream.Stream<IncomingCall>
  readonly outbound: Outbound
  readonly routes: ReadonlyArray<Route>
}

/** The state of the calls to the destinations of a transfer, by the list of them. */
const destinationOf = (body: unknown): DestinationState => {
  const { calls }: { readonly calls?: unknown } = Object(body)
  if (!Array.isArray(calls)) return "unknown"
  const states: ReadonlyArray<unknown> = calls.map((one) => Object(one).status)
  if (states.includes("in-progress")) return "answered"
  return states.every((state) => finalStatus(state) !== undefined) ? "none" : "ringing"
}

/** The calls of the account. `detectsMachines`: Twilio decides who answered the calls that we place. */
export const make = (options: {
  readonly api: TwilioApi
  readonly webhooks: Webhooks
  readonly host: Host
  readonly detectsMachines: boolean
}): Effect.Effect<TwilioCalls, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { api, detectsMachines, host, webhooks } = options
    const flushAfter = yield* SharedTimeout.make(flushAfterMs)
    const { now } = flushAfter
    const requests = yield* FiberSet.make<void>()
    const run = yield* FiberSet.runtime(requests)<never>()
    const incoming = yield* Effect.acquireRelease(Queue.unbounded<IncomingCall>(), Queue.shutdown)
    const interrupted = host.metrics.counter("streams_interrupted", {
      description: "Media streams that broke during a call"
    })
    const sockets = new ExpectedSockets({
      timeout: yield* SharedTimeout.make(tokenMs),
      tokenOf: (data) => {
        const message = readStreamMessage(data)
        if (message?.event === "connected") return "wait"
        return message?.event === "start" && message.token !== undefined ? { token: message.token } : "refuse"
      }
    })

    /** Calls with a leg, by SID. */
    const calls = new Map<string, TwilioCall>()
    /** Calls that came in, by SID, the oldest first. Kept when they are over. */
    const offers = new Map<string, OfferedCall>()
    /** Calls that had a leg, incoming and outgoing ones. */
    const answered = new RecentSids(mostRemembered)
    /** Calls that are being placed, by the key of their webhooks. */
    const dials = new Map<string, DialledCall>()

    const hangUp: CallNetwork["hangUp"] = (sid, done) => {
      const request = api.request("POST", `Calls/${sid}.json`, { Status: "completed" }, { isRepeatable: true })
      run(
        request.pipe(
          Effect.catchAll(({ outcome, reason }) =>
            Effect.sync(() => {
              // A call that is over already is refused.
              if (outcome !== "refused") host.log.warning(`call ${sid} may go on at Twilio: ${reason}`)
            })
          ),
          Effect.ensuring(Effect.sync(done)),
          Effect.asVoid
        )
      )
    }
    const network: CallNetwork = {
      now,
      flushAfter,
      connect: (sid, connected) => {
        const token = sockets.expect((socket, data) => {
          const start = readStreamMessage(data)
          if (start?.event !== "start" || (sid !== undefined && start.callSid !== sid)) {
            return socket.close(1008, "no call is expected on this connection")
          }
          connected(socket, start)
        })
        const stream = webhooks.url("/media").replace(/^http/, "ws")
        const twiml = Twiml.connect({ stream, token, next: webhooks.url("/continue") })
        return { twiml, forget: () => sockets.forget(token) }
      },
      dial: (sid, target, callerId) =>
        Twiml.dial({
          target,
          callerId,
          progress: webhooks.url(`/destination?call=${sid}`),
          outcome: webhooks.url("/dialled")
        }),
      update: (sid, twiml, failed) => {
        run(
          api.request("POST", `Calls/${sid}.json`, { Twiml: twiml }).pipe(
            Effect.catchAll(({ outcome, reason }) =>
              Effect.delay(
                Effect.sync(() => failed(reason)),
                outcome === "unknown" ? showWithin : 0
              )
            ),
            Effect.asVoid
          )
        )
      },
      hangUp,
      ask: (sid, done) => {
        run(
          Effect.match(api.request("GET", `Calls/${sid}.json`), {
            onFailure: () => done(undefined, false),
            onSuccess: (body) => {
              const { status } = Object(body)
              done(finalStatus(status), status === "in-progress")
            }
          })
        )
      },
      askDestination: (sid, done) => {
        run(
          Effect.match(api.request("GET", "Calls.json", { ParentCallSid: sid }), {
            // A list that is refused once is refused again: the transfer ends at its limit.
            onFailure: ({ outcome }) => done(outcome === "refused" ? "none" : "unknown"),
            onSuccess: (body) => done(destinationOf(body))
          })
        )
      },
      onOver: ({ sid }) => void calls.delete(sid),
      onInterrupted: () => interrupted.add()
    }

    const begin = (started: StartedCall) => {
      const call = new TwilioCall({ ...started, network })
      calls.set(started.sid, call)
      answered.add(started.sid)
      return call
    }

    const remember = (sid: string, call: OfferedCall): void => {
      offers.set(sid, call)
      const [oldest] = offers.keys()
      if (offers.size <= mostRemembered || oldest === undefined) return
      offers.delete(oldest)
      answered.delete(oldest)
    }

    const dial: Outbound["dial"] = (call, progress) =>
      Effect.async<CallLeg, DialFailed>((resume) => {
        if (
          !call.formats.some(({ encoding, sampleRate }) => encoding === "mulaw" && sampleRate === mulaw8k.sampleRate)
        ) {
          return resume(new DialFailed({ outcome: "failed", reason: "Twilio needs mu-law at 8 kHz" }))
        }
        if (host.baseUrl === null) {
          return resume(
            new DialFailed({ outcome: "failed", reason: "SVC_BASE_URL is not set, so Twilio cannot reach us" })
          )
        }
        const key = randomBytes(18).toString("base64url")
        const dialled = new DialledCall({
          now,
          progress: progress ?? {},
          hangUp: (sid) => hangUp(sid, () => {}),
          onDone: (end) => {
            dials.delete(key)
            expected.forget()
            if (end !== undefined) resume("leg" in end ? Effect.succeed(end.leg) : end.failed)
          }
        })
        dials.set(key, dialled)
        const expected = network.connect(undefined, (socket, { callSid, streamSid }) =>
          dialled.connected(begin({ sid: callSid, callerId: call.from, socket, streamSid }))
        )
        const headers = /^sips?:/i.test(call.to) ? new URLSearchParams(call.headers).toString() : ""
        const status = webhooks.url(`/status?call=${key}`)
        const request = api.request("POST", "Calls.json", {
          To: headers === "" ? call.to : `${call.to}?${headers}`,
          From: call.from,
          Twiml: expected.twiml,
          Timeout: ringSeconds,
          StatusCallback: status,
          StatusCallbackMethod: "POST",
          StatusCallbackEvent: ["initiated", "ringing", "answered", "completed"],
          ...(detectsMachines && {
            MachineDetection: "Enable",
            AsyncAmd: "true",
            AsyncAmdStatusCallback: webhooks.url(`/answerer?call=${key}`),
            AsyncAmdStatusCallbackMethod: "POST"
          })
        })
        run(
          Effect.match(request, {
            onFailure: ({ code, outcome, reason, status = 0 }) =>
              dialled.notPlaced(reason, code, outcome !== "unknown" ? "refused" : status >= 500 ? "unclear" : "lost"),
            onSuccess: (body) => {
              const sid: unknown = Object(body).sid
              if (typeof sid === "string" && sid !== "") dialled.placed(sid)
              else dialled.notPlaced("Twilio's answer has no sid", undefined, "unclear")
            }
          })
        )
        return Effect.sync(() => dialled.giveUp())
      })

    const routes: ReadonlyArray<Route> = [
      webhooks.route("/voice", (request) => {
        const sid = request.field("CallSid")
        const known = offers.get(sid)
        if (answered.has(sid) && !calls.has(sid) && known?.isRequestedBy(request) === true) {
          return Effect.succeed(Twiml.hangup)
        }
        if (sid === "" || (answered.has(sid) && !calls.has(sid))) {
          return Effect.succeed({ forbidden: "The call is over; a request that is sent again starts no other." })
        }
        if (known !== undefined) return known.reply
        const offer = new OfferedCall(request, { connect: network.connect, ask: network.ask, hangUp, begin })
        remember(sid, offer)
        Queue.unsafeOffer(incoming, offer.incoming)
        return offer.reply
      }),
      webhooks.route("/continue", ({ field }) =>
        Effect.sync(() => {
          const sid = field("CallSid")
          const call = calls.get(sid)
          if (call !== undefined) return call.next()
          const offer = offers.get(sid)
          offer?.streamFailed()
          const isDialled = [...dials.values()].some((dialled) => dialled.streamFailed(sid))
          if (offer === undefined && !isDialled && !answered.has(sid)) {
            host.log.warning(`call ${sid} of Twilio is hung up: this server does not know it, since it was restarted`)
          }
          return Twiml.hangup
        })
      ),
      webhooks.route("/status", ({ field, query }) =>
        Effect.sync(() => {
          const sid = field("CallSid")
          const status = field("CallStatus")
          const code = field("SipResponseCode") || undefined
          const key = query.get("call")
          const end = finalStatus(status)
          const dialled = key === null ? undefined : dials.get(key)
          dialled?.status(sid, status, code)
          const answeredBy = field("AnsweredBy")
          if (answeredBy !== "") (calls.get(sid) ?? dialled)?.answerer(answeredBy)
          if (end !== undefined) {
            calls.get(sid)?.ended(end, code)
            offers.get(sid)?.ended(end)
          } else if (key !== null && dialled === undefined && !calls.has(sid)) {
            // Given up before its SID was known, or of a server that was restarted.
            hangUp(sid, () => {})
          }
          return undefined
        })
      ),
      webhooks.route("/answerer", ({ field, query }) =>
        Effect.sync(() => {
          const answeredBy = field("AnsweredBy")
          const call = calls.get(field("CallSid"))
          if (call !== undefined) call.answerer(answeredBy)
          else dials.get(query.get("call") ?? "")?.answerer(answeredBy)
          return undefined
        })
      ),
      webhooks.route("/destination", ({ field, query }) =>
        Effect.sync(() => {
          calls.get(query.get("call") ?? "")?.destination(field("CallStatus"))
          return undefined
        })
      ),
      webhooks.route("/dialled", ({ field }) =>
        Effect.sync(() => {
          const isGone = finalStatus(field("CallStatus")) !== undefined
          return calls.get(field("CallSid"))?.dialled(field("DialCallStatus"), isGone) ?? Twiml.hangup
        })
      ),
      { _tag: "WebSocket", path: "/media", accept: (socket) => sockets.accept(socket) }
    ]

    yield* Effect.forkScoped(
      Effect.repeat(
        Effect.sync(() => {
          for (const call of calls.values()) call.check()
          for (const dialled of dials.values()) dialled.check()
        }),
        Schedule.spaced(checkEvery)
      )
    )
    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        for (const dialled of dials.values()) dialled.giveUp()
        for (const call of calls.values()) call.abandon("the server stopped")
        return Effect.timeoutOption(FiberSet.awaitEmpty(requests), stopWithin)
      }).pipe(Effect.interruptible)
    )
    return { incoming: Stream.fromQueue(incoming), outbound: { dial }, routes }
  })

import type { ServerResponse } from "node:http"
import { type EmulatedRequest, emulatedServer } from "@svc/providers/testing/EmulatedServer"
import type { OtherBehaviour } from "@svc/providers/testing/Phone"
import { Effect, FiberSet, type Scope } from "effect"
import { EmulatedCall } from "./EmulatedCall.ts"
import { type Answer, EmulatedInventory, notFound, ok } from "./EmulatedInventory.ts"
import * as WebhookSender from "./WebhookSender.ts"

/** How the emulated carrier misbehaves. Each can be changed while it runs. */
export interface TelnyxFaults {
  /** Answers a request in its place; false: it is answered as usual. */
  intercept: (request: EmulatedRequest, response: ServerResponse) => boolean
  /** How often each webhook is sent. */
  copies: number
  /** Milliseconds by which a webhook is late. */
  delayOf: (type: string) => number
  /** The media ends without a `stop`. */
  withoutStop: boolean
  /** A transfer closes the media connection, as for calls whose media the carrier moves. */
  transferClosesMedia: boolean
  /** Verdict of the answering-machine detection for calls that ask for it. */
  verdict: string
}

/** A carrier on real sockets that speaks the protocol of Telnyx, with phones. */
export interface EmulatedTelnyx {
  readonly origin: string
  readonly apiKey: string
  readonly publicKey: string
  readonly webhooks: WebhookSender.WebhookSender
  readonly faults: TelnyxFaults
  readonly requests: ReadonlyArray<EmulatedRequest>
  readonly calls: ReadonlyMap<string, EmulatedCall>
  readonly inventory: EmulatedInventory
  /** Where webhooks go: the address of the platform's route. */
  webhookUrl: string
  /** A phone calls the platform. */
  readonly dial: (numbers: { readonly from: string; readonly to: string }) => EmulatedCall
  /** A phone that can be called; its call appears in `callTo`. */
  readonly addPhone: (number: string, behaves: OtherBehaviour) => void
  /** The newest call to a number. */
  readonly callTo: (number: string) => EmulatedCall | undefined
  /** The phone hangs up. */
  readonly hangUp: (call: EmulatedCall, cause?: string, source?: string) => Effect.Effect<void>
  /** A phone sends a text message to the platform. */
  readonly text: (sms: { readonly from: string; readonly to: string; readonly message: string }) => Effect.Effect<void>
  /** The messages that phones have received. */
  readonly messages: ReadonlyArray<{ readonly from: string; readonly to: string; readonly message: string }>
}

const ended = { errors: [{ code: "90018", title: "Call has already ended", detail: "This call is no longer active" }] }

/** How long a phone rings before it answers, declines or does nothing. */
const phoneMs = 30

export const emulatedTelnyx: Effect.Effect<EmulatedTelnyx, never, Scope.Scope> = Effect.gen(function* () {
  const apiKey = "KEY0123456789ABCDEF_telnyx"
  const webhooks = WebhookSender.make()
  const fork = yield* FiberSet.makeRuntime<never>()
  const calls = new Map<string, EmulatedCall>()
  const phones = new Map<string, OtherBehaviour>()
  const messages: Array<{ readonly from: string; readonly to: string; readonly message: string }> = []
  const inventory = new EmulatedInventory()
  const commandIds = new Set<string>()
  const faults: TelnyxFaults = {
    intercept: () => false,
    copies: 1,
    delayOf: () => 0,
    withoutStop: false,
    transferClosesMedia: false,
    verdict: "human"
  }

  const webhook = (call: EmulatedCall, type: string, more: Readonly<Record<string, unknown>> = {}): void => {
    const payload = {
      call_control_id: call.id,
      call_leg_id: call.id.slice(3),
      call_session_id: call.session,
      connection_id: "1494404757140276705",
      client_state: call.clientState ?? null,
      from: call.from,
      to: call.to,
      direction: call.direction,
      ...more
    }
    const id = crypto.randomUUID()
    for (let copy = 0; copy < faults.copies; copy++) {
      fork(Effect.asVoid(Effect.delay(webhooks.send(call.webhookUrl, type, payload, { id }), faults.delayOf(type))))
    }
  }
  const events = { webhook, fork, onEnded: () => {} }

  const hangUp = (
    call: EmulatedCall,
    cause = "normal_clearing",
    source = "caller",
    sip?: string
  ): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (call.isOver) return Effect.void
      call.end(
        call.direction === "incoming" && call.state === "ringing" && cause === "call_rejected" ? "rejected" : "ended"
      )
      webhook(call, "call.hangup", {
        hangup_cause: cause,
        hangup_source: source,
        sip_hangup_cause: sip,
        state: "hangup"
      })
      const others = [call.bridged, call.ringing].flatMap((other) =>
        other === undefined ? [] : [hangUp(other, call.ringing === other ? "originator_cancel" : "normal_clearing")]
      )
      const media = faults.withoutStop ? call.closeStream : call.stopStream
      return Effect.all([media, ...others], { discard: true })
    })

  /** A phone rings, and then behaves as it was registered. */
  const ring = (call: EmulatedCall, onAnswer: Effect.Effect<void>): void => {
    const behaves = phones.get(call.to) ?? "rings"
    call.state = "ringing"
    webhook(call, "call.initiated", { state: "bridging" })
    if (behaves === "rings") return
    const act =
      behaves === "busy"
        ? hangUp(call, "user_busy", "callee", "486")
        : behaves === "declines"
          ? hangUp(call, "call_rejected", "callee", "603")
          : Effect.suspend(() => {
              if (call.isOver) return Effect.void
              call.state = "answered"
              webhook(call, "call.answered", { state: "answered" })
              return onAnswer
            })
    fork(Effect.delay(act, phoneMs))
  }

  const place = (body: Readonly<Record<string, unknown>>): EmulatedCall => {
    const call = new EmulatedCall(events, {
      direction: "outgoing",
      from: String(body["from"]),
      to: String(body["to"]),
      webhookUrl: String(body["webhook_url"] ?? emulated.webhookUrl),
      clientState: String(body["client_state"] ?? "")
    })
    calls.set(call.id, call)
    ring(
      call,
      Effect.suspend(() => {
        const detection = body["answering_machine_detection"]
        if (detection === "premium") webhook(call, "call.machine.premium.detection.ended", { result: faults.verdict })
        else if (detection === "detect") webhook(call, "call.machine.detection.ended", { result: faults.verdict })
        return call.openStream(body)
      })
    )
    return call
  }

  const transfer = (call: EmulatedCall, body: Readonly<Record<string, unknown>>): Effect.Effect<void> =>
    Effect.suspend(() => {
      const other = new EmulatedCall(events, {
        direction: "outgoing",
        from: String(body["from"] ?? call.to),
        to: String(body["to"]),
        webhookUrl: String(body["webhook_url"] ?? call.webhookUrl),
        session: call.session,
        clientState: String(body["target_leg_client_state"] ?? "")
      })
      calls.set(other.id, other)
      call.ringing = other
      ring(
        other,
        Effect.sync(() => {
          call.ringing = undefined
          call.bridged = other
          other.bridged = call
          webhook(call, "call.bridged", { state: "bridged" })
          webhook(other, "call.bridged", { state: "bridged" })
        })
      )
      return faults.transferClosesMedia ? call.stopStream : Effect.void
    })

  const act = (call: EmulatedCall, action: string, body: Readonly<Record<string, unknown>>): Effect.Effect<void> => {
    switch (action) {
      case "answer":
        return Effect.suspend(() => {
          call.state = "answered"
          call.webhookUrl = String(body["webhook_url"] ?? call.webhookUrl)
          webhook(call, "call.answered", { state: "answered" })
          return call.openStream(body)
        })
      case "reject":
        return hangUp(call, body["cause"] === "USER_BUSY" ? "user_busy" : "call_rejected", "callee").pipe(
          Effect.zipRight(
            Effect.sync(() => {
              call.state = "rejected"
            })
          )
        )
      case "hangup":
        return hangUp(call, "normal_clearing", "callee")
      case "streaming_start":
        return call.openStream(body)
      case "streaming_stop":
        return call.stopStream
      case "send_dtmf":
        return Effect.sync(() => {
          call.digits += String(body["digits"])
        })
      case "transfer":
        return transfer(call, body)
      default:
        return Effect.void
    }
  }

  const answerOf = ({ headers, json, path: full, method, ...rest }: EmulatedRequest): Answer => {
    if (headers.authorization !== `Bearer ${apiKey}`) {
      return { status: 401, body: { errors: [{ code: "10009", title: "Authentication failed" }] } }
    }
    const path = full.replace(/^\/v2/, "")
    if (path === "/calls") {
      const call = place(json)
      return ok({ call_control_id: call.id, call_session_id: call.session, is_alive: false })
    }
    const [, id = "", action] = /^\/calls\/([^/]+)(?:\/actions\/([a-z_]+))?$/.exec(path) ?? []
    if (id !== "") {
      const call = calls.get(decodeURIComponent(id))
      if (call === undefined) return notFound
      if (action === undefined) return ok({ call_control_id: call.id, is_alive: !call.isOver })
      if (call.isOver) return { status: 422, body: ended }
      // A command that comes again is ignored.
      const command = `${call.id} ${json["command_id"]}`
      if (!commandIds.has(command)) fork(act(call, action, json))
      commandIds.add(command)
      return ok({ result: "ok" })
    }
    if (path === "/messages") {
      const { from, text, to } = json
      if (String(to).endsWith("0000"))
        return { status: 400, body: { errors: [{ code: "40310", title: "Invalid 'to'" }] } }
      messages.push({ from: String(from), to: String(to), message: String(text) })
      return ok({ id: crypto.randomUUID(), record_type: "message", to: [{ phone_number: to }] })
    }
    return inventory.answer({ headers, json, path: full, method, ...rest }, path)
  }

  const answer = (request: EmulatedRequest, response: ServerResponse): void => {
    if (faults.intercept(request, response)) return
    const { body, status } = answerOf(request)
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
  }

  const server = yield* emulatedServer({ request: answer })
  const emulated: EmulatedTelnyx = {
    origin: server.origin,
    apiKey,
    publicKey: webhooks.publicKey,
    webhooks,
    faults,
    requests: server.requests,
    calls,
    inventory,
    messages,
    webhookUrl: "",
    dial: (numbers) => {
      const call = new EmulatedCall(events, { direction: "incoming", ...numbers, webhookUrl: emulated.webhookUrl })
      calls.set(call.id, call)
      call.state = "ringing"
      webhook(call, "call.initiated", { state: "parked" })
      return call
    },
    addPhone: (number, behaves) => void phones.set(number, behaves),
    callTo: (number) =>
      [...calls.values()].reverse().find((call) => call.direction === "outgoing" && call.to === number),
    hangUp,
    text: ({ from, message, to }) =>
      Effect.asVoid(
        webhooks.send(emulated.webhookUrl, "message.received", {
          id: crypto.randomUUID(),
          record_type: "message",
          direction: "inbound",
          type: "SMS",
          from: { phone_number: from, carrier: "T-Mobile" },
          to: [{ phone_number: to, status: "webhook_delivered" }],
          text: message
        })
      )
  }
  return emulated
})

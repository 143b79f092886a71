import { createHmac } from "node:crypto"
import type { ServerResponse } from "node:http"
import { type EmulatedRequest, emulatedServer } from "@svc/providers/testing/EmulatedServer"
import type { OtherBehaviour } from "@svc/providers/testing/Phone"
import { Deferred, Effect, FiberSet, type Scope } from "effect"
import { type Carrier, EmulatedCall, newSid } from "./EmulatedCall.ts"
import { type Answer, EmulatedInventory } from "./EmulatedInventory.ts"

/** What the emulated carrier does wrong. */
export interface Faults {
  /** Answers a REST request in place of the carrier; true: it has, or leaves it open. */
  intercept: (request: EmulatedRequest, response: ServerResponse) => boolean
  /** Whether the answer to a request that was carried out is lost. */
  afterwards: (request: EmulatedRequest) => boolean
  /** Whether a webhook is lost. */
  dropped: (url: string, fields: Readonly<Record<string, string>>) => boolean
  /** How often a webhook is sent, one time after the other. */
  webhookTimes: number
}

export interface EmulatedTwilio {
  readonly origin: string
  readonly accountSid: string
  readonly authToken: string
  /** The webhooks of all numbers. */
  webhooks: { voice: string; status: string | undefined; sms: string }
  readonly faults: Faults
  readonly inventory: EmulatedInventory
  /** By SID. */
  readonly calls: ReadonlyMap<string, EmulatedCall>
  readonly requests: ReadonlyArray<EmulatedRequest>
  /** Text messages of the platform. */
  readonly messages: ReadonlyArray<{ readonly from: string; readonly to: string; readonly message: string }>
  /** The answers to webhooks: URL, status and body. */
  readonly answers: ReadonlyArray<{ readonly url: string; readonly status: number; readonly body: string }>
  /** Who answers, as the detection of calls with `AsyncAmd` decides; undefined: it reports nothing. */
  answeredBy: string | undefined
  readonly addPhone: (number: string, behaves: OtherBehaviour) => void
  /** The last call to a number. */
  readonly callTo: (number: string) => EmulatedCall | undefined
  readonly dial: (numbers: { readonly from: string; readonly to: string }) => EmulatedCall
  readonly text: (sms: { readonly from: string; readonly to: string; readonly message: string }) => Effect.Effect<void>
  /** A signed request. */
  readonly post: (url: string, fields: Readonly<Record<string, string>>) => Effect.Effect<string | null>
}

/** By the vendor's documentation, apart from the plugin's own code: the URL, then each name and value in order. */
const signature = (token: string, url: string, fields: Readonly<Record<string, string>>): string => {
  const text = Object.keys(fields)
    .sort()
    .reduce((before, name) => before + name + fields[name], url)
  return createHmac("sha1", token).update(text).digest("base64")
}

/** How long a phone rings before it answers or declines. */
const ringTime = "50 millis"

export const emulatedTwilio: Effect.Effect<EmulatedTwilio, never, Scope.Scope> = Effect.gen(function* () {
  const accountSid = newSid("AC")
  const authToken = "0123456789abcdef0123456789abcdef"
  const runFork = yield* FiberSet.makeRuntime<never>()
  const inventory = new EmulatedInventory()
  const calls = new Map<string, EmulatedCall>()
  const phones = new Map<string, OtherBehaviour>()
  const messages: Array<{ from: string; to: string; message: string }> = []
  const answers: Array<{ url: string; status: number; body: string }> = []
  const faults: Faults = { intercept: () => false, afterwards: () => false, dropped: () => false, webhookTimes: 1 }

  const post: Carrier["post"] = (url, fields) => {
    if (faults.dropped(url, fields)) return Effect.succeed(null)
    const headers = {
      "content-type": "application/x-www-form-urlencoded",
      "x-twilio-signature": signature(authToken, url, fields)
    }
    const once = Effect.tryPromise(() =>
      fetch(url, { method: "POST", headers, body: new URLSearchParams(fields) })
    ).pipe(
      Effect.flatMap((response) =>
        Effect.map(
          Effect.tryPromise(() => response.text()),
          (body) => {
            answers.push({ url, status: response.status, body })
            return response.ok ? body : null
          }
        )
      ),
      Effect.orElseSucceed(() => null)
    )
    return Effect.map(Effect.replicateEffect(once, faults.webhookTimes), (all) => all.at(-1) ?? null)
  }

  /** Rings the phone of a call, which behaves as it was registered. */
  const ring = (call: EmulatedCall, answered: Effect.Effect<void>): void => {
    calls.set(call.sid, call)
    const behaves = phones.get(call.to)
    runFork(
      Effect.gen(function* () {
        yield* call.tellStatus({ CallStatus: "initiated" })
        if (behaves === undefined) return yield* call.end("failed")
        if (behaves === "busy") return yield* call.end("busy")
        if (call.isOver) return
        call.status = "ringing"
        yield* call.tellStatus()
        if (behaves === "rings") return
        yield* Effect.sleep(ringTime)
        if (behaves === "declines") return yield* call.end("busy")
        if (call.isOver) return
        call.status = "in-progress"
        yield* call.tellStatus()
        yield* answered
      })
    )
  }

  const carrier: Carrier = {
    accountSid,
    post,
    fork: (effect) => runFork(effect),
    ring: (parent, { callerId, number, statusCallback }) => {
      const leg = new EmulatedCall(carrier, {
        from: callerId ?? parent.from,
        to: number,
        direction: "outbound-dial",
        parentSid: parent.sid,
        statusCallback
      })
      ring(leg, Effect.asVoid(Deferred.succeed(leg.answered, undefined)))
      return leg
    }
  }

  const place = (form: URLSearchParams): Answer => {
    const [to, from, twiml] = [form.get("To") ?? "", form.get("From") ?? "", form.get("Twiml") ?? ""]
    const statusCallback = form.get("StatusCallback") ?? undefined
    const call = new EmulatedCall(carrier, { from, to, direction: "outbound-api", statusCallback })
    const verdict = form.get("AsyncAmdStatusCallback")
    ring(
      call,
      Effect.gen(function* () {
        call.execute(twiml)
        if (verdict !== null && self.answeredBy !== undefined) {
          yield* post(verdict, { AccountSid: accountSid, CallSid: call.sid, AnsweredBy: self.answeredBy })
        }
      })
    )
    return [201, { sid: call.sid, status: "queued" }]
  }

  const ofCall = (method: string, call: EmulatedCall, form: URLSearchParams): Answer => {
    const twiml = form.get("Twiml")
    if (method === "POST" && call.isOver)
      return [400, { code: 21220, message: "Call is not in-progress.", status: 400 }]
    if (method === "POST" && twiml !== null) call.execute(twiml)
    else if (method === "POST") runFork(call.end(call.status === "in-progress" ? "completed" : "canceled"))
    return [200, { sid: call.sid, status: call.status }]
  }

  const answer = ({ body, headers, method, path, query }: EmulatedRequest): Answer => {
    const basic = `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString("base64")}`
    if (headers.authorization !== basic) return [401, { code: 20003, message: "Authenticate", status: 401 }]
    const form = method === "POST" ? new URLSearchParams(body.toString()) : query
    const fields = Object.fromEntries(form)
    if (path.startsWith("/v2/RegulatoryCompliance/")) return inventory.answerRegulatory(method, path.slice(25), fields)
    if (path === `/2010-04-01/Accounts/${accountSid}.json`) return [200, { sid: accountSid, status: "active" }]
    const resource = path.replace(/^\/2010-04-01\/Accounts\/\w+\//, "")
    if (resource === "Calls.json" && method === "GET") {
      const children = [...calls.values()].filter(({ parentSid }) => parentSid === form.get("ParentCallSid"))
      return [200, { calls: children.map(({ sid, status }) => ({ sid, status })) }]
    }
    if (resource === "Calls.json") return place(form)
    if (resource === "Messages.json") {
      const [to, from, message] = [form.get("To") ?? "", form.get("From") ?? "", form.get("Body") ?? ""]
      if (to.endsWith("0000")) return [400, { code: 21610, message: "The recipient has unsubscribed", status: 400 }]
      messages.push({ to, from, message })
      return [201, { sid: newSid("SM"), status: "queued" }]
    }
    const call = calls.get(resource.match(/^Calls\/(\w+)\.json$/)?.[1] ?? "")
    return call === undefined ? inventory.answer(method, resource, fields) : ofCall(method, call, form)
  }

  const server = yield* emulatedServer({
    request: (request, response) => {
      if (faults.intercept(request, response)) return
      const [status, body] = answer(request)
      if (faults.afterwards(request)) return void response.destroy()
      response.writeHead(status, { "content-type": "application/json" })
      response.end(body === undefined ? "" : JSON.stringify(body))
    }
  })

  inventory.origin = server.origin
  const self: EmulatedTwilio = {
    origin: server.origin,
    accountSid,
    authToken,
    webhooks: { voice: "", status: undefined, sms: "" },
    faults,
    inventory,
    calls,
    requests: server.requests,
    messages,
    answers,
    answeredBy: undefined,
    addPhone: (number, behaves) => void phones.set(number, behaves),
    callTo: (number) => [...calls.values()].findLast(({ to }) => to === number),
    dial: ({ from, to }) => {
      const { status, voice } = self.webhooks
      const call = new EmulatedCall(carrier, { from, to, direction: "inbound", statusCallback: status })
      calls.set(call.sid, call)
      call.status = "ringing"
      runFork(
        Effect.gen(function* () {
          const document = yield* post(voice, call.fields)
          if (!call.isOver) call.execute(document ?? "<Response/>")
        })
      )
      return call
    },
    text: ({ from, message, to }) =>
      Effect.asVoid(
        post(self.webhooks.sms, { MessageSid: newSid("SM"), AccountSid: accountSid, From: from, To: to, Body: message })
      ),
    post
  }
  return self
})

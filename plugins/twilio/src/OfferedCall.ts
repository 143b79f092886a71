import { createHash } from "node:crypto"
import { mulaw8k } from "@svc/providers/Audio"
import { isE164 } from "@svc/providers/Carrier"
import { CallGone, type CallLeg, type IncomingCall } from "@svc/providers/Telephony"
import { Deferred, Effect, FiberId } from "effect"
import type { CallNetwork, StartedCall } from "./CallNetwork.ts"
import { type FinalStatus, noStream } from "./CallStatus.ts"
import type { TwilioCall } from "./TwilioCall.ts"
import * as Twiml from "./Twiml.ts"
import type { Webhook } from "./Webhook.ts"

/** How long Twilio waits for our answer: it gives up after 15 s. */
const replyWithin = "13 seconds"
/** How long Twilio may take to open the media stream. */
const streamWithin = "9 seconds"
/** How often Twilio is asked for the state of an answered call without a stream: its status may be lost. */
const askEvery = "2 seconds"

/** What Twilio writes for a number that is withheld, spelled on a keypad: ANONYMOUS, RESTRICTED, BLOCKED and the like. */
const withheld: ReadonlySet<string> = new Set([
  "+266696687",
  "+7378742833",
  "+7378742883",
  "+2562533",
  "+8656696",
  "+86282452253"
])

const callerOf = (from: string): string | null =>
  (isE164(from) && !withheld.has(from)) || /^sips?:/i.test(from) ? from : null

/** SIP headers of a call come as fields; Twilio passes on those that begin with `X-`. */
const headersOf = ({ fields }: Webhook): { readonly [name: string]: string } =>
  Object.fromEntries(
    [...fields].flatMap(([name, [value = ""]]) => (name.startsWith("SipHeader_") ? [[name.slice(10), value]] : []))
  )

/** The same for requests with the same fields. */
const digestOf = ({ fields }: Webhook): string =>
  createHash("sha256")
    .update(JSON.stringify([...fields].sort(([one], [other]) => (one < other ? -1 : 1))))
    .digest("base64")

/** What an offered call needs of the plugin. */
export interface OfferNetwork extends Pick<CallNetwork, "connect" | "hangUp" | "ask"> {
  /** The call is answered, and its stream is there. */
  readonly begin: (started: StartedCall) => TwilioCall
}

/** An incoming call, from Twilio's first request until its media stream is there. */
export class OfferedCall {
  readonly incoming: IncomingCall
  readonly #sid: string
  readonly #network: OfferNetwork
  readonly #digest: string
  readonly #reply = Deferred.unsafeMake<string>(FiberId.none)
  readonly #canceled = Deferred.unsafeMake<void>(FiberId.none)
  #state: "offered" | "answering" | "over" = "offered"
  #giveUp: ((gone: CallGone) => void) | undefined

  constructor(request: Webhook, network: OfferNetwork) {
    const { field } = request
    this.#sid = field("CallSid")
    this.#network = network
    this.#digest = digestOf(request)
    const callerName = field("CallerName")
    this.incoming = {
      id: this.#sid,
      from: callerOf(field("From")),
      to: field("To"),
      ...(callerName === "" ? {} : { callerName }),
      headers: headersOf(request),
      // Twilio lets the caller hear the ringing until its request is answered.
      ringing: () => {},
      answer: ({ formats }) => this.#answer(formats),
      reject: (cause) => this.#refuse(cause === "busy" ? "busy" : "rejected"),
      canceled: Deferred.await(this.#canceled)
    }
  }

  /** What Twilio gets; the same for a request that comes twice. */
  get reply(): Effect.Effect<string> {
    return Deferred.await(this.#reply).pipe(
      Effect.timeoutTo({
        duration: replyWithin,
        onSuccess: (twiml) => Effect.succeed(twiml),
        onTimeout: () => {
          this.#refuse("busy")
          this.#cancel("it was not answered in time")
          return Deferred.await(this.#reply)
        }
      }),
      Effect.flatten
    )
  }

  /** Whether it is the request of this call once more. */
  isRequestedBy(request: Webhook): boolean {
    return digestOf(request) === this.#digest
  }

  /** The call is over: the caller has hung up, or Twilio could not connect it. */
  ended(status: FinalStatus): void {
    if (this.#state === "answering" && status === "failed") {
      this.#fail("Twilio reports the call as failed; its console says why, at the call's errors")
    }
    if (this.#state === "over") return
    this.#send(Twiml.hangup)
    this.#cancel("the caller hung up")
  }

  /** Twilio asks what to do after the media stream, which was not there: it could not open it, and the caller waits. */
  streamFailed(): void {
    if (this.#state === "answering") this.#fail(noStream)
  }

  #answer(formats: Parameters<IncomingCall["answer"]>[0]["formats"]): Effect.Effect<CallLeg, CallGone> {
    if (this.#state !== "offered") return Effect.fail(new CallGone({ reason: "the caller has hung up" }))
    if (!formats.some(({ encoding, sampleRate }) => encoding === "mulaw" && sampleRate === mulaw8k.sampleRate)) {
      return Effect.fail(new CallGone({ reason: "Twilio needs mu-law at 8 kHz", failed: true }))
    }
    this.#state = "answering"
    return Effect.async<CallLeg, CallGone>((resume) => {
      const expected = this.#network.connect(this.#sid, (socket, { streamSid }) => {
        this.#state = "over"
        resume(Effect.succeed(this.#network.begin({ sid: this.#sid, callerId: undefined, socket, streamSid }).leg))
      })
      this.#giveUp = (gone) => {
        expected.forget()
        resume(Effect.fail(gone))
      }
      this.#send(expected.twiml)
      return Effect.sync(() => {
        expected.forget()
        this.#state = "over"
        this.#network.hangUp(this.#sid, () => {})
      })
    }).pipe(
      Effect.raceFirst(this.#ask),
      Effect.timeoutFail({
        duration: streamWithin,
        onTimeout: () => new CallGone({ reason: noStream, failed: true })
      })
    )
  }

  /** Ends the call when Twilio says that it is over. */
  get #ask(): Effect.Effect<never> {
    return Effect.sync(() => {
      this.#network.ask(this.#sid, (status) => {
        if (status !== undefined && this.#state === "answering") this.ended(status)
      })
    }).pipe(Effect.delay(askEvery), Effect.forever)
  }

  #refuse(reason: "busy" | "rejected"): void {
    if (this.#state !== "offered") return
    this.#state = "over"
    this.#send(Twiml.reject(reason))
  }

  #cancel(reason: string): void {
    this.#state = "over"
    Deferred.unsafeDone(this.#canceled, Effect.void)
    this.#giveUp?.(new CallGone({ reason }))
  }

  /** The call was answered, and cannot be connected. */
  #fail(reason: string): void {
    this.#state = "over"
    this.#giveUp?.(new CallGone({ reason, failed: true }))
  }

  #send(twiml: string): void {
    Deferred.unsafeDone(this.#reply, Effect.succeed(twiml))
  }
}

import type { Request, Response } from "../message/Message.ts"
import * as Message from "../message/Message.ts"
import * as NameAddr from "../message/NameAddr.ts"
import { decimal, paramOf } from "../message/Syntax.ts"
import * as Uri from "../message/Uri.ts"
import { type Account, authorized, noCredentials, type SentCredentials } from "./Account.ts"

/** Our registration at a trunk (RFC 3261, 10). */
export interface Registration {
  /** `sip:host:port` of the trunk. */
  readonly registrar: string
  /** Our address at the trunk: `sip:user@host`. */
  readonly address: string
  readonly contact: string
  readonly account: Account | undefined
  readonly credentials: SentCredentials
  readonly callId: string
  readonly tag: string
  readonly salt: string
  readonly number: number
  /** Seconds that we ask for. */
  readonly seconds: number
  readonly state: "registering" | "registered" | "failed" | "stopping" | "stopped"
  /** Why the last try failed: a status and its reason, or that nothing came. */
  readonly failure: string | undefined
  readonly failures: number
  /** When the next REGISTER is due, in ms. */
  readonly dueAt: number
}

export type Step = readonly [Registration, ReadonlyArray<Request>]

/** Seconds for which a registration is asked. */
const usualSeconds = 300

const register = (is: Registration, seconds: number): Step => {
  const number = is.number + 1
  const request: Request = {
    _tag: "Request",
    method: "REGISTER",
    uri: is.registrar,
    headers: [
      { name: "max-forwards", value: "70" },
      { name: "from", value: `<${is.address}>;tag=${is.tag}` },
      { name: "to", value: `<${is.address}>` },
      { name: "call-id", value: is.callId },
      { name: "cseq", value: `${number} REGISTER` },
      { name: "contact", value: is.contact },
      { name: "expires", value: String(seconds) }
    ],
    body: Message.noBody
  }
  return [{ ...is, number, dueAt: Number.POSITIVE_INFINITY }, [request]]
}

/** Begins to register. `callId`, `tag` and `salt` are random text. */
export const start = (
  given: Pick<Registration, "registrar" | "address" | "contact" | "account" | "callId" | "tag" | "salt">
): Step =>
  register(
    {
      ...given,
      credentials: noCredentials,
      number: 0,
      seconds: usualSeconds,
      state: "registering",
      failure: undefined,
      failures: 0,
      dueAt: Number.POSITIVE_INFINITY
    },
    usualSeconds
  )

/** Seconds until the next try after a number of failures in a row: 5, doubling, at most 5 minutes. */
const pauseSeconds = (failures: number): number => Math.min(300, 5 * 2 ** Math.min(failures - 1, 10))

const failedWith = (is: Registration, failure: string, now: number): Step => {
  if (is.state === "stopping") return [{ ...is, state: "stopped", dueAt: Number.POSITIVE_INFINITY }, []]
  const failures = is.failures + 1
  return [{ ...is, state: "failed", failure, failures, dueAt: now + pauseSeconds(failures) * 1000 }, []]
}

/** The seconds that the registrar granted to our Contact (RFC 3261, 10.2.4). */
const granted = (is: Registration, response: Response): number => {
  const own = NameAddr.parse(is.contact)
  const entry = (Message.addresses(response, "contact") ?? []).find(
    ({ uri }) => own !== undefined && Uri.equal(uri, own.uri)
  )
  const text = paramOf(entry?.params ?? [], "expires") ?? Message.header(response, "expires") ?? ""
  return decimal(text, 2 ** 31) ?? is.seconds
}

/** A response to a REGISTER of ours. */
export const response = (is: Registration, sent: Request, received: Response, now: number): Step => {
  const { reason, status } = received
  if (status < 200 || is.state === "stopped") return [is, []]
  if (status === 401 || status === 407) {
    const number = is.number + 1
    const authenticated = authorized(is, sent, received, number)
    if (authenticated === undefined) return failedWith(is, `${status} ${reason}`, now)
    const [again, credentials] = authenticated
    return [{ ...is, number, credentials }, [again]]
  }
  if (status === 423 && is.state !== "stopping") {
    const least = decimal(Message.header(received, "min-expires") ?? "", 86_400)
    if (least !== undefined && least > is.seconds) return register({ ...is, seconds: least }, least)
  }
  if (status >= 300) return failedWith(is, `${status} ${reason}`.trim(), now)
  if (is.state === "stopping") return [{ ...is, state: "stopped", dueAt: Number.POSITIVE_INFINITY }, []]
  // Refreshed well before the end, so that one lost try does not end it.
  const seconds = Math.max(5, Math.min(granted(is, received), is.seconds))
  const dueAt = now + Math.max(seconds * 500, (seconds - 60) * 1000)
  return [{ ...is, state: "registered", failure: undefined, failures: 0, dueAt }, []]
}

/** No response came. */
export const failed = (is: Registration, reason: string, now: number): Step =>
  is.state === "stopped" ? [is, []] : failedWith(is, reason, now)

/** Registers again when it is time. */
export const advance = (is: Registration, now: number): Step =>
  now < is.dueAt || is.state === "stopped" || is.state === "stopping" ? [is, []] : register(is, is.seconds)

/** Ends the registration, so that the trunk sends no more calls. */
export const stop = (is: Registration): Step => {
  if (is.state === "stopped" || is.state === "stopping") return [is, []]
  if (is.state === "failed") return [{ ...is, state: "stopped", dueAt: Number.POSITIVE_INFINITY }, []]
  return register({ ...is, state: "stopping" }, 0)
}

import type { Headers, Request, Response } from "../message/Message.ts"
import * as Message from "../message/Message.ts"
import * as NameAddr from "../message/NameAddr.ts"
import { paramOf, split } from "../message/Syntax.ts"
import * as Uri from "../message/Uri.ts"

/** A dialog (RFC 3261, 12): what both sides must remember to send requests to each other. */
export interface Dialog {
  readonly callId: string
  readonly localTag: string
  /** Empty when the peer gave none (RFC 2543). */
  readonly remoteTag: string
  /** Our value of From in requests of ours, with its tag. */
  readonly local: string
  /** The value of To in requests of ours, with its tag. */
  readonly remote: string
  /** The number of our last request. */
  readonly localNumber: number
  /** The number of the peer's last request; undefined: none yet. */
  readonly remoteNumber: number | undefined
  /** The peer's Contact: where requests go to. */
  readonly target: string
  /** The values of Route, in the order of requests of ours. */
  readonly routes: ReadonlyArray<string>
}

const contactOf = (message: Message.Message): string | undefined => {
  const [first] = Message.addresses(message, "contact") ?? []
  return first === undefined ? undefined : Uri.text(first.uri)
}

const recorded = (message: Message.Message): ReadonlyArray<string> =>
  Message.headers(message, "record-route").flatMap((value) => split(value, ",") ?? [])

/** A value of To with our tag. */
export const tagged = (value: string, tag: string): string => {
  const address = NameAddr.parse(value)
  if (address === undefined || paramOf(address.params, "tag") !== undefined) return value
  return NameAddr.text({ ...address, params: [...address.params, { name: "tag", value: tag }] })
}

/** The dialog that an INVITE of the peer begins, with our tag. */
export const ofInvite = (invite: Request, localTag: string): Dialog => ({
  callId: Message.callId(invite),
  localTag,
  remoteTag: Message.tag(invite, "from") ?? "",
  local: tagged(Message.header(invite, "to") ?? "", localTag),
  remote: Message.header(invite, "from") ?? "",
  localNumber: 0,
  remoteNumber: Message.cseq(invite)?.number,
  target: contactOf(invite) ?? addressUri(Message.header(invite, "from") ?? ""),
  routes: recorded(invite)
})

/** The dialog that a response to an INVITE of ours begins. */
export const ofResponse = (invite: Request, response: Response): Dialog => ({
  callId: Message.callId(invite),
  localTag: Message.tag(invite, "from") ?? "",
  remoteTag: Message.tag(response, "to") ?? "",
  local: Message.header(invite, "from") ?? "",
  remote: Message.header(response, "to") ?? "",
  localNumber: Message.cseq(invite)?.number ?? 0,
  remoteNumber: undefined,
  target: contactOf(response) ?? invite.uri,
  routes: recorded(response).toReversed()
})

/** The URI in a header with one address. */
const addressUri = (value: string): string => {
  const address = NameAddr.parse(value)
  return address === undefined ? value : Uri.text(address.uri)
}

/** Whether a route is of a loose router (RFC 3261, 16.12). */
const isLoose = (route: string): boolean => {
  const uri = NameAddr.parse(route)?.uri
  return uri?._tag === "Sip" && paramOf(uri.params, "lr") !== undefined
}

/** Request-URI and values of Route for a target behind routes; a strict router is the Request-URI (RFC 3261, 12.2.1.1). */
export const routed = (
  target: string,
  routes: ReadonlyArray<string>
): { readonly uri: string; readonly routes: ReadonlyArray<string>; readonly isStrict: boolean } => {
  const [first, ...rest] = routes
  if (first === undefined || isLoose(first)) return { uri: target, routes, isStrict: false }
  return { uri: addressUri(first), routes: [...rest, `<${target}>`], isStrict: true }
}

/** Whether a request goes to its Request-URI, and not to its first route (RFC 3261, 8.1.2). */
export const goesToUri = (request: Request): boolean =>
  request.isStrictlyRouted === true || Message.header(request, "route") === undefined

/** Where a request goes: its first route, else its Request-URI, which a strict router is (RFC 3261, 8.1.2). */
export const nextHop = (request: Request): Uri.Uri | undefined => {
  if (goesToUri(request)) return Uri.parse(request.uri)
  const [route] = Message.addresses(request, "route") ?? []
  return route !== undefined ? route.uri : Uri.parse(request.uri)
}

/** What a request of ours has besides what the dialog gives. */
export interface Content {
  readonly headers?: Headers
  readonly body?: Uint8Array
}

const compose = (dialog: Dialog, method: string, number: number, { body, headers }: Content): Request => {
  const { isStrict, routes, uri } = routed(dialog.target, dialog.routes)
  return {
    _tag: "Request",
    method,
    uri,
    headers: [
      ...routes.map((value) => ({ name: "route", value })),
      { name: "max-forwards", value: "70" },
      { name: "from", value: dialog.local },
      { name: "to", value: dialog.remote },
      { name: "call-id", value: dialog.callId },
      { name: "cseq", value: `${number} ${method}` },
      ...(headers ?? [])
    ],
    body: body ?? Message.noBody,
    ...(isStrict ? { isStrictlyRouted: true } : {})
  }
}

/** The next request of ours, without Via. */
export const request = (dialog: Dialog, method: string, content: Content = {}): readonly [Dialog, Request] => {
  const number = dialog.localNumber + 1
  return [{ ...dialog, localNumber: number }, compose(dialog, method, number, content)]
}

/** The ACK of a 2xx to the INVITE with this number, without Via. */
export const ack = (dialog: Dialog, number: number, content: Content = {}): Request =>
  compose(dialog, "ACK", number, content)

/**
 * Takes a request of the peer. `old`: its number is not higher than the one before, so it is to be refused with 500
 * (RFC 3261, 12.2.2). A Contact of INVITE and UPDATE is the new target.
 */
export const receive = (dialog: Dialog, received: Request): Dialog | "old" => {
  const number = Message.cseq(received)?.number ?? 0
  if (dialog.remoteNumber !== undefined && number <= dialog.remoteNumber) return "old"
  return { ...refreshed(dialog, received), remoteNumber: number }
}

/** With the Contact of a request or response that refreshes the target. */
export const refreshed = (dialog: Dialog, message: Message.Message): Dialog => {
  const method = message._tag === "Request" ? message.method : Message.cseq(message)?.method
  const target = method === "INVITE" || method === "UPDATE" ? contactOf(message) : undefined
  return target === undefined ? dialog : { ...dialog, target }
}

/** A response to a request; the tag of To is ours when the request has none. Via, From, To, Call-ID and CSeq are copied. */
export const respond = (
  received: Request,
  status: number,
  reason: string,
  localTag: string,
  { body, headers }: Content = {}
): Response => ({
  _tag: "Response",
  status,
  reason,
  headers: [
    ...received.headers.flatMap((each) => {
      if (each.name === "to" && status > 100) return [{ name: "to", value: tagged(each.value, localTag) }]
      const isCopied = ["via", "from", "to", "call-id", "cseq"].includes(each.name)
      const isRecorded = each.name === "record-route" && status > 100 && status < 300 && received.method === "INVITE"
      return isCopied || isRecorded || (each.name === "timestamp" && status === 100) ? [each] : []
    }),
    ...(headers ?? [])
  ],
  body: body ?? Message.noBody
})

/** Identifies a dialog from our side. */
export const key = (callId: string, localTag: string, remoteTag: string): string =>
  `${callId}\n${localTag}\n${remoteTag}`

export const keyOf = ({ callId, localTag, remoteTag }: Dialog): string => key(callId, localTag, remoteTag)

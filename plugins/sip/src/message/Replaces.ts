import type { Message } from "./Message.ts"
import * as MessageParts from "./Message.ts"
import { paramOf, split } from "./Syntax.ts"

/** A dialog that an INVITE takes the place of (RFC 3891), seen from the side that gets the INVITE. */
export interface Replaces {
  readonly callId: string
  /** The tag of the side that gets the INVITE. */
  readonly toTag: string
  readonly fromTag: string
}

/** The value of the header. */
export const text = ({ callId, fromTag, toTag }: Replaces): string => `${callId};to-tag=${toTag};from-tag=${fromTag}`

/** The header of an INVITE; undefined: it has none. `malformed`: it is to be refused with 400 (RFC 3891, 3). */
export const of = (invite: Message): Replaces | "malformed" | undefined => {
  const values = MessageParts.headers(invite, "replaces")
  const [value] = values
  if (value === undefined) return undefined
  const [callId = "", ...rest] = (split(value, ";") ?? []).map((part) => part.trim())
  const params = rest.map((part) => {
    const [name = "", given] = part.split("=", 2)
    return { name: name.trim().toLowerCase(), value: given?.trim() }
  })
  const [toTag, fromTag] = [paramOf(params, "to-tag"), paramOf(params, "from-tag")]
  if (values.length > 1 || callId === "" || toTag === undefined || fromTag === undefined) return "malformed"
  return { callId, toTag, fromTag }
}

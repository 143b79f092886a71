import type { Request } from "../message/Message.ts"
import * as Message from "../message/Message.ts"

const digits = "0123456789*#ABCD"

/**
 * The digit of an INFO: `application/dtmf-relay` has `Signal=5`, `application/dtmf` the digit alone, both also as the
 * number of the event (10 is `*`, 11 is `#`). Undefined: it has none.
 */
export const digitOf = (request: Request): string | undefined => {
  const type = Message.contentType(request)
  const text = Buffer.from(request.body.subarray(0, 200)).toString("latin1")
  const signal =
    type === "application/dtmf-relay"
      ? /^\s*Signal\s*=\s*([0-9A-Da-d*#]{1,2})\s*$/im.exec(text)?.[1]
      : type === "application/dtmf"
        ? /^\s*([0-9A-Da-d*#]{1,2})\s*$/.exec(text)?.[1]
        : undefined
  if (signal === undefined) return undefined
  const upper = signal.toUpperCase()
  return upper.length === 1 ? upper : digits[Number(upper)]
}

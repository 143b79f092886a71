/** The documents that instruct Twilio what to do with a call. See https://www.twilio.com/docs/voice/twiml. */

const entities: { readonly [character: string]: string } = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;"
}

const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character] ?? "")

const element = (
  name: string,
  attributes: { readonly [name: string]: string | undefined } = {},
  content = ""
): string => {
  const written = Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [` ${key}="${escaped(value)}"`]
  )
  return content === "" ? `<${name}${written.join("")}/>` : `<${name}${written.join("")}>${content}</${name}>`
}

const response = (...verbs: ReadonlyArray<string>): string =>
  `<?xml version="1.0" encoding="UTF-8"?>${element("Response", {}, verbs.join(""))}`

/** Does nothing: the answer to a text message. */
export const nothing = response()

export const hangup = response(element("Hangup"))

/** The caller hears that the number is busy, or that it is not in service. */
export const reject = (reason: "busy" | "rejected"): string => response(element("Reject", { reason }))

/**
 * Connects the call with a media stream. When the stream ends and the call does not, such as after a broken connection,
 * Twilio asks at `next` what to do.
 */
export const connect = (options: { readonly stream: string; readonly token: string; readonly next: string }): string =>
  response(
    element(
      "Connect",
      {},
      element("Stream", { url: options.stream }, element("Parameter", { name: "token", value: options.token }))
    ),
    element("Redirect", { method: "POST" }, escaped(options.next))
  )

/** How long a transfer rings, in seconds. Twilio adds up to 5 s; the engine waits 30 s for the outcome. */
const ringSeconds = 20

/** Calls a destination and joins it with the caller. `progress` gets the states of its call, `outcome` its end. */
export const dial = (options: {
  readonly target: string
  readonly callerId: string | undefined
  readonly progress: string
  readonly outcome: string
}): string => {
  const { callerId, outcome, progress, target } = options
  return response(
    element(
      "Dial",
      { action: outcome, method: "POST", timeout: String(ringSeconds), callerId },
      element(
        /^sips?:/i.test(target) ? "Sip" : "Number",
        {
          statusCallback: progress,
          statusCallbackMethod: "POST",
          statusCallbackEvent: "initiated ringing answered completed"
        },
        escaped(target)
      )
    )
  )
}

import type { CallTimeline } from "@svc/api/calls/CallTimeline"

/** The most characters of the steps: the page has the script in an attribute. */
const maxSteps = 40_000
/** The longest text of a step, and the longest number. */
const maxText = 1_000

/** JSON strings are YAML strings. */
const quoted = (text: string): string => JSON.stringify(text.trim().slice(0, maxText))

/** A pattern that matches this text. */
const pattern = (text: string): string =>
  quoted(
    text
      .trim()
      .slice(0, maxText / 2)
      .replace(/[\^$\\.*+?()[\]{}|/]/g, "\\$&")
  )

const digitOf = (what: string): string | undefined => /^digit ([0-9*#])$/.exec(what)?.[1]

interface Step {
  readonly at: number
  readonly text: string
}

/** What the caller said and typed and what the agent said, as a script for `simulate` (YAML) that repeats the call. */
export const callScript = ({ call, events, left_out, turns }: CallTimeline): string => {
  const isOutbound = events.some(({ actor, at, what }) => at === 0 && actor === "call" && what.startsWith("outbound "))
  const spoken = turns.map(({ interrupted, role, started_at, text }, index): Step => {
    const isInterrupting = turns[index - 1]?.interrupted === true
    if (role === "user") return { at: started_at, text: `${isInterrupting ? "interrupt" : "say"}: ${quoted(text)}` }
    return { at: started_at, text: interrupted ? "" : `expect: ${pattern(text)}` }
  })
  const typed = events.flatMap(({ actor, at, what }): ReadonlyArray<Step> => {
    const digit = actor === "caller" ? digitOf(what) : undefined
    return digit === undefined ? [] : [{ at, text: `dtmf: "${digit}"` }]
  })
  const all = [...spoken, ...typed].sort((a, b) => a.at - b.at).flatMap(({ text }) => (text === "" ? [] : [text]))
  let size = 0
  // The newest that fit.
  const from = all.findLastIndex(({ length }) => {
    size += length
    return size > maxSteps
  })
  const steps = all.slice(from + 1)
  const isWhole = left_out.turns === 0 && from < 0
  const number = (name: string, value: string | null): ReadonlyArray<string> =>
    value === null ? [] : [`${name}: ${quoted(value)}`]
  return [
    `# From ${call.call_id}. Play it in the checkout of Svc: npm run simulate -- <this file> --key <a project key>`,
    ...(isWhole ? [] : ["# The call was longer: its beginning was left out."]),
    `name: ${quoted(`as in ${call.call_id}`)}`,
    ...(isOutbound
      ? [...number("to", call.from_number), ...number("receive", call.to_number)]
      : [...number("to", call.to_number), ...number("from", call.from_number)]),
    "steps:",
    ...steps.map((text) => `  - ${text}`),
    call.ended_reason === "caller-hangup" || call.ended_at === null ? "  - hangup: true" : "  - expect_hangup: true",
    ...(call.ended_at === null
      ? []
      : [`  - expect_call: ${JSON.stringify({ status: call.status, tools_called: call.tools_called })}`]),
    ""
  ].join("\n")
}

import { failureLine } from "./CallView.ts"
import type { Ran } from "./Report.ts"

/**
 * The report in the form of JUnit, which CI systems read: one `testcase` for each script, with `failure` for an
 * expectation that was not met, `error` for a script that is invalid or a server that is away, and `skipped` for a script
 * that was not run.
 */

/** The longest text of a testcase, in characters. */
const maxText = 100_000

/** Characters that XML 1.0 does not allow, not even escaped (XML 1.0, 2.2 Char). */
const forbidden = /[\0-\x08\x0B\x0C\x0E-\x1F\uFFFE\uFFFF\p{Surrogate}]/gu

const allowed = (text: string): string =>
  (text.length <= maxText ? text : `${text.slice(0, maxText)}…`).replace(forbidden, "\uFFFD")

const escapes: { readonly [char: string]: string } = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" }

const body = (text: string): string =>
  allowed(text)
    .replace(/[&<>"]/g, (char) => escapes[char] ?? "")
    .replace(/\r/g, "&#13;")

/** Line breaks and tabs of attributes are references: a parser would read them as spaces. */
const attribute = (text: string): string => body(text).replace(/[\n\t]/g, (char) => `&#${char.charCodeAt(0)};`)

const element = (name: string, attributes: { readonly [name: string]: string | number }, content: string): string => {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${attribute(String(value))}"`)
  return content === "" ? `<${name}${written.join("")}/>` : `<${name}${written.join("")}>${content}</${name}>`
}

const seconds = (ms: number): string => (ms / 1000).toFixed(3)

/** What went wrong, with what the server says about the call. */
const details = ({ call, outcome }: Ran): string =>
  [
    outcome.error ?? "",
    ...(call?.record?.failure == null ? [] : [failureLine(call.record.failure)]),
    ...(call?.record?.warnings ?? []).map(({ reason, what }) => `warning, ${what}: ${reason}`),
    ...(call?.call_id == null ? [] : [`call ${call.call_id}`]),
    ...(call?.debug_url == null ? [] : [`debug page: ${call.debug_url}`])
  ].join("\n")

const problem = (ran: Ran): string => {
  const message = (ran.outcome.error ?? "").split("\n")[0] ?? ""
  switch (ran.result) {
    case "ok":
      return ""
    case "not-run":
      return element("skipped", { message }, "")
    case "failed":
      return element("failure", { message, type: "expectation" }, body(details(ran)))
    case "invalid":
      return element("error", { message, type: "script" }, body(details(ran)))
    case "unavailable":
      return element("error", { message, type: "server" }, body(details(ran)))
    case "interrupted":
      return element("error", { message, type: "interrupted" }, body(details(ran)))
  }
}

const testcase = (ran: Ran): string => {
  const file = ran.file ?? "script"
  const output = ran.output.length === 0 ? "" : `\n${element("system-out", {}, body(ran.output.join("\n")))}`
  const attributes = { name: ran.name ?? file, classname: file, file, time: seconds(ran.duration_ms) }
  return element("testcase", attributes, `${problem(ran)}${output}`)
}

/** The document. `started_at` is Unix milliseconds. */
export const junit = (all: ReadonlyArray<Ran>, started_at: number, duration_ms: number): string => {
  const count = (...results: ReadonlyArray<Ran["result"]>): number =>
    all.filter(({ result }) => results.includes(result)).length
  const counts = {
    tests: all.length,
    failures: count("failed"),
    errors: count("invalid", "unavailable", "interrupted"),
    skipped: count("not-run"),
    time: seconds(duration_ms)
  }
  const suite = element(
    "testsuite",
    { name: "simulate", ...counts, timestamp: new Date(started_at).toISOString().slice(0, 19) },
    `\n${all.map(testcase).join("\n")}\n`
  )
  return `<?xml version="1.0" encoding="UTF-8"?>\n${element("testsuites", { name: "simulate", ...counts }, `\n${suite}\n`)}\n`
}

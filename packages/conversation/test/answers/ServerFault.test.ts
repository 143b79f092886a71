import { describe, expect, it } from "vitest"
import { FaultCause, type RequestKind, type ServerFault } from "../../src/answers/ServerFault.ts"
import { recordOf } from "../../src/CallRecord.ts"
import { Script } from "../../src/testing/Script.ts"

/** What a call says about a fault of its agent's server: the failure's hint, or the reason of the warning. */
const shown: { readonly [K in RequestKind]: (fault: ServerFault) => string } = {
  "call.started": (fault) =>
    recordOf(new Script().input({ _tag: "ConfigFailed", reason: "no answer", fault }).state).failure?.hint ?? "",
  "tool.call": (fault) => {
    const calls = [{ id: "t", name: "lookup", arguments: {} }]
    const s = Script.greeted().say("Hi").input({ _tag: "ModelToolCalls", turn: 1, calls })
    return (
      recordOf(s.input({ _tag: "ToolFailed", id: "t", reason: "no answer", fault }).state).warnings[0]?.reason ?? ""
    )
  },
  "transcript.updated": (fault) =>
    recordOf(Script.greeted().input({ _tag: "TranscriptFailed", count: 1, reason: "no answer", fault }).state)
      .warnings[0]?.reason ?? ""
}

/** What a hint says for every request, then what it adds for `call.started`, `tool.call` and `transcript.updated`. */
type Row = readonly [RegExp, ...([] | readonly [RegExp, RegExp, RegExp])]

const mustAnswer = [
  /must answer call\.started with a JSON object that has system_prompt/,
  /must answer tool\.call with JSON: \{ "result": … \}/,
  /must answer transcript\.updated with status 200/
] as const

const table: { readonly [C in FaultCause]: Row } = {
  url: [/Set the agent's server_url to the address of your server/],
  blocked: [/public HTTPS address.*SVC_ALLOW_PRIVATE_URLS=true/],
  dns: [/Check the host name/],
  refused: [/Start your server.*host and port/],
  unreachable: [/firewall/],
  tls: [/certificate that is valid/],
  closed: [/closed the connection.*log/],
  "not-http": [/does not speak HTTP/],
  timeout: [
    /Answer/,
    /call\.started within 5 seconds/,
    /larger timeout_seconds/,
    /transcript\.updated with status 200 at once/
  ],
  redirect: [/final address: redirects are not followed/],
  "not-found": [/with its path/, ...mustAnswer],
  method: [/accept POST at that path/, ...mustAnswer],
  unauthorized: [/X-Svc-Signature-V1.*current server_secret.*rotate-server-secret.*asks for a login/],
  "client-error": [/log for why it refused/, ...mustAnswer],
  "server-error": [/log for the error/, mustAnswer[0], /belongs in its result, with status 200/, mustAnswer[2]],
  "too-large": [
    /with less: at most/,
    /call\.started .* 128 KB/,
    /tool\.call .* 256 KB/,
    /transcript\.updated .* 128 KB/
  ],
  empty: [/Send a body with status 200/, ...mustAnswer],
  html: [/web page.*not to a site, a proxy or a tunnel/, ...mustAnswer],
  json: [/Correct the JSON at that place/, ...mustAnswer],
  limits: [/10,000 values, 5,000 fields and 100 levels/],
  fields: [/Correct the answer of your server/, ...mustAnswer],
  svc: [/Svc itself could not complete the request\. Its operator/]
}

const kinds = ["call.started", "tool.call", "transcript.updated"] as const

describe("the hint for a fault of the agent's server", () => {
  for (const cause of FaultCause.literals) {
    const [always, ...own] = table[cause]
    for (const [index, kind] of kinds.entries()) {
      it(`${cause} of ${kind} says what to do about that request`, () => {
        const hint = shown[kind]({ cause, what: "POST https://a.example/ failed after 3 ms" })
        expect(hint).toMatch(always)
        expect(hint).toMatch(own[index] ?? /See docs\/reference\/agent-server\.md\.$/)
        expect(hint).toMatch(/See docs\/reference\/agent-server\.md\.$/)
        // What another request needs would mislead. A tool's limit is set in the answer to call.started.
        for (const [other, words] of own.entries()) {
          if (other !== index && String(words) !== String(own[index])) expect(hint).not.toMatch(words)
        }
      })
    }
  }
})

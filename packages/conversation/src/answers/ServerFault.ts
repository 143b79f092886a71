import { Schema } from "effect"

/** What was wrong with a request to the agent's server, or with its answer. */
export const FaultCause = Schema.Literal(
  "url",
  "blocked",
  "dns",
  "refused",
  "unreachable",
  "tls",
  "closed",
  "not-http",
  "timeout",
  "redirect",
  "not-found",
  "method",
  "unauthorized",
  "client-error",
  "server-error",
  "too-large",
  "empty",
  "html",
  "json",
  "limits",
  "fields",
  "svc"
)
export type FaultCause = typeof FaultCause.Type

/** `what`: one sentence for people: which request, to which address, what came back, after how long. */
export const ServerFault = Schema.Struct({ cause: FaultCause, what: Schema.String })
export type ServerFault = typeof ServerFault.Type

/** The field of inputs that report a failed request; absent in journals of earlier versions. */
export const faultField = { fault: Schema.optionalWith(ServerFault, { exact: true }) } as const

/** The requests to the agent's server. */
export type RequestKind = "call.started" | "tool.call" | "transcript.updated"

const expected = {
  "call.started": "it must answer call.started with a JSON object that has system_prompt",
  "tool.call": 'it must answer tool.call with JSON: { "result": … }',
  "transcript.updated": "it must answer transcript.updated with status 200"
} as const satisfies Record<RequestKind, string>

const maxKb = { "call.started": 128, "tool.call": 256, "transcript.updated": 128 } as const

const inTime = {
  "call.started": "Answer call.started within 5 seconds: load what takes longer during the call, in a tool.",
  "tool.call": "Answer sooner, or give the tool a larger timeout_seconds in the answer to call.started.",
  "transcript.updated": "Answer transcript.updated with status 200 at once, and work afterwards."
} as const satisfies Record<RequestKind, string>

/** What to do about each cause. The table of docs/reference/agent-server.md. */
const hints: { readonly [C in FaultCause]: (kind: RequestKind) => string } = {
  url: () => "Set the agent's server_url to the address of your server, for example https://example.com/agent.",
  blocked: () =>
    "Use a public HTTPS address. For a server on your own machine or network, start Svc with SVC_ALLOW_PRIVATE_URLS=true.",
  dns: () => "Check the host name in the agent's server_url, and that the machine of Svc can resolve it.",
  refused: () =>
    "Start your server, and check that it listens on the host and port of the agent's server_url. From a container, localhost is the container itself.",
  unreachable: () =>
    "Check the host and port of the agent's server_url, and that no firewall is between Svc and your server.",
  tls: () =>
    "Give your server a certificate that is valid for its host name and has not expired. A server without TLS needs a server_url with http://, which Svc allows with SVC_ALLOW_PRIVATE_URLS=true.",
  closed: () => "Your server closed the connection without a complete answer. Look in its log for a crash or a limit.",
  "not-http": () => "What answers at that port does not speak HTTP. Check scheme and port of the agent's server_url.",
  timeout: (kind) => inTime[kind],
  redirect: () => "Set the agent's server_url to the final address: redirects are not followed.",
  "not-found": (kind) => `Set the agent's server_url to the address of your server, with its path; ${expected[kind]}.`,
  method: (kind) => `Let your server accept POST at that path; ${expected[kind]}.`,
  unauthorized: () =>
    "If your server verifies the header X-Svc-Signature-V1, give it the agent's current server_secret; POST /v1/agents/<id>/rotate-server-secret makes a new one. If it asks for a login, let requests of Svc in without one.",
  "client-error": (kind) => `Look in your server's log for why it refused the request; ${expected[kind]}.`,
  "server-error": (kind) =>
    kind === "tool.call"
      ? "Look in your server's log for the error. What went wrong in a tool belongs in its result, with status 200."
      : `Look in your server's log for the error; ${expected[kind]}.`,
  "too-large": (kind) => `Answer ${kind} with less: at most ${maxKb[kind]} KB.`,
  empty: (kind) => `Send a body with status 200; ${expected[kind]}.`,
  html: (kind) =>
    `That address answers with a web page. Set the agent's server_url to your server itself, not to a site, a proxy or a tunnel's notice in front of it; ${expected[kind]}.`,
  json: (kind) => `Correct the JSON at that place; ${expected[kind]}.`,
  limits: () => "Answer with less: at most 10,000 values, 5,000 fields and 100 levels.",
  fields: (kind) => `Correct the answer of your server; ${expected[kind]}.`,
  svc: () => "Svc itself could not complete the request. Its operator finds the cause in its log and on its machine."
}

/** What to do next about a failed request. Without a cause, as in journals of earlier versions: what is expected. */
export const hintOf = (kind: RequestKind, cause: FaultCause | undefined): string =>
  `${cause === undefined ? `Check your server: ${expected[kind]}.` : hints[cause](kind)} See docs/reference/agent-server.md.`

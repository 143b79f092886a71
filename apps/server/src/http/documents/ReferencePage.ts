import { hashSource, html } from "./Html.ts"
import { look, siteLinks, topBar } from "./PageLayout.ts"

/** An API as its reference page shows it. */
export interface Reference {
  readonly title: string
  /** The path of its OpenAPI document. */
  readonly document: string
  /** The path of the API on this server. */
  readonly base: string
  /** The path of Scalar's script. */
  readonly script: string
}

/** Languages of the examples that Scalar makes, without curl; TypeScript comes with the document. */
const hidden =
  "c clojure csharp dart fsharp go http java js julia kotlin node objc ocaml php powershell r ruby rust swift"
const hiddenClients = {
  ...Object.fromEntries(hidden.split(" ").map((language) => [language, true])),
  shell: ["httpie", "wget"],
  python: ["httpx_async", "httpx_sync", "python3", "aiohttp"]
}

/**
 * The settings of https://github.com/scalar/scalar: nothing from other hosts (fonts, proxy, assistant, telemetry), the
 * key in memory only, and requests to the host that sent the page, which is the only one that its policy allows.
 */
const settings = ({ base, document }: Reference): object => ({
  url: document,
  servers: [{ url: base }],
  withDefaultFonts: false,
  telemetry: false,
  persistAuth: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: "never",
  documentDownloadType: "direct",
  defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
  hiddenClients,
  orderRequiredPropertiesFirst: true
})

const style = `${look}
:root { --scalar-custom-header-height: 2.75rem; --scalar-font: system-ui, sans-serif; --scalar-font-code: ui-monospace, monospace; }
.bar { position: sticky; top: 0; z-index: 10; height: 2.75rem; margin: 0; }
`

const start = (reference: Reference): string =>
  `Scalar.createApiReference("#reference", ${JSON.stringify(settings(reference)).replace(/</g, "\\u003c")})`

/**
 * The page's Content-Security-Policy: this server alone. `unsafe-inline` for styles is for Scalar, which makes style
 * elements and attributes while it runs.
 */
export const policyOf = (reference: Reference): string =>
  `default-src 'none'; script-src 'self' ${hashSource(start(reference))}; style-src 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

/** A page on which people read an API and try its requests, with Scalar. */
export const render = (reference: Reference): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${html(reference.title)}</title><link rel="icon" href="data:,"><style>${style}</style></head>
<body>${topBar(siteLinks)}
<noscript><main><p>This page needs scripts. The same is in the <a href="/guides/reference">reference of every field</a>, and
in the <a href="${html(reference.document)}">OpenAPI document</a>.</p></main></noscript>
<div id="reference"></div><script src="${html(reference.script)}"></script><script>${start(reference)}</script></body></html>
`

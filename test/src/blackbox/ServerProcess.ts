import { randomBytes } from "node:crypto"
import { Effect, Redacted, type Scope } from "effect"
import * as ApiClient from "./ApiClient.ts"
import { eventually } from "./Inbox.ts"
import * as SvcProcess from "./SvcProcess.ts"

/** The keys of a server's first organization. */
export interface ServerKeys {
  readonly org: Redacted.Redacted
  readonly project: Redacted.Redacted
  readonly workspace: Redacted.Redacted
}

/** A running `svc serve`. */
export interface ServerProcess extends SvcProcess.SvcProcess {
  /** The address that it printed. */
  readonly url: string
  readonly keys: ServerKeys
  /** With the project key. */
  readonly api: ApiClient.ApiClient
}

const newKey = (prefix: string) => Redacted.make(prefix + randomBytes(24).toString("hex"))

/** New random keys. */
export const newKeys: Effect.Effect<ServerKeys> = Effect.sync(() => ({
  org: newKey("svc_org_"),
  project: newKey("svc_live_"),
  workspace: newKey("svc_wsp_live_")
}))

const bootstrap = ({ org, project, workspace }: ServerKeys): SvcProcess.Environment => ({
  SVC_BOOTSTRAP_ORG_KEY: Redacted.value(org),
  SVC_BOOTSTRAP_PROJECT_KEY: Redacted.value(project),
  SVC_BOOTSTRAP_WORKSPACE_KEY: Redacted.value(workspace)
})

export interface ServerOptions {
  /** The location of its data: `SVC_DATABASE_URL`, or `SVC_DATA_DIR` for the embedded database. */
  readonly data: { readonly url: Redacted.Redacted } | { readonly folder: string }
  /** Given at the first start; without them the server generates keys, which are read from its output. */
  readonly keys?: ServerKeys
  readonly env?: SvcProcess.Environment
  /** Without `--dev`, as in production. */
  readonly production?: boolean
  /** Its providers do not work, so that it listens and is not ready. */
  readonly unready?: boolean
}

/** The environment of such a server. */
export const environmentOf = ({ data, env, keys }: ServerOptions): SvcProcess.Environment => ({
  SVC_PORT: "0",
  ...("url" in data ? { SVC_DATABASE_URL: Redacted.value(data.url) } : { SVC_DATA_DIR: data.folder }),
  ...(keys === undefined ? {} : bootstrap(keys)),
  ...env
})

const printed = (output: string, prefix: string): Redacted.Redacted => {
  const key = output.match(new RegExp(`\\b${prefix}[0-9a-f]{48}\\b`))?.[0]
  if (key === undefined) throw new Error(`the server printed no ${prefix} key:\n${output}`)
  return Redacted.make(key)
}

/** Starts a server and waits until it is ready, or `unready`. The scope stops it. */
export const start = (options: ServerOptions): Effect.Effect<ServerProcess, never, Scope.Scope> =>
  Effect.gen(function* () {
    const args = options.production === true ? ["serve"] : ["serve", "--dev"]
    const child = yield* SvcProcess.start(args, environmentOf(options))
    const listens = /listens at (http:\/\/\S+)/
    const line = yield* child.lines.find("the line that tells the address", (text) => listens.test(text), "60 seconds")
    const url = listens.exec(line)?.[1] ?? ""
    const status = options.unready === true ? 503 : 200
    yield* eventually(`GET ${url}/readyz`, ApiClient.call(`${url}/readyz`, "GET"), (reply) => reply.status === status)
    const keys = options.keys ?? {
      org: printed(child.output(), "svc_org_"),
      project: printed(child.output(), "svc_live_"),
      workspace: printed(child.output(), "svc_wsp_live_")
    }
    return { ...child, url, keys, api: ApiClient.make(url, keys.project) }
  })

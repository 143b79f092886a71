import type { IncomingHttpHeaders } from "node:http"
import type { Access, Principal, PrincipalProject } from "@svc/api/Principal"
import {
  InvalidApiKey,
  MissingApiKey,
  OrgKeyRequired,
  ProjectIdRequired,
  ProjectNotFound,
  ReadOnlyKey,
  type VoiceErrorLike
} from "@svc/api/VoiceError"
import { Keys } from "@svc/auth/Keys"
import { Context, Effect, Layer } from "effect"

/** What the decision about a request is made from. */
export interface Credentials {
  readonly method: string
  readonly headers: IncomingHttpHeaders
}

const header = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name]
  return typeof value === "string" && value !== "" ? value : undefined
}

/** The key of `Authorization: Bearer` or `X-Api-Key`. Both may be sent when they are equal (decisions §2.1). */
const keyOf = (headers: IncomingHttpHeaders): Effect.Effect<string, MissingApiKey | InvalidApiKey> => {
  const authorization = header(headers, "authorization")
  const apiKey = header(headers, "x-api-key")
  if (authorization === undefined) {
    return apiKey === undefined ? Effect.fail(new MissingApiKey()) : Effect.succeed(apiKey)
  }
  const bearer = /^bearer +(\S+)$/i.exec(authorization)?.[1]
  return bearer === undefined || (apiKey !== undefined && apiKey !== bearer)
    ? Effect.fail(new InvalidApiKey())
    : Effect.succeed(bearer)
}

/** Whether the header names this very project, by public or numeric id. */
const names = (id: string, project: PrincipalProject): boolean => id === project.public_id || id === String(project.id)

/** Decides whether a request to the voice API is let in, and who makes it (spec 5). */
export class Security extends Context.Tag("@svc/server/Security")<
  Security,
  {
    /**
     * All checks that come before the body, in the order of decisions §2.3: key, org-only, project, read-only. The first
     * that fails answers the request.
     */
    readonly authorize: (credentials: Credentials, access: Access) => Effect.Effect<Principal, VoiceErrorLike>
  }
>() {
  static readonly layer: Layer.Layer<Security, never, Keys> = Layer.effect(
    Security,
    Effect.gen(function* () {
      const keys = yield* Keys

      const restrictToOrg = (principal: Principal, { needs }: Access) =>
        needs === "org" && principal.kind !== "org" ? Effect.fail(new OrgKeyRequired()) : Effect.void

      /** A project key has its own project, which `X-Project-Id` may repeat; to an org key the header gives one. */
      const withProject = (
        principal: Principal,
        { needs }: Access,
        headers: IncomingHttpHeaders
      ): Effect.Effect<Principal, VoiceErrorLike> => {
        if (needs === "org") return Effect.succeed(principal)
        const id = header(headers, "x-project-id")
        if (principal.project !== null) {
          return id === undefined || names(id, principal.project)
            ? Effect.succeed(principal)
            : Effect.fail(new ProjectNotFound())
        }
        if (id !== undefined) {
          return Effect.map(keys.projectOf(principal.org.id, id), (project) => ({ ...principal, project }))
        }
        return needs === "project" ? Effect.fail(new ProjectIdRequired()) : Effect.succeed(principal)
      }

      const refuseWrites = (principal: Principal, method: string) =>
        principal.scope === "read" && method !== "GET" ? Effect.fail(new ReadOnlyKey()) : Effect.void

      return {
        authorize: ({ headers, method }, access) =>
          Effect.gen(function* () {
            const key = yield* keyOf(headers)
            const holder = yield* keys.authenticate(key)
            yield* restrictToOrg(holder, access)
            const principal = yield* withProject(holder, access, headers)
            yield* refuseWrites(principal, method)
            return principal
          })
      }
    })
  )
}

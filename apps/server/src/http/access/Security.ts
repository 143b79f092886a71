import type { IncomingHttpHeaders } from "node:http"
import type { ApiError } from "@svc/api/ApiError"
import type { Access, Principal, PrincipalProject } from "@svc/api/Principal"
import {
  AuthRateLimited,
  InsufficientCredits,
  InvalidApiKey,
  MissingApiKey,
  OrgKeyRequired,
  ProjectIdRequired,
  ProjectNotFound,
  RateLimitExceeded,
  ReadOnlyKey
} from "@svc/api/VoiceError"
import { AuthFailures } from "@svc/auth/AuthFailures"
import { Keys } from "@svc/auth/Keys"
import { type Allowance, RateLimits } from "@svc/auth/RateLimits"
import { TierLimits } from "@svc/auth/TierLimits"
import { Context, Effect, Either, Exit, Layer } from "effect"
import type { ResponseHeaders } from "../exchange/Responses.ts"
import { Credits } from "./Credits.ts"
import { networkOf } from "./IpAddress.ts"
import { limitHeaders } from "./LimitHeaders.ts"

/** The parts of a request that the decision depends on. */
export interface Credentials {
  readonly method: string
  readonly headers: IncomingHttpHeaders
  /** The client's IP address. */
  readonly address: string
}

/** The decision about a request. */
export interface Decision {
  /** The principal, or the failure that answers the request: an API error, or a defect. */
  readonly outcome: Exit.Exit<Principal, ApiError>
  /** Headers of every response to it; empty when the principal is not known. */
  readonly headers: ResponseHeaders
}

const header = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name]
  return typeof value === "string" && value !== "" ? value : undefined
}

/** The key of `Authorization: Bearer` or `X-Api-Key`. Both may be sent when they are equal. */
const keyOf = (headers: IncomingHttpHeaders): Either.Either<string, MissingApiKey | InvalidApiKey> => {
  const authorization = header(headers, "authorization")
  const apiKey = header(headers, "x-api-key")
  if (authorization === undefined) {
    return apiKey === undefined ? Either.left(new MissingApiKey()) : Either.right(apiKey)
  }
  const bearer = /^bearer +(\S+)$/i.exec(authorization)?.[1]
  return bearer === undefined || (apiKey !== undefined && apiKey !== bearer)
    ? Either.left(new InvalidApiKey())
    : Either.right(bearer)
}

/** Whether the header is the public or numeric id of this project. */
const matchesProject = (id: string, project: PrincipalProject): boolean =>
  id === project.public_id || id === String(project.id)

const refused = (error: ApiError, headers: ResponseHeaders = {}): Decision => ({
  outcome: Exit.fail(error),
  headers
})

const fullKeyNeeded = () =>
  new ReadOnlyKey({ message: "This key is read-only: use a full key, or an organization key" })

const isWrite = (method: string): boolean => method !== "GET"

/**
 * Authenticates and authorizes requests to the voice API. Keys are looked up by their SHA-256 and never compared, so
 * response times leak nothing about a key.
 */
export class Security extends Context.Tag("@svc/server/Security")<
  Security,
  {
    /**
     * All checks that come before the body, in this order (docs/reference/access.md): failed authentications of the
     * address, key, org-only, project, rate limit, read-only, credits. The first that fails answers the request. Only a
     * request that comes to the rate limit and is let through by it counts against it; only a key that is wrong counts
     * as a failed authentication, one that is missing does not.
     */
    readonly authorize: (credentials: Credentials, access: Access) => Effect.Effect<Decision>
  }
>() {
  static readonly layer: Layer.Layer<Security, never, Keys | AuthFailures | RateLimits | TierLimits | Credits> =
    Layer.effect(
      Security,
      Effect.gen(function* () {
        const keys = yield* Keys
        const failures = yield* AuthFailures
        const rates = yield* RateLimits
        const limits = yield* TierLimits
        const credits = yield* Credits

        /** A project key has its own project, which `X-Project-Id` may repeat; to an org key the header gives one. */
        const withProject = (
          principal: Principal,
          { needs }: Access,
          headers: IncomingHttpHeaders
        ): Effect.Effect<Principal, ApiError> => {
          if (needs === "org") {
            return principal.kind === "org" ? Effect.succeed(principal) : Effect.fail(new OrgKeyRequired())
          }
          const id = header(headers, "x-project-id")
          if (principal.project !== null) {
            return id === undefined || matchesProject(id, principal.project)
              ? Effect.succeed(principal)
              : Effect.fail(new ProjectNotFound())
          }
          if (id !== undefined) {
            return Effect.map(keys.projectOf(principal.org.id, id), (project) => ({ ...principal, project }))
          }
          return needs === "project" ? Effect.fail(new ProjectIdRequired()) : Effect.succeed(principal)
        }

        const headersOf = ({ org }: Principal, allowance: Allowance) =>
          limitHeaders(org.tier, limits.of(org.tier), allowance)

        /** The checks that need the principal. */
        const admit = (principal: Principal, { creditsExempt, needsFullKey }: Access, method: string, now: number) => {
          const { id, tier } = principal.org
          const allowance = rates.consume(`voice:${id}`, limits.of(tier).requestsPerMinute, now)
          const headers = headersOf(principal, allowance)
          if (!allowance.admitted) {
            return Effect.succeed(refused(new RateLimitExceeded({ retryAfter: allowance.resetIn }), headers))
          }
          const admitted: Decision = { outcome: Exit.succeed(principal), headers }
          if (principal.scope === "read" && (isWrite(method) || needsFullKey)) {
            return Effect.succeed(refused(isWrite(method) ? new ReadOnlyKey() : fullKeyNeeded(), headers))
          }
          if (!isWrite(method)) return Effect.succeed(admitted)
          if (creditsExempt || tier === "enterprise") return Effect.succeed(admitted)
          return Effect.matchCause(credits.mayWrite(id), {
            onFailure: (cause): Decision => ({ outcome: Exit.failCause(cause), headers }),
            onSuccess: (may) => (may ? admitted : refused(new InsufficientCredits(), headers))
          })
        }

        return {
          authorize: ({ address, headers, method }, access) =>
            Effect.clockWith((clock) => {
              const network = networkOf(address)
              const now = clock.unsafeCurrentTimeMillis()
              const retryAfter = failures.blockedFor(network, now)
              if (retryAfter !== undefined) return Effect.succeed(refused(new AuthRateLimited({ retryAfter })))
              const key = keyOf(headers)
              const holder: Effect.Effect<Principal, MissingApiKey | InvalidApiKey> = Either.isLeft(key)
                ? Effect.fail(key.left)
                : keys.authenticate(key.right)
              return Effect.matchEffect(holder, {
                onFailure: (error) => {
                  if (error._tag === "MissingApiKey") return Effect.succeed(refused(error))
                  // Others may have failed while this key was looked up.
                  const wait = failures.record(network, clock.unsafeCurrentTimeMillis())
                  return Effect.succeed(refused(wait === undefined ? error : new AuthRateLimited({ retryAfter: wait })))
                },
                onSuccess: (known) =>
                  Effect.matchCauseEffect(withProject(known, access, headers), {
                    onFailure: (cause) => {
                      const { requestsPerMinute } = limits.of(known.org.tier)
                      const allowance = rates.peek(`voice:${known.org.id}`, requestsPerMinute, now)
                      return Effect.succeed({ outcome: Exit.failCause(cause), headers: headersOf(known, allowance) })
                    },
                    onSuccess: (principal) => admit(principal, access, method, clock.unsafeCurrentTimeMillis())
                  })
              })
            })
        }
      })
    )
}

import { describe, expect, it } from "@effect/vitest"
import type { ApiError } from "@svc/api/ApiError"
import { OrgId, ProjectId } from "@svc/api/Ids"
import { type Access, AccessRule, type Tier } from "@svc/api/Principal"
import { InvalidApiKey, ProjectNotFound } from "@svc/api/VoiceError"
import { Accounts } from "@svc/auth/Accounts"
import { AccountsRepo } from "@svc/auth/AccountsRepo"
import { AuthFailures } from "@svc/auth/AuthFailures"
import { AuthFailuresRepo } from "@svc/auth/AuthFailuresRepo"
import { Keys } from "@svc/auth/Keys"
import { KeysRepo } from "@svc/auth/KeysRepo"
import { KeyUse } from "@svc/auth/KeyUse"
import { RateLimits } from "@svc/auth/RateLimits"
import { RateLimitsRepo } from "@svc/auth/RateLimitsRepo"
import { TierLimits } from "@svc/auth/TierLimits"
import { NodeLease } from "@svc/cluster/NodeLease"
import { TestDatabase } from "@svc/database/TestDatabase"
import {
  BigDecimal,
  Cause,
  ConfigProvider,
  Deferred,
  Effect,
  Exit,
  Layer,
  Option,
  Redacted,
  Ref,
  Schema,
  TestClock
} from "effect"
import { Credits } from "../../../src/http/access/Credits.ts"
import { type Decision, Security } from "../../../src/http/access/Security.ts"

const orgId = Schema.decodeSync(OrgId)(`org_${"a".repeat(24)}`)
const project = { id: 7, public_id: Schema.decodeSync(ProjectId)(`proj_${"p".repeat(24)}`) }

/** Keys that say what they are: `<kind> <scope> <number of the organization>`; any other is wrong. Counts look-ups. */
const talkingKeys = (asked: Ref.Ref<number>, tier: Tier) =>
  Layer.mock(Keys, {
    authenticate: (raw) =>
      Effect.zipRight(
        Ref.update(asked, (n) => n + 1),
        Effect.suspend(() => {
          const [, kind, scope, id] = /^(org|project)-(full|read)-(\d+)$/.exec(raw) ?? []
          if (id === undefined) return new InvalidApiKey()
          return Effect.succeed({
            kind: kind === "org" ? ("org" as const) : ("project" as const),
            key_id: 1,
            scope: scope === "read" ? ("read" as const) : ("full" as const),
            org: { id: Number(id), public_id: orgId, tier },
            project: kind === "org" ? null : project
          })
        })
      ),
    projectOf: (_, id) =>
      id === "7" ? Effect.succeed(project) : id === "9" ? Effect.die("away") : new ProjectNotFound()
  })

const quietRepos = Layer.mergeAll(
  Layer.mock(AuthFailuresRepo, {
    write: () => Effect.void,
    ofOthers: () => Effect.succeed([]),
    removeBefore: () => Effect.void
  }),
  Layer.mock(RateLimitsRepo, { exchange: () => Effect.succeed([]), removeBefore: () => Effect.void }),
  Layer.mock(NodeLease, { others: Effect.succeed(0) })
)

/** Organizations from number 10 on have no credits. */
const securityWith = (
  keys: Layer.Layer<Keys>,
  settings: ReadonlyArray<readonly [string, string]> = [["SVC_LIMIT_REQUESTS_PER_MINUTE_PAYG", "1"]]
) =>
  Security.layer.pipe(
    Layer.provideMerge(Layer.mergeAll(AuthFailures.layer, RateLimits.layer, TierLimits.layer)),
    Layer.provide(
      Layer.mergeAll(
        keys,
        quietRepos,
        Layer.succeed(Credits, { mayWrite: (id) => (id === 99 ? Effect.die("away") : Effect.succeed(id < 10)) })
      )
    ),
    Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map(settings))))
  )

const fixture = (tier: Tier = "payg", settings?: ReadonlyArray<readonly [string, string]>) =>
  Effect.map(Ref.make(0), (asked) => ({ asked, layer: securityWith(talkingKeys(asked, tier), settings) }))

interface Ask {
  readonly key?: string
  readonly method?: string
  readonly address?: string
  readonly project?: string
  readonly access?: Access
}

const ask = ({ access, address, key, method, project }: Ask) =>
  Effect.flatMap(Security, (security) =>
    security.authorize(
      {
        method: method ?? "GET",
        address: address ?? "192.0.2.1",
        headers: {
          ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
          ...(project === undefined ? {} : { "x-project-id": project })
        }
      },
      access ?? AccessRule.standard
    )
  )

const errorOf = (outcome: Decision["outcome"]): ApiError | undefined =>
  Exit.isSuccess(outcome) ? undefined : Option.getOrUndefined(Cause.failureOption(outcome.cause))

const codeOf = (request: Ask) => Effect.map(ask(request), ({ outcome }) => errorOf(outcome)?.code ?? "let in")

describe("the order of the checks", () => {
  /** Each check with what makes a request fail it, in their order. Organizations 1 and 11 have used up their minute. */
  const faults = [
    { code: "AUTH_RATE_LIMITED", address: "203.0.113.66" },
    { code: "INVALID_API_KEY", badKey: true },
    { code: "ORG_KEY_REQUIRED", access: AccessRule.orgOnly },
    { code: "PROJECT_NOT_FOUND", project: "8" },
    { code: "RATE_LIMIT_EXCEEDED", exhausted: true },
    { code: "READ_ONLY_KEY", readOnly: true },
    { code: "INSUFFICIENT_CREDITS", broke: true }
  ] as const

  const requestWith = (...wrong: ReadonlyArray<(typeof faults)[number]>): Ask => {
    const has = (name: string) => wrong.some((fault) => name in fault)
    const org = (has("broke") ? 11 : 1) + (has("exhausted") ? 0 : 1)
    return {
      method: "POST",
      key: has("badKey") ? "nonsense" : `project-${has("readOnly") ? "read" : "full"}-${org}`,
      ...Object.assign({}, ...wrong.map(({ code: _, ...parts }) => parts))
    }
  }

  const exhaust = Effect.gen(function* () {
    const failures = yield* AuthFailures
    for (let i = 0; i < 100; i++) failures.record("203.0.113.66", 0)
    for (const org of [1, 11]) yield* ask({ key: `project-full-${org}` })
  })

  for (const [index, earlier] of faults.entries()) {
    it.effect(`${earlier.code} comes before all that follow it`, () =>
      Effect.gen(function* () {
        const { layer } = yield* fixture()
        for (const later of [undefined, ...faults.slice(index + 1)]) {
          const request = later === undefined ? requestWith(earlier) : requestWith(earlier, later)
          // Anew for each, so that no request takes from another's limit.
          const code = yield* Effect.zipRight(exhaust, codeOf(request)).pipe(Effect.provide(Layer.fresh(layer)))
          expect([later?.code, code]).toEqual([later?.code, earlier.code])
        }
      })
    )
  }

  it.effect("a write that passes every check is authorized", () =>
    Effect.gen(function* () {
      const { layer } = yield* fixture()
      expect(yield* Effect.zipRight(exhaust, codeOf(requestWith())).pipe(Effect.provide(layer))).toBe("let in")
    })
  )
})

describe("a paused account", () => {
  it.effect("can read and make exempt writes; the enterprise tier can make all writes", () =>
    Effect.gen(function* () {
      const none: ReadonlyArray<readonly [string, string]> = []
      const paused = yield* fixture("payg", none)
      yield* Effect.gen(function* () {
        for (const method of ["POST", "PATCH", "DELETE"]) {
          expect(yield* codeOf({ method, key: "project-full-10" })).toBe("INSUFFICIENT_CREDITS")
          const access = AccessRule.creditsExempt
          expect(yield* codeOf({ method, key: "project-full-10", access })).toBe("let in")
        }
        expect(yield* codeOf({ key: "project-full-10" })).toBe("let in")
      }).pipe(Effect.provide(paused.layer))
      const enterprise = yield* fixture("enterprise", none)
      expect(yield* Effect.provide(codeOf({ method: "POST", key: "project-full-10" }), enterprise.layer)).toBe("let in")
    })
  )
})

describe("the rate limit", () => {
  it.effect("counts only requests that reach it and pass it", () =>
    Effect.gen(function* () {
      const { layer } = yield* fixture("payg", [["SVC_LIMIT_REQUESTS_PER_MINUTE_PAYG", "3"]])
      yield* Effect.gen(function* () {
        const key = "project-read-1"
        const left = (request: Ask) =>
          Effect.map(ask({ key, ...request }), ({ headers }) => headers["X-RateLimit-Remaining"])
        expect(yield* left({ access: AccessRule.orgOnly })).toBe("3")
        expect(yield* left({ project: "8" })).toBe("3")
        expect(yield* left({ key: "org-full-1" })).toBe("3")
        expect(yield* left({ key: "nonsense" })).toBeUndefined()
        expect(yield* left({})).toBe("2")
        expect(yield* left({ method: "POST" })).toBe("1")
        expect(yield* left({ key: "org-full-1", project: "7" })).toBe("0")
        for (let i = 0; i < 5; i++) {
          const { headers, outcome } = yield* ask({ key })
          expect(errorOf(outcome)).toMatchObject({
            code: "RATE_LIMIT_EXCEEDED",
            status: 429,
            retryAfter: 60
          })
          expect(headers).toEqual({
            "X-RateLimit-Limit": "3",
            "X-RateLimit-Remaining": "0",
            "X-RateLimit-Reset": "60",
            "X-RateLimit-Tier": "payg",
            "X-Concurrent-Call-Limit": "10"
          })
        }
        expect(yield* codeOf({ key: "project-full-2" })).toBe("let in")
        yield* TestClock.adjust("59999 millis")
        expect(yield* codeOf({ key })).toBe("RATE_LIMIT_EXCEEDED")
        yield* TestClock.adjust("1 millis")
        expect(yield* left({})).toBe("2")
      }).pipe(Effect.provide(layer))
    })
  )

  it.effect("does not apply to the enterprise tier, which has no X-RateLimit-Limit and X-RateLimit-Remaining", () =>
    Effect.gen(function* () {
      const { layer } = yield* fixture("enterprise", [])
      yield* Effect.gen(function* () {
        for (let i = 0; i < 3000; i++) yield* ask({ key: "project-full-1" })
        expect(yield* ask({ key: "project-full-1" })).toMatchObject({
          outcome: { _tag: "Success" },
          headers: { "X-RateLimit-Reset": "60", "X-RateLimit-Tier": "enterprise", "X-Concurrent-Call-Limit": "1000" }
        })
        const { headers } = yield* ask({ key: "project-full-1" })
        expect(Object.keys(headers)).toHaveLength(3)
      }).pipe(Effect.provide(layer))
    })
  )
})

describe("an unreachable database", () => {
  it.effect("is a defect, and its response still has the limit headers", () =>
    Effect.gen(function* () {
      const { layer } = yield* fixture("payg", [])
      yield* Effect.gen(function* () {
        for (const request of [
          { key: "org-full-1", project: "9" },
          { key: "project-full-99", method: "POST" }
        ]) {
          const { headers, outcome } = yield* ask(request)
          expect(Exit.isFailure(outcome) && Cause.isDie(outcome.cause)).toBe(true)
          expect(headers["X-RateLimit-Limit"]).toBe("300")
        }
      }).pipe(Effect.provide(layer))
    })
  )
})

describe("failed authentications", () => {
  it.effect("lock out the address after 100 wrong keys, also with a valid key, and no other address", () =>
    Effect.gen(function* () {
      const { asked, layer } = yield* fixture("payg", [])
      yield* Effect.gen(function* () {
        for (let i = 0; i < 100; i++) expect(yield* codeOf({ key: "nonsense" })).toBe("INVALID_API_KEY")
        for (let i = 0; i < 9_900; i++) yield* ask({ key: "nonsense" })
        const { headers, outcome } = yield* ask({ key: "project-full-1" })
        expect(headers).toEqual({})
        expect(errorOf(outcome)).toMatchObject({
          code: "AUTH_RATE_LIMITED",
          status: 429,
          retryAfter: 900
        })
        expect(yield* codeOf({})).toBe("AUTH_RATE_LIMITED")
        expect(yield* codeOf({ key: "project-full-1", address: "192.0.2.2" })).toBe("let in")
        // Of ten thousand requests, only the keys of the first hundred were looked up.
        expect(yield* Ref.get(asked)).toBe(101)
      }).pipe(Effect.provide(layer))
    })
  )

  it.effect("answer at most 100 of a thousand wrong keys that arrive at once with 401", () =>
    Effect.gen(function* () {
      const begun = yield* Ref.make(0)
      const looked = yield* Deferred.make<void>()
      // Every look-up ends only when all have begun.
      const slowKeys = Layer.mock(Keys, {
        authenticate: () =>
          Ref.updateAndGet(begun, (n) => n + 1).pipe(
            Effect.tap((n) => (n === 1000 ? Deferred.succeed(looked, undefined) : Effect.void)),
            Effect.zipRight(Deferred.await(looked)),
            Effect.zipRight(new InvalidApiKey())
          )
      })
      const codes = yield* Effect.all(
        Array.from({ length: 1000 }, () => codeOf({ key: "nonsense" })),
        { concurrency: "unbounded" }
      ).pipe(Effect.provide(securityWith(slowKeys, [])))
      expect(codes.filter((code) => code === "INVALID_API_KEY")).toHaveLength(100)
      expect(codes.filter((code) => code === "AUTH_RATE_LIMITED")).toHaveLength(900)
    })
  )

  it.effect("count IPv6 clients by their network; missing and valid keys do not count", () =>
    Effect.gen(function* () {
      const { layer } = yield* fixture("enterprise", [["SVC_LIMIT_AUTH_FAILURES", "3"]])
      yield* Effect.gen(function* () {
        for (let i = 0; i < 5; i++) {
          expect(yield* codeOf({})).toBe("MISSING_API_KEY")
          expect(yield* codeOf({ key: "project-full-1" })).toBe("let in")
          expect(yield* codeOf({ key: "project-full-1", access: AccessRule.orgOnly })).toBe("ORG_KEY_REQUIRED")
        }
        for (let i = 0; i < 3; i++) yield* ask({ key: "nonsense", address: `2001:db8::${i}` })
        expect(yield* codeOf({ key: "project-full-1", address: "2001:db8::ffff" })).toBe("AUTH_RATE_LIMITED")
        expect(yield* codeOf({ key: "project-full-1", address: "2001:db8:0:1::1" })).toBe("let in")
        expect(yield* codeOf({ key: "project-full-1" })).toBe("let in")
      }).pipe(Effect.provide(layer))
    })
  )
})

describe("a change of tier", () => {
  it.scoped("on another node takes effect within two seconds", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      const repo = yield* AccountsRepo
      const keys = yield* Keys
      const org = yield* accounts.createOrganization({
        name: "Acme",
        tier: "payg",
        balance_eur: BigDecimal.fromBigInt(1n)
      })
      const { id } = yield* accounts.createProject(org.id, { name: "Default", description: null })
      const owner = { kind: "project", org_id: org.id, project_id: id, scope: "full" } as const
      const key = Redacted.value((yield* keys.issue(owner, { name: "Default" })).key)
      yield* Effect.gen(function* () {
        const limit = Effect.map(ask({ key }), ({ headers }) => [
          headers["X-RateLimit-Limit"],
          headers["X-RateLimit-Tier"],
          headers["X-Concurrent-Call-Limit"]
        ])
        expect(yield* limit).toEqual(["300", "payg", "10"])
        yield* repo.setTier(org.id, "scale")
        yield* TestClock.adjust("2 seconds")
        expect(yield* limit).toEqual(["2400", "scale", "250"])
        yield* repo.setTier(org.id, "enterprise")
        yield* TestClock.adjust("2 seconds")
        expect(yield* limit).toEqual([undefined, "enterprise", "1000"])
      }).pipe(Effect.provide(securityWith(Layer.succeed(Keys, keys), [])))
    }).pipe(
      Effect.provide(
        Keys.layer.pipe(
          Layer.provideMerge(Layer.mergeAll(Accounts.layer, KeyUse.layer)),
          Layer.provideMerge(Layer.mergeAll(AccountsRepo.layer, KeysRepo.layer)),
          Layer.provideMerge(TestDatabase.layer)
        )
      )
    )
  )
})

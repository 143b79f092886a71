import { expect, it } from "@effect/vitest"
import { EventStream } from "@svc/api/EventStream"
import { type AnyHandler, HandlerRegistry } from "@svc/api/Handlers"
import { newOrgId, newProjectId } from "@svc/api/Ids"
import { PhoneNumberInUse, PhoneNumberNotFound, PurchaseFailed } from "@svc/api/numbers/PhoneNumber"
import { CurrentPrincipal, CurrentProject } from "@svc/api/Principal"
import { Effect, Layer } from "effect"
import { NumberOrders } from "../src/carrier/NumberOrders.ts"
import { NumberSearch } from "../src/carrier/NumberSearch.ts"
import { PhoneNumbers } from "../src/PhoneNumbers.ts"
import { PhoneNumbersHttp } from "../src/PhoneNumbersHttp.ts"

/** The dispatcher has decoded a request by the endpoint's schemas when it calls the handler; here the test has. */
const call = (handler: AnyHandler | undefined, request: unknown) => handler?.(request as never) ?? Effect.die("missing")

/** Returns its arguments. */
const asked: Array<unknown> = []
const note = (args: unknown) => Effect.sync(() => asked.push(args))
const Carriers = Layer.merge(
  Layer.succeed(NumberSearch, {
    search: (...args) => Effect.as(note(args), []),
    sellersFor: () => Effect.die("not asked")
  }),
  Layer.succeed(NumberOrders, {
    purchase: (...args) => Effect.zipRight(note(args), Effect.fail(new PurchaseFailed())),
    release: (...args) => note(args)
  })
)
const Spy = Layer.succeed(PhoneNumbers, {
  list: (...args) => Effect.as(note(args), { phone_numbers: [], next_cursor: null }),
  rents: () => Effect.die("not asked"),
  import: (...args) => Effect.zipRight(note(args), Effect.fail(new PhoneNumberInUse())),
  assign: (...args) => Effect.zipRight(note(args), Effect.fail(new PhoneNumberNotFound())),
  route: () => Effect.die("not asked"),
  ofAgent: () => Effect.die("not asked"),
  ofProject: () => Effect.die("not asked")
})

it.effect("an org key with a project acts on that project", () =>
  Effect.gen(function* () {
    const registry = yield* HandlerRegistry
    const [group] = yield* registry.all
    expect(group?.group).toBe("phoneNumbers")
    const project = { id: 3, public_id: yield* newProjectId }
    const principal = {
      kind: "org",
      key_id: 1,
      scope: "full",
      org: { id: 2, public_id: yield* newOrgId, tier: "payg" },
      project: null
    } as const
    const as = Effect.provide(
      Layer.mergeAll(
        Layer.succeed(CurrentPrincipal, principal),
        Layer.succeed(CurrentProject, project),
        Layer.succeed(EventStream, { open: () => undefined })
      )
    )
    const body = { number: "+31201234567", telephony: "sip" }
    expect(yield* as(call(group?.handlers["list"], { urlParams: { limit: 50 } }))).toMatchObject({ phone_numbers: [] })
    const inUse = yield* Effect.flip(as(call(group?.handlers["import"], { payload: body })))
    const search = { country: "NL", limit: 50 }
    expect(yield* as(call(group?.handlers["search"], { urlParams: search }))).toEqual({ phone_numbers: [] })
    const purchase = { number: "+12125550100" }
    const failed = yield* Effect.flip(as(call(group?.handlers["purchase"], { payload: purchase })))
    expect(yield* as(call(group?.handlers["release"], { path: { numberId: "8" } }))).toEqual({ deleted: true })
    const assign = { path: { numberId: "7" }, payload: { agent_id: null } }
    const notFound = yield* Effect.flip(as(call(group?.handlers["assign"], assign)))
    expect([inUse.code, notFound.code, failed.code]).toEqual([
      "PHONE_NUMBER_IN_USE",
      "PHONE_NUMBER_NOT_FOUND",
      "PURCHASE_FAILED"
    ])
    expect(asked).toEqual([
      [project, { limit: 50 }],
      [{ ...principal, project }, body],
      ["payg", search],
      [{ ...principal, project }, purchase],
      [project, "8"],
      [project, "7", null]
    ])
  }).pipe(
    Effect.provide(
      PhoneNumbersHttp.pipe(Layer.provide(Layer.merge(Spy, Carriers)), Layer.provideMerge(HandlerRegistry.layer))
    )
  )
)

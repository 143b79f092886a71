import { expect, it } from "@effect/vitest"
import { AgentNotFound } from "@svc/api/agents/Agent"
import { EventStream } from "@svc/api/EventStream"
import { type AnyHandler, HandlerRegistry } from "@svc/api/Handlers"
import { newOrgId, newProjectId } from "@svc/api/Ids"
import { CurrentPrincipal, CurrentProject } from "@svc/api/Principal"
import { Effect, Layer } from "effect"
import { Agents } from "../src/Agents.ts"
import { AgentsHttp } from "../src/AgentsHttp.ts"

/** The dispatcher has decoded a request by the endpoint's schemas when it calls the handler; here the test has. */
const call = (handler: AnyHandler | undefined, request: unknown) => handler?.(request as never) ?? Effect.die("missing")

/** Returns its arguments. */
const asked: Array<unknown> = []
const unasked = () => Effect.die("not asked")
const notFound = (...args: ReadonlyArray<unknown>) =>
  Effect.zipRight(
    Effect.sync(() => asked.push(args)),
    Effect.fail(new AgentNotFound())
  )
const Spy = Layer.succeed(Agents, {
  list: (...args) => Effect.sync(() => ({ agents: [], next_cursor: String(asked.push(args)) })),
  create: (...args) => Effect.dieSync(() => asked.push(args)),
  get: notFound,
  update: notFound,
  remove: notFound,
  clone: notFound,
  rotateWebhookSecret: notFound,
  rotateServerSecret: notFound,
  auditLog: notFound,
  forCall: unasked,
  pin: unasked,
  detachKnowledgeBase: unasked,
  onDelete: unasked,
  activeWhen: unasked
})

it.effect("an org key with a project acts on that project", () =>
  Effect.gen(function* () {
    const registry = yield* HandlerRegistry
    const [group] = yield* registry.all
    expect(group?.group).toBe("agents")
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
    yield* as(call(group?.handlers["list"], { urlParams: { limit: 20 } }))
    yield* Effect.exit(as(call(group?.handlers["create"], { payload: { name: "x" } })))
    const error = yield* Effect.flip(as(call(group?.handlers["get"], { path: { agentId: "7" } })))
    expect(error.code).toBe("AGENT_NOT_FOUND")
    for (const name of ["update", "remove", "clone", "rotateWebhookSecret", "rotateServerSecret", "auditLog"]) {
      yield* Effect.flip(as(call(group?.handlers[name], { path: { agentId: "7" }, payload: {}, urlParams: {} })))
    }
    const by = { ...principal, project }
    expect(asked).toEqual([
      [project, { limit: 20 }],
      [by, { name: "x" }],
      [project, "7"],
      [by, "7", {}],
      [by, "7"],
      [by, "7", {}],
      [by, "7"],
      [by, "7"],
      [project, "7", {}]
    ])
  }).pipe(Effect.provide(AgentsHttp.pipe(Layer.provide(Spy), Layer.provideMerge(HandlerRegistry.layer))))
)

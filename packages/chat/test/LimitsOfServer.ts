import { newOrgId } from "@svc/api/Ids"
import type { Principal } from "@svc/api/Principal"
import { RateLimits } from "@svc/auth/RateLimits"
import { TierLimits } from "@svc/auth/TierLimits"
import { NodeLease } from "@svc/cluster/NodeLease"
import { Context, Deferred, Effect, Fiber, Layer } from "effect"
import { ChatLimits } from "../src/ChatLimits.ts"
import { ChatSlots } from "../src/ChatSlots.ts"
import type { ChatSlotsRepo } from "../src/ChatSlotsRepo.ts"

type Limits = Context.Tag.Service<ChatLimits>
type Repo = Context.Tag.Service<ChatSlotsRepo>
type Rates = Context.Tag.Service<RateLimits>

const allowance = { admitted: true, limit: null, remaining: null, resetAt: 60, resetIn: 60 }
/** The limit per minute is reached. */
export const refusal = { admitted: false, limit: 60, remaining: 0, resetAt: 60, resetIn: 7 }

/** What a server knows of nodes: the id of its lease, and how many others there are. A test changes them. */
export interface Nodes {
  id: string
  others: number
}

/** A server with its own counts, and what it does with the slots of dead ones. By its id alone it has another beside it. */
export const server = (node: string | Nodes, rates: Partial<Rates> = {}) => {
  const nodes = typeof node === "string" ? { id: node, others: 1 } : node
  let settle: Repo["releaseAllOf"] = () => Effect.void
  return Layer.build(Layer.fresh(Layer.provide(ChatLimits.layer, ChatSlots.layer))).pipe(
    Effect.map((context) => ({
      limits: Context.get(context, ChatLimits),
      settle: (nodes: ReadonlyArray<string>) => settle(nodes)
    })),
    Effect.provide(
      Layer.mergeAll(
        TierLimits.layer,
        Layer.succeed(RateLimits, { consume: () => allowance, peek: () => allowance, size: () => 0, ...rates }),
        Layer.mock(NodeLease, {
          current: Effect.sync(() => ({ id: nodes.id, lost: Effect.never })),
          others: Effect.sync(() => nodes.others),
          onDeath: (_, settleDead) =>
            Effect.sync(() => {
              settle = settleDead
            })
        })
      )
    )
  )
}

let ids = 0
/** Another organization of the tier payg: 5 completions at once. */
export const orgOf = Effect.map(newOrgId, (public_id): Principal["org"] => ({ id: ++ids, public_id, tier: "payg" }))

/** Begins a completion that runs until its fiber is interrupted; fails when it is refused. */
export const begin = (limits: Limits, org: Principal["org"]) =>
  Effect.gen(function* () {
    const begun = yield* Deferred.make<void>()
    const running = yield* Effect.forkScoped(
      limits.within(org, `chatcmpl-${++ids}`)(() => Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never))
    )
    yield* Effect.raceFirst(Deferred.await(begun), Fiber.join(running))
    return running
  })

/** A completion that ends at once. */
export const quick = (limits: Limits, org: Principal["org"]) =>
  limits.within(org, `chatcmpl-${++ids}`)(({ finish }) => finish() ?? Effect.void)

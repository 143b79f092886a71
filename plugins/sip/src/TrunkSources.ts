import { monotonicMillis } from "@svc/providers/MonotonicTime"
import { Effect, type Scope } from "effect"
import { matcher } from "./Cidr.ts"
import { hostOf, type Trunk } from "./Trunk.ts"
import type { Peer } from "./transaction/Peer.ts"
import { locate, type Names } from "./transport/Locator.ts"

/** How often DNS is asked for the addresses of the trunks. */
const refreshEvery = "1 minute"
/** Milliseconds for which an address belongs to the trunk after DNS gave it: many answers have only some addresses. */
const keptMs = 60 * 60_000

/** Where calls of the trunks come from. */
export interface TrunkSources {
  readonly isTrunk: (address: string) => boolean
  /** The addresses of a trunk, as far as DNS gave them. */
  readonly of: (trunk: Trunk) => ReadonlyArray<string>
  /** The trunk that has this address; if several have it, the one with this user name. */
  readonly trunkAt: (address: string, user: string | undefined) => Trunk | undefined
}

/** The addresses of a trunk: of its name, and of the servers that DNS names for it. */
const addressesOf = (
  trunk: Trunk,
  names: Names,
  transports: ReadonlyArray<Peer["transport"]>
): Effect.Effect<ReadonlyArray<string>> =>
  Effect.zipWith(
    names.addresses(hostOf(trunk)),
    locate(trunk.uri, names, transports, () => 0).pipe(Effect.orElseSucceed(() => [])),
    (own, servers) => [...new Set([...own, ...servers.map(({ address }) => address), hostOf(trunk)])],
    { concurrent: true }
  )

/** Finds the addresses of the trunks, and again from time to time. */
export const make = (
  trunks: ReadonlyArray<Trunk>,
  names: Names,
  transports: ReadonlyArray<Peer["transport"]>
): Effect.Effect<TrunkSources, never, Scope.Scope> =>
  Effect.gen(function* () {
    const known = trunks.map((trunk) => ({ trunk, seen: new Map<string, number>(), has: matcher([]) }))
    const refresh = Effect.gen(function* () {
      const found = yield* Effect.forEach(trunks, (trunk) => addressesOf(trunk, names, transports), {
        concurrency: "unbounded"
      })
      const now = monotonicMillis(yield* Effect.clock)
      for (const [index, each] of known.entries()) {
        for (const address of found[index] ?? []) each.seen.set(address, now)
        for (const [address, at] of each.seen) if (now - at > keptMs) each.seen.delete(address)
        each.has = matcher([...each.seen.keys()])
      }
    })
    yield* refresh
    if (trunks.length > 0) {
      yield* Effect.forkScoped(Effect.forever(Effect.zipRight(Effect.sleep(refreshEvery), refresh)))
    }
    return {
      of: (trunk) => [...(known.find((each) => each.trunk === trunk)?.seen.keys() ?? [])],
      isTrunk: (address) => known.some(({ has }) => has(address)),
      trunkAt: (address, user) => {
        const found = known.filter(({ has }) => has(address)).map(({ trunk }) => trunk)
        return found.find(({ account }) => account !== undefined && account.username === user) ?? found[0]
      }
    }
  })

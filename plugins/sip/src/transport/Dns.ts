import * as dns from "node:dns/promises"
import { Effect } from "effect"
import type { Names } from "./Locator.ts"

/** How long DNS may take. */
const deadline = "5 seconds"

const orNothing = <A>(ask: () => Promise<ReadonlyArray<A>>): Effect.Effect<ReadonlyArray<A>> =>
  Effect.tryPromise(ask).pipe(
    Effect.timeout(deadline),
    Effect.orElseSucceed((): ReadonlyArray<A> => [])
  )

/** The DNS of this machine, with its hosts file. */
export const names: Names = {
  services: (name) =>
    orNothing(() => dns.resolveSrv(name)).pipe(
      Effect.map((found) => found.map(({ name: host, port, priority, weight }) => ({ host, port, priority, weight })))
    ),
  addresses: (name) =>
    orNothing(() => dns.lookup(name, { all: true })).pipe(Effect.map((found) => found.map(({ address }) => address)))
}

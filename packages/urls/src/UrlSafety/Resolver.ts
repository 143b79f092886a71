import { lookup } from "node:dns"
import { Context, Layer } from "effect"
import { type LookupFunction, LookupQueue } from "./LookupQueue.ts"

/**
 * Concurrent lookups. Each occupies one of the process's four I/O threads until the name server answers, and a
 * customer's server may answer late on purpose: two threads remain for files and for our own connections.
 */
const concurrency = 2

/** Resolves a host name to all its addresses. A callback, because connections call it synchronously. */
export class Resolver extends Context.Tag("@svc/urls/Resolver")<Resolver, { readonly resolve: LookupFunction }>() {
  /** The operating system's resolver, including the hosts file. */
  static readonly layer: Layer.Layer<Resolver> = Layer.sync(Resolver, () => {
    const lookupAll: LookupFunction = (hostname, done) =>
      lookup(hostname, { all: true, verbatim: true }, (error, addresses) =>
        done(error, error === null ? addresses : [])
      )
    const queue = new LookupQueue(lookupAll, concurrency)
    return { resolve: (hostname, done) => queue.resolve(hostname, done) }
  })
}

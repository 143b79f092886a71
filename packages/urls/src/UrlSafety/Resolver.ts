import { lookup } from "node:dns"
import { Context, Layer } from "effect"
import { type Ask, LookupQueue } from "./LookupQueue.ts"

/**
 * Concurrent lookups. Each occupies one of the process's four I/O threads until the name server answers, which a
 * customer's may delay on purpose: the other two remain for files and for our own connections.
 */
const concurrency = 2

/** Resolves a host name to all its addresses. A callback, because connections call it synchronously. */
export class Resolver extends Context.Tag("@svc/urls/Resolver")<Resolver, { readonly resolve: Ask }>() {
  /** The operating system's resolver, including the hosts file. */
  static readonly layer: Layer.Layer<Resolver> = Layer.sync(Resolver, () => {
    const ask: Ask = (hostname, done) =>
      lookup(hostname, { all: true, verbatim: true }, (error, addresses) =>
        done(error, error === null ? addresses : [])
      )
    const queue = new LookupQueue(ask, concurrency)
    return { resolve: (hostname, done) => queue.resolve(hostname, done) }
  })
}

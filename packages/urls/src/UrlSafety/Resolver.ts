import { lookup } from "node:dns"
import { Context, Layer } from "effect"
import { type Ask, LookupQueue } from "./LookupQueue.ts"

/**
 * Names that are looked up at once. Each holds one of the process's four I/O threads for as long as a name server keeps
 * it waiting, and a customer's may do so on purpose: the other two are for files and for our own connections.
 */
const concurrency = 2

/** Turns a host name into all its addresses. In the shape of a callback because connections ask it synchronously. */
export class Resolver extends Context.Tag("@svc/urls/Resolver")<Resolver, { readonly resolve: Ask }>() {
  /** The operating system's resolver, as any other program of this machine sees the world (hosts file included). */
  static readonly layer: Layer.Layer<Resolver> = Layer.sync(Resolver, () => {
    const ask: Ask = (hostname, done) =>
      lookup(hostname, { all: true, verbatim: true }, (error, addresses) =>
        done(error, error === null ? addresses : [])
      )
    const queue = new LookupQueue(ask, concurrency)
    return { resolve: (hostname, done) => queue.resolve(hostname, done) }
  })
}

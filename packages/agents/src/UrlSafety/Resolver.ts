import { type LookupAddress, lookup } from "node:dns"
import { Context, Layer } from "effect"

/** Turns a host name into all its addresses. In the shape of a callback because connections ask it synchronously. */
export class Resolver extends Context.Tag("@svc/agents/Resolver")<
  Resolver,
  {
    readonly resolve: (
      hostname: string,
      done: (error: Error | null, addresses: ReadonlyArray<LookupAddress>) => void
    ) => void
  }
>() {
  /** The operating system's resolver, as any other program of this machine sees the world (hosts file included). */
  static readonly layer: Layer.Layer<Resolver> = Layer.succeed(Resolver, {
    resolve: (hostname, done) =>
      lookup(hostname, { all: true, verbatim: true }, (error, addresses) =>
        done(error, error === null ? addresses : [])
      )
  })
}

import { ConfigProvider, Layer } from "effect"
import { Resolver } from "../src/UrlSafety/Resolver.ts"
import { UrlSafety } from "../src/UrlSafety.ts"

const family = (address: string) => (address.includes(":") ? 6 : 4)

/** Each name resolves to its lists of addresses in turn, and then always to the last. */
export const resolverOf = (names: { readonly [name: string]: ReadonlyArray<ReadonlyArray<string>> }) => {
  const asked = new Map<string, number>()
  return Layer.succeed(Resolver, {
    resolve: (hostname, done) => {
      const answers = names[hostname]
      const turn = asked.get(hostname) ?? 0
      asked.set(hostname, turn + 1)
      const answer = answers?.[Math.min(turn, answers.length - 1)]
      queueMicrotask(() =>
        answer === undefined
          ? done(Object.assign(new Error(`getaddrinfo ENOTFOUND ${hostname}`), { code: "ENOTFOUND" }), [])
          : done(
              null,
              answer.map((address) => ({ address, family: family(address) }))
            )
      )
    }
  })
}

const names = {
  "example.com": [["93.184.216.34", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"]],
  "xn--bcher-kva.example": [["93.184.216.34"]],
  "v6only.example": [["2606:4700:4700::1111"]],
  "private.example": [["10.1.2.3"]],
  "mixed.example": [["93.184.216.34", "192.168.0.9"]],
  "mapped.example": [["::ffff:127.0.0.1"]],
  "linklocal.example": [["fe80::1%eth0"]],
  "metadata.example": [["169.254.169.254"]],
  "empty.example": [[]],
  "lies.example": [["93.184.216.34", "not-an-address"]],
  "multicast.example": [["2606:4700:4700::1111", "ff02::1"]],
  "public.local": [["93.184.216.34"]],
  "public.internal": [["93.184.216.34"]],
  "1.1.1.1.example.com": [["93.184.216.34"]],
  "notlocalhost.example": [["93.184.216.34"]],
  "local.example": [["93.184.216.34"]],
  localhost: [["127.0.0.1"]],
  "metadata.google.internal": [["169.254.169.254"]],
  database: [["172.18.0.2"]]
}

export const layerOf = (environment: ReadonlyArray<readonly [string, string]>, resolver: Layer.Layer<Resolver>) =>
  UrlSafety.layer.pipe(
    Layer.provide(resolver),
    Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map(environment))))
  )
export const Strict = layerOf([], resolverOf(names))
export const Private = layerOf([["SVC_ALLOW_PRIVATE_URLS", "true"]], resolverOf(names))

import { IncomingMessage } from "node:http"
import { Socket } from "node:net"
import { describe, expect, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Logger } from "effect"
import { ClientAddress } from "../../../src/http/access/ClientAddress.ts"
import { networkOf, normalize } from "../../../src/http/access/IpAddress.ts"
import { describe as inWords } from "../../../src/Settings.ts"

/** A request from a peer, with the hops that its header names. */
const requestOf = (peer: string | undefined, forwarded?: string): IncomingMessage => {
  const socket = new Socket()
  Object.defineProperty(socket, "remoteAddress", { value: peer })
  const request = new IncomingMessage(socket)
  if (forwarded !== undefined) request.headers["x-forwarded-for"] = forwarded
  return request
}

const withProxies = (proxies?: string) =>
  ClientAddress.layer.pipe(
    Layer.provide(
      Layer.setConfigProvider(
        ConfigProvider.fromMap(new Map(proxies === undefined ? [] : [["SVC_TRUSTED_PROXIES", proxies]]))
      )
    )
  )

const clientOf = (proxies: string | undefined, peer: string | undefined, forwarded?: string) =>
  Effect.map(ClientAddress, (clients) => clients.of(requestOf(peer, forwarded))).pipe(
    Effect.provide(withProxies(proxies))
  )

describe("the address of a client", () => {
  const proxies = "10.0.0.0/8, 192.0.2.7 fd00::/8"

  for (const [what, trusted, peer, forwarded, expected] of [
    ["is the peer's without proxies, whatever the header says", undefined, "203.0.113.9", "1.1.1.1", "203.0.113.9"],
    ["is the peer's when that is no trusted proxy", proxies, "203.0.113.9", "1.1.1.1", "203.0.113.9"],
    ["is the proxy's own when it names no client", proxies, "10.0.0.1", undefined, "10.0.0.1"],
    ["is what a trusted proxy names", proxies, "10.0.0.1", "198.51.100.1", "198.51.100.1"],
    [
      "is the last hop that is not trusted, not what the client claims",
      proxies,
      "10.0.0.1",
      "1.1.1.1, 198.51.100.1, 10.9.9.9",
      "198.51.100.1"
    ],
    ["is the first hop when all are trusted", proxies, "10.0.0.1", "10.0.0.3,10.0.0.2", "10.0.0.3"],
    [
      "is the last proxy known when there is no address before it",
      proxies,
      "10.0.0.1",
      "1.1.1.1, unknown, 10.0.0.2",
      "10.0.0.2"
    ],
    ["is the proxy's when the header is garbage", proxies, "10.0.0.1", ",,;;\u0007 999.1.1.1", "10.0.0.1"],
    ["comes without the port that some proxies add", proxies, "10.0.0.1", "198.51.100.1:4711", "198.51.100.1"],
    ["may be IPv6, with brackets and port", proxies, "fd00::1", '"[2001:DB8::1]:4711"', "2001:db8::1"],
    [
      "is IPv4 when it comes mapped, and so is the proxy",
      proxies,
      "::ffff:10.0.0.1",
      "::ffff:c633:6401",
      "198.51.100.1"
    ],
    ["is that of a single trusted address", proxies, "192.0.2.7", "198.51.100.1", "198.51.100.1"],
    ["may be believed from everybody", "0.0.0.0/0,::/0", "203.0.113.9", "198.51.100.1", "198.51.100.1"],
    ["of a mapped network is that of the IPv4 one", "::ffff:10.0.0.0/104", "10.1.2.3", "198.51.100.1", "198.51.100.1"],
    ["is empty when the client is gone", proxies, undefined, "198.51.100.1", ""]
  ] as const) {
    it.effect(what, () =>
      Effect.gen(function* () {
        expect(yield* clientOf(trusted, peer, forwarded)).toBe(expected)
      })
    )
  }

  it.effect("is normalized, and IPv6 clients are counted by their /64 network", () =>
    Effect.sync(() => {
      expect(normalize("::FFFF:192.0.2.1")).toBe("192.0.2.1")
      expect(normalize("fe80::1%eth0")).toBe("fe80::1")
      expect(normalize("example.com")).toBeUndefined()
      expect(normalize("")).toBeUndefined()
      expect(networkOf("192.0.2.1")).toBe("192.0.2.1")
      expect(networkOf("")).toBe("")
      const one = networkOf("2001:db8:0:1::5")
      expect(one).toBe("2001:db8:0:1::/64")
      expect(networkOf("2001:db8::1:ffff:0:0:1")).toBe(one)
      expect(networkOf("2001:db8:0:2::5")).not.toBe(one)
      expect(networkOf("::1")).toBe("0:0:0:0::/64")
    })
  )

  it.effect(
    "is not guessed from networks that are none: the start fails and names the variable and what is wrong",
    () =>
      Effect.gen(function* () {
        for (const wrong of [
          "10.0.0.0/33",
          "10.0.0/8",
          "::/129",
          "proxy.local",
          "10.0.0.0/8/8",
          "10.0.0.1/",
          "::ffff:10.0.0.0/8"
        ]) {
          const error = yield* Effect.flip(clientOf(`192.0.2.0/24, ${wrong}`, "10.0.0.1"))
          expect(inWords(error)).toBe(
            `SVC_TRUSTED_PROXIES must be networks like 10.0.0.0/8, fd00::/8 with commas between; ${wrong} is none`
          )
        }
      })
  )
})

describe("a proxy that is not trusted", () => {
  const noticed = (requests: ReadonlyArray<IncomingMessage>, proxies?: string) => {
    const log: Array<string> = []
    const logger = Logger.replace(
      Logger.defaultLogger,
      Logger.make(({ message }) => void log.push(String(message)))
    )
    return Effect.map(ClientAddress, (clients) => {
      for (const request of requests) clients.of(request)
      return { log, hasUntrustedProxy: clients.hasUntrustedProxy() }
    }).pipe(Effect.provide(Layer.provide(withProxies(proxies), logger)))
  }
  const withForwarded = (peer: string) => {
    const request = requestOf(peer)
    request.headers.forwarded = "for=198.51.100.1"
    return request
  }

  it.effect("is logged once, with what happens and what to set, and is remembered", () =>
    Effect.gen(function* () {
      for (const request of [requestOf("10.0.0.1", "198.51.100.1"), withForwarded("10.0.0.1")]) {
        const { hasUntrustedProxy, log } = yield* noticed([request, request, requestOf("10.0.0.2", "198.51.100.1")])
        expect(hasUntrustedProxy).toBe(true)
        expect(log).toEqual([expect.stringMatching(/share its address.*set SVC_TRUSTED_PROXIES=10\.0\.0\.1/)])
      }
    })
  )

  it.effect("is not assumed for a trusted one, or for requests without such a header", () =>
    Effect.gen(function* () {
      const requests = [requestOf("10.0.0.1", "198.51.100.1"), withForwarded("10.0.0.1"), requestOf("203.0.113.9")]
      expect(yield* noticed(requests, "10.0.0.0/8")).toEqual({ log: [], hasUntrustedProxy: false })
    })
  )
})

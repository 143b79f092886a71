import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Layer, TestClock } from "effect"
import { Resolver } from "../src/UrlSafety/Resolver.ts"
import { UrlSafety } from "../src/UrlSafety.ts"
import { layerOf, Private, resolverOf, Strict } from "./Resolvers.ts"

const messageOf = (url: string) =>
  Effect.flatMap(UrlSafety, (safety) =>
    safety.check(url, "server_url").pipe(
      Effect.as("accepted"),
      Effect.catchAll((error) => {
        expect(error.details).toEqual({ server_url: error.message })
        return Effect.succeed(error.message)
      })
    )
  )

const notPublic = "server_url must be a valid public HTTPS URL"
const blocked = "server_url blocked by SSRF filter"

const badForm = [
  "",
  " ",
  "not a url",
  "example.com",
  "//example.com",
  "http://example.com/",
  "HTTP://EXAMPLE.COM/",
  "ftp://example.com/",
  "file:///etc/passwd",
  "gopher://example.com/",
  "javascript:alert(1)",
  "data:text/html,x",
  "ws://example.com/",
  "https:example.com",
  "https:/example.com",
  "https:///example.com",
  "https:\\\\example.com",
  "https://",
  "https://?",
  "https://.",
  "https://user@example.com/",
  "https://user:secret@example.com/",
  "https://:secret@example.com/",
  "https://@example.com/",
  "https://example.com@10.0.0.1/",
  "https://example.com\\@10.0.0.1/",
  " https://example.com/",
  "https://example.com/ ",
  "https://exam\nple.com/",
  "https://example.com/\u0000",
  "https://example.com:0/",
  "https://example.com:99999/",
  "https://[::1/",
  "https://256.1.1.1/",
  "https://1.2.3.4.5/",
  "https://unknown.example/",
  "https://empty.example/",
  "https://a..b.example/",
  "https://localhost../",
  "https://127.0.0.1../",
  "https://127.0.0.1:443@10.0.0.1/",
  "https://4294967296/",
  "https://127.0.0.08/",
  "https://%00/",
  "https://[fe80::1%25eth0]/",
  "https://[fe80::1%eth0]/",
  "https://[::ffff:0x7f.1]/",
  "https://[v1.fe80::]/"
]

/** Ports of other services. */
const badPorts = [
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 445, 465, 512, 513, 514, 515, 526, 530, 531,
  532, 540, 548, 554, 556, 563, 587, 601, 636, 873, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060,
  5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080, 1433, 1521, 2375, 2379, 3306, 3389, 5432, 5672,
  5900, 6379, 9042, 9092, 9200, 10250, 11211, 27017
]

const bad = [
  "https://127.0.0.1/",
  "https://127.255.255.254/",
  "https://127.1/",
  "https://2130706433/",
  "https://0x7f000001/",
  "https://0x7f.0x0.0x0.0x1/",
  "https://0177.0.0.1/",
  "https://017700000001/",
  "https://127.0.0.1./",
  "https://%31%32%37.0.0.1/",
  "https://１２７.０.０.１/",
  "https://0/",
  "https://0.0.0.0/",
  "https://0.1.2.3/",
  "https://10.0.0.1/",
  "https://10.255.255.255/",
  "https://172.16.0.1/",
  "https://172.31.255.255/",
  "https://192.168.1.1/",
  "https://100.64.0.1/",
  "https://100.127.255.255/",
  "https://100.100.100.200/",
  "https://169.254.0.1/",
  "https://169.254.169.254/latest/meta-data/",
  "https://0xa9fea9fe/",
  "https://2852039166/",
  "https://168.63.129.16/",
  "https://192.0.0.1/",
  "https://192.0.2.1/",
  "https://192.88.99.1/",
  "https://198.18.0.1/",
  "https://198.19.255.255/",
  "https://198.51.100.7/",
  "https://203.0.113.7/",
  "https://224.0.0.1/",
  "https://239.255.255.255/",
  "https://240.0.0.1/",
  "https://255.255.255.255/",
  "https://[::]/",
  "https://[::1]/",
  "https://[0:0:0:0:0:0:0:1]/",
  "https://[::ffff:127.0.0.1]/",
  "https://[::ffff:7f00:1]/",
  "https://[::ffff:10.0.0.1]/",
  "https://[::ffff:169.254.169.254]/",
  "https://[::127.0.0.1]/",
  "https://[::ffff:0:127.0.0.1]/",
  "https://[64:ff9b::10.0.0.1]/",
  "https://[64:ff9b::169.254.169.254]/",
  "https://[64:ff9b:1::1]/",
  "https://[2002:7f00:1::]/",
  "https://[2002:a9fe:a9fe::1]/",
  "https://[2002:c0a8:101::1]/",
  "https://[2001::1]/",
  "https://[2001:db8::1]/",
  "https://[3fff::1]/",
  "https://[2606:4700::5efe:10.0.0.1]/",
  "https://[100::1]/",
  "https://[fc00::1]/",
  "https://[fd12:3456:789a::1]/",
  "https://[fd00:ec2::254]/",
  "https://[fd20:ce::254]/",
  "https://[fe80::1]/",
  "https://[febf::1]/",
  "https://[fec0::1]/",
  "https://[ff02::1]/",
  "https://localhost/",
  "https://LOCALHOST./",
  "https://app.localhost/",
  "https://metadata.google.internal/",
  "https://Metadata.Google.Internal./computeMetadata/v1/",
  "https://metadata.goog/",
  "https://private.example/",
  "https://mixed.example/",
  "https://mapped.example/",
  "https://linklocal.example/",
  "https://metadata.example/",
  "https://database/",
  "https://127.0x0.01/",
  "https://00000000177.1/",
  "https://0xffffffff/",
  "https://127.0.0.1%2e/",
  "https://127。0。0。1/",
  "https://①②⑦.⓪.⓪.①/",
  "https://ⓛocalhost/",
  "https://loc\u00adalhost/",
  "https://localhost:8443/",
  "https://10.0.0.1:8443/",
  "https://192.0.0.192/",
  "https://[0:0:0:0:0:ffff:7f00:0001]/",
  "https://[fd00:c1::a9fe:a9fe]/",
  "https://[fd00:42::42]/",
  "https://[64:ff9b:1:a9fe:a9:fe00::]/",
  "https://[2001:0:a00:1::1]/",
  "https://[5f00::1]/",
  "https://printer.local/",
  "https://PRINTER.LOCAL./",
  "https://db.internal/",
  "https://ip-10-0-0-1.ec2.internal/",
  "https://router.lan/",
  "https://nas.home.arpa/",
  "https://public.local/",
  "https://public.internal/",
  "https://lies.example/",
  "https://multicast.example/"
]

const good = [
  "https://example.com",
  "https://example.com/",
  "HTTPS://Example.COM:8443/voice?x=1#y",
  "https://example.com:443/",
  "https://example.com:3000/",
  "https://example.com:65535/",
  "https://ex%61mple.com/",
  "https://example.com/#@10.0.0.1/",
  "https://example.com/?u=http://127.0.0.1/",
  "https://1.1.1.1.example.com/",
  "https://notlocalhost.example/",
  "https://local.example/",
  "https://example.com./",
  "https://bücher.example/",
  "https://v6only.example/",
  "https://1.1.1.1/",
  "https://172.15.255.255/",
  "https://172.32.0.1/",
  "https://100.128.0.1/",
  "https://[2606:4700:4700::1111]/",
  "https://[64:ff9b::1.1.1.1]/",
  "https://[2002:101:101::1]/"
]

describe("UrlSafety", () => {
  it.effect.each(badForm)("refuses what is no public HTTPS URL: %j", (url) =>
    Effect.map(messageOf(url), (message) => expect(message).toBe(notPublic)).pipe(Effect.provide(Strict))
  )
  it.effect.each(bad)("blocks an internal address, however it is written: %s", (url) =>
    Effect.map(messageOf(url), (message) => expect(message).toBe(blocked)).pipe(Effect.provide(Strict))
  )
  it.effect.each(good)("accepts a public URL: %s", (url) =>
    Effect.map(messageOf(url), (message) => expect(message).toBe("accepted")).pipe(Effect.provide(Strict))
  )

  it.effect("refuses ports of other services, except with SVC_ALLOW_PRIVATE_URLS", () =>
    Effect.gen(function* () {
      for (const port of badPorts) {
        expect([port, yield* messageOf(`https://example.com:${port}/`)]).toEqual([port, notPublic])
        const inside = yield* Effect.provide(messageOf(`http://127.0.0.1:${port}/`), Private)
        expect([port, inside]).toEqual([port, port === 0 ? notPublic : "accepted"])
      }
    }).pipe(Effect.provide(Strict))
  )
  it.effect.each<readonly [string, string]>([
    ["ftp://example.com/", "scheme"],
    ["https://", "form"],
    ["https://user:pw@example.com/", "credentials"],
    ["http://example.com/", "http"],
    ["http://127.0.0.1:8080/", "http and private address"],
    ["http://localhost/", "http and private address"],
    ["http://169.254.169.254/", "http"],
    ["https://10.0.0.1/", "private address"],
    ["https://private.example/", "private address"],
    ["https://169.254.169.254/", "reserved address"],
    ["https://metadata.example/", "reserved address"],
    ["https://unknown.example/", "name"],
    ["https://example.com:6379/", "port"]
  ])("inspect says what is wrong with %s: %s", ([url, fault]) =>
    Effect.gen(function* () {
      const safety = yield* UrlSafety
      expect((yield* Effect.flip(safety.inspect(url))).fault).toBe(fault)
    }).pipe(Effect.provide(Strict))
  )
  it.effect("names the field that was checked", () =>
    Effect.gen(function* () {
      const safety = yield* UrlSafety
      const error = yield* Effect.flip(safety.check("https://10.0.0.1/", "webhook_url"))
      expect(error.message).toBe("webhook_url blocked by SSRF filter")
    }).pipe(Effect.provide(Strict))
  )
  it.effect("refuses a URL of more than 2048 characters", () =>
    Effect.map(messageOf(`https://example.com/${"a".repeat(2048)}`), (message) =>
      expect(message).toBe("server_url must not exceed 2048 characters")
    ).pipe(Effect.provide(Strict))
  )
  it.effect("treats a name whose resolver hangs as unresolved after 5 s", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(messageOf("https://hangs.example/"))
      yield* TestClock.adjust(Duration.seconds(5))
      expect(yield* Fiber.join(fiber)).toBe(notPublic)
    }).pipe(Effect.provide(layerOf([], Layer.succeed(Resolver, { resolve: () => undefined }))))
  )
  it.effect("resolves the name again in every check", () =>
    Effect.gen(function* () {
      expect(yield* messageOf("https://rebind.example/")).toBe("accepted")
      expect(yield* messageOf("https://rebind.example/")).toBe(blocked)
    }).pipe(Effect.provide(layerOf([], resolverOf({ "rebind.example": [["93.184.216.34"], ["127.0.0.1"]] }))))
  )

  describe("with SVC_ALLOW_PRIVATE_URLS", () => {
    it.effect.each([
      "http://localhost:3000/",
      "http://127.0.0.1/",
      "http://10.0.0.1/",
      "http://192.168.1.5:8080/",
      "http://[::1]/",
      "http://[fd12::1]/",
      "http://database/",
      "https://private.example/",
      "http://example.com/",
      "http://public.local/"
    ])("allows %s", (url) =>
      Effect.map(messageOf(url), (message) => expect(message).toBe("accepted")).pipe(Effect.provide(Private))
    )
    it.effect.each([
      "http://169.254.169.254/",
      "http://0xa9fea9fe/",
      "http://[::ffff:169.254.169.254]/",
      "http://[fd00:ec2::254]/",
      "http://[64:ff9b::a9fe:a9fe]/",
      "http://100.100.100.200/",
      "http://[fd00:c1::a9fe:a9fe]/",
      "http://[fd00:42::42]/",
      "http://168.63.129.16/",
      "http://192.0.0.192/",
      "http://metadata.google.internal/",
      "http://metadata.google.internal./",
      "http://metadata.tencentyun.com/",
      "http://metadata.example/",
      "http://linklocal.example/",
      "http://224.0.0.1/"
    ])("still blocks %s", (url) =>
      Effect.map(messageOf(url), (message) => expect(message).toBe(blocked)).pipe(Effect.provide(Private))
    )
    it.effect("still refuses other schemes and credentials", () =>
      Effect.gen(function* () {
        expect(yield* messageOf("ftp://localhost/")).toBe(notPublic)
        expect(yield* messageOf("http://me@localhost/")).toBe(notPublic)
      }).pipe(Effect.provide(Private))
    )
  })
})

import { expect, layer } from "@effect/vitest"
import { CallId } from "@svc/api/Ids"
import { TestDatabase } from "@svc/database/TestDatabase"
import { ObjectStore } from "@svc/providers/ObjectStore"
import { PublicUrl } from "@svc/urls/PublicUrl"
import { Context, Effect, Layer, Schema, TestClock } from "effect"
import { RecordingLinks } from "../../src/recording/RecordingLinks.ts"
import { RecordingsRepo } from "../../src/recording/RecordingsRepo.ts"
import { MemoryStore } from "../doubles/MemoryStore.ts"

const call = Schema.decodeSync(CallId)("call_000000000000000000000001")
const other = Schema.decodeSync(CallId)("call_000000000000000000000002")

/** The links of another node on the same database, or with another store. */
const links = (store: typeof ObjectStore.Service = new MemoryStore().service) =>
  Effect.map(
    Layer.build(
      RecordingLinks.layer.pipe(
        Layer.provide(RecordingsRepo.layer),
        Layer.provide(Layer.succeed(PublicUrl, { base: "https://svc.test" })),
        Layer.provide(Layer.succeed(ObjectStore, store))
      )
    ),
    Context.get(RecordingLinks)
  )

const open = (service: typeof RecordingLinks.Service, url: string) => {
  const { pathname, searchParams } = new URL(url)
  return service.open(pathname.split("/").at(-1) ?? "", searchParams)
}

layer(TestDatabase.layer)("a link to a recording", (it) => {
  it.scoped("works on every node until it expires", () =>
    Effect.gen(function* () {
      const nodes = yield* Effect.replicateEffect(links(), 5, { concurrency: "unbounded" })
      const [first] = nodes
      const { expires_at, url } = yield* first?.make(call, 60) ?? Effect.dieMessage("no node")
      expect(url).toMatch(/^https:\/\/svc\.test\/v1\/recordings\/call_0{23}1\.mp3\?/)
      yield* TestClock.adjust("59 seconds")
      for (const node of nodes) expect(yield* open(node, url)).toBe(call)
      expect(expires_at.getTime()).toBe(60_000)
      yield* TestClock.adjust("1 second")
      for (const node of nodes) expect(yield* Effect.flip(open(node, url))).toMatchObject({ status: 403 })
    })
  )

  it.scoped("that was altered is invalid", () =>
    Effect.gen(function* () {
      const service = yield* links()
      const { expires_at, url } = yield* service.make(call, 60)
      const expires = expires_at.getTime() / 1000
      const [signature = ""] = /(?<=signature=).*/.exec(url) ?? []
      const first = signature.startsWith("A") ? "B" : "A"
      const altered = [
        url.replace(call, other),
        url.replace(/expires=\d+/, `expires=${expires + 1}`),
        url.replace(/expires=\d+/, `expires=0${expires}`),
        url.replace(/expires=\d+/, "expires=6e9"),
        url.replace(/expires=\d+/, "expires="),
        url.replace(signature, first + signature.slice(1)),
        url.replace(signature, signature.slice(0, -4)),
        url.replace(signature, ""),
        url.replace(`signature=${signature}`, ""),
        url.replace(call, `${call}%0A${expires}`),
        url.replace(call, "..%2fsecret")
      ]
      for (const link of altered) {
        expect(link).not.toBe(url)
        expect([link, yield* Effect.flip(open(service, link))]).toMatchObject([
          link,
          { code: "RECORDING_LINK_INVALID" }
        ])
      }
    })
  )

  it.scoped("is the store's own link when the store can sign", () =>
    Effect.gen(function* () {
      const store = new MemoryStore()
      const service = yield* links({
        ...store.service,
        presign: (key, seconds) => Effect.succeed(`https://store.test/${key}?for=${seconds}`)
      })
      const { url } = yield* service.make(call, 60)
      expect(url).toBe(`https://store.test/recordings/${call}.mp3?for=60`)
    })
  )
})

import { describe, expect, it } from "@effect/vitest"
import * as TtlCache from "../src/TtlCache.ts"

describe("TtlCache", () => {
  it("returns an entry until its TTL is over", () => {
    const cache = TtlCache.make<string>({ ttl: 10, capacity: 9 })
    cache.set("a", "x", 100, cache.epoch())
    expect(cache.get("a", 109)).toBe("x")
    expect(cache.get("a", 110)).toBeUndefined()
  })
  it("does not store the answer of a look-up that began before clear", () => {
    const cache = TtlCache.make<string>({ ttl: 10, capacity: 9 })
    const epoch = cache.epoch()
    cache.clear()
    cache.set("a", "stale", 100, epoch)
    expect(cache.get("a", 100)).toBeUndefined()
  })
  it("says once that an entry is due, from half of its TTL on", () => {
    const cache = TtlCache.make<string>({ ttl: 10, capacity: 9 })
    cache.set("a", "x", 100, cache.epoch())
    expect([104, 105, 106].map((now) => cache.isDue("a", now))).toEqual([false, true, false])
    cache.set("a", "y", 106, cache.epoch())
    expect([110, 111].map((now) => cache.isDue("a", now))).toEqual([false, true])
    expect(cache.isDue("b", 111)).toBe(false)
  })
  it("evicts the oldest entry above its capacity", () => {
    const cache = TtlCache.make<number>({ ttl: 10, capacity: 2 })
    for (const [index, key] of ["a", "b", "c"].entries()) cache.set(key, index, 0, cache.epoch())
    expect([cache.get("a", 0), cache.get("b", 0), cache.get("c", 0)]).toEqual([undefined, 1, 2])
  })
})

import { describe, expect, it } from "@effect/vitest"
import { type LookupCallback, LookupQueue } from "../src/UrlSafety/LookupQueue.ts"

/** A queue in front of a resolver that the test answers for. */
const queueOf = (concurrency: number) => {
  const asked: Array<string> = []
  const open = new Map<string, LookupCallback>()
  const queue = new LookupQueue((hostname, done) => {
    asked.push(hostname)
    open.set(hostname, done)
  }, concurrency)
  const heard: Array<readonly [who: string, what: string]> = []
  const resolve = (hostname: string, who = hostname) =>
    queue.resolve(hostname, (error, addresses) => {
      const code = error !== null && "code" in error ? String(error.code) : undefined
      heard.push([who, code ?? addresses.map(({ address }) => address).join()])
    })
  const answer = (hostname: string, address: string) => {
    open.get(hostname)?.(null, [{ address, family: 4 }])
    open.delete(hostname)
  }
  return { asked, heard, resolve, answer, open }
}

describe("LookupQueue", () => {
  it("runs two lookups at a time, and continues with the newest name when one ends", () => {
    const { answer, asked, heard, resolve } = queueOf(2)
    for (const name of ["hangs1", "hangs2", "a", "b"]) resolve(name)
    expect(asked).toEqual(["hangs1", "hangs2"])
    answer("hangs1", "1.1.1.1")
    expect(asked).toEqual(["hangs1", "hangs2", "b"])
    answer("b", "2.2.2.2")
    answer("a", "3.3.3.3")
    expect(heard).toEqual([
      ["hangs1", "1.1.1.1"],
      ["b", "2.2.2.2"],
      ["a", "3.3.3.3"]
    ])
  })
  it("looks a name up once for concurrent requests, and again for later ones", () => {
    const { answer, asked, heard, resolve } = queueOf(1)
    for (let n = 0; n < 50; n++) resolve("a", `first ${n}`)
    expect(asked).toEqual(["a"])
    answer("a", "1.1.1.1")
    expect(heard).toHaveLength(50)
    expect(new Set(heard.map(([, address]) => address))).toEqual(new Set(["1.1.1.1"]))
    resolve("a", "later")
    answer("a", "2.2.2.2")
    expect(asked).toEqual(["a", "a"])
    expect(heard.at(-1)).toEqual(["later", "2.2.2.2"])
  })
  it("passes failures on, and continues", () => {
    const { asked, heard, open, resolve } = queueOf(1)
    resolve("a")
    resolve("b")
    open.get("a")?.(Object.assign(new Error("no such name"), { code: "ENOTFOUND" }), [])
    expect(heard).toEqual([["a", "ENOTFOUND"]])
    expect(asked).toEqual(["a", "b"])
  })
  it("accepts a synchronous answer, and a new request from within its callback", () => {
    const asked: Array<string> = []
    const queue = new LookupQueue((hostname, done) => {
      asked.push(hostname)
      done(null, [])
    }, 1)
    let heard = 0
    queue.resolve("a", () => {
      heard++
      queue.resolve("a", () => heard++)
    })
    expect([asked, heard]).toEqual([["a", "a"], 2])
  })
  it("refuses the oldest name when more than 1000 wait", () => {
    const { answer, asked, heard, resolve } = queueOf(1)
    resolve("hangs")
    for (let n = 0; n < 1003; n++) resolve(`name${n}`)
    expect(heard).toEqual([0, 1, 2].map((n) => [`name${n}`, "EAI_AGAIN"]))
    answer("hangs", "1.1.1.1")
    expect(asked).toEqual(["hangs", "name1002"])
  })
})

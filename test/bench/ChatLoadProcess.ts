import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { chatModel } from "@svc/api/chat/ChatCompletion"
import { Effect } from "effect"
import { Pool } from "undici"
import { type ChatBurst, type ChatBurstFigures, type ChatLoadRequests, heldIn } from "./ChatRequests.ts"
import { serveRequests } from "./RequestHandlers.ts"

/** Time over which the first requests of connections are spread, ms: all at once would meet again and again. */
const spread = 200
/** Failures that are reported. */
const mostFailures = 3
/** The most connections for completions that are sent at a rate. */
const mostConnections = 256

const requestBody = JSON.stringify({
  model: chatModel,
  stream: true,
  messages: [
    { role: "system", content: "You are the reception of a restaurant. Answer in one sentence. ".repeat(10) },
    { role: "user", content: "Is there a table for four tomorrow at eight?" }
  ]
})

/** The clients: plain promises, because their CPU time is taken from the server. */
class Client {
  private readonly added: Array<number> = []
  private readonly failures: Array<string> = []
  private readonly headers: Record<string, string>
  private readonly pool: Pool
  constructor(url: string, key: string, connections: number) {
    this.pool = new Pool(url, { connections, pipelining: 1 })
    this.headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
  }

  get isFailing(): boolean {
    return this.failures.length >= mostFailures
  }

  async complete(): Promise<void> {
    try {
      const from = performance.now()
      const request = {
        path: "/v1/chat/completions",
        method: "POST",
        headers: this.headers,
        body: requestBody
      } as const
      const { body, statusCode } = await this.pool.request(request)
      let text = ""
      let firstAt: number | undefined
      for await (const piece of body) {
        text += String(piece)
        if (firstAt === undefined && heldIn(text) !== undefined) firstAt = performance.now()
      }
      const held = heldIn(text)
      if (held === undefined || firstAt === undefined) throw new Error(`${statusCode} ${text.slice(0, 300)}`)
      this.added.push(firstAt - from - held)
    } catch (error) {
      if (!this.isFailing) this.failures.push(String(error))
    }
  }

  async close(): Promise<ChatBurstFigures> {
    await this.pool.close()
    const { added, failures } = this
    return { completions: added.length, failures, added }
  }
}

const after = (ms: number): Promise<void> => new Promise((resume) => setTimeout(resume, Math.max(0, ms)))

/** Requests at random times of which any number falls into an interval: exponential pauses, the same in each run. */
const atRate = async (clients: ReadonlyArray<Client>, perSecond: number, ms: number): Promise<void> => {
  const running: Array<Promise<void>> = []
  let random = 1
  const from = performance.now()
  for (let due = 0, sent = 0; due < ms && !clients.some(({ isFailing }) => isFailing); sent++) {
    await after(from + due - performance.now())
    const client = clients[sent % clients.length]
    if (client !== undefined) running.push(client.complete())
    // MINSTD, Park and Miller 1988.
    random = (random * 48_271) % 2_147_483_647
    due += (-Math.log(random / 2_147_483_647) * 1000) / (perSecond * clients.length)
  }
  await Promise.all(running)
}

const oneByOne = async (clients: ReadonlyArray<Client>, connections: number, ms: number): Promise<void> => {
  const until = performance.now() + ms
  await Promise.all(
    clients.flatMap((client) =>
      Array.from({ length: connections }, async (_, index) => {
        await after((index / connections) * spread)
        while (performance.now() < until && !client.isFailing) await client.complete()
      })
    )
  )
}

const send = ({ key, load, ms, urls }: ChatBurst): Effect.Effect<ReadonlyArray<ChatBurstFigures>> =>
  Effect.promise(async () => {
    const connections = "connections" in load ? load.connections : mostConnections
    const clients = urls.map((url) => new Client(url, key, connections))
    await ("rate" in load ? atRate(clients, load.rate, ms) : oneByOne(clients, connections, ms))
    return Promise.all(clients.map((client) => client.close()))
  })

NodeRuntime.runMain(serveRequests<ChatLoadRequests>({ send }))

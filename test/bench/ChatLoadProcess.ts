import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { chatModel } from "@svc/api/chat/ChatCompletion"
import { Effect } from "effect"
import { Pool } from "undici"
import { type ChatBurst, type ChatBurstFigures, type ChatLoadRequests, heldIn } from "./ChatRequests.ts"
import { serveRequests } from "./RequestHandlers.ts"

/** Time over which the first requests are spread, ms: all at once would meet again and again. */
const spread = 200
/** Failures that are reported. */
const mostFailures = 3

const requestBody = JSON.stringify({
  model: chatModel,
  stream: true,
  messages: [
    { role: "system", content: "You are the reception of a restaurant. Answer in one sentence. ".repeat(10) },
    { role: "user", content: "Is there a table for four tomorrow at eight?" }
  ]
})

/** The clients: plain promises, because their CPU time is taken from the server. */
const send = ({ connections, key, ms, url }: ChatBurst): Effect.Effect<ChatBurstFigures> =>
  Effect.promise(async () => {
    const pool = new Pool(url, { connections, pipelining: 1 })
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
    const added: Array<number> = []
    const failures: Array<string> = []
    let completions = 0
    const until = performance.now() + ms
    const complete = async (): Promise<void> => {
      const from = performance.now()
      const request = { path: "/v1/chat/completions", method: "POST", headers, body: requestBody } as const
      const { body, statusCode } = await pool.request(request)
      let text = ""
      let firstAt: number | undefined
      for await (const piece of body) {
        text += String(piece)
        if (firstAt === undefined && heldIn(text) !== undefined) firstAt = performance.now()
      }
      const held = heldIn(text)
      if (held === undefined || firstAt === undefined) throw new Error(`${statusCode} ${text.slice(0, 300)}`)
      completions++
      added.push(firstAt - from - held)
    }
    const client = async (_: unknown, index: number): Promise<void> => {
      await new Promise((resume) => setTimeout(resume, (index / connections) * spread))
      while (performance.now() < until && failures.length < mostFailures) {
        await complete().catch((error) => failures.push(String(error)))
      }
    }
    await Promise.all(Array.from({ length: connections }, client))
    await pool.close()
    return { completions, failures, added }
  })

NodeRuntime.runMain(serveRequests<ChatLoadRequests>({ send }))

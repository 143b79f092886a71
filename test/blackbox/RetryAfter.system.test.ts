import type { ServerResponse } from "node:http"
import { expect, it } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { emulatedServer } from "@svc/providers/testing/EmulatedServer"
import { Effect } from "effect"
import * as CallRecords from "../src/blackbox/CallRecords.ts"
import * as Line from "../src/blackbox/Line.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"

const echo = { otherwise: "Ok {{user}}." }

const says = (response: ServerResponse, text: string) => {
  const chunk = (delta: unknown, finish_reason: string | null) =>
    `data: ${JSON.stringify({ object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] })}\n\n`
  response.writeHead(200, { "content-type": "text/event-stream" })
  response.end(`${chunk({ content: text }, null)}${chunk({}, "stop")}data: [DONE]\n\n`)
}

it.scopedLive(
  "a model's Retry-After that fits is obeyed in a call; with a longer one the next model answers at once",
  () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const vendor = yield* emulatedServer({
        request: ({ json, path }, response) => {
          if (path !== "/v1/chat/completions") {
            return void response.writeHead(200, { "content-type": "application/json" }).end('{"data":[{"id":"small"}]}')
          }
          const messages = JSON.stringify(json["messages"])
          // The caller's last words say what this turn is about.
          const turn = messages.lastIndexOf("later") > messages.lastIndexOf("soon") ? "later" : "soon"
          asked.push(turn)
          if (turn === "soon" && asked.filter((one) => one === "soon").length > 1) return says(response, "Here I am.")
          const wait = turn === "soon" ? "1" : "3600"
          response.writeHead(429, { "content-type": "application/json", "retry-after": wait })
          response.end('{"error":{"message":"slow down"}}')
        }
      })
      const server = yield* ServerProcess.start({
        data: { url: yield* TestDatabase.freshUrl },
        keys: yield* ServerProcess.newKeys,
        env: {
          SVC_PLUGINS: "@svc/plugin-openai,@svc/plugin-simulated",
          SVC_OPENAI_BASE_URL: `${vendor.origin}/v1`,
          SVC_OPENAI_API_KEY: "sk-retry-after"
        }
      })
      const settings = { turn_taking: { preemptive: false } }
      const line = yield* Line.open(server, () => Line.configuration(echo, settings))
      const { callId, phone } = yield* line.call
      yield* phone.hears("Hello.")
      phone.say("soon")
      yield* phone.hears("Here I am.")
      expect(asked).toEqual(["soon", "soon"])
      phone.say("later")
      yield* phone.hears("Ok later.")
      expect(asked).toEqual(["soon", "soon", "later"])
      phone.hangup()
      const call = yield* CallRecords.settled(server.api, callId)
      expect(call["warnings"]).toEqual([
        expect.objectContaining({ what: "language-model", reason: expect.stringContaining("answered 429: slow down") })
      ])
    }),
  { timeout: 90_000 }
)

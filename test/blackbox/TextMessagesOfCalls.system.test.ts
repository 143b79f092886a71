import { expect, it } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { pool } from "@svc/database/TestServer"
import { Effect, Fiber, Redacted } from "effect"
import * as ApiClient from "../src/blackbox/ApiClient.ts"
import { textAt } from "../src/blackbox/ApiClient.ts"
import * as CallRecords from "../src/blackbox/CallRecords.ts"
import { eventually } from "../src/blackbox/Inbox.ts"
import * as Line from "../src/blackbox/Line.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"
import * as TextNetwork from "../src/blackbox/TextNetwork.ts"

const to = "+31612345678"

it.scopedLive(
  "text messages of calls whose server is killed, and of agents and projects that are deleted, end once",
  () =>
    Effect.gen(function* () {
      const database = yield* TestDatabase.freshUrl
      const texts = yield* TextNetwork.start
      const options: ServerProcess.ServerOptions = {
        data: { url: database },
        keys: yield* ServerProcess.newKeys,
        env: { ...TextNetwork.environmentOf(texts.url), SVC_BOOTSTRAP_TIER: "payg", SVC_BOOTSTRAP_CREDITS: "50" }
      }
      const [one, other] = yield* Effect.all([ServerProcess.start(options), ServerProcess.start(options)], {
        concurrency: 2
      })
      const read = Effect.provide(pool(Redacted.value(database), 1))
      // On a busy machine it may have been sent again before this looks.
      const isSent = (message: string) =>
        eventually(
          `the message ${message}`,
          Effect.sync(() => texts.got("send", message)),
          (count) => count > 0
        )
      /** A number of the network with the plugin `telephony`, which the agent gets. */
      const numberFor = (api: ApiClient.ApiClient, telephony: string, agent_id: string) =>
        Effect.gen(function* () {
          const number = Line.freshNumber()
          const imported = yield* api.post("/v1/phone-numbers/import", { number, telephony })
          const id = textAt(imported.body, "phone_number.id")
          yield* api.patch(`/v1/phone-numbers/${id}`, { agent_id })
          return number
        })
      const numbersOf = (agentId: string) =>
        Effect.map(one.api.get("/v1/phone-numbers"), ({ body }) => {
          const all = body["phone_numbers"]
          return Array.isArray(all) ? all.filter((each) => ApiClient.at(each, "agent_id") === agentId) : []
        })

      /**
       * A call that sends one message by the tool and one after its end, over the network: the called number is taken
       * from the agent while the call is live, so that its other number is the sender.
       */
      const calls = yield* Effect.forEach(TextNetwork.networks, (telephony) =>
        Effect.gen(function* () {
          const tool = { to, message: `unanswered tool ${telephony}` }
          const line = yield* Line.open(one, () =>
            Line.configuration(
              {
                rules: [
                  { user: "text", tool: "svc_send_sms", arguments: tool },
                  { tool_result: "svc_send_sms", say: "It is {{result.status}}." }
                ],
                otherwise: "Ok {{user}}."
              },
              {
                tools: [{ name: "svc_send_sms", timeout_seconds: 30 }],
                post_call: { sms: { to, message: `unanswered after ${telephony}` } }
              }
            )
          )
          const [called] = yield* numbersOf(line.agentId)
          yield* numberFor(one.api, telephony, line.agentId)
          const [talks, ends] = [yield* line.call, yield* line.call]
          yield* one.api.patch(`/v1/phone-numbers/${textAt(called, "id")}`, { agent_id: null })
          yield* talks.phone.hears("Hello.")
          talks.phone.say("text")
          yield* ends.phone.hears("Hello.")
          ends.phone.hangup()
          yield* isSent(tool.message)
          yield* isSent(`unanswered after ${telephony}`)
          return [talks.callId, ends.callId]
        })
      )
      yield* one.signal("SIGKILL")
      expect((yield* one.exit()).signal).toBe("SIGKILL")

      // The other server waits for the end of the lease, and longer when it does not get the CPU in time.
      yield* eventually("the end of the killed server's lease", read(TextNetwork.takenOver), (ids) => ids.length === 1)
      const ended = yield* eventually("the outcomes", read(TextNetwork.messages), (rows) =>
        rows.every(({ status }) => status !== "sending")
      )
      expect(ended.map(({ events, message, status }) => [message, status, events]).toSorted()).toEqual([
        ["unanswered after texts-often", "failed", 1],
        ["unanswered after texts-once", "sent", 1],
        ["unanswered tool texts-often", "failed", 1],
        ["unanswered tool texts-once", "sent", 1]
      ])
      // The network without ids got each once; that with ids delivered each once.
      for (const { public_id } of ended) expect(texts.delivered.filter((id) => id === public_id)).toHaveLength(1)
      for (const [index, [talks = "", ends = ""]] of calls.entries()) {
        const status = index === 0 ? "sent" : "failed"
        for (const [callId, way] of [
          [talks, "tool"],
          [ends, "after"]
        ] as const) {
          yield* CallRecords.settled(other.api, callId)
          const sent = CallRecords.dataOf(yield* read(CallRecords.eventsOf(callId)), "sms.sent")
          expect(sent).toMatchObject([
            { call_id: callId, status, message: `unanswered ${way} ${TextNetwork.networks[index]}` }
          ])
        }
      }

      // The agent of a message, and its project, are deleted while the network has not answered.
      const byOrg = ApiClient.make(other.url, other.keys.org)
      const project = textAt((yield* byOrg.post("/v1/org/projects", { name: "Short" })).body, "id")
      const inProject = ApiClient.make(other.url, other.keys.org, { "x-project-id": project })
      for (const [api, deletion, message] of [
        [
          other.api,
          (agentId: string) => other.api.request("DELETE", `/v1/agents/${agentId}`),
          "unrecorded of a deleted agent"
        ],
        [inProject, () => byOrg.request("DELETE", `/v1/org/projects/${project}`), "unrecorded of a deleted project"]
      ] as const) {
        const agent = yield* api.post("/v1/agents", { name: "Short", server_url: "http://127.0.0.1:9/" })
        const agentId = textAt(agent.body, "agent.public_id")
        const from_number = yield* numberFor(api, "texts-once", agentId)
        const sending = yield* Effect.fork(api.post("/v1/sms/send", { from_number, to, message }))
        yield* isSent(message)
        expect((yield* deletion(agentId)).status).toBeLessThan(300)
        for (const answer of texts.answers.values()) answer()
        expect((yield* Fiber.join(sending)).body).toMatchObject({ status: "sent", from_number, cost_eur: 0.09 })
        const stored = yield* read(TextNetwork.messages)
        expect(stored.filter((row) => row.message === message)).toMatchObject([{ status: "sent", events: 1 }])
      }
      const { body } = yield* byOrg.get("/v1/usage")
      expect([ApiClient.at(body, "totals.sms_count"), ApiClient.at(body, "totals.sms_cost")]).toEqual([4, 0.36])
    }),
  { concurrent: true, timeout: 120_000 }
)

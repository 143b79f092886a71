import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Effect } from "effect"
import { at, textAt } from "../src/blackbox/ApiClient.ts"
import { eventually } from "../src/blackbox/Inbox.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"
import * as SvcProcess from "../src/blackbox/SvcProcess.ts"

it.scopedLive(
  "svc numbers buys, assigns and releases a number beside a running server, and svc doctor names differences to the carrier",
  () =>
    Effect.gen(function* () {
      const options = {
        data: { url: yield* TestDatabase.freshUrl },
        keys: yield* ServerProcess.newKeys,
        env: {
          SVC_BOOTSTRAP_TIER: "payg",
          SVC_BOOTSTRAP_CREDITS: "12",
          SVC_SIMULATED_CARRIER_FILE: join(tmpdir(), `svc-carrier-${crypto.randomUUID()}.jsonl`)
        }
      }
      const { api } = yield* ServerProcess.start(options)
      const env = ServerProcess.environmentOf(options)
      const svc = (...args: ReadonlyArray<string>) => SvcProcess.run(["numbers", ...args, "--org", "1", "--dev"], env)
      const active = Effect.map(api.get("/v1/phone-numbers"), ({ body }) => body["phone_numbers"])

      const wrong = yield* svc("search", "Holland")
      expect([wrong.code, wrong.output.trim()]).toEqual([1, "<country> must be a two-letter country code, such as NL"])
      const found = yield* svc("search", "US", "--area", "212", "--limit", "1", "--json")
      expect(found.code).toBe(0)
      const number = textAt(JSON.parse(found.output), "phone_numbers.0.number")

      // Nobody is at the terminal of a test.
      const unconfirmed = yield* svc("buy", number)
      expect(unconfirmed.code).toBe(1)
      expect(unconfirmed.errors).toContain("nothing was bought: repeat it with --yes")
      expect(yield* active).toEqual([])

      const bought = yield* svc("buy", number, "--yes")
      expect([bought.code, bought.errors]).toEqual([0, ""])
      expect(bought.output).toContain("for 5 EUR per month; ")
      expect(at(yield* active, "0.number")).toBe(number)
      expect((yield* api.get("/v1/credits")).body["balance_eur"]).toBe(7)
      const twice = yield* svc("buy", number, "--yes")
      expect([twice.code, twice.output]).toEqual([1, expect.stringContaining("is active in this installation already")])

      const agent = yield* api.post("/v1/agents", { name: "Reception", server_url: "http://127.0.0.1:9/" })
      const agentId = textAt(agent.body, "agent.public_id")
      expect((yield* svc("assign", number, agentId)).output).toContain(`${number} is answered by ${agentId}.`)
      expect(at(yield* active, "0.agent_id")).toBe(agentId)
      expect((yield* svc("list")).output).toContain(agentId)

      // The carrier of the server lists nothing; the one that the doctor asks does. Recent orders are left out.
      const imported = yield* api.post("/v1/phone-numbers/import", { number: "+12125550198", telephony: "simulated" })
      expect(imported.status).toBe(201)
      const doctor = yield* SvcProcess.run(["doctor", "--dev"], { ...env, SVC_SIMULATED_OWNED: "+12125550199" })
      expect(doctor.output).toMatch(/ok +numbers +differences to the numbers of carriers: 2/)
      expect(doctor.output).toMatch(/warn +numbers +simulated rents \+12125550199 .* and no project has it: import it/)
      expect(doctor.output).toMatch(
        /warn +numbers +\+12125550198 .*svc numbers release \+12125550198 --org 1 --project 1/
      )

      const released = yield* svc("release", number, "--yes")
      expect([released.code, released.errors]).toEqual([0, ""])
      expect(JSON.stringify(yield* active)).not.toContain(number)
      yield* eventually(
        "the release at the carrier",
        api.get("/telephony/simulated/numbers"),
        ({ body }) => !JSON.stringify(body["rented"]).includes(number)
      )
    }),
  180_000
)

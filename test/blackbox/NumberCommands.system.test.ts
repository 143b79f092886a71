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
      expect([wrong.code, wrong.output.trim()]).toEqual([
        1,
        "svc: <country> must be a two-letter country code, such as NL"
      ])
      const found = yield* svc("search", "US", "--area", "212", "--limit", "1", "--json")
      expect(found.code).toBe(0)
      const number = textAt(JSON.parse(found.output), "phone_numbers.0.number")

      // Nobody is at the terminal of a test.
      const unconfirmed = yield* svc("buy", number)
      expect(unconfirmed.code).toBe(1)
      expect(unconfirmed.errors).toContain("nothing was bought: repeat it with --yes")
      expect(yield* active).toEqual([])

      // Somebody is, and is asked; only y buys.
      const answered = (keys: string, ...args: ReadonlyArray<string>) =>
        Effect.scoped(
          Effect.gen(function* () {
            const command = ["numbers", ...args, "--org", "1", "--dev"]
            const process = yield* SvcProcess.start(command, env, { inTerminal: true })
            yield* eventually("the question", Effect.sync(process.output), (text) => text.includes("[y/N] "))
            yield* process.type(keys)
            return { code: (yield* process.exit()).code, output: process.output().replaceAll("\r", "") }
          })
        )
      const [no, interrupted, ended] = yield* Effect.all(
        ["n\n", "\u0003", "\u0004"].map((keys) => answered(keys, "buy", number)),
        { concurrency: "unbounded" }
      )
      expect(no?.output).toContain(`${number} costs 5 EUR per month, the first one now. My organization has 12 EUR.`)
      expect([no?.code, no?.output]).toEqual([1, expect.stringMatching(/\nsvc: not confirmed: nothing was bought\n/)])
      expect([interrupted?.code, interrupted?.output]).toEqual([
        130,
        expect.stringMatching(/\nsvc: interrupted: nothing was bought\n/)
      ])
      expect([ended?.code, ended?.output]).toEqual([
        1,
        expect.stringMatching(/\nsvc: not confirmed: nothing was bought\n/)
      ])
      expect([yield* active, (yield* api.get("/v1/credits")).body["balance_eur"]]).toEqual([[], 12])

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

      // Outside the US and Canada: with an address. This one is bought by somebody who answers y.
      const dutch = "+31205580001"
      const needed = yield* svc("buy", dutch, "--yes")
      expect([needed.code, needed.errors]).toEqual([1, expect.stringContaining(`${dutch} needs an address`)])
      expect(needed.errors).toContain("--address is required for this country")
      const address = yield* api.post("/v1/addresses", {
        customer_name: "Anna",
        street: "Damrak 1",
        city: "Amsterdam",
        postcode: "1012 LG",
        country: "NL"
      })
      const addressId = textAt(address.body, "address.id")
      const confirmed = yield* answered("y\n", "buy", dutch, "--address", addressId)
      expect([confirmed.code, confirmed.output]).toEqual([0, expect.stringContaining("My organization has 2 EUR left")])
      expect(at(yield* active, "0.address_id")).toBe(Number(addressId))

      const kept = yield* answered("\n", "release", number)
      expect([kept.code, kept.output]).toEqual([1, expect.stringContaining(`${number} was not released`)])
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

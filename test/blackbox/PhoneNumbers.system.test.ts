import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Effect } from "effect"
import { at } from "../src/blackbox/ApiClient.ts"
import { eventually } from "../src/blackbox/Inbox.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"

/** What the simulated carrier rents and how often it carried out each operation. */
const carrierOf = (server: ServerProcess.ServerProcess) =>
  Effect.map(server.api.get("/telephony/simulated/numbers"), ({ body }) => body)

it.scopedLive(
  "a number is found, bought, released over a kill of the server, and bought again",
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
      const server = yield* ServerProcess.start(options)
      const { api } = server

      const required = yield* api.get("/v1/phone-numbers/search")
      expect([required.status, required.body["message"]]).toEqual([400, "country is required."])
      const found = yield* api.get("/v1/phone-numbers/search?country=US&area=212&type=local&limit=3")
      expect(found.status).toBe(200)
      const offers = found.body["phone_numbers"]
      expect(offers).toHaveLength(3)
      const number = String(at(offers, "0.number"))
      expect(at(offers, "0")).toEqual({ number, country: "US", type: "local", area: "New York", monthly_cost_eur: 5 })

      const purchase = (body: object) => api.post("/v1/phone-numbers/purchase", body)
      const wrong = yield* purchase({ number: "12125550100" })
      expect([wrong.status, wrong.body["message"]]).toEqual([400, "must be a valid E.164 phone number"])
      const address = yield* purchase({ number: "+31205580001" })
      expect([address.status, address.body["message"]]).toEqual([400, "address_id is required for this country"])
      const refused = yield* purchase({ number: "+12125559999" })
      expect([refused.status, refused.body["code"]]).toEqual([422, "PURCHASE_FAILED"])

      const bought = yield* purchase({ number })
      expect(bought.status).toBe(201)
      const id = at(bought.body, "phone_number.id")
      const twice = yield* purchase({ number })
      expect([twice.status, twice.body["code"]]).toEqual([409, "PHONE_NUMBER_IN_USE"])
      expect((yield* api.get("/v1/credits")).body["balance_eur"]).toBe(7)
      const again = yield* api.get("/v1/phone-numbers/search?country=US&area=212&type=local&limit=1")
      expect(at(again.body, "phone_numbers.0.number")).not.toBe(number)

      // Whether or not the carrier got the order before the kill, the next server sees to its end.
      const released = yield* api.request("DELETE", `/v1/phone-numbers/${id}`)
      expect([released.status, released.body]).toEqual([200, { deleted: true }])
      yield* server.signal("SIGKILL")
      yield* server.exit()
      const next = yield* ServerProcess.start(options)
      yield* eventually(
        "the release at the carrier",
        carrierOf(next),
        (body) => !JSON.stringify(body["rented"]).includes(number)
      )
      expect((yield* next.api.get("/v1/phone-numbers")).body["phone_numbers"]).toEqual([])
      // 409 until the release is confirmed, which may be by the repetition of the dead server's order.
      const buyAgain = next.api.post("/v1/phone-numbers/purchase", { number })
      const other = yield* eventually("the second purchase", buyAgain, ({ status }) => status !== 409)
      expect(other.status).toBe(201)
      expect((yield* next.api.get("/v1/credits")).body["balance_eur"]).toBe(2)
      const poor = yield* next.api.post("/v1/phone-numbers/purchase", { number: String(at(offers, "1.number")) })
      expect([poor.status, poor.body["code"]]).toEqual([402, "INSUFFICIENT_CREDITS"])
    }),
  120_000
)

import { expect, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import * as ApiClient from "../src/blackbox/ApiClient.ts"
import { at, type JsonRecord, textAt } from "../src/blackbox/ApiClient.ts"
import { BlackBox } from "../src/blackbox/BlackBox.ts"
import * as CustomerServer from "../src/blackbox/CustomerServer.ts"
import * as DocumentedShapes from "../src/blackbox/DocumentedShapes.ts"
import { eventually } from "../src/blackbox/Inbox.ts"
import { misfits } from "../src/blackbox/Shape.ts"

const home = { street: " Damrak 1 ", city: "Amsterdam", postcode: "1012 LG", country: "nl" }

/** A client of a new project with a key of this scope, and the project's public id. */
const newProject = (scope: "full" | "read" = "full") =>
  Effect.gen(function* () {
    const { keys, url } = yield* BlackBox
    const byOrg = ApiClient.make(url, keys.org)
    const project = textAt((yield* byOrg.post("/v1/org/projects", { name: "Other" })).body, "id")
    const made = yield* byOrg.post(`/v1/org/projects/${project}/api-keys`, { scope })
    return { api: ApiClient.make(url, Redacted.make(textAt(made.body, "key"))), project, byOrg }
  })

/** The names of the address events that a receiver got, by address, in their order. */
const namesAt = (receiver: CustomerServer.CustomerServer, id: number) =>
  receiver.inbox.all.flatMap(({ body, event }) => (at(body, "data.address_id") === id ? [event] : []))

layer(BlackBox.layer, { timeout: "90 seconds", excludeTestServices: true })("Addresses", (it) => {
  it.scoped("reach each state, and emit its events to the organization and the project, not to agents", () =>
    Effect.gen(function* () {
      const { api, byOrg, project } = yield* newProject()
      const [ofOrg, ofProject, ofAgent] = yield* Effect.all([
        CustomerServer.start(() => ({ json: {} })),
        CustomerServer.start(() => ({ json: {} })),
        CustomerServer.start(() => ({ json: {} }))
      ])
      yield* byOrg.post("/v1/webhooks", { url: ofOrg.url, events: ["*"] })
      yield* api.patch("/v1/project/webhook", { webhook_url: ofProject.url })
      const agent = yield* api.post("/v1/agents", {
        name: "Agent",
        server_url: ofAgent.url,
        webhook_url: ofAgent.url
      })
      expect(agent.status).toBe(201)
      const numeric = at((yield* byOrg.get(`/v1/org/projects/${project}`)).body, "internal_id")

      const verdict = (type: string, status: string) => ({
        type,
        status,
        rejection_reason: status === "rejected" ? expect.stringMatching(/./) : null
      })
      for (const [customer, states, types] of [
        ["Anna", ["verified"], [verdict("local", "verified"), verdict("mobile", "verified")]],
        ["REJECT B.V.", ["rejected"], [verdict("local", "rejected"), verdict("mobile", "rejected")]],
        ["PARTIAL B.V.", ["partially_verified"], [verdict("local", "verified"), verdict("mobile", "rejected")]],
        ["EXPIRE B.V.", ["verified", "expired"], [verdict("local", "expired"), verdict("mobile", "expired")]],
        ["PENDING B.V.", ["verified"], [verdict("local", "verified"), verdict("mobile", "verified")]]
      ] as const) {
        const created = yield* api.post("/v1/addresses", { customer_name: customer, ...home })
        expect(created.status).toBe(201)
        expect(misfits(DocumentedShapes.address, created.body["address"])).toEqual([])
        const pending = types.map(({ type }) => verdict(type, "pending"))
        expect(created.body).toMatchObject({
          address: { customer_name: customer, street: "Damrak 1", region: null, country: "NL", status: "pending" }
        })
        expect(at(created.body, "address.number_types")).toEqual(expect.arrayContaining(pending))
        const id = Number(textAt(created.body, "address.id"))
        const final = states.at(-1)
        const { body } = yield* eventually(
          `the end of ${customer}`,
          api.get(`/v1/addresses/${id}`),
          (reply) => at(reply.body, "address.status") === final
        )
        expect(misfits(DocumentedShapes.address, body["address"])).toEqual([])
        expect(at(body, "address.number_types")).toEqual(expect.arrayContaining([...types]))
        const names = ["pending", ...states].map((state) => `address.verification.${state}`)
        for (const receiver of [ofOrg, ofProject]) {
          yield* eventually(
            `the events of ${customer}`,
            Effect.sync(() => namesAt(receiver, id)),
            (seen) => seen.length >= names.length
          )
          expect(namesAt(receiver, id).toSorted()).toEqual(names.toSorted())
          const last = receiver.of(`address.verification.${final}`).at(-1)
          expect(misfits(DocumentedShapes.envelope, last?.body)).toEqual([])
          expect(last?.body).toMatchObject({ project_id: numeric, agent_id: null })
          expect(last?.body["data"]).toEqual({
            address_id: id,
            status: final,
            number_types: at(body, "address.number_types")
          })
        }
        const first = ofOrg.of("address.verification.pending").at(-1)
        expect(first?.body["data"]).toEqual({ address_id: id, status: "pending" })
      }
      expect(ofAgent.inbox.all.map(({ event }) => event)).toEqual([])
    })
  )

  it.scoped("are validated field by field", () =>
    Effect.gen(function* () {
      const { api } = yield* BlackBox
      const good: JsonRecord = { customer_name: "Anna", ...home }
      const post = (body: JsonRecord) => api.post("/v1/addresses", body)
      for (const field of ["customer_name", "street", "city", "postcode", "country"]) {
        const { [field]: _, ...rest } = good
        const message = `${field} is required.`
        expect(yield* post(rest)).toMatchObject({
          status: 400,
          body: { code: "VALIDATION_ERROR", message, error: message, details: { [field]: message } }
        })
        for (const wrong of [null, 5, {}, ["x"], "x".repeat(300), "a\u0000b"]) {
          const { body, status } = yield* post({ ...good, [field]: wrong })
          expect([status, body["code"], Object.keys(at(body, "details") ?? {})]).toEqual([
            400,
            "VALIDATION_ERROR",
            [field]
          ])
        }
        if (field !== "country") {
          expect((yield* post({ ...good, [field]: " \t" })).body).toMatchObject({ details: { [field]: message } })
        }
      }
      expect(Object.keys(at((yield* post({})).body, "details") ?? {}).toSorted()).toEqual(
        ["city", "country", "customer_name", "postcode", "street"].toSorted()
      )
      for (const country of ["ZZ", "NLD", "", "Netherlands"]) {
        expect((yield* post({ ...good, country })).body).toMatchObject({ details: { country: expect.any(String) } })
      }
      expect((yield* post({ ...good, region: "x".repeat(101) })).body).toMatchObject({
        details: { region: "region must not exceed 100 characters" }
      })
    })
  )

  it.scoped("are listed in pages, deleted once, and belong to one project", () =>
    Effect.gen(function* () {
      const { keys, url } = yield* BlackBox
      const { api, byOrg, project } = yield* newProject()
      const { api: theirs } = yield* newProject()
      const made = yield* Effect.replicateEffect(api.post("/v1/addresses", { customer_name: "A", ...home }), 3)
      const ids = made.map(({ body }) => textAt(body, "address.id"))
      const [oldest = "", middle = "", newest = ""] = ids
      const idsIn = (body: JsonRecord) => {
        const { addresses } = body
        return Array.isArray(addresses) ? addresses.map((one: unknown) => textAt(one, "id")) : []
      }
      const first = yield* api.get("/v1/addresses?limit=2")
      expect([idsIn(first.body), first.body["next_cursor"]]).toEqual([[newest, middle], middle])
      const second = yield* api.get(`/v1/addresses?limit=2&after=${middle}`)
      expect([idsIn(second.body), second.body["next_cursor"]]).toEqual([[oldest], null])
      for (const query of ["limit=0", "limit=101", "limit=1e1", "after=x", "after=%00", `after=${"9".repeat(30)}`]) {
        expect((yield* api.get(`/v1/addresses?${query}`)).body).toMatchObject({ code: "VALIDATION_ERROR" })
      }
      // Another project of the same organization has none of them.
      const notFound = { status: 404, body: { code: "ADDRESS_NOT_FOUND" } }
      expect((yield* theirs.get("/v1/addresses")).body).toEqual({ addresses: [], next_cursor: null })
      expect(yield* theirs.get(`/v1/addresses/${oldest}`)).toMatchObject(notFound)
      expect(yield* theirs.request("DELETE", `/v1/addresses/${oldest}`)).toMatchObject(notFound)
      expect((yield* theirs.get(`/v1/addresses?after=${oldest}`)).body).toMatchObject({ code: "VALIDATION_ERROR" })
      for (const id of ["0", "-1", "1.5", "addr_1", "%00", "%ff", "1%20", "9".repeat(40)]) {
        expect(yield* api.get(`/v1/addresses/${id}`)).toMatchObject(notFound)
        expect(yield* api.request("DELETE", `/v1/addresses/${id}`)).toMatchObject(notFound)
      }
      // An organization key needs the project.
      expect(yield* byOrg.get("/v1/addresses")).toMatchObject({ status: 400, body: { code: "PROJECT_ID_REQUIRED" } })
      const within = ApiClient.make(url, keys.org, { "x-project-id": project })
      expect((yield* within.get(`/v1/addresses/${oldest}`)).status).toBe(200)
      const deleted = yield* within.request("DELETE", `/v1/addresses/${oldest}`)
      expect([deleted.status, deleted.body]).toEqual([200, { deleted: true }])
      expect(yield* api.request("DELETE", `/v1/addresses/${oldest}`)).toMatchObject(notFound)
      expect(yield* api.get(`/v1/addresses/${oldest}`)).toMatchObject(notFound)
      expect(yield* api.patch(`/v1/addresses/${middle}`, { city: "Delft" })).toMatchObject({
        status: 405,
        body: { code: "METHOD_NOT_ALLOWED" }
      })
      yield* byOrg.request("DELETE", `/v1/org/projects/${project}`)
      expect(yield* within.get(`/v1/addresses/${middle}`)).toMatchObject({ body: { code: "PROJECT_NOT_FOUND" } })
    })
  )

  it.scoped("are read and not written by a read key", () =>
    Effect.gen(function* () {
      const { api } = yield* newProject("read")
      const refused = { status: 403, body: { code: "READ_ONLY_KEY" } }
      expect((yield* api.get("/v1/addresses")).status).toBe(200)
      expect(yield* api.post("/v1/addresses", { customer_name: "A", ...home })).toMatchObject(refused)
      expect(yield* api.request("DELETE", "/v1/addresses/1")).toMatchObject(refused)
    })
  )
})

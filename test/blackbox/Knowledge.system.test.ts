import * as http from "node:http"
import { expect, it } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { Effect, Redacted } from "effect"
import * as ApiClient from "../src/blackbox/ApiClient.ts"
import { at, textAt } from "../src/blackbox/ApiClient.ts"
import * as CustomerServer from "../src/blackbox/CustomerServer.ts"
import * as DocumentedShapes from "../src/blackbox/DocumentedShapes.ts"
import { eventually } from "../src/blackbox/Inbox.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"
import { misfits } from "../src/blackbox/Shape.ts"

/** A web site with a sitemap of two pages, of which the second does not answer while `hangs` is set. */
const startSite = Effect.acquireRelease(
  Effect.async<{ hangs: boolean; waiting: number; readonly url: string; readonly server: http.Server }>((resume) => {
    const server = http.createServer((request, response) => {
      const html = (text: string) => response.setHeader("content-type", "text/html").end(`<main><p>${text}</p></main>`)
      if (request.url === "/sitemap.xml") {
        const locations = ["/one", "/two"].map((path) => `<url><loc>${site.url}${path}</loc></url>`)
        response.setHeader("content-type", "application/xml").end(`<urlset>${locations.join("")}</urlset>`)
      } else if (request.url === "/one") html("We are open from nine to five.")
      else if (request.url === "/two" && site.hangs) site.waiting++
      else if (request.url === "/two") html("We are at Damrak 1.")
      else response.writeHead(404).end()
    })
    const site = { hangs: true, waiting: 0, url: "", server }
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      site.url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`
      resume(Effect.succeed(site))
    })
  }),
  ({ server }) =>
    Effect.sync(() => {
      server.closeAllConnections()
      server.close()
    })
)

it.scopedLive(
  "a knowledge base is read from its sitemap by the next server when the first is killed, with one event",
  () =>
    Effect.gen(function* () {
      const site = yield* startSite
      const options = { data: { url: yield* TestDatabase.freshUrl }, keys: yield* ServerProcess.newKeys }
      const first = yield* ServerProcess.start(options)
      const [ofOrg, ofProject, ofAgent] = yield* Effect.all([
        CustomerServer.start(() => ({ json: {} })),
        CustomerServer.start(() => ({ json: {} })),
        CustomerServer.start(() => ({ json: {} }))
      ])
      yield* ApiClient.make(first.url, options.keys.org).post("/v1/webhooks", { url: ofOrg.url, events: ["*"] })
      yield* first.api.patch("/v1/project/webhook", { webhook_url: ofProject.url })

      const created = yield* first.api.post("/v1/knowledge-bases", {
        name: "Site",
        source_url: `${site.url}/sitemap.xml`,
        auto_refresh_hours: 24
      })
      expect(created.status).toBe(201)
      expect(misfits(DocumentedShapes.knowledgeBase, created.body["knowledge_base"])).toEqual([])
      const id = textAt(created.body, "knowledge_base.public_id")
      const agent = yield* first.api.post("/v1/agents", {
        name: "Agent",
        server_url: ofAgent.url,
        webhook_url: ofAgent.url,
        knowledge_base_ids: [id]
      })
      expect(agent.status).toBe(201)
      const path = `/v1/knowledge-bases/${id}`
      yield* eventually(
        "the request of the second page",
        Effect.sync(() => site.waiting),
        (waiting) => waiting === 1
      )
      expect(yield* first.api.post(`${path}/refresh`)).toMatchObject({ status: 202, body: { status: "refreshing" } })
      yield* first.signal("SIGKILL")
      yield* first.exit()
      site.hangs = false

      const { api } = yield* ServerProcess.start(options)
      const { body } = yield* eventually(
        "the end of the refresh",
        api.get(path),
        (reply) => at(reply.body, "knowledge_base.status") !== "refreshing"
      )
      expect(misfits(DocumentedShapes.knowledgeBase, body["knowledge_base"])).toEqual([])
      expect(body["knowledge_base"]).toMatchObject({ status: "ready", entry_count: 2, last_error: null })

      // A second refresh finds a page gone. Its event comes after all of the first.
      site.hangs = true
      site.server.closeAllConnections()
      yield* api.patch(path, { source_url: `${site.url}/one` })
      for (const receiver of [ofOrg, ofProject]) {
        const events = yield* eventually(
          "the events",
          Effect.sync(() => receiver.of("knowledge_base.refreshed").map(({ body: event }) => event)),
          (all) => all.length >= 2
        )
        const data = { kb_id: id, entries_truncated: 0 }
        expect(events.map((event) => event["data"])).toEqual([
          { ...data, entries_added: 2, entries_removed: 0 },
          { ...data, entries_added: 0, entries_removed: 1 }
        ])
        expect(misfits(DocumentedShapes.envelope, events[0])).toEqual([])
        expect(events[0]).toMatchObject({ agent_id: null })
      }
      expect(ofAgent.inbox.all).toEqual([])
    }),
  120_000
)

it.scopedLive(
  "knowledge bases answer with the codes and shapes of the reference",
  () =>
    Effect.gen(function* () {
      const options = { data: { url: yield* TestDatabase.freshUrl }, keys: yield* ServerProcess.newKeys }
      const { api, url } = yield* ServerProcess.start(options)
      const made = yield* api.post("/v1/knowledge-bases", { name: " FAQ ", content: "# Hours\nNine to five." })
      expect([made.status, at(made.body, "knowledge_base.name")]).toEqual([201, "FAQ"])
      const id = textAt(made.body, "knowledge_base.public_id")
      const path = `/v1/knowledge-bases/${id}`
      expect(yield* api.post(`${path}/refresh`)).toMatchObject({
        status: 422,
        body: { code: "KNOWLEDGE_BASE_NOT_REFRESHABLE" }
      })
      const entries = [{ question: "Where?", answer: "Here." }]
      expect((yield* api.patch(path, { entries })).body).toMatchObject({
        knowledge_base: { source_type: "qa", entries, entry_count: 1 }
      })
      const { body: list } = yield* api.get("/v1/knowledge-bases")
      expect(list["next_cursor"]).toBeNull()
      expect(misfits(DocumentedShapes.knowledgeBase, at(list, "knowledge_bases.0"))).toEqual([])

      for (const [body, field] of [
        [{ content: "x" }, "name"],
        [{ name: "x" }, "content"],
        [{ name: "x", content: "x".repeat(500_001) }, "content"],
        [{ name: "x", entries: Array.from({ length: 1001 }, () => entries[0]) }, "entries"],
        [{ name: "x", entries: [{ question: "x" }] }, "entries.0.answer"],
        [{ name: "x", source_url: "http://169.254.169.254/" }, "source_url"],
        [{ name: "x", source_url: `${url}/`, auto_refresh_hours: 0 }, "auto_refresh_hours"],
        [{ name: "x", source_url: `${url}/`, auto_refresh_hours: 1.5 }, "auto_refresh_hours"]
      ] as const) {
        const refused = yield* api.post("/v1/knowledge-bases", body)
        expect([refused.status, refused.body["code"], Object.keys(at(refused.body, "details") ?? {})]).toEqual([
          400,
          "VALIDATION_ERROR",
          [field]
        ])
      }
      const readKey = yield* api.post("/v1/project/api-keys", { scope: "read" })
      const reader = ApiClient.make(url, Redacted.make(textAt(readKey.body, "key")))
      expect((yield* reader.get(path)).status).toBe(200)
      for (const work of [
        reader.post(`${path}/refresh`),
        reader.patch(path, { name: "x" }),
        reader.request("DELETE", path)
      ]) {
        expect(yield* work).toMatchObject({ status: 403, body: { code: "READ_ONLY_KEY" } })
      }
      expect(yield* api.request("DELETE", path)).toMatchObject({ status: 200, body: { deleted: true } })
      for (const work of [api.get(path), api.post(`${path}/refresh`), api.get("/v1/knowledge-bases/kb_x")]) {
        expect(yield* work).toMatchObject({ status: 404, body: { code: "KNOWLEDGE_BASE_NOT_FOUND" } })
      }
    }),
  90_000
)

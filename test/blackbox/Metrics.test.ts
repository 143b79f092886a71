import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe, expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { it } from "vitest"
import { BlackBox } from "../src/blackbox/BlackBox.ts"
import * as CallRecords from "../src/blackbox/CallRecords.ts"
import * as Line from "../src/blackbox/Line.ts"

const folder = fileURLToPath(new URL("../../docs/operations/", import.meta.url))
const read = (name: string): string => readFileSync(folder + name, "utf8")

/** The metrics that an expression of Prometheus names. */
const namesIn = (text: string): ReadonlySet<string> =>
  new Set(
    [...text.matchAll(/\b(?:svc|nodejs|process)_[a-z0-9_]+/g)].flatMap(([name]) => (name.endsWith("_") ? [] : [name]))
  )

/** The lines of an answer, without comments: name with labels, and value. */
const samplesOf = (text: string): ReadonlyMap<string, number> =>
  new Map(
    text
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"))
      .map((line) => {
        const at = line.lastIndexOf(" ")
        return [line.slice(0, at), Number(line.slice(at + 1))]
      })
  )

const promtool = (args: ReadonlyArray<string>, input?: string) =>
  spawnSync("promtool", args, { input, encoding: "utf8" })
const hasPromtool = promtool(["--version"]).status === 0
if (!hasPromtool) process.stderr.write("No promtool (Debian package prometheus): the rules are not checked with it.\n")

layer(BlackBox.layer, { timeout: "90 seconds", excludeTestServices: true })("GET /metrics", (it) => {
  it.scoped(
    "shows a call while it is live and after it, and has every metric of the dashboard, the alerts and the documentation",
    () =>
      Effect.gen(function* () {
        const box = yield* BlackBox
        const scrape = Effect.promise(async () => {
          const answer = await fetch(`${box.url}/metrics`)
          return { status: answer.status, text: await answer.text() }
        })
        const line = yield* Line.open(box, (request) =>
          request.event === "call.started" ? Line.configuration({ otherwise: "Ok {{user}}." }) : { json: {} }
        )
        const before = samplesOf((yield* scrape).text)
        expect(before.get('svc_calls_live{direction="inbound"}')).toBe(0)
        expect(before.get('svc_calls_admitted_total{direction="inbound"}')).toBe(0)
        const { callId, phone } = yield* line.call
        yield* phone.hears("Hello.")
        phone.say("Hi")
        yield* phone.hears("Ok Hi.")
        const during = samplesOf((yield* scrape).text)
        expect(during.get('svc_calls_live{direction="inbound"}')).toBe(1)
        expect(during.get("svc_agents_in_calls")).toBe(1)
        expect(during.get('svc_calls_admitted_total{direction="inbound"}')).toBe(1)
        phone.send({ event: "hangup" })
        yield* CallRecords.settled(box.api, callId)

        const nobody = yield* line.phone
        nobody.send({ event: "dial", to: "+15559999999", from: Line.caller })
        yield* nobody.until("rejected")

        const { status, text } = yield* scrape
        expect(status).toBe(200)
        const after = samplesOf(text)
        expect(after.get('svc_calls_live{direction="inbound"}')).toBe(0)
        expect(after.get('svc_calls_ended_total{status="completed"}')).toBe(1)
        expect(after.get('svc_calls_rejected_total{direction="inbound",reason="no_number"}')).toBe(1)
        expect(after.get('svc_turn_latency_seconds_count{stage="response"}')).toBeGreaterThanOrEqual(1)
        expect(after.get("svc_frame_lateness_seconds_count")).toBeGreaterThan(50)
        expect(after.get("svc_database_up")).toBe(1)
        for (const capability of ["language_model", "text_to_speech", "speech_to_text"]) {
          const labels = `{plugin="simulated",capability="${capability}"}`
          expect(after.get(`svc_provider_requests_total${labels}`)).toBeGreaterThan(0)
          expect(after.get(`svc_provider_errors_total${labels}`)).toBe(0)
        }
        expect([...after.values()].filter((value) => !Number.isFinite(value))).toEqual([])
        expect([...after.keys()].filter((key) => /call_|agent_|org_|\+1555/.test(key.replace(/^[a-z_]+/, "")))).toEqual(
          []
        )

        // Those without labels that are only known later are in the text with their type.
        const exported = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name ?? ""))
        const isExported = (name: string) =>
          exported.has(name) || exported.has(name.replace(/_(bucket|sum|count)$/, ""))
        for (const file of ["grafana.json", "alerts.yml", "monitoring.md"]) {
          expect({ file, missing: [...namesIn(read(file))].filter((name) => !isExported(name)) }).toEqual({
            file,
            missing: []
          })
        }
        const documented = namesIn(read("monitoring.md"))
        const family = (name: string) => /^nodejs_|^svc_plugin_simulated_/.test(name)
        expect([...exported].filter((name) => !family(name) && !documented.has(name))).toEqual([])
        if (hasPromtool) {
          const { stderr, stdout } = promtool(["check", "metrics"], text)
          expect(`${stdout}${stderr}`.split("\n").filter((found) => found.startsWith("svc_"))).toEqual([])
        }
      }),
    { timeout: 60_000 }
  )
})

describe("the alert rules", () => {
  if (hasPromtool) {
    it("are accepted by promtool", () => {
      const { status, stderr, stdout } = promtool(["check", "rules", `${folder}alerts.yml`])
      expect({ status, stderr, stdout }).toMatchObject({ status: 0, stdout: expect.stringContaining("SUCCESS") })
    })
  }
  it("each have a summary and a severity", () => {
    const rules = read("alerts.yml").split("- alert: ").slice(1)
    expect(rules.length).toBeGreaterThanOrEqual(10)
    for (const rule of rules) {
      expect(rule).toMatch(/severity: (page|warning)/)
      expect(rule).toContain("summary:")
    }
  })
})

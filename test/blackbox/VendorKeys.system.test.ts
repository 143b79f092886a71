import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import type { IncomingHttpHeaders, ServerResponse } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { pool } from "@svc/database/TestServer"
import { type EmulatedPeer, type EmulatedRequest, emulatedServer } from "@svc/providers/testing/EmulatedServer"
import { Effect, Redacted } from "effect"
import { call, textAt } from "../src/blackbox/ApiClient.ts"
import * as CallRecords from "../src/blackbox/CallRecords.ts"
import * as Line from "../src/blackbox/Line.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"
import * as SvcProcess from "../src/blackbox/SvcProcess.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))
const echo = { otherwise: "Ok {{user}}." }

/** A vendor's plugin: its settings, with a key that occurs nowhere else, at the server of this address. */
interface Vendor {
  readonly secrets: Readonly<Record<string, string>>
  readonly settings: (origin: string) => Readonly<Record<string, string>>
}

const twilioAccount = "AC0123456789abcdef0123456789abcdef"

const vendors: Readonly<Record<string, Vendor>> = {
  openai: {
    secrets: { SVC_OPENAI_API_KEY: "marker-openai-4d1f8a" },
    settings: (origin) => ({
      SVC_OPENAI_BASE_URL: `${origin}/v1`,
      SVC_OPENAI_MODEL: "small",
      SVC_OPENAI_STT_MODEL: "whisper-1",
      SVC_OPENAI_TTS_MODEL: "gpt-4o-mini-tts",
      SVC_OPENAI_EMBEDDING_MODEL: "text-embedding-3-small"
    })
  },
  s3: {
    secrets: { SVC_S3_SECRET_ACCESS_KEY: "marker-s3-9b27c6" },
    settings: (origin) => ({
      SVC_S3_ENDPOINT: origin,
      SVC_S3_BUCKET: "recordings",
      SVC_S3_ACCESS_KEY_ID: "AKIAVENDORKEYS000000"
    })
  },
  deepgram: {
    secrets: { SVC_DEEPGRAM_API_KEY: "marker-deepgram-03e5d9" },
    settings: (origin) => ({ SVC_DEEPGRAM_URL: origin })
  },
  elevenlabs: {
    secrets: { SVC_ELEVENLABS_API_KEY: "marker-elevenlabs-c81a47" },
    settings: (origin) => ({ SVC_ELEVENLABS_URL: origin })
  },
  cartesia: {
    secrets: { SVC_CARTESIA_API_KEY: "marker-cartesia-f6207b" },
    settings: (origin) => ({ SVC_CARTESIA_URL: origin })
  },
  telnyx: {
    secrets: { SVC_TELNYX_API_KEY: "marker-telnyx-5e90b1" },
    settings: (origin) => ({
      SVC_TELNYX_API_URL: origin,
      SVC_TELNYX_PUBLIC_KEY: Buffer.alloc(32, 7).toString("base64")
    })
  },
  twilio: {
    secrets: { SVC_TWILIO_AUTH_TOKEN: "marker-twilio-5ae90c" },
    settings: (origin) => ({
      SVC_TWILIO_ACCOUNT_SID: twilioAccount,
      SVC_TWILIO_API_URL: origin
    })
  }
}

/** Plugins whose settings have secrets: they read one as `Redacted`, themselves or by the shared settings of vendors. */
const withSecrets = readdirSync(join(root, "plugins")).filter((plugin) =>
  readdirSync(join(root, "plugins", plugin, "src"), { recursive: true }).some((file) => {
    const name = String(file)
    return (
      name.endsWith(".ts") &&
      /Schema\.Redacted|VendorServer/.test(readFileSync(join(root, "plugins", plugin, "src", name), "utf8"))
    )
  })
)
const loaded = withSecrets.flatMap((plugin) => {
  const vendor = vendors[plugin]
  return vendor === undefined ? [] : [{ name: plugin, plugin, more: {}, ...vendor }]
})
/** The same plugins with other settings. */
const variants = loaded.flatMap((vendor) =>
  vendor.plugin === "openai"
    ? [{ ...vendor, name: "openai with streaming speech-to-text", more: { SVC_OPENAI_STT_STREAMING: "true" } }]
    : []
)
const secrets = loaded.flatMap((vendor) => Object.values(vendor.secrets))

/** Those that one server loads: vendors that do different work, so that each comes first in its own. */
const groups = [
  ["openai", "s3"],
  ["openai with streaming speech-to-text", "telnyx"],
  ["deepgram", "twilio"],
  ["elevenlabs"],
  ["cartesia"]
].map((names) => [...loaded, ...variants].filter(({ name }) => names.includes(name)))

/** A secret as it may be written: as it is, in base64, in a URL, in hexadecimal digits. */
const written = (secret: string): ReadonlyArray<string> => [
  secret,
  Buffer.from(secret).toString("base64").replace(/=+$/, ""),
  Buffer.from(secret).toString("hex"),
  // What is left of one that was shortened.
  secret.slice(0, -3)
]

/** Headers as a server reads them: with the name and the password of basic authentication. */
const readable = (headers: IncomingHttpHeaders): string => {
  const [, credentials = ""] = headers.authorization?.match(/^Basic (.+)$/) ?? []
  return JSON.stringify(headers) + Buffer.from(credentials, "base64").toString()
}

/** The keys that a client sent, for servers that repeat them in their errors. */
const keysIn = (headers: IncomingHttpHeaders): string =>
  secrets.filter((secret) => readable(headers).includes(secret)).join(" ")
const repeated = (url: string, headers: IncomingHttpHeaders) => JSON.stringify({ url, headers, keys: keysIn(headers) })

/** Vendors that refuse, fail, and send garbage, in turn, and repeat the keys wherever they can. */
const failing = (): ((request: EmulatedRequest, response: ServerResponse) => void) => {
  let requests = 0
  return ({ headers, path }, response) => {
    const all = repeated(path, headers)
    const xml = `<Error><Code>SignatureDoesNotMatch</Code><Message>${keysIn(headers)}</Message><StringToSign>${keysIn(headers)}</StringToSign></Error>`
    const answers: ReadonlyArray<() => unknown> = [
      () => response.writeHead(401, { "content-type": "application/json", "x-key": keysIn(headers) }).end(all),
      () => response.writeHead(403, { "content-type": "application/xml" }).end(xml),
      () =>
        response
          .writeHead(500, { "content-type": "application/json" })
          .end(JSON.stringify({ error: { message: all } })),
      () => response.writeHead(400, { "content-type": "text/plain" }).end(keysIn(headers)),
      () =>
        response
          .writeHead(200, { "content-type": "text/event-stream" })
          .end(`data: {"error":${JSON.stringify(all)}}\n\n`),
      () => response.writeHead(302, { location: `http://127.0.0.1:9/${keysIn(headers)}` }).end(),
      () => response.destroy()
    ]
    answers[requests++ % answers.length]?.()
  }
}

/** Errors over a WebSocket, as an event, as what is no event, and as the reason of the end, with the keys in each. */
const failSocket = (peer: EmulatedPeer): void => {
  const keys = keysIn(peer.request.headers)
  peer.send({ type: "error", error: { type: "server_error", message: keys }, message: keys, description: keys })
  peer.send(`<html>${keys}`)
  peer.close(1008, keys.slice(0, 120))
}

/** Vendors come first, and what they cannot do any more is done by the simulated providers. */
const environment = (
  vendors: ReadonlyArray<{ readonly vendor: (typeof loaded)[number]; readonly origin: string }>
) => ({
  SVC_PLUGINS: [...vendors.map(({ vendor }) => vendor.plugin), "simulated"].map((name) => `@svc/plugin-${name}`).join(),
  SVC_LOG_LEVEL: "trace",
  ...Object.assign(
    {},
    ...vendors.flatMap(({ origin, vendor: { more, secrets, settings } }) => [settings(origin), more, secrets])
  )
})

/** A server of a vendor that fails, and what was sent to it. */
const failingVendor = (vendor: (typeof loaded)[number]) =>
  Effect.gen(function* () {
    const sent: Array<string> = []
    const answer = failing()
    let upgrades = 0
    const { origin } = yield* emulatedServer({
      request: (request, response) => {
        sent.push(readable(request.headers))
        answer(request, response)
      },
      upgrade: ({ headers, path }) => {
        sent.push(JSON.stringify(headers))
        const refusal = { status: 401, headers: { "x-key": keysIn(headers) }, body: repeated(path, headers) }
        return ++upgrades % 2 === 1 ? refusal : "accept"
      },
      connection: (peer) => Effect.sync(() => failSocket(peer))
    })
    return { vendor, origin, sent }
  })

const dataFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-keys-"))),
  (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
)

describe("Keys of vendors", () => {
  it("are looked for in this test: each plugin with a secret among its settings is listed here", () => {
    // A SIP trunk gets no password, only a digest of it.
    expect([...Object.keys(vendors), "sip"].toSorted()).toEqual(withSecrets.toSorted())
    const names = (all: ReadonlyArray<{ readonly name: string }>) => all.map(({ name }) => name).toSorted()
    expect(names(groups.flat())).toEqual(names([...loaded, ...variants]))
  })

  it.scopedLive.each(groups.map((group) => [group.map(({ name }) => name).join(" and of "), group] as const))(
    "of %s stand in no log, answer, page, metric, event, record or journal, also when it fails and repeats them",
    ([, group]) =>
      Effect.gen(function* () {
        const peers = yield* Effect.forEach(group, failingVendor)
        const database = yield* TestDatabase.freshUrl
        const env = { ...environment(peers), SVC_DATA_DIR: yield* dataFolder }
        const keys = yield* ServerProcess.newKeys
        const seen = new Map<string, string>()
        const svc = yield* ServerProcess.start({ data: { url: database }, keys, env, unready: true })
        const { api, url } = svc
        const line = yield* Line.open(svc, () => Line.configuration(echo), { recording: true })
        const { callId, phone } = yield* line.call
        yield* phone.hears("Hello.")
        phone.say("Hi")
        yield* phone.hears("Ok Hi.")
        const link = textAt((yield* api.get(`/v1/calls/${callId}/debug-link`)).body, "url")
        seen.set("debug page of a live call", (yield* call(`${url}${link}`, "GET")).text)
        phone.hangup()
        yield* CallRecords.settled(api, callId)

        const ready = yield* call(`${url}/readyz`, "GET")
        for (const { plugin } of group) {
          expect(svc.output()).toMatch(new RegExp(`SVC_${plugin.toUpperCase()}_\\w*(KEY|TOKEN)\\w* was refused`))
        }
        seen.set("readyz", ready.text)
        seen.set("metrics", (yield* call(`${url}/metrics`, "GET")).text)
        seen.set("debug page", (yield* call(`${url}${link}`, "GET")).text)
        const bodies = yield* api.get(`/v1/calls/${callId}/debug-link`)
        seen.set("debug link", bodies.text)
        for (const path of ["", "/timeline", "/status", "/webhooks", "/recording"]) {
          seen.set(`call${path}`, (yield* api.get(`/v1/calls/${callId}${path}`)).text)
        }
        for (const path of ["/v1/calls", "/v1/voices", "/v1/agents", "/v1/health", "/v1/usage"]) {
          seen.set(path, (yield* api.get(path)).text)
        }
        seen.set("preview", (yield* call(`${url}/v1/voices/Sarah/preview?language=en-US`, "GET")).text)
        const chat = { model: "svc", messages: [{ role: "user", content: "Hello" }] }
        seen.set("chat", (yield* api.post("/v1/chat/completions", chat)).text)

        const commands = [["plugins", "list"], ["doctor"], ...group.map(({ plugin }) => ["plugins", "check", plugin])]
        const commandEnv = ServerProcess.environmentOf({ data: { url: database }, keys, env })
        for (const args of commands) {
          const { code, output } = yield* SvcProcess.run([...args, "--dev"], commandEnv)
          seen.set(`svc ${args.join(" ")}`, output)
          if (args.includes("check")) expect([args, code]).toEqual([args, 1])
        }

        // The key of S3 only signs; the others are sent, or this test would find nothing.
        for (const { sent, vendor } of peers) {
          expect(sent.join()).toContain(vendor.plugin === "s3" ? "Signature=" : Object.values(vendor.secrets).join())
        }
        const stored = yield* Effect.provide(
          Effect.gen(function* () {
            const sql = yield* SqlClient.SqlClient
            const tables = yield* sql<{ readonly name: string }>`
              select table_name as name from information_schema.tables
              where table_schema = 'public' and table_type = 'BASE TABLE'`
            return yield* Effect.forEach(tables, ({ name }) =>
              Effect.map(sql`select * from ${sql(name)}`, (rows) => [name, JSON.stringify(rows)] as const)
            )
          }),
          pool(Redacted.value(database), 1)
        )
        for (const [name, rows] of stored) seen.set(`table ${name}`, rows)
        expect(stored.find(([name]) => name === "call_journal")?.[1].length).toBeGreaterThan(100)
        yield* svc.signal("SIGTERM")
        yield* svc.exit("30 seconds")
        seen.set("output of the server", svc.output())

        for (const [where, text] of seen) {
          for (const secret of secrets) {
            for (const form of written(secret))
              expect(text.includes(form), `${form} in ${where}: ${around(text, form)}`).toBe(false)
          }
        }
        expect([...seen.keys()].length).toBeGreaterThan(30)
      }),
    { timeout: 180_000 }
  )
})

/** Where a text stands, for the message of a failure. */
const around = (text: string, part: string): string => {
  const at = text.indexOf(part)
  return at < 0 ? "" : text.slice(Math.max(0, at - 200), at + 100)
}

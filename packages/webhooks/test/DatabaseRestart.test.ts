import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { newCallId } from "@svc/api/Ids"
import { NodeLease } from "@svc/cluster/NodeLease"
import { Database } from "@svc/database/Database"
import * as EmbeddedPostgres from "@svc/database/EmbeddedPostgres"
import * as Migrations from "@svc/database/Migrations"
import { Outbox } from "@svc/database/Outbox"
import { pool } from "@svc/database/TestServer"
import { Context, Effect, Fiber, Layer, Logger, LogLevel } from "effect"
import { DeliveryWorker } from "../src/DeliveryWorker.ts"
import { WebhooksRepo } from "../src/WebhooksRepo.ts"
import {
  account,
  appendEvents,
  dtmfEvent,
  isQueueEmpty,
  ReceiversInMemory,
  requestsTo,
  Services,
  until,
  webhookOf
} from "./Fixture.ts"

/** The data directory of a server of our own, which keeps what it commits, and is started again when it ends. */
class Server extends Context.Tag("test/Server")<Server, { readonly dir: string; readonly url: string }>() {
  static readonly layer = Layer.scoped(
    Server,
    Effect.gen(function* () {
      const folder = yield* Effect.acquireRelease(
        Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "svc-restart-"))),
        (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
      )
      // The server may run as another user.
      fs.chmodSync(folder, 0o755)
      const dir = path.join(folder, "postgres")
      const { url } = yield* EmbeddedPostgres.start({ dir })
      yield* Effect.provide(Migrations.run, pool(url, 1))
      return { dir, url }
    })
  )
}

const OwnDatabase = Layer.unwrapEffect(
  Effect.map(Server, ({ url }) =>
    Layer.mergeAll(Layer.succeed(Database, { exclusive: false, called: "a database of our own" }), pool(url, 10))
  )
).pipe(Layer.provideMerge(Server.layer))

const WithWorker = DeliveryWorker.pipe(
  Layer.provideMerge(NodeLease.layer),
  Layer.provideMerge(Services),
  Layer.provideMerge(OwnDatabase),
  Layer.provideMerge(Logger.minimumLogLevel(LogLevel.None))
)

const postmaster = (dir: string): number => {
  const pid = Number(fs.readFileSync(path.join(dir, "postmaster.pid"), "utf8").split("\n")[0])
  // A signal to 0 would go to this process and all that run with it.
  if (!(pid > 1)) throw new Error("the server has not written down its process")
  return pid
}

/** Asks the server to stop: it ends transactions that run, and writes down all it has. */
const stop = Effect.map(Server, ({ dir }) => void process.kill(postmaster(dir), "SIGINT"))

const killed = (pid: number) =>
  Effect.try(() => process.kill(pid, "SIGKILL")).pipe(
    // One that ended by itself, because the first is dead.
    Effect.ignore
  )

/** Kills the server with all its processes: what it had only in memory is gone. */
const crash = Effect.gen(function* () {
  const { dir } = yield* Server
  const sql = yield* SqlClient.SqlClient
  const others = yield* sql<{ readonly pid: number }>`select pid from pg_stat_activity`
  process.kill(postmaster(dir), "SIGKILL")
  yield* Effect.forEach(others, ({ pid }) => killed(pid), { discard: true })
})

/** A look at the database that is not there, or breaks off, sees nothing. */
const patiently = <A, E, R>(look: Effect.Effect<A, E, R>, otherwise: A) =>
  look.pipe(
    Effect.disconnect,
    Effect.timeout("1 second"),
    Effect.catchAllCause(() => Effect.succeed(otherwise))
  )

/** Events for two webhooks, without a pause, while the database's server ends and comes back. */
const underLoad = <E, R>(restart: Effect.Effect<void, E, R>) =>
  Effect.gen(function* () {
    const owner = yield* account
    const outbox = yield* Outbox
    const lease = yield* NodeLease
    const repo = yield* WebhooksRepo
    const { dir } = yield* Server
    const { held, behaviors } = yield* ReceiversInMemory
    const steady = yield* webhookOf(owner)
    let holds = false
    behaviors.set(steady.url, () => (holds ? "held" : 200))
    const shaky = yield* webhookOf(owner)
    let asked = 0
    behaviors.set(shaky.url, () => (++asked % 5 === 0 ? 500 : 200))
    const before = { node: (yield* lease.current).id, server: postmaster(dir) }

    const appended: Array<string> = []
    let refused = 0
    let open = true
    const append = (many: number) =>
      Effect.gen(function* () {
        const call = yield* newCallId
        const drafts = Array.from({ length: many }, (_, n) =>
          dtmfEvent(owner, call, `${n}`, "2026-11-01T09:30:00.000Z")
        )
        const ids = yield* patiently(outbox.appendAll(drafts), [])
        appended.push(...ids)
        if (ids.length > 0) return
        refused++
        yield* Effect.sleep("10 millis")
      })
    const caller = Effect.repeat(append(3), { while: () => open })
    const callers = yield* Effect.fork(Effect.all(Effect.replicate(caller, 4), { concurrency: "unbounded" }))
    const soon = (count: () => number, many: number) => until(Effect.sync(count), (n) => n >= many)
    yield* until(requestsTo(steady.url), (all) => all.length >= 300)
    // Some are under way and many wait when the server ends.
    holds = true
    yield* Effect.replicateEffect(append(50), 20)
    yield* soon(() => held.length, 1)
    yield* restart
    yield* soon(() => refused, 1)
    holds = false
    for (const answer of held.splice(0)) answer(200)
    const early = appended.length
    yield* soon(() => appended.length, early + 200)
    open = false
    yield* Fiber.join(callers)

    yield* until(patiently(isQueueEmpty, false), (is) => is)
    expect(postmaster(dir)).not.toBe(before.server)
    for (const { url } of [steady, shaky]) {
      const got = new Set((yield* requestsTo(url)).map(({ event_id }) => event_id))
      expect(appended.filter((id) => !got.has(id))).toEqual([])
    }
    // Short enough that nobody was taken for dead, and no receiver for broken.
    expect((yield* lease.current).id).toBe(before.node)
    const found = yield* repo.find({ org_id: owner.org_id, project_id: null }, shaky.id)
    expect(found).toMatchObject({ value: { is_active: true } })
  })

layer(WithWorker, { excludeTestServices: true })("deliveries while the database is started anew", (it) => {
  it.scoped("a server that stops in good order and comes back under load loses nothing", () => underLoad(stop))

  it.scoped("a server that is killed under load and recovers loses nothing", () => underLoad(crash))

  it.scoped("what a killed server forgot to be delivered is delivered again, and nothing is stuck", () =>
    Effect.gen(function* () {
      const owner = yield* account
      const webhook = yield* webhookOf(owner)
      const sql = yield* SqlClient.SqlClient
      yield* sql`alter system set wal_writer_delay = '10s'`
      yield* sql`select pg_reload_conf()`
      const onDisk = Effect.map(
        sql<{ readonly lsn: string }>`select pg_current_wal_flush_lsn()::text as lsn`,
        (rows) => rows[0]?.lsn
      )
      const { held, behaviors } = yield* ReceiversInMemory
      behaviors.set(webhook.url, () => "held")
      const deliver = Effect.gen(function* () {
        const [id] = yield* appendEvents(owner, ["one"])
        yield* until(
          Effect.sync(() => held.length),
          (n) => n === 1
        )
        // That the node has it is kept.
        yield* sql`checkpoint`
        const taken = yield* onDisk
        held.pop()?.(200)
        yield* until(isQueueEmpty, (is) => is)
        // That it is delivered is not, unless somebody else's commit took it along.
        return { id, isForgotten: (yield* onDisk) === taken }
      })
      const { id } = yield* until(deliver, ({ isForgotten }) => isForgotten)
      behaviors.set(webhook.url, () => 200)
      yield* crash
      const requests = yield* until(
        Effect.map(requestsTo(webhook.url), (all) => all.filter(({ event_id }) => event_id === id)),
        (all) => all.length === 2
      )
      expect(requests[1]?.body).toBe(requests[0]?.body)
      yield* until(patiently(isQueueEmpty, false), (is) => is)
    })
  )
})

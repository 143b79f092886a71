import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { SqlClient } from "@effect/sql"
import { expect, layer } from "@effect/vitest"
import { newCallId } from "@svc/api/Ids"
import { DueCheck } from "@svc/cluster/DueCheck"
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

/** A PostgreSQL server of this test that keeps what it commits and restarts when it ends. */
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
    Layer.mergeAll(Layer.succeed(Database, { exclusive: false, displayName: "a test database" }), pool(url, 10))
  )
).pipe(Layer.provideMerge(Server.layer))

const WithWorker = DeliveryWorker.pipe(
  Layer.provideMerge(DueCheck.layer),
  Layer.provideMerge(NodeLease.layer),
  Layer.provideMerge(Services),
  Layer.provideMerge(OwnDatabase),
  Layer.provideMerge(Logger.minimumLogLevel(LogLevel.None))
)

const postmaster = (dir: string): number => {
  const pid = Number(fs.readFileSync(path.join(dir, "postmaster.pid"), "utf8").split("\n")[0])
  // A signal to 0 would go to the whole process group.
  if (!(pid > 1)) throw new Error("postmaster.pid has no process id")
  return pid
}

/** Fast shutdown: aborts running transactions and writes everything to disk. */
const stop = Effect.map(Server, ({ dir }) => void process.kill(postmaster(dir), "SIGINT"))

const killed = (pid: number) =>
  Effect.try(() => process.kill(pid, "SIGKILL")).pipe(
    // It may have ended already, because the postmaster is dead.
    Effect.ignore
  )

/** Kills all processes of the server: what was only in memory is lost. */
const crash = Effect.gen(function* () {
  const { dir } = yield* Server
  const sql = yield* SqlClient.SqlClient
  const others = yield* sql<{ readonly pid: number }>`select pid from pg_stat_activity`
  process.kill(postmaster(dir), "SIGKILL")
  yield* Effect.forEach(others, ({ pid }) => killed(pid), { discard: true })
})

/** Returns `otherwise` when the database is away. */
const whenAway = <A, E, R>(look: Effect.Effect<A, E, R>, otherwise: A) =>
  look.pipe(
    Effect.disconnect,
    Effect.timeout("1 second"),
    Effect.catchAllCause(() => Effect.succeed(otherwise))
  )

/** Appends events for two webhooks without a pause while the database server ends and restarts. */
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
    const failing = yield* webhookOf(owner)
    let attempts = 0
    behaviors.set(failing.url, () => (++attempts % 5 === 0 ? 500 : 200))
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
        const ids = yield* whenAway(outbox.appendAll(drafts), [])
        appended.push(...ids)
        if (ids.length > 0) return
        refused++
        yield* Effect.sleep("10 millis")
      })
    const caller = Effect.repeat(append(3), { while: () => open })
    const callers = yield* Effect.fork(Effect.all(Effect.replicate(caller, 4), { concurrency: "unbounded" }))
    const soon = (count: () => number, many: number) => until(Effect.sync(count), (n) => n >= many)
    yield* until(requestsTo(steady.url), (all) => all.length >= 300)
    // Some deliveries are in flight and many are pending when the server ends.
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

    yield* until(whenAway(isQueueEmpty, false), (is) => is)
    expect(postmaster(dir)).not.toBe(before.server)
    for (const { url } of [steady, failing]) {
      const got = new Set((yield* requestsTo(url)).map(({ event_id }) => event_id))
      expect(appended.filter((id) => !got.has(id))).toEqual([])
    }
    // Short enough that the node kept its lease and the webhook was not disabled.
    expect((yield* lease.current).id).toBe(before.node)
    const found = yield* repo.find({ org_id: owner.org_id, project_id: null }, failing.id)
    expect(found).toMatchObject({ value: { is_active: true } })
  })

layer(WithWorker, { excludeTestServices: true })("DeliveryWorker while the database restarts", (it) => {
  it.scoped("a server that shuts down and restarts under load loses no delivery", () => underLoad(stop))

  it.scoped("a server that is killed under load and recovers loses no delivery", () => underLoad(crash))

  it.scoped("a delivery whose success is lost in a crash is attempted again, and none is stuck", () =>
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
      const deliver = Effect.gen(function* () {
        behaviors.set(webhook.url, () => "held")
        const [id] = yield* appendEvents(owner, ["one"])
        yield* until(
          Effect.sync(() => held.length),
          (n) => n === 1
        )
        // The claim is on disk.
        yield* sql`checkpoint`
        const claimedAt = yield* onDisk
        held.pop()?.(200)
        yield* until(isQueueEmpty, (is) => is)
        // The success is not, unless another commit flushed it too.
        return { id, isLost: (yield* onDisk) === claimedAt }
      })
      const deliverAndCrash = Effect.gen(function* () {
        const { id } = yield* until(deliver, ({ isLost }) => isLost)
        behaviors.set(webhook.url, () => 200)
        yield* crash
        yield* until(whenAway(isQueueEmpty, false), (is) => is)
        return (yield* requestsTo(webhook.url)).filter(({ event_id }) => event_id === id)
      })
      // One request: the success was flushed just before the crash, so nothing was lost.
      const requests = yield* until(deliverAndCrash, (sent) => sent.length > 1)
      expect(requests).toHaveLength(2)
      expect(requests[1]?.body).toBe(requests[0]?.body)
    })
  )
})

import { SqlClient } from "@effect/sql"
import { describe, expect, layer } from "@effect/vitest"
import { newCallId } from "@svc/api/Ids"
import type { Tier } from "@svc/api/Principal"
import { Accounts } from "@svc/auth/Accounts"
import { Billing } from "@svc/billing/Billing"
import { Holds } from "@svc/billing/Holds"
import { Cron, type Job } from "@svc/cluster/Cron"
import { ObjectStore, ObjectStoreError } from "@svc/providers/ObjectStore"
import { BigDecimal, Clock, ConfigProvider, Duration, Effect, Layer, Option } from "effect"
import { CallsRepo } from "../../src/record/CallsRepo.ts"
import { ServerRequestsRepo } from "../../src/record/ServerRequestsRepo.ts"
import { keyOf } from "../../src/recording/Recorder.ts"
import { RecordingsRepo } from "../../src/recording/RecordingsRepo.ts"
import { RetentionWorker } from "../../src/recording/RetentionWorker.ts"
import { Base } from "../doubles/Engine.ts"
import { MemoryStore } from "../doubles/MemoryStore.ts"

const Test = Layer.mergeAll(CallsRepo.layer, RecordingsRepo.layer, ServerRequestsRepo.layer).pipe(
  Layer.provideMerge(Base)
)

/** An organization with this balance and a recording of `days` ago. */
const recorded = (store: MemoryStore, tier: Tier, eur: string, days: number) =>
  Effect.gen(function* () {
    const accounts = yield* Accounts
    const sql = yield* SqlClient.SqlClient
    const org = yield* accounts.createOrganization({
      name: "Test",
      tier,
      balance_eur: BigDecimal.unsafeFromString(eur)
    })
    const public_id = yield* newCallId
    const id = yield* (yield* CallsRepo).insert({
      public_id,
      org_id: org.id,
      project_id: 1,
      agent_id: null,
      agent_public_id: null,
      node_id: "node_x",
      telephony: "simulated",
      from_number: null,
      to_number: "+15550000001",
      status: "ringing",
      started_at: new Date(0)
    })
    const repo = yield* RecordingsRepo
    yield* repo.addPending({ id, public_id, org_id: org.id }, null)
    yield* repo.ready(id)
    yield* sql`update recordings set created_at = now() - make_interval(days => ${days}::int) where call_id = ${id}`
    store.objects.set(keyOf(public_id), new Uint8Array(1))
    return { id, org: org.id, key: keyOf(public_id) }
  })

/** The job, and when it is due. */
const scheduled = (store: MemoryStore, settings: ReadonlyArray<readonly [string, string]> = []) =>
  Effect.gen(function* () {
    const jobs: Array<{ readonly job: Job; readonly work: Effect.Effect<void> }> = []
    const cron = Layer.succeed(Cron, { schedule: (job, work) => Effect.sync(() => void jobs.push({ job, work })) })
    yield* Layer.build(
      RetentionWorker.pipe(
        Layer.provide(Layer.merge(cron, Layer.succeed(ObjectStore, store.service))),
        Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map(settings))))
      )
    )
    return jobs[0] ?? (yield* Effect.dieMessage("nothing was scheduled"))
  })

const kept = (id: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql<{ readonly has_recording: boolean }>`select has_recording from calls where id = ${id}`
    return row?.has_recording
  })

/** Leaves the organization without credits since `days` ago. */
const emptied = (org: number, days: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const holds = yield* Holds
    const purpose = { org_id: org, kind: "sms", reference: `sms_${org}` } as const
    yield* holds.hold(purpose, BigDecimal.unsafeFromString("1"))
    yield* holds.settle(purpose)
    // Ledger entries are immutable for the application, so the test changes them in SQL.
    yield* sql`alter table ledger_entries disable trigger ledger_entries_keep`
    yield* sql`
      update ledger_entries set created_at = now() - make_interval(days => ${days}::int)
      where org_id = ${org} and kind = 'sms'`
    yield* sql`alter table ledger_entries enable trigger ledger_entries_keep`
  })

describe("the retention worker", () => {
  layer(Test, { timeout: "60 seconds", excludeTestServices: true })("deletes recordings and their files", (it) => {
    it.scoped("after 90 days, in an hourly job", () =>
      Effect.gen(function* () {
        const store = new MemoryStore()
        const old = yield* recorded(store, "enterprise", "0", 91)
        const young = yield* recorded(store, "enterprise", "0", 89)
        const { job, work } = yield* scheduled(store)
        expect(Duration.toHours(job.every)).toBe(1)
        yield* work
        expect([yield* kept(old.id), yield* kept(young.id)]).toEqual([false, true])
        expect([...store.objects.keys()]).toEqual([young.key])
        yield* work
        expect(yield* kept(young.id)).toBe(true)
      })
    )

    it.scoped("7 days after their organization was suspended, and never those of the enterprise tier", () =>
      Effect.gen(function* () {
        const store = new MemoryStore()
        const long = yield* recorded(store, "payg", "1", 30)
        const lately = yield* recorded(store, "payg", "1", 30)
        const back = yield* recorded(store, "payg", "1", 30)
        const never = yield* recorded(store, "payg", "5", 30)
        const own = yield* recorded(store, "enterprise", "0", 30)
        yield* emptied(long.org, 8)
        yield* emptied(lately.org, 6)
        yield* emptied(back.org, 8)
        yield* (yield* Billing).add(back.org, BigDecimal.unsafeFromString("3"))
        const { work } = yield* scheduled(store)
        yield* work
        expect(yield* kept(long.id)).toBe(false)
        for (const { id } of [lately, back, never, own]) expect(yield* kept(id)).toBe(true)
      })
    )

    it.scoped("after SVC_RECORDING_RETENTION_DAYS and SVC_RECORDING_RETENTION_SUSPENDED_DAYS", () =>
      Effect.gen(function* () {
        const store = new MemoryStore()
        const old = yield* recorded(store, "payg", "5", 4)
        const suspended = yield* recorded(store, "payg", "1", 2)
        yield* emptied(suspended.org, 2)
        const settings = [
          ["SVC_RECORDING_RETENTION_DAYS", "3"],
          ["SVC_RECORDING_RETENTION_SUSPENDED_DAYS", "1"]
        ] as const
        const { work } = yield* scheduled(store, settings)
        yield* work
        expect([yield* kept(old.id), yield* kept(suspended.id)]).toEqual([false, false])
        const wrong = yield* Effect.flip(scheduled(store, [["SVC_RECORDING_RETENTION_DAYS", "0"]]))
        expect(String(wrong)).toContain("SVC_RECORDING_RETENTION_DAYS")
      })
    )

    it.scoped("in batches; a file that cannot be deleted does not stop the others and is tried again", () =>
      Effect.gen(function* () {
        const store = new MemoryStore()
        const stuck = yield* recorded(store, "enterprise", "0", 200)
        const others = yield* Effect.replicateEffect(recorded(store, "enterprise", "0", 100), 30)
        let broken = true
        const remove: typeof store.service.remove = (key) =>
          broken && key === stuck.key
            ? Effect.fail(new ObjectStoreError({ reason: "busy", retryable: true }))
            : store.service.remove(key)
        const faulty = Object.assign(Object.create(store) as MemoryStore, { service: { ...store.service, remove } })
        const { work } = yield* scheduled(faulty)
        yield* work
        for (const { id } of others) expect(yield* kept(id)).toBe(false)
        expect(yield* kept(stuck.id)).toBe(true)
        expect(yield* store.service.size(stuck.key)).toEqual(Option.some(1))
        broken = false
        yield* work
        expect(yield* kept(stuck.id)).toBe(false)
        expect(store.objects.size).toBe(0)
      }).pipe(Effect.withClock(Clock.make()))
    )
  })
})

import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { deliveryRequest, type EnvelopeParts } from "@svc/webhooks/delivery/DeliveryRequest"
import { Config, Effect, Redacted } from "effect"
import { Logger, makeWorkerUtils, run, runMigrations } from "graphile-worker"
import pg from "pg"
import { Agent, request } from "undici"
import { serveRequests } from "./RequestHandlers.ts"
import type { GraphileRequests } from "./WebhookRequests.ts"

/**
 * The comparison: the same deliveries as jobs of graphile-worker, on the same database, to the same receiver. A job has
 * the event; it is signed and sent as ours are, with as many at once as one webhook has, and adds one row to a history.
 * Appends and jobs share this process, as they do in the bench of ours.
 */

const concurrency = 32
const appendedAtOnce = 100
/** Maximum of jobs that are added and not done. */
const maxPending = 2_000
const secret = "0".repeat(64)

interface Job {
  readonly url: string
  readonly parts: EnvelopeParts
}

/** Jobs are read from our own queue: they are what this process added. */
const jobOf = (payload: unknown): Job => payload as Job

const quiet = new Logger(() => () => {})

const program = Effect.gen(function* () {
  const connectionString = Redacted.value(yield* Config.redacted("SVC_DATABASE_URL"))
  const preset = {
    worker: {
      connectionString,
      concurrentJobs: concurrency,
      maxPoolSize: 10,
      pollInterval: 100,
      logger: quiet,
      localQueue: { size: 500 },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0
    }
  }
  const pool = new pg.Pool({ connectionString, max: 10 })
  const agent = new Agent({ pipelining: 1 })
  let done = 0

  const deliver = async (payload: unknown): Promise<void> => {
    const { parts, url } = jobOf(payload)
    const { body, headers } = deliveryRequest({ url, secret }, parts, Date.now())
    const answer = await request(url, { dispatcher: agent, method: "POST", headers, body })
    await answer.body.dump()
    // As with ours, anything but a 2xx is tried again.
    if (answer.statusCode < 200 || answer.statusCode > 299) throw new Error(`the answer was ${answer.statusCode}`)
    await pool.query({
      name: "history",
      text: `insert into graphile_history (org_id, event_id, event, url, attempt, status_code, success)
        values ($1, $2, $3, $4, 1, $5, true)`,
      values: [parts.org_id, parts.event_id, parts.event, url, answer.statusCode]
    })
    done++
  }

  yield* Effect.promise(async () => {
    await runMigrations({ preset })
    await pool.query(`create table if not exists graphile_history (
      id bigint generated always as identity primary key, org_id bigint not null, event_id text not null,
      event text not null, url text not null, attempt integer not null, status_code integer, success boolean not null,
      created_at timestamptz not null default now()
    )`)
  })

  yield* serveRequests<GraphileRequests>({
    saturate: ({ parts, seconds, url }) =>
      Effect.promise(async () => {
        const utils = await makeWorkerUtils({ preset })
        const runner = await run({ preset, taskList: { deliver } })
        const until = performance.now() + seconds * 1000
        done = 0
        let added = 0
        while (performance.now() < until) {
          if (added - done > maxPending) {
            await new Promise((resume) => setTimeout(resume, 10))
            continue
          }
          const jobs = Array.from({ length: appendedAtOnce }, () => {
            const data = parts.data.replace(/stamp:\d+/, `stamp:${process.hrtime.bigint()}`)
            return { identifier: "deliver", payload: { url, parts: { ...parts, data } } }
          })
          await utils.addJobs(jobs)
          added += appendedAtOnce
        }
        while (done < added) await new Promise((resume) => setTimeout(resume, 20))
        await runner.stop()
        await utils.release()
        return { added }
      })
  })
  yield* Effect.promise(async () => {
    await agent.close()
    await pool.end()
  })
})

NodeRuntime.runMain(program)

import { Statement } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import { DueCheck } from "@svc/cluster/DueCheck"
import { NodeLease } from "@svc/cluster/NodeLease"
import { Clock, Effect, Layer, Logger, TestClock } from "effect"
import { SmsDispatch } from "../src/SmsDispatch.ts"
import { SmsRecoveryWorker } from "../src/SmsRecoveryWorker.ts"
import { type LostSms, SmsRepo } from "../src/SmsRepo.ts"

const lostSms = (n: number): LostSms => ({
  public_id: `sms_${n}`,
  org_id: 1,
  project_id: 1,
  agent_id: null,
  agent_public_id: null,
  call_id: null,
  caller_number: null,
  reference: `sms_${n}`,
  to_number: "+31612345678",
  from_number: "+12025551000",
  sender_name: null,
  sender_type: "number",
  message: "Hi",
  segments: 1,
  number: "+12025551000",
  telephony: "once",
  price_eur: "0.09",
  node: "node_a",
  takeovers: 1,
  created_at: new Date(0)
})

/** A worker of a node that is alone. It claims two of `lost` at once, each with the time at which it ended in `ended`. */
const started = Effect.gen(function* () {
  const lost: Array<LostSms> = []
  const ended: Array<readonly [id: string, at: number]> = []
  const claims: Array<number> = []
  const faults = { isDown: false }
  /** Open: the due check has found messages. */
  const found = Effect.unsafeMakeLatch()
  let announce: Effect.Effect<void> = Effect.void
  const services = Layer.mergeAll(
    Layer.mock(NodeLease, {
      current: Effect.succeed({ id: "node_a", lost: Effect.never }),
      others: Effect.succeed(0),
      onDeath: (_name, _settle, afterwards = Effect.void) =>
        Effect.sync(() => {
          announce = afterwards
        })
    }),
    Layer.mock(DueCheck, { register: () => Effect.succeed(Effect.tap(found.await, () => found.close)) }),
    Layer.mock(SmsRepo, {
      mayHaveLost: Statement.unsafeFragment("false"),
      claimLost: () =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          claims.push(now)
          return faults.isDown ? Effect.dieMessage("the database is down") : Effect.succeed(lost.splice(0, 2))
        })
    }),
    Layer.mock(SmsDispatch, {
      held: Effect.succeed([]),
      end: ({ public_id }) => Effect.map(Clock.currentTimeMillis, (now) => void ended.push([public_id, now]))
    })
  )
  yield* Layer.build(
    SmsRecoveryWorker.pipe(Layer.provide(services), Layer.provide(Logger.remove(Logger.defaultLogger)))
  )
  return { announce, claims, ended, faults, found, lost }
})

describe("SmsRecoveryWorker of a node that is alone", () => {
  it.scoped("claims the next messages of a dead node as soon as the first have ended", () =>
    Effect.gen(function* () {
      const { announce, claims, ended, found, lost } = yield* started
      yield* TestClock.adjust("700 millis")
      lost.push(...[1, 2, 3, 4, 5].map(lostSms))
      yield* announce
      yield* TestClock.adjust(0)
      expect(ended).toEqual([1, 2, 3, 4, 5].map((n) => [`sms_${n}`, 700]))
      // The last of these found nothing: the next one waits for the due check.
      expect(claims).toEqual([700, 700, 700, 700])
      yield* TestClock.adjust("5 seconds")
      yield* found.open
      yield* TestClock.adjust("5 seconds")
      expect(claims).toEqual([700, 700, 700, 700, 5_700])
    })
  )

  it.scoped("tries again after a second while the database fails, and then waits until something is due", () =>
    Effect.gen(function* () {
      const { announce, claims, ended, faults, lost } = yield* started
      faults.isDown = true
      lost.push(lostSms(1))
      yield* announce
      yield* TestClock.adjust("2 seconds")
      expect(claims).toEqual([0, 1_000, 2_000])
      faults.isDown = false
      yield* TestClock.adjust("1 second")
      expect(ended).toEqual([["sms_1", 3_000]])
      claims.length = 0
      yield* TestClock.adjust("10 seconds")
      expect(claims).toEqual([])
    })
  )
})

import { Duration, Effect, Schedule } from "effect"
import type { CallView } from "./CallView.ts"
import { Update } from "./PhoneInput.ts"
import { callsOf, type PhoneState } from "./PhoneState.ts"
import type { ApiFailure, VoiceClient } from "./VoiceClient.ts"

/** How long the timeline of an ended call is read until the server has settled it. */
const settleTimeout = Duration.seconds(10)
/** How long the timeline of a call without an id is searched. There may be none. */
const searchTimeout = Duration.seconds(2)
const settleEvery = Duration.millis(200)
/** When the deliveries of an ended call are read: receivers answer late, and failed attempts are repeated. */
const deliverySchedule = Schedule.exponential(Duration.seconds(1)).pipe(Schedule.upTo(Duration.minutes(2)))

/** Where timelines go, and what they are about. */
export interface Reading {
  readonly client: VoiceClient["Type"]
  readonly state: Effect.Effect<PhoneState>
  readonly update: (input: Update) => Effect.Effect<PhoneState>
}

/** Reads the timeline of a call. Returns whether the server has settled it. */
export const readTimeline = ({ client, update }: Reading, call: CallView): Effect.Effect<boolean, ApiFailure> =>
  Effect.gen(function* () {
    const timeline =
      call.call_id === null
        ? yield* client.newestCall(call.from, call.to, call.dialled_at)
        : yield* client.timeline(call.call_id)
    if (timeline === null) return false
    yield* update(Update.TimelineRead({ call: call.id, timeline }))
    return timeline.call.ended_at !== null
  }).pipe(Effect.tapError(({ message }) => update(Update.TimelineFailed({ call: call.id, message }))))

/** Reads the timeline of an ended call until the server has settled it, then the address of its debug page. */
export const settle = (reading: Reading, call: CallView): Effect.Effect<void> =>
  readTimeline(reading, call).pipe(
    Effect.repeat({ until: (ended) => ended, schedule: Schedule.spaced(settleEvery) }),
    Effect.timeoutOption(call.call_id === null ? searchTimeout : settleTimeout),
    Effect.catchAll(({ kind, message }) => reading.update(Update.ApiFailed({ kind, message }))),
    Effect.zipRight(readLink(reading, call.id))
  )

const known = ({ state }: Reading, id: number) =>
  Effect.map(state, (now) => callsOf(now).find((call) => call.id === id && call.record !== null))

/** Reads the address of the debug page. A call without a record has none. */
const readLink = (reading: Reading, id: number): Effect.Effect<void> =>
  Effect.gen(function* () {
    const call = yield* known(reading, id)
    if (call === undefined || call.call_id === null) return
    const url = yield* reading.client.debugLink(call.call_id)
    yield* reading.update(Update.LinkRead({ call: id, url }))
  }).pipe(Effect.catchAll(({ kind, message }) => reading.update(Update.ApiFailed({ kind, message }))))

/** Reads the deliveries of a settled call for some minutes. What is shown stays when they cannot be read. */
export const followDeliveries = (reading: Reading, id: number): Effect.Effect<void> =>
  Effect.gen(function* () {
    const call = yield* known(reading, id)
    if (call === undefined || call.call_id === null) return
    const deliveries = yield* reading.client.deliveries(call.call_id)
    yield* reading.update(Update.DeliveriesRead({ call: id, deliveries }))
  }).pipe(
    Effect.catchAll(({ message }) => reading.update(Update.TimelineFailed({ call: id, message }))),
    Effect.repeat(deliverySchedule),
    Effect.asVoid
  )

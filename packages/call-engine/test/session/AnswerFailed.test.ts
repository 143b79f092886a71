import { expect, it } from "@effect/vitest"
import { recordOf } from "@svc/conversation/CallRecord"
import { facts } from "@svc/conversation/testing/Script"
import * as PluginLoader from "@svc/plugin-host/PluginLoader"
import { mulaw8k } from "@svc/providers/Audio"
import { CallGone } from "@svc/providers/Telephony"
import { ConfigProvider, Effect, FiberSet, Layer } from "effect"
import { VirtualTime } from "../../src/media/VirtualTime.ts"
import { phoneServices } from "../../src/session/PhoneServices.ts"
import * as PhoneSession from "../../src/session/PhoneSession.ts"
import { configuration } from "../doubles/Engine.ts"
import { agent, caller, type Log, memory } from "../doubles/VirtualPhone.ts"

/** The record of an incoming call whose network does not answer it, and its events. */
const unanswered = (gone: CallGone) =>
  Effect.gen(function* () {
    const log: Log = { rows: [], events: [], transcript: [] }
    const server = memory(log, {
      callStarted: () => Effect.succeed(configuration({ otherwise: "" }).json),
      toolCall: () => Effect.succeed("ok")
    })
    return yield* Effect.gen(function* () {
      const time = yield* VirtualTime
      const background = yield* FiberSet.runtime(yield* FiberSet.make<void>())<never>()
      const services = yield* phoneServices((effect) => void background(effect))
      const { connection } = yield* caller
      const session = yield* PhoneSession.make(services, {
        id: 1,
        connection: { ...connection, answer: () => Effect.fail(gone) },
        agent,
        facts,
        formats: [mulaw8k]
      })
      yield* time.advance("1 second")
      const state = yield* session.over
      if (state === undefined) return yield* Effect.dieMessage("the call was abandoned")
      return { record: recordOf(state), events: log.events }
    }).pipe(
      Effect.scoped,
      Effect.provide(Layer.mergeAll(server, VirtualTime.layer(facts.started_at))),
      Effect.provide(PluginLoader.layer()),
      Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["SVC_PLUGINS", "@svc/plugin-simulated"]]))),
      Effect.orDie
    )
  })

it.live("an incoming call that its network cannot answer has failed, with the reason in `failure`", () =>
  Effect.gen(function* () {
    const { events, record } = yield* unanswered(new CallGone({ reason: "all RTP ports are in use", failed: true }))
    expect(record).toMatchObject({
      status: "failed",
      disposition: "failed",
      ended_reason: "error",
      failure: { stage: "telephony", reason: "the call could not be answered: all RTP ports are in use" }
    })
    expect(record.failure?.hint).toContain("svc plugins check")
    expect(events.map(({ event }) => event)).not.toContain("call.started")
  })
)

it.live("an incoming call whose caller hangs up before the answer is canceled, without a failure", () =>
  Effect.gen(function* () {
    const { record } = yield* unanswered(new CallGone({ reason: "the caller hung up" }))
    expect(record).toMatchObject({ status: "canceled", ended_reason: "caller-hangup", failure: null })
  })
)

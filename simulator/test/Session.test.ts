import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Option, Redacted } from "effect"
import { type CallView, failureLine } from "../src/CallView.ts"
import { Phone } from "../src/Phone.ts"
import type { PhoneState } from "../src/PhoneState.ts"
import { ServerAddress } from "../src/ServerAddress.ts"
import { Session } from "../src/Session.ts"
import { VoiceClient } from "../src/VoiceClient.ts"
import { type FakeServer, fakeServer, greeting, key, numbers } from "./FakeServer.ts"

const from = "+15550100200"

/** A session at a fake server. */
const withSession = <A, E>(
  use: (server: FakeServer, session: Session["Type"]) => Effect.Effect<A, E>,
  apiKey: string | null = key
) =>
  Effect.gen(function* () {
    const server = yield* fakeServer
    const session = Session.layer.pipe(
      Layer.provide(Layer.merge(Phone.layer, VoiceClient.layer)),
      Layer.provide(
        Layer.succeed(ServerAddress, { url: server.url, key: apiKey === null ? null : Redacted.make(apiKey) })
      ),
      Layer.provide(NodeHttpClient.layer)
    )
    return yield* Effect.provide(
      Effect.flatMap(Session, (live) => use(server, live)),
      session
    )
  })

const until = (session: Session["Type"], wanted: (state: PhoneState) => boolean) =>
  session.until((state) => (wanted(state) ? Option.some(state) : Option.none()))
const heardIn = (call: CallView | null, text: string) =>
  call?.dialogue.utterances.some((utterance) => utterance.text === text && utterance.final) === true
const dialled = (session: Session["Type"], to: string, text = greeting) =>
  Effect.gen(function* () {
    yield* until(session, ({ connection }) => connection.status === "connected")
    yield* session.dial(to, from)
    return yield* until(session, ({ call }) => heardIn(call, text))
  })

describe("the session of a phone", () => {
  it.scopedLive("reads the timeline, the debug link and the deliveries of a call that has ended", () =>
    withSession((_, session) =>
      Effect.gen(function* () {
        yield* dialled(session, numbers.friendly)
        yield* session.say("please book me in")
        yield* until(session, ({ call }) => heardIn(call, "You said: please book me in"))
        yield* session.hangup
        const { call } = yield* until(session, (state) => (state.call?.debug_url ?? null) !== null)
        expect(call?.timeline?.tools).toMatchObject([{ name: "book_appointment", arguments: { day: "Friday" } }])
        expect(call?.record?.status).toBe("completed")
        expect(call?.debug_url).toMatch(/^http:.*\/debug\/calls\/call_/)
      })
    )
  )

  for (const answer of [404, 500, "never"] as const) {
    it.scopedLive(
      `goes on with the call when its timeline is answered ${answer === "never" ? answer : `with ${answer}`}`,
      () =>
        withSession((server, session) =>
          Effect.gen(function* () {
            server.timelines = answer
            yield* dialled(session, numbers.friendly)
            if (answer !== "never") yield* until(session, ({ call }) => (call?.unread ?? null) !== null)
            yield* session.say("Hello")
            yield* until(session, ({ call }) => heardIn(call, "You said: Hello"))
            yield* session.hangup
            const { call } = yield* session.state
            expect(call).toMatchObject({ phase: "ended", ended_by: "us", timeline: null })
            // The next call is not held up by what is still asked about this one.
            yield* dialled(session, numbers.friendly)
          })
        )
    )
  }

  it.scopedLive("reads how a lost call ended when the server is back", () =>
    withSession((server, session) =>
      Effect.gen(function* () {
        yield* dialled(session, numbers.fatal)
        yield* session.say("Hello?")
        const lost = yield* until(session, ({ call }) => call?.phase === "ended")
        expect(lost.call).toMatchObject({ ended_by: "lost", cause: "the connection was lost" })
        for (const [id, timeline] of server.calls) {
          const failure = { stage: "server", reason: "the server died", hint: "Call again." } as const
          const ended_at = new Date().toISOString()
          server.calls.set(id, { ...timeline, failure, call: { ...timeline.call, status: "failed", ended_at } })
        }
        yield* Effect.promise(() => server.start())
        const back = yield* until(session, ({ call }) => call?.record?.status === "failed")
        const failure = back.call?.record?.failure ?? null
        expect(failure === null ? "" : failureLine(failure)).toBe("failed, server: the server died. Call again.")
      })
    )
  )

  it.scopedLive("without a key says which key and where to find one, and can call", () =>
    withSession(
      (_, session) =>
        Effect.gen(function* () {
          const { key_problem } = yield* until(session, (state) => state.key_problem !== null)
          expect(key_problem).toMatch(
            /^no key is given: set SVC_KEY to a project key.* svc keys create project --org <id> --project <id> /
          )
          yield* dialled(session, numbers.friendly)
        }),
      null
    )
  )
})

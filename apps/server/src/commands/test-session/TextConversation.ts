import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import type { Agent } from "@svc/api/agents/Agent"
import type { TestSession, TestSessionInput, TestSessionMessage } from "@svc/api/test-sessions/TestSession"
import { Config, type ConfigError, Console, Data, Effect, Exit, Fiber, Option, type Redacted } from "effect"
import { CallerInput } from "./CallerInput.ts"
import * as Client from "./SessionClient.ts"
import { actionOf, help, lineOf } from "./TypedLine.ts"

/** The command cannot begin; the message says what to do. */
export class CannotChat extends Data.TaggedError("CannotChat")<{ readonly message: string }> {}

/** Options of `svc chat`. */
export interface ChatOptions {
  readonly agent: string
  readonly key: Option.Option<Redacted.Redacted>
  readonly url: Option.Option<string>
  readonly project: Option.Option<string>
  readonly from: Option.Option<string>
  readonly metadata: Option.Option<{ readonly [key: string]: unknown }>
  readonly json: boolean
}

/** How often it is checked whether a session that waits for the caller still runs. */
const watchEvery = "20 seconds"
/** How long the end at the server may take, which waits for the farewell. */
const endWithin = "20 seconds"

/** Errors after which the session goes on: the next message may be answered. */
const passing: ReadonlySet<string> = new Set([
  "TEST_SESSION_TIMEOUT",
  "TEST_SESSION_BUSY",
  "RATE_LIMIT_EXCEEDED",
  "VALIDATION_ERROR",
  "UNAVAILABLE"
])

/** Where the server is, and the key: from the options, or from `SVC_URL` and `SVC_KEY`. */
export const accessOf = (options: Pick<ChatOptions, "key" | "project" | "url">) =>
  Effect.gen(function* () {
    const address = Option.isSome(options.url)
      ? options.url.value
      : yield* Config.withDefault(Config.string("SVC_URL"), "http://127.0.0.1:8787")
    if (!URL.canParse(address) || !/^https?:$/.test(new URL(address).protocol)) {
      return yield* new CannotChat({ message: `--url or SVC_URL must be an http or https URL, not ${address}` })
    }
    const fromEnvironment = yield* Config.option(Config.redacted("SVC_KEY"))
    const key = Option.orElse(options.key, () => fromEnvironment)
    if (Option.isNone(key)) {
      const message =
        "no key is given: set SVC_KEY to a project key, or use --key; svc keys create project --org <id> --project <id> makes one"
      return yield* new CannotChat({ message })
    }
    return { url: new URL(address).origin, key: key.value, project: options.project }
  })

/**
 * Runs an effect that a signal does not interrupt. A fiber of its own, because time limits have no effect in one that is
 * not interruptible.
 */
const uninterrupted = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(Effect.forkDaemon(Effect.interruptible(effect)), Fiber.join)

/** The reason why a session did not begin, with the address that was asked. */
const beginFailure =
  ({ server_url }: Agent) =>
  (error: Client.RequestFailed) =>
    error.code === "TEST_SESSION_FAILED"
      ? new Client.RequestFailed({
          code: error.code,
          message: `${error.message}. The agent's server is ${server_url}: it must answer call.started with status 200 and JSON that has system_prompt; see docs/reference/agent-server.md`
        })
      : error

/** Talks until the agent or the caller ends the session; `restore` makes the talk interruptible. */
export const converse = (
  session: TestSession,
  { json }: Pick<ChatOptions, "json">,
  restore: <A, E, R>(talk: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
) =>
  Effect.gen(function* () {
    const client = yield* Client.SessionClient
    const input = yield* CallerInput
    const print = (line: string) => Console.log(line)
    /** How many messages of the session are shown. */
    let shown = 0
    /** Whether the session may have more messages than were answered with. */
    let behind = false
    let ended = session.status === "ended"

    const show = (messages: ReadonlyArray<TestSessionMessage>, typed: boolean) =>
      Effect.gen(function* () {
        shown += messages.length
        if (json) return
        // What was typed is on the screen.
        const others = typed && messages[0]?.role === "user" ? messages.slice(1) : messages
        for (const message of others) yield* print(lineOf(message))
      })
    const catchUp = Effect.flatMap(client.get(session.id), (now) => {
      ended = now.status === "ended"
      behind = false
      return Effect.as(show(now.messages.slice(shown), false), now)
    })
    const onFailure = (error: Client.RequestFailed) =>
      Effect.gen(function* () {
        if (error.code === "TEST_SESSION_ENDED") {
          ended = true
          return yield* Console.error(error.message)
        }
        behind = true
        const goesOn = input.isTerminal && (error.code === null || passing.has(error.code))
        if (!goesOn) return yield* error
        yield* Console.error(error.message)
      })
    const send = (message: TestSessionInput) =>
      Effect.gen(function* () {
        const turn = yield* client.message(session.id, message)
        ended = turn.ended
        if (json) yield* print(JSON.stringify(turn))
        if (behind) yield* catchUp
        else yield* show(turn.messages, input.isTerminal)
      }).pipe(Effect.catchAll(onFailure))
    /** Completes when the session ends while it waits for the caller, and says why: a message is answered with that. */
    const watch = Effect.gen(function* () {
      while (!ended) {
        yield* Effect.sleep(watchEvery)
        yield* Effect.ignore(catchUp)
      }
      yield* send({ content: "Hello?" })
    })
    const next = input.isTerminal ? Effect.raceFirst(input.next, Effect.as(watch, Option.none<string>())) : input.next
    const talk = Effect.gen(function* () {
      while (!ended) {
        const line = yield* next
        if (Option.isNone(line)) return
        const action = actionOf(line.value)
        if (action._tag === "End") return
        if (action._tag === "Help") yield* Console.error(help)
        if (action._tag === "Wrong") yield* Console.error(action.reason)
        if (action._tag === "Send") yield* send(action.message)
      }
    })
    const finish = Effect.gen(function* () {
      const isOurs = !ended
      if (isOurs) yield* client.end(session.id)
      const after = yield* catchUp
      if (json) yield* print(JSON.stringify({ test_session: after }))
      else if (input.isTerminal) yield* print(isOurs ? "You ended the test session." : "The test session has ended.")
    }).pipe(
      Effect.timeoutFail({
        duration: endWithin,
        onTimeout: () =>
          new CannotChat({
            message: `the end of ${session.id} is not confirmed; it ends by itself 30 minutes after its last message`
          })
      })
    )

    if (json) yield* print(JSON.stringify({ test_session: session }))
    else if (input.isTerminal)
      yield* print(`Test session ${session.id}. Say something; /help lists what else you can type.`)
    yield* show(session.messages, false)
    const outcome = yield* Effect.exit(restore(Effect.raceFirst(talk, input.interrupted)))
    // Also after a signal or a failure the session ends at the server.
    if (Exit.isSuccess(outcome)) return yield* uninterrupted(finish)
    yield* Effect.ignore(uninterrupted(finish))
    return yield* outcome
  })

/** `svc chat <agent>` */
export const chat = (
  options: ChatOptions
): Effect.Effect<void, CannotChat | Client.RequestFailed | ConfigError.ConfigError> =>
  Effect.gen(function* () {
    const access = yield* accessOf(options)
    const client = yield* Client.make(access)
    const agent = yield* client.agent(options.agent)
    const begin = Effect.mapError(
      client.create({
        agent_id: agent.public_id,
        ...(Option.isSome(options.from) && { from: options.from.value }),
        ...(Option.isSome(options.metadata) && { metadata: options.metadata.value })
      }),
      beginFailure(agent)
    )
    // A session that has begun is ended.
    yield* Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(uninterrupted(begin), (session) => converse(session, options, restore))
    ).pipe(Effect.provide(CallerInput.layer), Effect.provideService(Client.SessionClient, client))
  }).pipe(Effect.provide(NodeHttpClient.layer))

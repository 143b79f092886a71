import { randomBytes } from "node:crypto"
import type { CallAgent } from "@svc/agents/Agents"
import { newCallId } from "@svc/api/Ids"
import * as AgentServer from "@svc/call-engine/agent-server/AgentServer"
import { AgentServerClient } from "@svc/call-engine/agent-server/AgentServerClient"
import type { ServerRequest } from "@svc/call-engine/agent-server/ServerRequest"
import type { Abilities } from "@svc/conversation/answers/CallSettings"
import type { CommandOf } from "@svc/conversation/Command"
import type { Facts, UntimedInput } from "@svc/conversation/Input"
import { Clock, Effect, Logger, LogLevel } from "effect"

/** How old the timestamp of a replayed request is: more than the 300 seconds after which a server must refuse it. */
const replayedAfterMs = 3_600_000

/** What a request of the sample call led to. */
export interface Asked {
  /** What a conversation would have got; undefined for a transcript that was taken, and for a request that was given up. */
  readonly input: UntimedInput | undefined
  /** Undefined when the request was never made. */
  readonly request: ServerRequest | undefined
  /** The JSON of the answer to `call.started`. */
  readonly body: unknown
}

/** The requests of one call that does not exist: nothing of it is stored, and it has no conversation. */
export interface SampleCall {
  readonly started: (gathered?: CommandOf<"FetchConfig">["gathered"]) => Effect.Effect<Asked>
  /** Gives up after the tool's time limit, in seconds; `input` is undefined then. */
  readonly tool: (
    tool: { readonly name: string; readonly timeout_seconds: number },
    args: CommandOf<"InvokeTool">["arguments"]
  ) => Effect.Effect<Asked>
  readonly transcript: Effect.Effect<Asked>
  /** `call.started` signed with another secret. */
  readonly wronglySigned: Effect.Effect<Asked>
  /** `call.started` as it was sent {@link replayedAfterMs} ago. */
  readonly replayed: Effect.Effect<Asked>
}

/** A clock that is behind. */
const behind = (clock: Clock.Clock, ms: number): Clock.Clock => ({
  [Clock.ClockTypeId]: Clock.ClockTypeId,
  unsafeCurrentTimeMillis: () => clock.unsafeCurrentTimeMillis() - ms,
  unsafeCurrentTimeNanos: () => clock.unsafeCurrentTimeNanos() - BigInt(ms) * 1_000_000n,
  currentTimeMillis: Effect.map(clock.currentTimeMillis, (now) => now - ms),
  currentTimeNanos: Effect.map(clock.currentTimeNanos, (now) => now - BigInt(ms) * 1_000_000n),
  sleep: (duration) => clock.sleep(duration)
})

/**
 * A sample call to an agent's server. Its requests are made and their answers read by the code of real calls; its id is
 * a new one, so that a server that stores calls does not mix it up with another.
 */
export const make = (options: {
  readonly agent: CallAgent
  readonly from: string
  readonly to: string | null
  readonly abilities: Abilities
}): Effect.Effect<SampleCall, never, AgentServerClient> =>
  Effect.gen(function* () {
    const { abilities, agent, from, to } = options
    const client = yield* AgentServerClient
    const call_id = yield* newCallId
    const { end_call_enabled, language, max_duration, voice } = agent
    const started_at = yield* Clock.currentTimeMillis
    const facts: Facts = {
      _tag: "Facts",
      call_id,
      agent_id: agent.public_id,
      from,
      to,
      started_at,
      agent: { language, voice, max_duration, end_call_enabled },
      endpointing: "provider"
    }

    /** Makes one request with the code of calls, as `by` wants it. */
    const ask = (
      by: (server: AgentServer.AgentServer, background: ReadonlyArray<Effect.Effect<void>>) => Effect.Effect<void>,
      as = agent
    ): Effect.Effect<Asked> =>
      Effect.gen(function* () {
        const inputs: Array<UntimedInput> = []
        const requests: Array<ServerRequest> = []
        const background: Array<Effect.Effect<void>> = []
        let body: unknown
        const server = AgentServer.make({
          callId: 0,
          agent: as,
          facts,
          services: {
            agentServer: {
              ...client,
              callStarted: (...request) =>
                Effect.tap(client.callStarted(...request), (answer) => {
                  body = answer
                })
            },
            background: (effect) => void background.push(effect),
            serverRequests: { add: (request) => void requests.push(request) },
            abilities
          },
          feed: (input) => void inputs.push(input)
        })
        yield* by(server, background)
        return { input: inputs[0], request: requests[0], body }
        // What is wrong is reported, and not logged.
      }).pipe(Logger.withMinimumLogLevel(LogLevel.None))

    const started: SampleCall["started"] = (gathered) =>
      ask((server) => server.fetchConfig({ _tag: "FetchConfig", ...(gathered === undefined ? {} : { gathered }) }))

    return {
      started,
      tool: ({ name, timeout_seconds }, args) =>
        ask((server) =>
          server
            .invokeTool({ _tag: "InvokeTool", id: "tool_1", name, arguments: args })
            .pipe(Effect.timeoutOption(timeout_seconds * 1000), Effect.asVoid)
        ),
      transcript: ask((server, background) => {
        server.sendTranscript({ _tag: "TellTranscript", role: "user", content: "Hello?", timestamp: 1.5 })
        return Effect.all(background, { discard: true })
      }),
      wronglySigned: Effect.suspend(() =>
        ask((server) => server.fetchConfig({ _tag: "FetchConfig" }), {
          ...agent,
          server_secret: randomBytes(32).toString("hex")
        })
      ),
      replayed: Effect.clockWith((clock) => Effect.withClock(started(), behind(clock, replayedAfterMs)))
    }
  })

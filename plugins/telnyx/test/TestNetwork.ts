import type { CarrierRequestFailed } from "@svc/providers/CarrierApi"
import type { RouteRequest, RouteSocket } from "@svc/providers/Route"
import * as SharedTimeout from "@svc/providers/SharedTimeout"
import { makeHostDouble } from "@svc/providers/testing/HostDouble"
import { Effect, FiberSet, type Scope } from "effect"
import type { CallNetwork } from "../src/CallNetwork.ts"
import { MediaStreams } from "../src/MediaStreams.ts"

export interface TestCommand {
  readonly callControlId: string
  readonly action: string
  readonly body: Readonly<Record<string, unknown>>
}

/** A network in memory by the test's clock, whose commands succeed, and what was asked of it. */
export interface TestNetwork {
  readonly network: CallNetwork
  readonly commands: ReadonlyArray<TestCommand>
  /** Why a command fails; undefined: it succeeds. */
  failureOf: (action: string) => CarrierRequestFailed | undefined
}

export const testNetwork: Effect.Effect<TestNetwork, never, Scope.Scope> = Effect.gen(function* () {
  const clock = yield* Effect.clock
  const fork = yield* FiberSet.makeRuntime<never>()
  const { host } = yield* makeHostDouble()
  const commands: Array<TestCommand> = []
  const made: TestNetwork = {
    commands,
    failureOf: () => undefined,
    network: {
      commands: {
        command: (callControlId, action, body = {}) =>
          Effect.suspend(() => {
            commands.push({ callControlId, action, body })
            return made.failureOf(action) ?? Effect.succeed({ data: { result: "ok" } })
          }),
        hangup: (callControlId) => Effect.sync(() => void commands.push({ callControlId, action: "hangup", body: {} }))
      },
      streams: new MediaStreams("https://svc.test"),
      listeners: { byId: new Map(), byState: new Map(), bySession: new Map() },
      webhookUrl: "https://svc.test/telephony/telnyx/voice",
      fork: (effect) => void fork(effect),
      now: () => clock.unsafeCurrentTimeMillis(),
      flushAfter: yield* SharedTimeout.make(60),
      transferLimit: yield* SharedTimeout.make(28_000),
      log: host.log,
      files: { add: () => Effect.void, remove: () => Effect.void, left: Effect.succeed([]) },
      onStreamReplaced: () => {},
      live: new Set()
    }
  }
  return made
})

/** A media connection that Telnyx opens to an address. */
export interface TestSocket {
  /** The code with which the server has closed it. */
  readonly closed: () => number | undefined
  /** Telnyx says that the stream starts. */
  readonly start: (encoding?: string) => void
  /** Telnyx closes it. */
  readonly drop: () => void
}

export const connect = ({ network }: TestNetwork, url: string): TestSocket => {
  let closed: number | undefined
  let receive: (data: string | Uint8Array) => void = () => {}
  let onClosed: (code: number) => void = () => {}
  const socket: RouteSocket = {
    send: () => {},
    bufferedBytes: () => 0,
    close: (code) => {
      closed ??= code
    },
    onMessage: (handler) => {
      receive = handler
    },
    onClose: (handler) => {
      onClosed = handler
    }
  }
  const request: RouteRequest = {
    method: "GET",
    path: "/media",
    query: new URL(url).searchParams,
    headers: {},
    body: new Uint8Array(),
    params: {},
    remoteAddress: "127.0.0.1"
  }
  network.streams.accept(socket, request)
  return {
    closed: () => closed,
    start: (encoding = "PCMU") =>
      receive(JSON.stringify({ event: "start", start: { media_format: { encoding, sample_rate: 8000 } } })),
    drop: () => onClosed(1006)
  }
}

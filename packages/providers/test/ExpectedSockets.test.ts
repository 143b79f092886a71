import { describe, expect, it } from "@effect/vitest"
import { ExpectedSockets, tokenMs } from "@svc/providers/ExpectedSockets"
import type { RouteSocket } from "@svc/providers/Route"
import * as SharedTimeout from "@svc/providers/SharedTimeout"
import { Effect, TestClock } from "effect"

/** A socket of a peer, with what it was sent and how it was closed. */
const peer = () => {
  const handlers: { message?: (data: string | Uint8Array) => void; close?: (code: number) => void } = {}
  const sent: Array<string | Uint8Array> = []
  const closed: Array<number | undefined> = []
  const socket: RouteSocket = {
    send: (data) => void sent.push(data),
    bufferedBytes: () => 0,
    close: (code) => void closed.push(code),
    onMessage: (handler) => {
      handlers.message = handler
    },
    onClose: (handler) => {
      handlers.close = handler
    }
  }
  return {
    socket,
    sent,
    closed,
    says: (data: string | Uint8Array) => handlers.message?.(data),
    leaves: () => handlers.close?.(1006)
  }
}

const sockets = Effect.gen(function* () {
  const timeout = yield* SharedTimeout.make(tokenMs)
  const connected: Array<string> = []
  const expected = new ExpectedSockets({
    timeout,
    tokenOf: (message) =>
      message === "connected" ? "wait" : message.startsWith("start ") ? { token: message.slice(6) } : "refuse"
  })
  const token = expected.expect((socket, message) => {
    connected.push(message)
    socket.send("welcome")
  })
  return { expected, connected, token }
})

describe("ExpectedSockets", () => {
  it.effect("gives a socket with its token to the call, once", () =>
    Effect.gen(function* () {
      const { connected, expected, token } = yield* sockets
      const [first, second] = [peer(), peer()]
      expected.accept(first.socket)
      first.says("connected")
      first.says(`start ${token}`)
      expect(connected).toEqual([`start ${token}`])
      expect([first.sent, first.closed]).toEqual([["welcome"], []])
      expected.accept(second.socket)
      second.says(`start ${token}`)
      expect([second.sent, second.closed]).toEqual([[], [1008]])
      yield* TestClock.adjust("1 minute")
      expect(first.closed).toEqual([])
    })
  )

  it.effect("closes a socket with a wrong token, with bytes, with other messages, or with too many or long ones", () =>
    Effect.gen(function* () {
      const { connected, expected, token } = yield* sockets
      const wrong: ReadonlyArray<ReadonlyArray<string | Uint8Array>> = [
        ["start wrong"],
        [new Uint8Array(3)],
        ["not of the protocol"],
        Array.from({ length: 5 }, () => "connected"),
        [`start ${token}${"x".repeat(20_000)}`]
      ]
      for (const messages of wrong) {
        const { closed, says, sent, socket } = peer()
        expected.accept(socket)
        for (const message of [...messages, `start ${token}`]) says(message)
        expect([sent, closed]).toEqual([[], [1008]])
      }
      expect(connected).toEqual([])
    })
  )

  it.effect("closes a socket that names no token in time, and one whose call is over", () =>
    Effect.gen(function* () {
      const { connected, expected, token } = yield* sockets
      const [silent, gone, late] = [peer(), peer(), peer()]
      expected.accept(silent.socket)
      expected.accept(gone.socket)
      gone.leaves()
      yield* TestClock.adjust(tokenMs)
      expect([silent.closed, gone.closed]).toEqual([[1008], []])
      expected.forget(token)
      expected.accept(late.socket)
      late.says(`start ${token}`)
      expect([late.closed, connected, expected.size]).toEqual([[1008], [], 0])
    })
  )

  it.effect("takes no more than 1,000 sockets that have not named a token", () =>
    Effect.gen(function* () {
      const { expected } = yield* sockets
      const peers = Array.from({ length: 1001 }, peer)
      for (const { socket } of peers) expected.accept(socket)
      expect(peers.flatMap(({ closed }) => closed)).toEqual([1013])
      peers[0]?.leaves()
      const next = peer()
      expected.accept(next.socket)
      expect(next.closed).toEqual([])
    })
  )
})

import type * as http from "node:http"
import { describe, expect, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import * as AgentServerDouble from "../../src/testing/AgentServerDouble.ts"
import { agentOnNumber, Base, configuration, dial, Engine, until } from "../doubles/Engine.ts"
import * as Record from "../doubles/Record.ts"

/** Faults around a call: of the agent's server, its tools, the model and the network. */

const tool = (name: string, timeout_seconds = 5) => ({ name, description: name, timeout_seconds })

const write = (write: (res: http.ServerResponse) => void): AgentServerDouble.Answer => ({ write })
/** The figures of packets in the field `line` of a call. */
const Figures = Schema.Struct({ packets_lost: Schema.Int, packets_late: Schema.Int, jitter_ms: Schema.Number })

const html = write((res) => void res.setHeader("content-type", "text/html").end("<html>It works!</html>"))

const unusable: ReadonlyArray<readonly [string, AgentServerDouble.Answer]> = [
  ["answers 500", write((res) => void res.writeHead(500).end(JSON.stringify({ system_prompt: "Hi" })))],
  ["answers HTML", html],
  ["answers 5 MB", write((res) => void res.end(JSON.stringify({ system_prompt: "x".repeat(5_000_000) })))],
  ["redirects", write((res) => void res.writeHead(302, { location: "/elsewhere" }).end())],
  ["answers 204", write((res) => void res.writeHead(204).end())],
  ["gives no system_prompt", { json: { first_message: "Hi." } }],
  ["gives an empty system_prompt", { json: { system_prompt: "" } }],
  ["gives an array", { json: [{ system_prompt: "Hi" }] }],
  ["closes early", write((res) => void res.socket?.destroy())],
  ["closes in the middle of its answer", write((res) => res.write('{"system', () => res.socket?.destroy()))],
  ["never answers", undefined],
  ["stops in the middle of its answer", write((res) => void res.write('{"system_prompt":'))]
]

/** Each test has a call of its own, so that all can run concurrently. */
describe.concurrent("on one engine", () => {
  layer(Layer.provideMerge(Engine, Base), { timeout: "60 seconds", excludeTestServices: true })("a call", (it) => {
    for (const [what, answer] of unusable) {
      it.scoped(`fails, and is hung up, when the agent's server ${what}`, () =>
        Effect.gen(function* () {
          const { number, server } = yield* agentOnNumber(() => answer)
          const caller = yield* dial(number)
          expect(yield* caller.until("hangup")).toEqual({ event: "hangup", cause: "unavailable" })
          const call = yield* Record.settled(number)
          expect(call.outcome).toBe("failed failed error")
          expect(call.call_events).toEqual(["call.ringing", "call.failed"])
          expect(call.answered_at).toBeNull()
          expect(call.transcript).toEqual([])
          expect(Record.dataOf(call, "call.failed")).toMatchObject([
            { ended_reason: "error", to: number, failure: { stage: "call.started" } }
          ])
          expect(server.received.map((r) => r.event)).toEqual(["call.started"])
          expect(caller.messages.map((m) => m.event)).toEqual(["ringing", "hangup"])
        })
      )
    }

    it.scoped("fails when the agent's server cannot be reached", () =>
      Effect.gen(function* () {
        const { url } = yield* Effect.scoped(AgentServerDouble.start(() => undefined))
        const { number } = yield* agentOnNumber(() => undefined, { serverUrl: url })
        const caller = yield* dial(number)
        yield* caller.until("hangup")
        expect((yield* Record.settled(number)).outcome).toBe("failed failed error")
      })
    )

    it.scoped("is canceled, with its call.started request aborted, when the caller hangs up during it", () =>
      Effect.gen(function* () {
        const { number, server } = yield* agentOnNumber(() => undefined)
        const caller = yield* dial(number)
        yield* until(
          Effect.sync(() => server.received.length),
          (n) => n === 1
        )
        caller.send({ event: "hangup" })
        const call = yield* Record.settled(number)
        expect(call.outcome).toBe("canceled no-answer caller-hangup")
        expect(call.call_events).toEqual(["call.ringing", "call.failed"])
        yield* until(Effect.sync(server.connections), (n) => n === 0)
      })
    )

    it.scoped("continues when tools never answer, answer 500, no JSON or no result", () =>
      Effect.gen(function* () {
        let givenUp = false
        const answers: { readonly [name: string]: AgentServerDouble.Answer } = {
          never: write((res) => void res.on("close", () => (givenUp = true))),
          broken: write((res) => void res.writeHead(500).end('{"result":1}')),
          html,
          empty: { json: { ok: true } },
          good: { json: { result: "fine" } }
        }
        const names = Object.keys(answers)
        const { number, server } = yield* agentOnNumber((request) =>
          request.event === "call.started"
            ? configuration(
                {
                  rules: [
                    { user: "go", tools: names.map((name) => ({ tool: name })) },
                    { tool_result: "good", say: "Got {{result}}." }
                  ],
                  otherwise: "Ok."
                },
                { first_message: null, tools: names.map((name) => tool(name, name === "never" ? 0.3 : 5)) }
              )
            : answers[String(request.body["name"])]
        )
        const caller = yield* dial(number)
        yield* caller.until("answered")
        caller.send({ event: "say", text: "go" })
        yield* caller.hears(/^Got fine\.$/)
        // The request that took too long is closed while the call goes on.
        yield* until(
          Effect.sync(() => givenUp),
          (yes) => yes
        )
        caller.send({ event: "say", text: "yo" })
        yield* caller.hears(/^Ok\.$/)
        caller.send({ event: "hangup" })
        const call = yield* Record.settled(number)
        expect(call.outcome).toBe("completed answered caller-hangup")
        expect(call.transcript).toEqual(["user: go", "assistant: Got fine.", "user: yo", "assistant: Ok."])
        expect(server.received.filter((r) => r.event === "tool.call").length).toBe(names.length)
        expect(Record.dataOf(call, "tool.invoked").map((d) => d["tool_name"])).toEqual(names)
        expect(Record.dataOf(call, "tool.timeout")).toMatchObject([{ tool_name: "never", timeout_seconds: 0.3 }])
        const results = Object.fromEntries(
          Record.dataOf(call, "tool.completed").map((d) => [String(d["tool_name"]), d["result"]])
        )
        expect(results).toEqual({
          broken: { error: "status 500" },
          html: { error: "the answer is not JSON" },
          empty: { error: "the answer to tool.call has no result" },
          good: "fine"
        })
      })
    )

    for (const fail of ["error", "empty"]) {
      it.scoped(
        `hears one apology, and ends, when its model twice gives ${fail === "error" ? "an error" : "nothing"}`,
        () =>
          Effect.gen(function* () {
            const { number } = yield* agentOnNumber(() =>
              configuration({ fail }, { first_message: null, end_session_message: "Bye." })
            )
            const caller = yield* dial(number)
            yield* caller.until("answered")
            caller.send({ event: "say", text: "Hi" })
            yield* caller.next((m) => m.event === "heard" && !m.final)
            caller.send({ event: "say", text: "What" })
            yield* caller.hears(/^Bye\.$/)
            expect(yield* caller.until("hangup")).toEqual({ event: "hangup", cause: "error" })
            const call = yield* Record.settled(number)
            expect(call.outcome).toBe("failed failed error")
            expect(call.call_events).toEqual(["call.ringing", "call.started", "call.ended", "call.failed"])
            expect(call.events.slice(-2).map((e) => e.event)).toEqual(["call.ended", "call.failed"])
            expect(call.transcript[0]).toBe("user: Hi")
            expect(call.transcript[1]).toMatch(/^assistant: I/)
            expect(call.transcript.slice(2)).toEqual(["user: What", "assistant: Bye."])
            expect(Record.dataOf(call, "barge_in").length).toBe(1)
          })
      )
    }

    it.scoped("fails, with the caller's words in its transcript, when the script of its model is invalid", () =>
      Effect.gen(function* () {
        const { number } = yield* agentOnNumber(() => ({
          json: { system_prompt: "```script\nnot json\n```", first_message: "Hi." }
        }))
        const caller = yield* dial(number)
        yield* caller.hears(/^Hi\.$/)
        caller.send({ event: "say", text: "Yo" })
        // The phone reports a character with its first frame, and the transcript has it with its last.
        yield* caller.next((m) => m.event === "heard" && !m.final && m.text.length >= 3)
        caller.send({ event: "hangup" })
        const call = yield* Record.settled(number)
        expect(call.outcome).toBe("completed answered caller-hangup")
        expect(call.transcript.slice(0, 2)).toEqual(["assistant: Hi.", "user: Yo"])
        expect(call.transcript[2]).toMatch(/^assistant: I/)
      })
    )

    for (const { dial: line, reorder, what } of [
      { what: "some packets are out of order", reorder: 0.15, dial: {} },
      { what: "a third of the packets is out of order", reorder: 0.3, dial: {} },
      { what: "packets are out of order and late", reorder: 0.3, dial: { jitter_ms: 60 } },
      { what: "packets are out of order, late and lost", reorder: 0.1, dial: { jitter_ms: 40, loss: 0.03 } }
    ]) {
      it.scoped(`is understood, and tells in line how the packets came, when ${what}`, () =>
        Effect.gen(function* () {
          const { number } = yield* agentOnNumber(() =>
            configuration({ otherwise: "Ok.", providers: { leg: { reorder } } }, { first_message: null })
          )
          const caller = yield* dial(number, line)
          yield* caller.until("answered")
          const said = ["One two three four", "Five six seven eight"]
          for (const text of said) {
            caller.send({ event: "say", text })
            yield* caller.hears(/^Ok\.$/)
          }
          caller.send({ event: "hangup" })
          const call = yield* Record.settled(number)
          const heard = call.transcript.flatMap((t) => (t.startsWith("user: ") ? [t.slice(6)] : []))
          const [ended] = Record.dataOf(call, "call.ended")
          const { packets_late, packets_lost, jitter_ms } = yield* Schema.decodeUnknown(Figures)(ended?.["line"])
          expect(packets_late).toBeLessThanOrEqual(3)
          expect(jitter_ms).toBeGreaterThan(0)
          expect(jitter_ms).toBeLessThan(60)
          if (line.loss === undefined) {
            expect(heard).toEqual(said)
            expect(packets_lost).toBe(0)
          } else {
            // One letter of 38 may be lost with two packets of its three.
            expect(heard.map((text) => text.split(" ").length)).toEqual([4, 4])
            expect(packets_lost).toBeGreaterThan(0)
            expect(packets_lost).toBeLessThan(30)
          }
        })
      )
    }

    it.scoped("is understood when frames are lost, late or noisy", () =>
      Effect.gen(function* () {
        const { number } = yield* agentOnNumber(() => configuration({ otherwise: "Ok." }, { first_message: null }))
        const caller = yield* dial(number, { loss: 0.05, jitter_ms: 60, noise_db: 25 })
        yield* caller.until("answered")
        const said = ["One", "Two", "Three"]
        for (const text of said) {
          caller.send({ event: "say", text })
          yield* caller.hears(/^Ok\.$/)
        }
        caller.send({ event: "hangup" })
        const call = yield* Record.settled(number)
        expect(call.outcome).toBe("completed answered caller-hangup")
        const heard = call.transcript.flatMap((t) => (t.startsWith("user: ") ? [t.slice(6)] : []))
        // A burst of lost frames may corrupt one letter of one of them.
        expect(said.filter((text) => heard.includes(text)).length).toBeGreaterThanOrEqual(2)
        expect(call.transcript.filter((t) => t === "assistant: Ok.").length).toBe(3)
      })
    )
  })
})

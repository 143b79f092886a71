import { describe, expect, it } from "@effect/vitest"
import { newAgentId, newTestSessionId } from "@svc/api/Ids"
import type { TestSession, TestSessionMessage, TestSessionTurn } from "@svc/api/test-sessions/TestSession"
import { type Context, Deferred, Effect, Exit, Fiber, Option, Queue, TestClock } from "effect"
import { CallerInput } from "../../src/commands/test-session/CallerInput.ts"
import { RequestFailed, SessionClient } from "../../src/commands/test-session/SessionClient.ts"
import { converse } from "../../src/commands/test-session/TextConversation.ts"

type Client = Context.Tag.Service<SessionClient>

const said = (role: "user" | "assistant", content: string): TestSessionMessage => ({ role, content, timestamp: "" })

/** A conversation with a server that echoes, and what is printed. */
const conversation = (
  options: { readonly isTerminal?: boolean; readonly json?: boolean; readonly client?: Partial<Client> } = {}
) =>
  Effect.gen(function* () {
    const session: TestSession = {
      id: yield* newTestSessionId,
      agent_id: yield* newAgentId,
      status: "active",
      messages: [said("assistant", "Hello.")],
      created_at: "",
      ended_at: null
    }
    const state = { ended: false, messages: [...session.messages] }
    const ends: Array<string> = []
    const add = (ended: boolean, ...messages: ReadonlyArray<TestSessionMessage>): TestSessionTurn => {
      state.messages.push(...messages)
      state.ended = ended
      return { messages, ended }
    }
    const client: Client = {
      agent: () => Effect.die("not used"),
      create: () => Effect.die("not used"),
      callLink: () => Effect.die("not used"),
      message: (_, { content = "", digits = "" }) =>
        Effect.sync(() =>
          add(content === "bye", said("user", content + digits), said("assistant", `You said ${content}${digits}.`))
        ),
      get: () =>
        Effect.sync(() => ({ ...session, status: state.ended ? "ended" : "active", messages: state.messages })),
      end: (id) =>
        Effect.sync(() => {
          ends.push(id)
          if (!state.ended) add(true, said("assistant", "So long."))
        }),
      ...options.client
    }
    const lines = yield* Queue.unbounded<Option.Option<string>>()
    const interrupted = yield* Deferred.make<void>()
    const output: Array<string> = []
    const errors: Array<string> = []
    const defaults = yield* Effect.console
    const keep = (list: Array<string>) => (line: unknown) => Effect.sync(() => void list.push(String(line)))
    const running = yield* Effect.uninterruptibleMask((restore) =>
      converse(session, { json: options.json === true }, restore)
    ).pipe(
      Effect.withConsole({ ...defaults, log: keep(output), error: keep(errors) }),
      Effect.provideService(SessionClient, client),
      Effect.provideService(CallerInput, {
        isTerminal: options.isTerminal === true,
        next: Queue.take(lines),
        interrupted: Deferred.await(interrupted)
      }),
      Effect.fork
    )
    return {
      add,
      ends,
      errors,
      output,
      interrupt: Deferred.succeed(interrupted, undefined),
      running,
      session,
      type: (...typed: ReadonlyArray<string>) => Queue.offerAll(lines, typed.map(Option.some)),
      endOfInput: Queue.offer(lines, Option.none()),
      outcome: Fiber.await(running)
    }
  })

const failing = (code: string | null, message: string) => new RequestFailed({ code, message })

describe("svc chat", () => {
  it.effect("in line mode answers line after line, and ends the session at the end of the input", () =>
    Effect.gen(function* () {
      const { endOfInput, ends, outcome, output, session, type } = yield* conversation()
      yield* type("hi", "", "#12")
      yield* endOfInput
      expect(Exit.isSuccess(yield* outcome)).toBe(true)
      expect(output).toEqual([
        "agent: Hello.",
        "caller: hi",
        "agent: You said hi.",
        "caller: 12",
        "agent: You said 12.",
        "agent: So long."
      ])
      expect(ends).toEqual([session.id])
    })
  )

  it.effect("ends when the agent ends the session, and does not end it again", () =>
    Effect.gen(function* () {
      const { ends, outcome, output, type } = yield* conversation({ isTerminal: true })
      yield* type("bye", "more")
      yield* outcome
      expect(output.slice(1)).toEqual(["agent: Hello.", "agent: You said bye.", "The test session has ended."])
      expect(ends).toEqual([])
    })
  )

  it.effect("with --json prints a document for the session, each turn, and the session at its end", () =>
    Effect.gen(function* () {
      const { outcome, output, session, type } = yield* conversation({ json: true })
      yield* type("hi", "/end")
      yield* outcome
      const [first, turn, last, ...more] = output.map((line): unknown => JSON.parse(line))
      expect([first, more]).toEqual([{ test_session: session }, []])
      expect(turn).toEqual({ messages: [said("user", "hi"), said("assistant", "You said hi.")], ended: false })
      expect(last).toMatchObject({ test_session: { status: "ended", messages: { length: 4 } } })
    })
  )

  it.effect("ends the session at the server after Ctrl-C and after a signal, also while a message is answered", () =>
    Effect.gen(function* () {
      for (const how of ["Ctrl-C", "signal"]) {
        const hangs = { message: () => Effect.never }
        const { ends, interrupt, outcome, output, running, session, type } = yield* conversation({
          isTerminal: true,
          client: hangs
        })
        yield* type("hi")
        yield* Effect.yieldNow()
        yield* how === "Ctrl-C" ? interrupt : Fiber.interruptFork(running)
        const exit = yield* outcome
        expect([how, Exit.isInterrupted(exit), ends]).toEqual([how, how === "signal", [session.id]])
        expect(output.slice(-2)).toEqual(["agent: So long.", "You ended the test session."])
      }
    })
  )

  it.effect("gives up after 20 seconds when the server does not confirm the end", () =>
    Effect.gen(function* () {
      const { endOfInput, outcome, session } = yield* conversation({ client: { end: () => Effect.never } })
      yield* endOfInput
      yield* Effect.yieldNow()
      yield* TestClock.adjust("20 seconds")
      expect(String(yield* outcome)).toContain(`the end of ${session.id} is not confirmed`)
    })
  )

  it.effect("at a terminal notices that the session has ended while nobody typed, and says why", () =>
    Effect.gen(function* () {
      const why = "the test session has ended: it had no message for 30 minutes. Create another"
      const { add, ends, errors, outcome, output } = yield* conversation({
        isTerminal: true,
        client: { message: () => failing("TEST_SESSION_ENDED", why) }
      })
      yield* TestClock.adjust("5 minutes")
      expect(errors).toEqual([])
      add(true, said("assistant", "So long."))
      yield* TestClock.adjust("20 seconds")
      yield* outcome
      expect([errors, ends]).toEqual([[why], []])
      expect(output.slice(-2)).toEqual(["agent: So long.", "The test session has ended."])
    })
  )

  it.effect("goes on at a terminal after an error that passes, and shows what was missed; in line mode it fails", () =>
    Effect.gen(function* () {
      for (const code of ["TEST_SESSION_TIMEOUT", null]) {
        let isSlow = true
        const made: Effect.Effect.Success<ReturnType<typeof conversation>> = yield* conversation({
          isTerminal: true,
          client: {
            message: (_, { content = "" }) =>
              Effect.suspend(() => {
                if (isSlow) {
                  isSlow = false
                  made.add(false, said("user", content), said("assistant", "Late."))
                  return failing(code, "not in time")
                }
                return Effect.succeed(made.add(true, said("user", content), said("assistant", "Now.")))
              })
          }
        })
        yield* made.type("one", "two")
        expect(Exit.isSuccess(yield* made.outcome)).toBe(true)
        expect(made.errors).toEqual(["not in time"])
        expect(made.output.slice(2)).toEqual([
          "caller: one",
          "agent: Late.",
          "caller: two",
          "agent: Now.",
          "The test session has ended."
        ])
        const inLines = yield* conversation({ client: { message: () => failing(code, "not in time") } })
        yield* inLines.type("one", "two")
        expect(String(yield* inLines.outcome)).toContain("not in time")
        expect(inLines.ends).toHaveLength(1)
      }
    })
  )
})

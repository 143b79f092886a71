import { describe, expect, it } from "@effect/vitest"
import { type Console, Deferred, Effect, Fiber, Redacted } from "effect"
import { run } from "../src/Headless.ts"
import { parse } from "../src/Script.ts"
import { type FakeServer, fakeServer, greeting, key, numbers } from "./FakeServer.ts"
import { phoneAt, recorder } from "./HeadlessPhone.ts"

interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

const play = (
  server: Pick<FakeServer, "url">,
  to: string,
  yaml: string,
  options: { readonly json?: boolean; readonly key?: string; readonly timeout?: number } = {}
): Effect.Effect<Ran> =>
  Effect.gen(function* () {
    const { console, err, out } = yield* recorder
    const script = yield* Effect.orDie(parse(yaml))
    const apiKey = options.key ?? key
    const code = yield* run({
      script,
      to,
      from: undefined,
      key: Redacted.make(apiKey),
      json: options.json ?? false,
      timeout: options.timeout ?? 20
    }).pipe(Effect.provide(phoneAt(server.url, apiKey)), Effect.withConsole(console))
    return { code, out: out.join("\n"), err: err.join("\n") }
  })

const booking = `
name: Booking
timeout: 5
steps:
  - expect: good morning
  - say: please book me in
  - expect: you said. please book
  - dtmf: "1#"
  - expect: pressed 1#
  - say: bye now
  - expect_hangup: { cause: agent-hangup }
  - expect_call:
      status: completed
      ended_reason: agent-hangup
      tools_called: [book_appointment]
      transcript:
        - { role: assistant, content: good morning }
        - { role: user, content: book }
`

describe("a scripted call", () => {
  it.scopedLive("that meets its expectations exits with 0 and prints transcript, tools, latency and call record", () =>
    Effect.gen(function* () {
      const { code, err, out } = yield* play(yield* fakeServer, numbers.friendly, booking)
      expect({ code, err }).toEqual({ code: 0, err: "" })
      for (const part of [
        `agent   ${greeting}`,
        "caller  please book me in",
        "· tool book_appointment",
        "· keys 1#",
        "status        completed, answered",
        "response 42 ms",
        "ok: Booking went as expected"
      ]) {
        expect(out).toContain(part)
      }
    })
  )

  it.scopedLive("with --json prints only one JSON document", () =>
    Effect.gen(function* () {
      const { code, out } = yield* play(yield* fakeServer, numbers.friendly, booking, { json: true })
      const document = JSON.parse(out)
      expect(code).toBe(0)
      expect(document).toMatchObject({
        ok: true,
        exit_code: 0,
        error: null,
        to: numbers.friendly,
        tools_called: ["book_appointment"],
        digits: "1#"
      })
      expect(document.transcript[0]).toMatchObject({ role: "agent", text: greeting, cut: false })
      expect(document.call).toMatchObject({ status: "completed", ended_reason: "agent-hangup" })
    })
  )

  it.scopedLive("can interrupt the agent, and the transcript marks the cut", () =>
    Effect.gen(function* () {
      const yaml =
        "timeout: 5\nsteps:\n  - interrupt: Stop it\n    after: one moment\n  - expect: you said. stop it\n  - hangup:\n"
      const { code, err, out } = yield* play(yield* fakeServer, numbers.endless, yaml)
      expect({ code, err }).toEqual({ code: 0, err: "" })
      expect(out).toContain("agent   One moment please while I  ✂ barge-in")
      expect(out).toContain("ended_reason  caller-hangup")
    })
  )

  it.scopedLive("prints what was said without control characters, which could control the terminal", () =>
    Effect.gen(function* () {
      const yaml = 'timeout: 5\nsteps:\n  - expect: good\n  - say: "one\\e[2Jtwo"\n  - expect: you said\n  - hangup:\n'
      const { code, out } = yield* play(yield* fakeServer, numbers.friendly, yaml)
      expect(code).toBe(0)
      expect(out).toContain("agent   You said: one [2Jtwo")
      expect(out).not.toContain("\u001b")
    })
  )

  it.scopedLive("continues after malformed messages and reports them", () =>
    Effect.gen(function* () {
      const yaml = "timeout: 5\nsteps:\n  - expect: good morning\n  - hangup:\n"
      const { code, out } = yield* play(yield* fakeServer, numbers.malformed, yaml)
      expect(code).toBe(0)
      expect(out).toContain("unreadable message, not a message of the network")
      expect(out).toContain('unreadable message, unknown event "fireworks"')
      expect(out).toContain('unreadable message, the fields of "heard" are wrong')
    })
  )

  const failing: ReadonlyArray<readonly [string, string, string, string]> = [
    [
      "whose agent is silent",
      numbers.silent,
      "steps:\n  - expect: hello\n    within: 0.2\n",
      "failed: step 1, expect /hello/: not heard within 0.2 s; nothing was said"
    ],
    [
      "whose agent says something else",
      numbers.friendly,
      "steps:\n  - expect: good evening\n    within: 0.2\n",
      `failed: step 1, expect /good evening/: not heard within 0.2 s; heard instead: "${greeting}"`
    ],
    [
      "whose agent hangs up early",
      numbers.brief,
      "timeout: 5\nsteps:\n  - expect: morning\n  - say: Hello?\n",
      'failed: step 2, say "Hello?": the call has ended (agent-hangup)'
    ],
    [
      "whose agent does not hang up",
      numbers.friendly,
      "steps:\n  - expect_hangup:\n    within: 0.2\n",
      "failed: step 1, expect a hang-up: the other side did not hang up within 0.2 s"
    ],
    [
      "that ends with another cause",
      numbers.brief,
      "timeout: 5\nsteps:\n  - expect_hangup: { cause: timeout }\n",
      'failed: step 1, expect a hang-up: ended with cause "agent-hangup" instead of "timeout"'
    ],
    [
      "that is busy",
      numbers.busy,
      "timeout: 5\nsteps:\n  - expect: hello\n",
      "failed: step 1, expect /hello/: the call has ended (busy); nothing was said"
    ],
    [
      "that is never answered",
      numbers.ringing,
      "steps:\n  - say: hello\n    within: 0.2\n",
      'failed: step 1, say "hello": the agent did not let us speak within 0.2 s'
    ],
    [
      "whose agent never pauses",
      numbers.endless,
      "steps:\n  - expect: never\n    within: 0.2\n",
      'failed: step 1, expect /never/: not heard within 0.2 s; heard instead: "One moment please while"'
    ],
    [
      "whose call record is different",
      numbers.brief,
      "timeout: 5\nsteps:\n  - expect_call: { status: failed, tools_called: [x], transcript: [{ role: user, content: hi }] }\n",
      'failed: step 1, expect the call record: status is "completed" instead of "failed"; tools_called is [] instead of ["x"]; transcript[0] user /hi/ is missing in: assistant: Good morning, this is the test agent.'
    ]
  ]
  for (const [what, to, yaml, message] of failing) {
    it.scopedLive(`${what} exits with 1 and prints the failed step`, () =>
      Effect.gen(function* () {
        const { code, err } = yield* play(yield* fakeServer, to, yaml)
        expect({ code, err }).toEqual({ code: 1, err: message })
      })
    )
  }

  it.scopedLive("that exceeds --timeout hangs up and exits with 1", () =>
    Effect.gen(function* () {
      const server = yield* fakeServer
      const { code, err } = yield* play(server, numbers.silent, "steps:\n  - expect: hello\n", { timeout: 0.3 })
      expect({ code, err }).toEqual({ code: 1, err: "failed: the run took longer than 0.3 s" })
      expect(server.received.map((m) => m.event)).toEqual(["dial", "hangup"])
    })
  )

  it.scopedLive("exits with 3 when the server dies during the call", () =>
    Effect.gen(function* () {
      const yaml = "timeout: 5\nsteps:\n  - expect: morning\n  - say: Hello?\n  - expect: you said\n"
      const { code, err } = yield* play(yield* fakeServer, numbers.fatal, yaml)
      expect({ code, err }).toEqual({ code: 3, err: "failed: the server is away: the connection was lost" })
    })
  )

  it.scopedLive("exits with 3 when there is no server", () =>
    Effect.gen(function* () {
      const server = yield* fakeServer
      server.die()
      const { code, err } = yield* play(server, numbers.friendly, booking)
      expect(code).toBe(3)
      expect(err).toMatch(/^failed: the server is away: nothing answers at 127\.0\.0\.1:\d+: start it, or set SVC_URL$/)
    })
  )

  it.scopedLive("exits with 3 before dialling when the API key is refused", () =>
    Effect.gen(function* () {
      const server = yield* fakeServer
      const { code, err } = yield* play(server, numbers.friendly, booking, { key: "svc_live_wrong" })
      expect(code).toBe(3)
      expect(err).toContain("API key is invalid (INVALID_API_KEY)")
      expect(server.received).toEqual([])
    })
  )

  it.scopedLive("hangs up when it is interrupted", () =>
    Effect.gen(function* () {
      const server = yield* fakeServer
      const dialled = yield* Deferred.make<void>()
      const { console } = yield* recorder
      const watching: Console.Console = {
        ...console,
        log: (...args) => (String(args[0]).includes("answered") ? Deferred.succeed(dialled, undefined) : Effect.void)
      }
      const script = yield* parse("steps:\n  - expect: never\n")
      const fiber = yield* run({
        script,
        to: numbers.silent,
        from: undefined,
        key: null,
        json: false,
        timeout: 60
      }).pipe(Effect.withConsole(watching), Effect.provide(phoneAt(server.url, key)), Effect.fork)
      yield* Deferred.await(dialled)
      yield* Fiber.interrupt(fiber)
      const record = [...server.calls.values()][0]
      yield* Effect.yieldNow().pipe(Effect.repeat({ until: () => record !== undefined }))
      expect(server.received.map((m) => m.event)).toEqual(["dial", "hangup"])
    })
  )
})

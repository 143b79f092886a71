import { describe, expect, it } from "@effect/vitest"
import type { SpeechTurn } from "@svc/providers/TextToSpeech"
import type { EmulatedPeer } from "@svc/providers/testing/EmulatedServer"
import { recording, type SpeechRecording, type SpeechSetup } from "@svc/providers/testing/SpeechSetup"
import { characterMs, spelledIn } from "@svc/providers/testing/SpelledSound"
import { Effect, Exit, Fiber, Scope, TestClock, TestServices } from "effect"
import { katieId, speaks, vendorServer } from "../src/testing/EmulatedCartesia.ts"
import { setUp, setUpAt } from "./Provided.ts"

const until = (condition: () => boolean) => Effect.repeat(Effect.sleep(2), { until: condition })

const messagesOf = (peer: EmulatedPeer | undefined): ReadonlyArray<Readonly<Record<string, unknown>>> =>
  (peer?.received ?? []).map((message) => JSON.parse(String(message)))

/** Opens a turn that `cancel` ends. */
const opened = ({ request, speech }: SpeechSetup, to: SpeechRecording) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const turn: SpeechTurn = yield* Scope.extend(speech.open(request(to)), scope)
    return { turn, cancel: Scope.close(scope, Exit.void) }
  })

/** Ends of words in a text, in characters and samples. */
const endsOf = (text: string, sampleRate: number) =>
  [...text.matchAll(/\S+/g)].map(({ 0: word, index }) => [
    index + word.length,
    ((index + word.length) * characterMs * sampleRate) / 1000
  ])

describe("the connection", () => {
  it.live("has key and version in headers, and is one for all turns and voices of a call", () =>
    Effect.gen(function* () {
      const { double, server, speak } = yield* setUp(speaks())
      yield* speak("One.")
      yield* Effect.all([speak("Two.", { voice: "Oliver" }), speak("Three.", { sampleRate: 16_000 })], {
        concurrency: 2
      })
      expect(server.peers).toHaveLength(1)
      const request = server.peers[0]?.request
      expect([request?.path, request?.query.size]).toEqual(["/tts/websocket", 0])
      expect(request?.headers.authorization).toBe("Bearer sk_car_0123456789abcdef")
      expect(request?.headers["cartesia-version"]).toBe("2026-03-01")
      yield* speak("Four.", { callId: "call_2" })
      expect(server.peers).toHaveLength(2)
      expect(double.counted("connections")).toBe(2)
    }).pipe(Effect.scoped)
  )

  it.effect("is closed half a minute after its last turn", () =>
    Effect.gen(function* () {
      const real = <A, E>(work: Effect.Effect<A, E>) => TestServices.provideLive(work)
      const server = yield* TestServices.provideLive(vendorServer(speaks()))
      const starting = yield* Effect.fork(setUpAt(server))
      yield* real(until(() => server.requests.length === 2))
      const { speak } = yield* Fiber.join(starting)
      yield* speak("One.")
      yield* TestClock.adjust("29 seconds")
      yield* speak("Two.")
      yield* TestClock.adjust("29 seconds")
      expect(server.openPeers()).toBe(1)
      yield* TestClock.adjust("1 seconds")
      yield* real(until(() => server.openPeers() === 0))
      expect(server.peers).toHaveLength(1)
    }).pipe(Effect.scoped)
  )

  it.live("that the vendor closed between turns is opened again, and so is one that it closes when it is used", () =>
    Effect.gen(function* () {
      let texts = 0
      const { server, speak } = yield* setUp(
        speaks({
          before: (peer) =>
            Effect.sync(() => {
              if (++texts !== 3) return true
              peer.close(1000, "idle")
              return false
            })
        })
      )
      yield* speak("One.")
      server.peers[0]?.close(1000, "idle")
      yield* until(() => server.openPeers() === 0)
      expect(spelledIn((yield* speak("Two.")).samples(), 8000)).toBe("Two.")
      expect(spelledIn((yield* speak("Three.")).samples(), 8000)).toBe("Three.")
      expect(server.peers).toHaveLength(3)
    }).pipe(Effect.scoped)
  )

  it.live("that ends in the middle of a turn fails it with a typed error, and the next turn opens another one", () =>
    Effect.gen(function* () {
      const ends: ReadonlyArray<readonly [(peer: EmulatedPeer) => void, string]> = [
        [(peer) => peer.breakOff(), "/tts/websocket closed the connection without a reason"],
        [(peer) => peer.close(1011, "internal error"), "closed the connection with code 1011: internal error"],
        [(peer) => peer.sendGarbage(), "the connection to http://127.0.0.1"],
        [(peer) => peer.send("{}"), "sent something that is no message of its protocol"]
      ]
      for (const [end, reason] of ends) {
        const setup = yield* setUp(speaks({ pauseMs: 2 }))
        const to = recording()
        const { turn } = yield* opened(setup, to)
        turn.say("A text that is long enough to be cut. ".repeat(5))
        yield* until(() => to.samples().length > 0)
        const [peer] = setup.server.peers
        if (peer !== undefined) end(peer)
        const error = yield* Effect.flip(turn.done)
        expect(error).toMatchObject({ _tag: "TextToSpeechError", retryable: true })
        expect(error.reason).toContain(reason)
        expect(spelledIn((yield* setup.speak("After.")).samples(), 8000)).toBe("After.")
      }
    }).pipe(Effect.scoped)
  )
})

describe("a turn", () => {
  it.live("is a context, whose inputs are alike but for the text, which is sent as it is", () =>
    Effect.gen(function* () {
      const setup = yield* setUp(speaks())
      const to = recording()
      const { turn } = yield* opened(setup, to)
      for (const piece of ["Hello,", " ", " how are you?", "\n"]) turn.say(piece)
      turn.end()
      yield* turn.done
      const messages = messagesOf(setup.server.peers[0])
      const common = {
        model_id: "sonic-3.5",
        voice: { mode: "id", id: katieId },
        language: "en",
        output_format: { container: "raw", encoding: "pcm_s16le", sample_rate: 8000 },
        add_timestamps: true,
        use_normalized_timestamps: false,
        max_buffer_delay_ms: 0,
        context_id: messages[0]?.["context_id"]
      }
      expect(messages).toEqual([
        { ...common, transcript: "Hello,", continue: true },
        { ...common, transcript: "  how are you?", continue: true },
        { ...common, transcript: "", continue: false }
      ])
      expect(setup.double.counted("characters")).toBe("Hello,  how are you?".length)
      expect(spelledIn(to.samples(), 8000)).toBe("Hello,  how are you?")
    }).pipe(Effect.scoped)
  )

  it.live("aligns the ends of its words, of which the vendor tells after their audio, at every sample rate", () =>
    Effect.gen(function* () {
      const setup = yield* setUp(speaks())
      for (const sampleRate of setup.speech.sampleRates) {
        const pieces = ["Hello,", " how are you?", " I am well."]
        const to = recording()
        const written: Array<number> = []
        const turn = yield* setup.speech.open(
          setup.request(
            {
              ...to,
              sink: {
                ...to.sink,
                align: (characters, atSample) => {
                  written.push(to.samples().length)
                  to.sink.align(characters, atSample)
                }
              }
            },
            { sampleRate }
          )
        )
        for (const piece of pieces) turn.say(piece)
        turn.end()
        yield* turn.done
        const text = pieces.join("")
        expect(spelledIn(to.samples(), sampleRate)).toBe(text)
        expect(to.aligned).toEqual(endsOf(text, sampleRate))
        // Each position came when more than its audio had been written: late.
        const late = to.aligned.filter(([, atSample], n) => (written[n] ?? 0) > atSample)
        expect(late.length).toBeGreaterThan(4)
      }
    }).pipe(Effect.scoped)
  )

  it.live("goes on in another context when the vendor has ended the first one in a pause of the model", () =>
    Effect.gen(function* () {
      let ended = 0
      const setup = yield* setUp((peer) =>
        speaks({ expireMs: 5 })({
          ...peer,
          send: (message) => {
            if (Object(message).type === "done") ended++
            peer.send(message)
          }
        })
      )
      const to = recording()
      const { turn } = yield* opened(setup, to)
      turn.say("Let me look.")
      yield* until(() => ended === 1)
      turn.say(" Here it is.")
      yield* until(() => ended === 2)
      turn.end()
      yield* turn.done
      const text = "Let me look. Here it is."
      expect(spelledIn(to.samples(), 8000)).toBe(text)
      expect(to.aligned).toEqual(endsOf(text, 8000))
      const ids = messagesOf(setup.server.peers[0]).map((message) => message["context_id"])
      expect(new Set(ids).size).toBe(2)
    }).pipe(Effect.scoped)
  )

  it.effect("leaves a context that is about to end, and one that waits for the vendor keeps its own", () =>
    Effect.gen(function* () {
      let isHeld = false
      const server = yield* TestServices.provideLive(
        vendorServer(
          speaks({
            expireMs: 1_000_000,
            before: () => Effect.as(Effect.repeat(Effect.sleep(2), { until: () => !isHeld }), true)
          })
        )
      )
      const real = <A, E>(work: Effect.Effect<A, E>) => TestServices.provideLive(work)
      const starting = yield* Effect.fork(setUpAt(server))
      yield* real(until(() => server.requests.length === 2))
      const setup = yield* Fiber.join(starting)
      const to = recording()
      const { turn } = yield* opened(setup, to)
      const ids = () => new Set(messagesOf(server.peers[0]).map((message) => message["context_id"])).size
      turn.say("One.")
      yield* real(until(() => to.aligned.length === 1))
      yield* TestClock.adjust("699 millis")
      turn.say(" Two.")
      yield* real(until(() => to.aligned.length === 2))
      expect(ids()).toBe(1)
      yield* TestClock.adjust("700 millis")
      turn.say(" Three.")
      yield* real(until(() => to.aligned.length === 3))
      expect(ids()).toBe(2)
      isHeld = true
      turn.say(" Four.")
      yield* real(until(() => messagesOf(server.peers[0]).length === 4))
      yield* TestClock.adjust("5 seconds")
      turn.say(" Five.")
      isHeld = false
      turn.end()
      yield* turn.done
      expect(ids()).toBe(2)
      expect(spelledIn(to.samples(), 8000)).toBe("One. Two. Three. Four. Five.")
    }).pipe(Effect.scoped)
  )

  it.effect("whose context is about to end when its text ends does not wait for it", () =>
    Effect.gen(function* () {
      const server = yield* TestServices.provideLive(vendorServer(speaks({ expireMs: 1_000_000 })))
      const real = <A, E>(work: Effect.Effect<A, E>) => TestServices.provideLive(work)
      const starting = yield* Effect.fork(setUpAt(server))
      yield* real(until(() => server.requests.length === 2))
      const setup = yield* Fiber.join(starting)
      const to = recording()
      const { turn } = yield* opened(setup, to)
      turn.say("One.")
      yield* real(until(() => to.aligned.length === 1))
      yield* TestClock.adjust("1 seconds")
      turn.end()
      yield* turn.done
      expect(spelledIn(to.samples(), 8000)).toBe("One.")
    }).pipe(Effect.scoped)
  )

  it.live("cancels its context at the vendor, and writes nothing that still comes", () =>
    Effect.gen(function* () {
      const setup = yield* setUp(speaks())
      const to = recording()
      const { cancel, turn } = yield* opened(setup, to)
      turn.say("A text that takes some seconds. ".repeat(10))
      yield* until(() => to.samples().length > 0)
      yield* cancel
      const [written, aligned] = [to.samples().length, to.aligned.length]
      yield* until(() => messagesOf(setup.server.peers[0]).length === 2)
      const [first, last] = messagesOf(setup.server.peers[0])
      expect(last).toEqual({ context_id: first?.["context_id"], cancel: true })
      // The vendor still speaks the text that it had begun.
      expect(spelledIn((yield* setup.speak("Next.")).samples(), 8000)).toBe("Next.")
      expect([to.samples().length, to.aligned.length]).toEqual([written, aligned])
      expect(setup.server.peers).toHaveLength(1)
    }).pipe(Effect.scoped)
  )

  it.effect("fails after eight seconds without audio for a text", () =>
    Effect.gen(function* () {
      const server = yield* TestServices.provideLive(
        vendorServer(speaks({ before: (_, __, text) => Effect.succeed(!text.includes("Two")) }))
      )
      const real = <A, E>(work: Effect.Effect<A, E>) => TestServices.provideLive(work)
      const starting = yield* Effect.fork(setUpAt(server))
      yield* real(until(() => server.requests.length === 2))
      const setup = yield* Fiber.join(starting)
      const to = recording()
      const { turn } = yield* opened(setup, to)
      const done = yield* Effect.fork(Effect.flip(turn.done))
      turn.say("One.")
      yield* real(until(() => to.aligned.length === 1))
      turn.say(" Two.")
      yield* TestClock.adjust("17 seconds")
      expect(yield* Fiber.join(done)).toMatchObject({ reason: "the vendor gave no audio for 8s", retryable: true })
    }).pipe(Effect.scoped)
  )
})

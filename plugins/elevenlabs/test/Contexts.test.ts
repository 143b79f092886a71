import { describe, expect, it } from "@effect/vitest"
import type { SpeechTurn } from "@svc/providers/TextToSpeech"
import type { EmulatedPeer } from "@svc/providers/testing/EmulatedServer"
import { recording, type SpeechRecording, type SpeechSetup } from "@svc/providers/testing/SpeechSetup"
import { characterMs, spelledIn } from "@svc/providers/testing/SpelledSound"
import { Effect, Exit, Fiber, Scope, TestClock, TestServices } from "effect"
import { speaks, vendorServer } from "../src/testing/EmulatedElevenLabs.ts"
import { setUp, setUpAt } from "./Provided.ts"

const until = (condition: () => boolean) => Effect.repeat(Effect.sleep(2), { until: condition })

/** The messages that the vendor got, without ids of contexts. */
const messagesOf = (peer: EmulatedPeer | undefined) =>
  (peer?.received ?? []).map((message) => {
    const { context_id: _, ...rest } = JSON.parse(String(message))
    return rest
  })

/** Opens a turn that `cancel` ends. */
const opened = ({ request, speech }: SpeechSetup, to: SpeechRecording) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const turn: SpeechTurn = yield* Scope.extend(speech.open(request(to)), scope)
    return { turn, cancel: Scope.close(scope, Exit.void) }
  })

describe("the connection", () => {
  it.live("has voice, model, format and language in its address, and the key in a header", () =>
    Effect.gen(function* () {
      const { server, speak } = yield* setUp(speaks())
      yield* speak("Hei.", { voice: "Clara", language: "nb-NO", sampleRate: 16_000 })
      const [request] = server.peers.map((peer) => peer.request)
      expect(request?.path).toBe("/v1/text-to-speech/voice-with-a-slash%2F1/multi-stream-input")
      expect(Object.fromEntries(request?.query ?? [])).toEqual({
        model_id: "eleven_flash_v2_5",
        output_format: "pcm_16000",
        language_code: "no",
        auto_mode: "true",
        sync_alignment: "true",
        inactivity_timeout: "180"
      })
      expect(request?.headers["xi-api-key"]).toBe("sk_test_0123456789abcdef")
    }).pipe(Effect.scoped)
  )

  it.live("is one for all turns of a call, and another one for another voice, format or call", () =>
    Effect.gen(function* () {
      const { double, server, speak } = yield* setUp(speaks())
      yield* speak("One.")
      yield* speak("Two.")
      yield* Effect.all([speak("Three."), speak("Four.")], { concurrency: 2 })
      expect(server.peers).toHaveLength(1)
      yield* speak("Five.", { voice: "Roger" })
      yield* speak("Six.", { voice: "Roger" })
      expect(server.peers).toHaveLength(2)
      yield* speak("Seven.", { sampleRate: 24_000 })
      yield* speak("Eight.", { callId: "call_2" })
      expect(server.peers).toHaveLength(4)
      expect(double.counted("connections")).toBe(4)
    }).pipe(Effect.scoped)
  )

  it.live("that the vendor closed between turns is opened again", () =>
    Effect.gen(function* () {
      const { server, speak } = yield* setUp(speaks())
      yield* speak("One.")
      server.peers[0]?.close(1008, "Have not received a new text input within the timeout of 180 seconds.")
      yield* until(() => server.openPeers() === 0)
      expect(spelledIn((yield* speak("Two.")).samples(), 8000)).toBe("Two. ")
      expect(server.peers).toHaveLength(2)
    }).pipe(Effect.scoped)
  )

  it.live("that the vendor closes just when it is used again is replaced, and the turn is spoken once", () =>
    Effect.gen(function* () {
      let texts = 0
      const { server, speak } = yield* setUp(
        speaks({
          before: (peer) =>
            Effect.sync(() => {
              if (++texts !== 2) return true
              peer.close(1008, "timeout")
              return false
            })
        })
      )
      yield* speak("One.")
      expect(spelledIn((yield* speak("Two.")).samples(), 8000)).toBe("Two. ")
      expect(server.peers).toHaveLength(2)
    }).pipe(Effect.scoped)
  )

  it.live("that ends while a turn waits for its text is replaced", () =>
    Effect.gen(function* () {
      const setup = yield* setUp(speaks())
      const to = recording()
      const { turn } = yield* opened(setup, to)
      yield* until(() => setup.server.openPeers() === 1)
      setup.server.peers[0]?.breakOff()
      yield* until(() => setup.server.peers.length === 2)
      turn.say("One.")
      turn.end()
      yield* turn.done
      expect(spelledIn(to.samples(), 8000)).toBe("One. ")
    }).pipe(Effect.scoped)
  )

  it.live("that ends in the middle of a turn fails it with a typed error, and the next turn opens another one", () =>
    Effect.gen(function* () {
      const ends: ReadonlyArray<readonly [(peer: EmulatedPeer) => void, string]> = [
        [(peer) => peer.breakOff(), "multi-stream-input closed the connection without a reason"],
        [(peer) => peer.close(1011, "internal error"), "closed the connection with code 1011: internal error"],
        [(peer) => peer.sendGarbage(), "the connection to http://127.0.0.1"],
        [(peer) => peer.send("{"), "sent something that is no message of its protocol"],
        [(peer) => peer.send(Buffer.from([1])), "sent something that is no message of its protocol"]
      ]
      for (const [end, reason] of ends) {
        const { server, speak, ...setup } = yield* setUp(speaks({ pauseMs: 2 }))
        yield* speak("Before.")
        const to = recording()
        const { turn } = yield* opened({ server, speak, ...setup }, to)
        turn.say("A text that is long enough to be cut. ".repeat(5))
        yield* until(() => to.samples().length > 0)
        const [peer] = server.peers
        if (peer !== undefined) end(peer)
        const error = yield* Effect.flip(turn.done)
        expect(error).toMatchObject({ _tag: "TextToSpeechError", retryable: true })
        expect(error.reason).toContain(reason)
        expect(spelledIn((yield* speak("After.")).samples(), 8000)).toBe("After. ")
      }
    }).pipe(Effect.scoped)
  )

  it.effect("is closed two minutes after its last turn, and a context that waits for text is kept alive", () =>
    Effect.gen(function* () {
      const server = yield* TestServices.provideLive(vendorServer(speaks()))
      const real = <A, E>(work: Effect.Effect<A, E>) => TestServices.provideLive(work)
      const starting = yield* Effect.fork(setUpAt(server))
      yield* real(until(() => server.requests.length === 2))
      const setup = yield* Fiber.join(starting)
      const to = recording()
      const { turn } = yield* opened(setup, to)
      yield* real(until(() => server.openPeers() === 1))
      turn.say("One.")
      yield* real(until(() => to.samples().length > 0))
      const said = server.peers[0]?.received.length ?? 0
      yield* TestClock.adjust("60 seconds")
      yield* real(until(() => (server.peers[0]?.received.length ?? 0) > said))
      expect(messagesOf(server.peers[0]).at(-1)).toEqual({ text: "" })
      turn.end()
      yield* turn.done
      yield* TestClock.adjust("119 seconds")
      expect(server.openPeers()).toBe(1)
      yield* TestClock.adjust("1 seconds")
      yield* real(until(() => server.openPeers() === 0))
    }).pipe(Effect.scoped)
  )
})

describe("a turn", () => {
  it.live("is a context, whose pieces end with a space, and which is closed at its end", () =>
    Effect.gen(function* () {
      const setup = yield* setUp(speaks())
      const to = recording()
      const { turn } = yield* opened(setup, to)
      for (const piece of ["Hello,", " ", " how are you?", "\nFine?  "]) turn.say(piece)
      turn.end()
      yield* turn.done
      expect(messagesOf(setup.server.peers[0])).toEqual([
        { text: " " },
        { text: "Hello, " },
        { text: "how are you? " },
        { text: "Fine? " },
        { flush: true },
        { close_context: true }
      ])
      expect(setup.double.counted("characters")).toBe("Hello, how are you? Fine? ".length)
    }).pipe(Effect.scoped)
  )

  it.live("aligns every character with its sound, spaces between pieces included, at every sample rate", () =>
    Effect.gen(function* () {
      const setup = yield* setUp(speaks())
      for (const sampleRate of setup.speech.sampleRates) {
        const pieces = ["Hello,", " how are you?", " I am well. "]
        const to = recording()
        const turn = yield* setup.speech.open(setup.request(to, { sampleRate }))
        for (const piece of pieces) turn.say(piece)
        turn.end()
        yield* turn.done
        const text = pieces.join("")
        const spoken = spelledIn(to.samples(), sampleRate)
        expect(spoken).toBe(text)
        const length = (sampleRate * characterMs) / 1000
        expect(to.aligned).toEqual(Array.from(text, (_, n) => [n + 1, (n + 1) * length]))
      }
    }).pipe(Effect.scoped)
  )

  it.live("closes its context at the vendor when it is cancelled, and writes nothing that still comes", () =>
    Effect.gen(function* () {
      // A vendor that goes on after it.
      const setup = yield* setUp((peer) =>
        Effect.gen(function* () {
          yield* Effect.fork(speaks({ pauseMs: 1 })(peer))
          for (;;) {
            yield* Effect.sleep(2)
            const id = JSON.parse(String(peer.received[0] ?? "{}")).context_id
            peer.send({ contextId: id, audio: Buffer.alloc(80, 0x41).toString("base64") })
          }
        })
      )
      const to = recording()
      const { cancel, turn } = yield* opened(setup, to)
      turn.say("A text that takes some seconds. ".repeat(10))
      yield* until(() => to.samples().length > 0)
      yield* cancel
      const written = to.samples().length
      const aligned = to.aligned.length
      yield* until(() => messagesOf(setup.server.peers[0]).at(-1)?.close_context === true)
      yield* Effect.sleep(20)
      expect(to.samples().length).toBe(written)
      expect(to.aligned.length).toBe(aligned)
      expect(setup.server.openPeers()).toBe(1)
    }).pipe(Effect.scoped)
  )

  it.live("waits for one of five to end, so that the vendor never has six", () =>
    Effect.gen(function* () {
      const { server, speak } = yield* setUp(speaks())
      const texts = Array.from({ length: 12 }, (_, n) => `Number ${n}.`)
      const spoken = yield* Effect.forEach(texts, (text) => speak(text), { concurrency: "unbounded" })
      expect(spoken.map((to) => spelledIn(to.samples(), 8000))).toEqual(texts.map((text) => `${text} `))
      expect(server.peers).toHaveLength(1)
    }).pipe(Effect.scoped)
  )

  it.live("is spoken over another connection when the vendor does not end the contexts of cancelled turns", () =>
    Effect.gen(function* () {
      let isDeaf = true
      const setup = yield* setUp((peer) => (isDeaf ? Effect.never : speaks()(peer)))
      for (let n = 0; n < 5; n++) {
        const { cancel, turn } = yield* opened(setup, recording())
        yield* until(() => setup.server.openPeers() === 1)
        turn.say("Never spoken.")
        yield* until(() => setup.server.peers[0]?.received.length === 3 * n + 2)
        yield* cancel
      }
      isDeaf = false
      expect(spelledIn((yield* setup.speak("Spoken.")).samples(), 8000)).toBe("Spoken. ")
      expect(setup.server.peers).toHaveLength(2)
    }).pipe(Effect.scoped)
  )

  it.live("fails when the vendor ends its context before its text", () =>
    Effect.gen(function* () {
      const setup = yield* setUp((peer) =>
        Effect.gen(function* () {
          const first = yield* peer.next
          peer.send({ isFinal: true, contextId: "unknown" })
          peer.send({ isFinal: true, contextId: JSON.parse(String(first)).context_id })
          return yield* Effect.never
        })
      )
      const { turn } = yield* opened(setup, recording())
      turn.say("One.")
      const error = yield* Effect.flip(turn.done)
      expect(error.reason).toMatch(/ended a context before its text$/)
      expect(error.retryable).toBe(true)
    }).pipe(Effect.scoped)
  )

  it.effect("fails after eight seconds without audio for a text, and not while the model writes", () =>
    Effect.gen(function* () {
      const server = yield* TestServices.provideLive(
        vendorServer(speaks({ before: (_, __, text) => Effect.succeed(!text.startsWith("Two")) }))
      )
      const real = <A, E>(work: Effect.Effect<A, E>) => TestServices.provideLive(work)
      const starting = yield* Effect.fork(setUpAt(server))
      yield* real(until(() => server.requests.length === 2))
      const setup = yield* Fiber.join(starting)
      const to = recording()
      const { turn } = yield* opened(setup, to)
      const done = yield* Effect.fork(Effect.flip(turn.done))
      turn.say("One.")
      yield* real(until(() => spelledIn(to.samples(), 8000) === "One. "))
      yield* TestClock.adjust("20 seconds")
      expect(done.unsafePoll()).toBeNull()
      turn.say(" Two.")
      yield* TestClock.adjust("17 seconds")
      expect(yield* Fiber.join(done)).toMatchObject({ reason: "the vendor gave no audio for 8s", retryable: true })
    }).pipe(Effect.scoped)
  )
})

import { expect, it } from "@effect/vitest"
import type { CallEvent } from "@svc/providers/Telephony"
import { Effect } from "effect"
import { describe } from "vitest"
import { alaw, mulaw } from "../../src/Law.ts"
import type { LegRealism } from "../../src/Realism/Realism.ts"
import { ToneEncoder } from "../../src/ToneSpeech/ToneEncoder.ts"
import { lawFrame } from "../../src/ToneSpeech/ToneFrames.ts"
import { type AnsweredCall, makeTestNetwork } from "../TestNetwork.ts"
import { framesOf, hear } from "../Tones.ts"

/** `providers.leg`, measured at both ends of the simulated network. */

const connect = (leg: LegRealism, dial: Parameters<Effect.Effect.Success<typeof makeTestNetwork>["connect"]>[0] = {}) =>
  Effect.gen(function* () {
    const network = yield* makeTestNetwork
    network.realism.set("call_1", { leg })
    return { network, ...(yield* network.connect(dial)) }
  })

const texts = (call: AnsweredCall) => call.heard.map(({ text }) => text)

const marksOf = (events: ReadonlyArray<CallEvent>) =>
  events.flatMap((event) => (event._tag === "Mark" ? [`${event.name} ${event.outcome}`] : []))

/** The root mean square of samples. */
const level = (samples: Int16Array) =>
  Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length)

describe("providers.leg.format", () => {
  it.scoped("alaw is the format of both directions, also of the phone's own media", () =>
    Effect.gen(function* () {
      const { call, network, phone } = yield* connect({ format: "alaw" }, { audio: true })
      expect(call.leg.format).toEqual({ encoding: "alaw", sampleRate: 8000 })
      phone.sends({ event: "say", text: "By the network" })
      network.time.advance(3000)
      const encoder = new ToneEncoder("by the phone")
      for (let key = encoder.next(); key >= 0; key = encoder.next()) {
        phone.sends({ event: "media", payload: Buffer.from(lawFrame(alaw, key)).toString("base64") })
      }
      network.time.advance(1000)
      expect(texts(call)).toEqual(["By the network", "by the phone"])
      phone.take()
      call.speak("Hello")
      const received = phone.take()
      expect(received.at(-1)).toMatchObject({ event: "media" })
      expect(received).toContainEqual({ event: "heard", text: "Hello", final: true })
      const bytes = Buffer.concat(
        received.flatMap((message) => (message.event === "media" ? [Buffer.from(message.payload, "base64")] : []))
      )
      const pcm = new Int16Array(bytes.length)
      alaw.decode(bytes, 0, bytes.length, pcm, 0)
      expect(hear(framesOf(pcm)).ended).toEqual([{ text: "Hello", outcome: "ok" }])
    })
  )

  it.scoped("mulaw stays the format of an engine that offers no A-law, and of other calls", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      network.realism.set("call_1", { leg: { format: "alaw" } })
      const phone = network.phone()
      phone.sends({ event: "dial", to: "+31207654321", from: "+31201234567" })
      const incoming = yield* network.nextCall
      const leg = yield* incoming.answer({ callId: "call_1", formats: [mulaw.format] })
      expect(leg.format).toEqual(mulaw.format)
      expect((yield* network.connect({}, "call_2")).call.leg.format).toEqual(mulaw.format)
    })
  )
})

describe("providers.leg.dtx", () => {
  it.scoped("sends no silence: neither after speech nor of the phone's own audio", () =>
    Effect.gen(function* () {
      const { call, network, phone } = yield* connect({ dtx: true })
      phone.sends({ event: "say", text: "Good morning" })
      network.time.advance(3000)
      expect(call.frames).toBe(new ToneEncoder("Good morning").frames)
      expect(texts(call)).toEqual(["Good morning"])
      const silence = Buffer.alloc(160 * 50, mulaw.silence).toString("base64")
      phone.sends({ event: "media", payload: silence })
      network.time.advance(2000)
      expect(call.frames).toBe(new ToneEncoder("Good morning").frames)
    })
  )
})

describe("providers.leg.marks", () => {
  it.scoped("exact confirms a mark when its audio was heard", () =>
    Effect.gen(function* () {
      const { call } = yield* connect({ marks: "exact" })
      expect(call.leg.marks).toBe("exact")
      call.speak("Hello")
      call.leg.mark("a")
      expect(marksOf(call.events)).toEqual(["a played"])
    })
  )

  it.scoped("none never confirms", () =>
    Effect.gen(function* () {
      const { call, network } = yield* connect({ marks: "none" })
      expect(call.leg.marks).toBe("none")
      call.speak("Hello")
      call.leg.mark("a")
      call.leg.clear()
      network.time.advance(60_000)
      expect(call.events).toEqual([])
    })
  )

  it.scoped("echoed confirms a mark 300 ms after its audio came, and as cleared when that was dropped", () =>
    Effect.gen(function* () {
      const { call, network, phone } = yield* connect({ marks: "echoed" })
      expect(call.leg.marks).toBe("echoed")
      const encoder = new ToneEncoder("Hello you there")
      for (let key = encoder.next(), n = 0; key >= 0 && n < 27; key = encoder.next(), n++) {
        call.leg.send(lawFrame(mulaw, key))
        if (n === 9) call.leg.mark("ten frames")
        network.time.advance(20)
      }
      call.leg.mark("all")
      expect(marksOf(call.events)).toEqual(["ten frames played"])
      phone.take()
      call.leg.clear()
      expect(marksOf(call.events)).toEqual(["ten frames played", "all cleared"])
      // What was in the buffer was not heard: 27 frames, less 15 in the buffer, are the start of the text and three characters.
      expect(phone.take()).toEqual([{ event: "heard", text: "Hel", final: true }, { event: "clear" }])
      network.time.advance(60_000)
      expect(phone.take()).toEqual([])
      call.leg.mark("nothing before it")
      expect(marksOf(call.events).at(-1)).toBe("nothing before it played")
    })
  )

  it.scoped("echoed plays what is left in the buffer after the last frame", () =>
    Effect.gen(function* () {
      const { call, network, phone } = yield* connect({ marks: "echoed" })
      call.speak("Hello")
      call.leg.mark("all")
      network.time.advance(5000)
      expect(marksOf(call.events)).toEqual(["all played"])
      expect(phone.take()).toContainEqual({ event: "heard", text: "Hello", final: true })
      expect(network.time.scheduled).toBeLessThanOrEqual(1)
    })
  )

  it.scoped("a call that ends with audio in the buffer confirms nothing more", () =>
    Effect.gen(function* () {
      const { call, network, phone } = yield* connect({ marks: "echoed" })
      call.speak("Hello")
      call.leg.mark("all")
      phone.sends({ event: "hangup" })
      network.time.advance(5000)
      expect(call.events).toEqual([{ _tag: "Ended", cause: "hangup" }])
    })
  )
})

describe("providers.leg.echo", () => {
  const echoOf = (leg: LegRealism) =>
    Effect.gen(function* () {
      const { call, network } = yield* connect(leg)
      const heard: Array<{ readonly at: number; readonly pcm: Int16Array }> = []
      call.onEvent((event) => {
        if (event._tag !== "Audio") return
        const pcm = new Int16Array(event.payload.length)
        const law = leg.format === "alaw" ? alaw : mulaw
        law.decode(event.payload, 0, pcm.length, pcm, 0)
        heard.push({ at: network.time.now(), pcm })
      })
      const sentAt = network.time.now()
      call.speak("Good morning")
      network.time.advance(5000)
      return { call, delay: (heard[0]?.at ?? 0) - sentAt, heard }
    })

  it.scoped.each([
    [{ echo_db: 20, echo_delay_ms: 200 }, 200, 20],
    [{ echo_db: 6, echo_delay_ms: 0 }, 0, 6],
    [{ echo_db: 12, echo_delay_ms: 100, format: "alaw" }, 100, 12],
    [{ echo_db: 30 }, 100, 30],
    [{ echo_delay_ms: 300 }, 300, 20]
  ] as const)("%j: the agent's audio comes back so late and so many dB quieter", ([leg, delayMs, db]) =>
    Effect.gen(function* () {
      const { call, delay, heard } = yield* echoOf(leg)
      expect(Math.abs(delay - delayMs)).toBeLessThanOrEqual(20)
      expect(call.frames).toBe(new ToneEncoder("Good morning").frames)
      const pcm = Int16Array.from(heard.flatMap(({ pcm }) => [...pcm]))
      // Two tones of 7000 each have this level.
      expect(20 * Math.log10(7000 / level(pcm))).toBeCloseTo(db, 0)
      // A quieter one is below what the simulated speech-to-text hears.
      expect(texts(call)).toEqual(db > 25 ? [] : ["Good morning"])
    })
  )

  it.scoped("is mixed into what the caller says", () =>
    Effect.gen(function* () {
      const { call, network, phone } = yield* connect({ echo_db: 30, echo_delay_ms: 40 })
      phone.sends({ event: "say", text: "I talk at the same time" })
      call.speak("Good morning")
      network.time.advance(5000)
      expect(texts(call)).toEqual(["I talk at the same time"])
    })
  )

  it.scoped("there is none by default", () =>
    Effect.gen(function* () {
      const { call } = yield* echoOf({ dtx: false })
      expect(call.frames).toBe(0)
    })
  )
})

describe("packets of a leg", () => {
  const sequences = (call: AnsweredCall) => call.packets.map(({ sequence }) => sequence)
  const steps = (values: ReadonlyArray<number>, modulus: number) =>
    values.slice(1).map((value, n) => (value - (values[n] ?? 0) + modulus) % modulus)

  it.scoped("reorder 1 swaps neighbours, and every packet arrives once", () =>
    Effect.gen(function* () {
      const { call, network, phone } = yield* connect({ reorder: 1 })
      phone.sends({ event: "say", text: "Good morning" })
      network.time.advance(3000)
      const frames = new ToneEncoder("Good morning").frames + 25
      expect(call.packets).toHaveLength(frames)
      const [first = 0, second = 0, third = 0, fourth = 0] = sequences(call)
      expect([first - second, third - second, fourth - second]).toEqual([1, 3, 2])
      expect(new Set(sequences(call)).size).toBe(frames)
    })
  )

  it.scoped("reorder 0.2 swaps about so many, the same in each call", () =>
    Effect.gen(function* () {
      const run = Effect.gen(function* () {
        const { call, network, phone } = yield* connect({ reorder: 0.2 })
        phone.sends({ event: "say", text: "A sentence that is long enough for some packets to change places" })
        network.time.advance(10_000)
        return sequences(call)
      })
      const order = yield* run
      const late = steps(order, 65_536).filter((step) => step > 60_000).length
      expect(late / order.length).toBeGreaterThan(0.1)
      expect(late / order.length).toBeLessThan(0.25)
      expect(yield* run).toEqual(order)
    })
  )

  it.scoped(
    "sequence and timestamp count on over their wraps and over lost packets, and the timestamp over silence",
    () =>
      Effect.gen(function* () {
        const { call, network, phone } = yield* connect({}, { loss: 0.1 })
        const say = (text: string) => {
          phone.sends({ event: "say", text })
          network.time.advance(10_000)
          return call.packets.splice(0)
        }
        const [one, two] = [say("A first sentence of some length"), say("and a second one")]
        const inOne = steps(
          one.map(({ sequence }) => sequence),
          65_536
        )
        expect(inOne.some((step) => step > 1)).toBe(true)
        expect(
          steps(
            one.map(({ timestamp }) => timestamp),
            2 ** 32
          )
        ).toEqual(inOne.map((step) => step * 160))
        const before = one.at(-1)
        const after = two[0]
        if (before === undefined || after === undefined) return expect.fail("there are no packets")
        // Silence is not sent: about 7 s pass, and only lost packets are missing in the numbers.
        expect((after.sequence - before.sequence + 65_536) % 65_536).toBeLessThan(10)
        const pause = (after.timestamp - before.timestamp + 2 ** 32) % 2 ** 32
        expect(pause).toBeGreaterThan(6 * 8000)
        expect(pause).toBeLessThan(10 * 8000)
        expect(Math.min(...[...one, ...two].map(({ timestamp }) => timestamp))).toBeLessThan(100_000)
      })
  )

  it.scoped("jitter delivers them late and in order, and a leg without these faults numbers nothing", () =>
    Effect.gen(function* () {
      const jittered = yield* connect({}, { jitter_ms: 100 })
      jittered.phone.sends({ event: "say", text: "Good morning" })
      jittered.network.time.advance(5000)
      expect(new Set(steps(sequences(jittered.call), 65_536))).toEqual(new Set([1]))
      expect(texts(jittered.call)).toEqual(["Good morning"])
      const plain = yield* connect({ dtx: true }, { noise_db: 30 })
      plain.phone.sends({ event: "say", text: "Good morning" })
      plain.network.time.advance(5000)
      expect([plain.call.packets, texts(plain.call)]).toEqual([[], ["Good morning"]])
    })
  )
})

describe("a leg that is answered already", () => {
  it.scoped("keeps its format; the rest applies at once", () =>
    Effect.gen(function* () {
      const network = yield* makeTestNetwork
      const { call, phone } = yield* network.connect()
      network.realism.set("call_1", { leg: { format: "alaw", marks: "none", dtx: true } })
      expect([call.leg.format, call.leg.marks]).toEqual([mulaw.format, "none"])
      call.leg.mark("a")
      phone.sends({ event: "say", text: "Good morning" })
      network.time.advance(3000)
      expect([call.events, call.frames]).toEqual([[], new ToneEncoder("Good morning").frames])
    })
  )
})

import { describe, expect, it } from "@effect/vitest"
import { seeded } from "@svc/audio/testing/Signal"
import { TestDatabase } from "@svc/database/TestDatabase"
import { emulatedServer } from "@svc/providers/testing/EmulatedServer"
import { Effect } from "effect"
import { at } from "../src/blackbox/ApiClient.ts"
import * as CallRecords from "../src/blackbox/CallRecords.ts"
import { eventually } from "../src/blackbox/Inbox.ts"
import * as Line from "../src/blackbox/Line.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"
import { joined } from "../src/sip/Correlation.ts"
import { openRtp } from "../src/sip/RtpPhone.ts"
import * as SipServer from "../src/sip/SipServer.ts"
import { talkOn } from "../src/sip/Talk.ts"
import { absent, agentVoice, callerVoice, Ears, framesOf, isInstalled, shareIn } from "../src/sip/Voice.ts"

const voice = "Sarah"
const greeting = "Good morning, how can I help you?"
const turns = [
  ["I would like to change my appointment on Thursday.", "Your appointment is now on Friday at ten."],
  ["My number is four seven one two two nine.", "Thank you, I have written down your number."]
] as const

describe.skipIf(!isInstalled)(isInstalled ? "a call over SIP in a spoken voice" : absent, () => {
  it.scopedLive(
    "with one packet of twenty lost and 30 ms of jitter, is understood, and the answers are heard",
    () =>
      Effect.gen(function* () {
        const said = new Map(turns.map(([text]) => [text, callerVoice(text)]))
        const ears = new Ears(said)
        const vendor = yield* emulatedServer({ request: ears.answer })
        const { phone, server } = yield* SipServer.phoneAndServer({
          data: { url: yield* TestDatabase.freshUrl },
          keys: yield* ServerProcess.newKeys,
          env: {
            SVC_PLUGINS: "@svc/plugin-openai,@svc/plugin-espeak,@svc/plugin-simulated,@svc/plugin-sip",
            SVC_OPENAI_API_KEY: "sk-secret-0123456789",
            SVC_OPENAI_BASE_URL: `${vendor.origin}/v1`,
            SVC_OPENAI_STT_MODEL: "whisper-1",
            SVC_OPENAI_PROVIDES: "speech-to-text",
            SVC_SIMULATED_PROVIDES: "language-model,embedding"
          }
        })
        const rules = turns.map(([user, say]) => ({ user: user.slice(0, 12), say }))
        const answer = Line.configuration({ rules, otherwise: "Pardon?" }, { first_message: greeting })
        const line = yield* SipServer.openLine(server, () => answer, { voice, language: "en-US" })
        const rtp = yield* openRtp
        rtp.faults = { loss: 0.05, jitterMs: 30, random: seeded(20) }
        const call = phone.dial(line.number, Line.caller, rtp)
        const talk = yield* talkOn(rtp)
        yield* eventually(
          "the greeting",
          Effect.sync(() => talk.received.length),
          (frames) => frames > 25
        )
        const callId = yield* SipServer.lastCall(server, line)
        const transcript = Effect.map(server.api.get(`/v1/calls/${callId}`), ({ body }) => CallRecords.spoken(body))
        const until = (turn: string) => eventually(turn, transcript, (all) => all.at(-1) === turn)
        yield* until(`assistant: ${greeting}`)
        for (const [user, say] of turns) {
          talk.play(framesOf(said.get(user) ?? new Int16Array(0)))
          yield* until(`assistant: ${say}`)
        }
        call.hangUp()
        const record = yield* CallRecords.settled(server.api, callId)
        expect(CallRecords.spoken(record)).toEqual([
          `assistant: ${greeting}`,
          ...turns.flatMap(([user, say]) => [`user: ${user}`, `assistant: ${say}`])
        ])
        // Each turn of the caller came as one stretch of speech, most of it unharmed.
        expect(ears.heard.map(({ text }) => text)).toEqual(turns.map(([user]) => user))
        for (const { share } of ears.heard) expect(share).toBeGreaterThan(0.7)
        const heard = joined(talk.received)
        for (const text of [greeting, ...turns.map(([, say]) => say)]) {
          expect(shareIn(heard, yield* agentVoice(text, voice))).toBeGreaterThan(0.9)
        }
        expect(rtp.dropped).toBeGreaterThan(20)
        const lost = Number(at(record, "line.packets_lost"))
        expect(Math.abs(lost - rtp.dropped)).toBeLessThan(rtp.dropped * 0.2)
        const jitter = Number(at(record, "line.jitter_ms"))
        expect(jitter).toBeGreaterThan(3)
        expect(jitter).toBeLessThan(30)
      }),
    120_000
  )
})

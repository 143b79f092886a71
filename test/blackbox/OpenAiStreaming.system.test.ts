import { describe, expect, it } from "@effect/vitest"
import { TestDatabase } from "@svc/database/TestDatabase"
import { type EmulatedRealtimeOptions, emulatedRealtime } from "@svc/plugin-openai/testing/EmulatedRealtime"
import { type EmulatedPeer, emulatedServer } from "@svc/providers/testing/EmulatedServer"
import { Effect } from "effect"
import { at, call, textAt } from "../src/blackbox/ApiClient.ts"
import * as CallRecords from "../src/blackbox/CallRecords.ts"
import { eventually } from "../src/blackbox/Inbox.ts"
import * as Line from "../src/blackbox/Line.ts"
import * as ServerProcess from "../src/blackbox/ServerProcess.ts"
import * as SvcProcess from "../src/blackbox/SvcProcess.ts"
import { toneEar } from "../src/blackbox/ToneVendor.ts"

const apiKey = "sk-secret-0123456789"

/** An OpenAI that hears tone speech, and how a server gets to it. All but speech-to-text is simulated. */
const emulated = (options: Partial<EmulatedRealtimeOptions>) =>
  Effect.gen(function* () {
    const openai = yield* emulatedServer(
      emulatedRealtime({ key: apiKey, ear: toneEar, transcriptMs: () => 200, ...options })
    )
    const start: ServerProcess.ServerOptions & { readonly keys: ServerProcess.ServerKeys } = {
      data: { url: yield* TestDatabase.freshUrl },
      keys: yield* ServerProcess.newKeys,
      env: {
        SVC_PLUGINS: "@svc/plugin-openai,@svc/plugin-simulated",
        SVC_OPENAI_API_KEY: apiKey,
        SVC_OPENAI_BASE_URL: `${openai.origin}/v1`,
        SVC_OPENAI_PROVIDES: "speech-to-text",
        SVC_OPENAI_STT_MODEL: "gpt-live-transcribe",
        SVC_OPENAI_STT_STREAMING: "true",
        // A provider that could serve in its place would hear again what was not final.
        SVC_SIMULATED_PROVIDES: "telephony,language-model,text-to-speech,embedding"
      }
    }
    return { openai, start }
  })

const saidBy = (record: unknown, role: string): ReadonlyArray<string> => {
  const transcript = at(record, "transcript")
  return Array.isArray(transcript)
    ? transcript.flatMap((turn: unknown) => (textAt(turn, "role") === role ? [textAt(turn, "content")] : []))
    : []
}
const deltasOf = (peer: EmulatedPeer) => peer.received.filter((message) => String(message).includes(".append")).length

describe("A call with streaming speech-to-text of OpenAI", () => {
  for (const streams of [true, false]) {
    it.scopedLive(
      `a connection that breaks in the middle of a sentence loses no word, and says none twice (${streams ? "with" : "without"} partial transcripts)`,
      () =>
        Effect.gen(function* () {
          let sessions = 0
          const { openai, start } = yield* emulated({
            streams,
            fault: (_, peer, work) =>
              ++sessions > 1
                ? work
                : Effect.raceFirst(
                    work,
                    Effect.zipRight(
                      // 600 ms of speech.
                      Effect.repeat(Effect.sleep(5), { until: () => deltasOf(peer) >= 15 }),
                      Effect.sync(() => peer.breakOff())
                    )
                  )
          })
          const server = yield* ServerProcess.start(start)
          const line = yield* Line.open(server, () => Line.configuration({ otherwise: "You said {{user}}." }))
          const { callId, phone } = yield* line.call
          yield* phone.hears("Hello.")
          phone.say("One two three four")
          yield* phone.hears("You said One two three four.")
          phone.say("Five")
          yield* phone.hears("You said Five.")
          phone.hangup()
          const record = yield* CallRecords.settled(server.api, callId)
          expect(saidBy(record, "user")).toEqual(["One two three four", "Five"])
          expect(sessions).toBe(2)
          yield* eventually("no connection is left", Effect.sync(openai.openPeers), (open) => open === 0)
          const metrics = yield* call(`${server.url}/metrics`, "GET")
          expect(metrics.text).toMatch(/svc_plugin_openai_audio_seconds\S* [1-9]/)
          expect(server.output() + metrics.text + JSON.stringify(record)).not.toContain(apiKey)
        })
    )
  }

  it.scopedLive("the caller's words stop the agent while they are said, and are answered", () =>
    Effect.gen(function* () {
      const { start } = yield* emulated({})
      const server = yield* ServerProcess.start(start)
      const long = "This is a long answer that takes quite a while to say and so can be interrupted by the caller."
      const script = { rules: [{ user: "Tell", say: `${long} ${long}` }], otherwise: "Ok {{user}}." }
      const line = yield* Line.open(server, () => Line.configuration(script))
      const { callId, phone } = yield* line.call
      yield* phone.hears("Hello.")
      phone.say("Tell me")
      yield* phone.catches("This is a long")
      phone.say("Stop it please")
      yield* phone.hears("Ok Stop it please.")
      phone.hangup()
      const record = yield* CallRecords.settled(server.api, callId)
      expect(saidBy(record, "user")).toEqual(["Tell me", "Stop it please"])
      expect(saidBy(record, "assistant")[1]?.length).toBeLessThan(long.length)
    })
  )

  it.scopedLive("svc plugins check opens a session, and says what it heard", () =>
    Effect.gen(function* () {
      const { openai, start } = yield* emulated({ transcript: () => "Testing one two three." })
      const environment = ServerProcess.environmentOf(start)
      const { code, output } = yield* SvcProcess.run(["plugins", "check", "openai", "--dev"], environment)
      expect(output).toMatch(/ok +speech-to-text +open .* heard "Testing one two three\."/)
      expect([code, openai.peers.length]).toEqual([0, 1])
      expect(output).not.toContain(apiKey)
    })
  )
})

import { type Draft, patch, seconds } from "./Draft.ts"
import { agentEntry } from "./Entries.ts"
import type { InputOf } from "./Input.ts"
import type { Conversation } from "./State.ts"

/**
 * How long a caller waits for an answer (`latency_data`), measured when the first frame of a turn is sent:
 *
 * ```
 * sound ends   detected, model asked  first token   first sentence    TTS asked    first audio   first frame
 *     │ endpointing_ms │                   │               │              │             │             │
 *     ├────────────────┤ llm_ttfb_ms       │               │              │ tts_ttfb_ms │             │
 *                      ├───────────────────┤               │              ├─────────────┤             │
 *                      │ tts_start_ms                      │ platform_ms  │             │ platform_ms │
 *                      ├───────────────────────────────────┼──────────────┤             ├─────────────┤
 *                      │ response_ms                                                                  │
 *                      ├──────────────────────────────────────────────────────────────────────────────┤
 * ```
 *
 * After tools or a look-up in knowledge, the model's times count from the request with their results; `response_ms`
 * includes them.
 */

const since = (from: number | null | undefined, to: number | null | undefined): number | null =>
  typeof from !== "number" || typeof to !== "number" ? null : Math.round((to - from) * 10) / 10

/** Whether another agent turn was still played after that time. */
const spokeAfter = (state: Conversation, turn: number, at: number): boolean =>
  state.entries.some((e) => e.kind === "agent" && e.turn !== turn && e.quiet_at !== null && e.quiet_at > at)

/** When the first text of a turn was given to text-to-speech: it may have waited for the caller. */
const saidAt = (state: Conversation, turn: number): number => agentEntry(state, turn)?.utterances[0]?.said_at ?? 0

/**
 * Records the latency of a turn when its first audio is sent. Fixed texts, such as the farewell, have no model times.
 */
export const recordLatency = (d: Draft, turn: number, { voice }: InputOf<"SpeechStarted">): void => {
  const asked = d.state.unplayed.find((w) => w.turn === turn)
  const callerTurn = asked === undefined ? d.state.unanswered : asked.caller_turn
  if (asked === undefined && callerTurn === null) return
  const sentence_at = asked?.sentence_at ?? null
  const platform_ms =
    voice === undefined || sentence_at === null || spokeAfter(d.state, turn, sentence_at)
      ? null
      : since(Math.max(sentence_at, saidAt(d.state, turn)) + voice.audio_at - voice.asked_at, d.at)
  patch(d, {
    unanswered: null,
    unplayed: d.state.unplayed.filter((w) => w.turn > turn),
    latencies: [
      ...d.state.latencies,
      {
        turn,
        ts: seconds(asked?.asked_at ?? d.at),
        llm_ttfb_ms: since(asked?.asked_at, asked?.started_at),
        tts_start_ms: since(asked?.asked_at, sentence_at),
        tts_ttfb_ms: sentence_at === null ? null : since(voice?.asked_at ?? sentence_at, voice?.audio_at ?? d.at),
        response_ms: since(callerTurn?.detected_at, d.at),
        endpointing_ms: since(callerTurn?.ended_at, callerTurn?.detected_at),
        platform_ms
      }
    ]
  })
}

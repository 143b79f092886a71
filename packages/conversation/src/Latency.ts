import { type Draft, patch, seconds } from "./Draft.ts"
import type { InputOf } from "./Input.ts"
import type { Conversation } from "./State.ts"

/**
 * How long a caller waits for an answer (`latency_data`), measured when the first frame of a turn leaves:
 *
 * ```
 * sound ends   noticed, model asked   first token   first sentence   voice asked   first audio   first frame
 *     │ endpointing_ms │                   │               │              │             │             │
 *     ├────────────────┤ llm_ttfb_ms       │               │              │ tts_ttfb_ms │             │
 *                      ├───────────────────┤               │              ├─────────────┤             │
 *                      │ tts_start_ms                      │ platform_ms  │             │ platform_ms │
 *                      ├───────────────────────────────────┼──────────────┤             ├─────────────┤
 *                      │ response_ms                                                                  │
 *                      ├──────────────────────────────────────────────────────────────────────────────┤
 * ```
 *
 * After tools, the model is timed from when it was asked with their results, `response_ms` through them.
 */

const since = (from: number | null | undefined, to: number | null | undefined): number | null =>
  typeof from !== "number" || typeof to !== "number" ? null : Math.round((to - from) * 10) / 10

/** Whether an agent turn before this one was heard after that time. */
const spokeAfter = (state: Conversation, turn: number, at: number): boolean =>
  state.entries.some((e) => e.kind === "agent" && e.turn !== turn && e.quiet_at !== null && e.quiet_at > at)

/** The turn's first audio is out. A text of our own (a farewell, say) was not asked of the model. */
export const noteLatency = (d: Draft, turn: number, { voice }: InputOf<"SpeechStarted">): void => {
  const asked = d.state.waiting.find((w) => w.turn === turn)
  const heard = asked === undefined ? d.state.unanswered : asked.heard
  if (asked === undefined && heard === null) return
  const sentence_at = asked?.sentence_at ?? null
  const platform_ms =
    voice === undefined || sentence_at === null || spokeAfter(d.state, turn, sentence_at)
      ? null
      : since(sentence_at + voice.audio_at - voice.asked_at, d.at)
  patch(d, {
    unanswered: null,
    waiting: d.state.waiting.filter((w) => w.turn > turn),
    latencies: [
      ...d.state.latencies,
      {
        turn,
        ts: seconds(asked?.asked_at ?? d.at),
        llm_ttfb_ms: since(asked?.asked_at, asked?.started_at),
        tts_start_ms: since(asked?.asked_at, sentence_at),
        tts_ttfb_ms: sentence_at === null ? null : since(voice?.asked_at ?? sentence_at, voice?.audio_at ?? d.at),
        response_ms: since(heard?.noticed_at, d.at),
        endpointing_ms: since(heard?.ended_at, heard?.noticed_at),
        platform_ms
      }
    ]
  })
}

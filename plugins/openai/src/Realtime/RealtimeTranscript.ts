import type { SpeechEvent } from "@svc/providers/SpeechToText"
import type { Problem, RealtimeEvent } from "./RealtimeEvents.ts"
import { RealtimeItems } from "./RealtimeItems.ts"

/** Makes the words of a session from the events of its server. */
export class RealtimeTranscript {
  #items = new RealtimeItems()
  readonly #emit: (event: SpeechEvent) => void
  #partial = ""

  constructor(emit: (event: SpeechEvent) => void) {
    this.#emit = emit
  }

  /** Whether no stretch of speech waits for its transcript. */
  get isComplete(): boolean {
    return this.#items.isEmpty
  }

  /** When the server last answered about the oldest stretch, or got it, in milliseconds; undefined when none waits. */
  get waitingSince(): number | undefined {
    return this.#items.waitingSince
  }

  /** Another connection is in use, which has ids of its own. Called only when the transcript is complete. */
  renew(): void {
    this.#items = new RealtimeItems()
  }

  /** What was sent until now is a stretch that ends at `endMs` of the audio pushed. */
  commit(id: string, endMs: number, now: number): void {
    this.#items.commit(id, endMs, now)
  }

  /** An error about a commit: its stretch gets no transcript. Returns whether there is such a one. */
  refused({ event_id }: Problem): boolean {
    const isKnown = this.#items.refused(event_id ?? "")
    if (isKnown) this.#emitWords()
    return isKnown
  }

  /** Reads an event about a stretch. Throws for texts that are too long. */
  read(event: RealtimeEvent, now: number): void {
    if (event.type === "input_audio_buffer.committed") this.#items.committed(event.item_id)
    else if (event.type === "conversation.item.input_audio_transcription.delta") {
      this.#items.add(event.item_id, event.delta ?? "", now)
    } else if (event.type === "conversation.item.input_audio_transcription.completed") {
      const language = event.languages?.[0]?.code
      this.#items.complete(event.item_id, {
        text: event.transcript.trim(),
        ...(language === undefined ? {} : { language })
      })
    }
    this.#emitWords()
  }

  #emitWords(): void {
    for (const { end, language, text } of this.#items.take()) {
      if (text === "") continue
      this.#partial = ""
      const detected = language === undefined ? {} : { language }
      this.#emit({ _tag: "Final", text, confidence: 1, end: Math.round(end), ...detected })
    }
    const text = this.#items.partial()
    if (text === this.#partial) return
    this.#partial = text
    this.#emit({ _tag: "Partial", text })
  }
}

import type { AudioFormat } from "@svc/providers/Audio"
import { CallMedia } from "../../src/media/CallMedia.ts"
import { FrameWheel } from "../../src/media/FrameWheel.ts"

const pcm8k: AudioFormat = { encoding: "pcm16", sampleRate: 8000 }
export const frame = 160
export const second = 8000

/**
 * A call's audio on a wheel that the test drives. Samples are numbered, so that lost or reordered ones are detected.
 */
export class MediaBench {
  now = 0
  next = 1
  readonly frames: Array<Int16Array> = []
  readonly log: Array<string> = []
  readonly heard: Array<Int16Array> = []
  speech = false
  onPlayed: (id: string) => void = () => {}
  onFrame: () => void = () => {}
  onSend: () => void = () => {}
  /** What speech-to-text gets. */
  readonly clean: Array<Int16Array> = []
  /** How long ago the caller had started or stopped speaking, each time that it was reported. */
  readonly late: Array<number> = []
  readonly wheel: FrameWheel
  readonly media: CallMedia

  /** `pairFrom`: see {@link FrameWheel}. */
  constructor({ aheadMs, pairFrom }: { readonly aheadMs?: number; readonly pairFrom?: number } = {}) {
    this.wheel = new FrameWheel(() => {}, pairFrom)
    this.media = new CallMedia({
      format: pcm8k,
      aheadMs,
      wheel: this.wheel,
      now: () => this.now,
      send: (bytes) => {
        this.frames.push(new Int16Array(bytes.slice().buffer))
        this.onSend()
      },
      detector: { push: () => (this.speech ? "speech" : "silence") },
      listener: {
        onFrame: (pcm) => {
          this.heard.push(pcm.slice())
          this.onFrame()
        },
        onCleanFrame: (pcm) => this.clean.push(pcm.slice()),
        onVoiceActivity: (on, late) => {
          this.log.push(on ? "voice" : "quiet")
          this.late.push(late)
        },
        onStarted: (id) => this.log.push(`started ${id}`),
        onPlayed: (id) => {
          this.log.push(`played ${id}`)
          this.onPlayed(id)
        }
      }
    })
  }

  /** The next `count` numbered samples; 0 is silence. */
  samples(count: number): Int16Array {
    return Int16Array.from({ length: count }, () => {
      const n = this.next
      this.next = n === 30_000 ? 1 : n + 1
      return n
    })
  }

  write(count: number): boolean {
    return this.media.write(this.samples(count))
  }

  run(frames: number): void {
    for (let i = 0; i < frames; i++) {
      const end = this.now + 20
      while (!this.wheel.idle && this.wheel.nextDue <= end) this.wheel.tickDueSlots(this.wheel.nextDue, () => this.now)
      this.now = end
    }
  }

  get sent(): ReadonlyArray<number> {
    return this.frames.flatMap((f) => [...f])
  }
}

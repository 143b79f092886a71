import { JitterBuffer } from "./JitterBuffer.js"
import { Resampler } from "./Resampler.js"

/** How often the level is posted, in samples of the loudspeaker. */
const levelEvery = 4800

/**
 * The loudspeaker. Takes `{ frame }` (PCM16 at 16 kHz), `{ mark }`, `{ clear: true }` and `{ latency }`, the seconds from
 * here to the ear; posts `{ mark }` when the audio before it was heard, and `{ peak }`, how loud it is, from 0 to 1.
 */
class PlaybackWorklet extends AudioWorkletProcessor {
  constructor() {
    super()
    this.buffer = new JitterBuffer()
    this.resampler = new Resampler(16_000, sampleRate)
    this.input = new Float32Array(64)
    /** Samples that were resampled and not yet played. */
    this.ready = new Float32Array(2048)
    this.filled = 0
    this.latency = 0
    /** Marks on their way from here to the ear. @type {Array<{ name: string, at: number }>} */
    this.sounding = []
    this.peak = 0
    this.sinceLevel = 0
    this.put = (/** @type {number} */ sample) => {
      this.ready[this.filled++] = sample
    }
    this.port.onmessage = ({ data }) => {
      if (data.frame !== undefined) this.buffer.push(new Int16Array(data.frame))
      else if (data.mark !== undefined) this.buffer.mark(data.mark)
      else if (data.clear === true) {
        this.buffer.clear()
        this.sounding = []
      } else if (data.latency !== undefined) this.latency = data.latency
    }
  }

  /**
   * @param {ReadonlyArray<ReadonlyArray<Float32Array>>} _inputs
   * @param {ReadonlyArray<ReadonlyArray<Float32Array>>} outputs
   */
  process(_inputs, outputs) {
    const [first, ...others] = outputs[0]
    while (this.filled < first.length) {
      for (let n = 0; n < this.input.length; n++) this.input[n] = this.buffer.next()
      this.resampler.push(this.input, this.put)
    }
    first.set(this.ready.subarray(0, first.length))
    for (const other of others) other.set(first)
    this.ready.copyWithin(0, first.length, this.filled)
    this.filled -= first.length
    this.report(first)
    return true
  }

  /** @param {Float32Array} played */
  report(played) {
    const heardAt = currentFrame + this.latency * sampleRate
    for (const name of this.buffer.reached()) this.sounding.push({ name, at: heardAt })
    while (this.sounding.length > 0 && this.sounding[0].at <= currentFrame) {
      this.port.postMessage({ mark: this.sounding[0].name })
      this.sounding.shift()
    }
    for (const sample of played) this.peak = Math.max(this.peak, Math.abs(sample))
    this.sinceLevel += played.length
    if (this.sinceLevel < levelEvery) return
    this.port.postMessage({ peak: Math.min(1, this.peak) })
    this.peak = 0
    this.sinceLevel = 0
  }
}

registerProcessor("playback", PlaybackWorklet)

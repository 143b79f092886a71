import { Resampler } from "./Resampler.js"
import { SoundGate } from "./SoundGate.js"

/** Samples of a frame: 20 ms at 16 kHz. */
const frameLength = 320

/**
 * The microphone: posts every 20 ms `{ peak }`, how loud it was, from 0 to 1, and with it `audio`, PCM16 at 16 kHz, when
 * there is something to send: see `SoundGate`. A message `{ muted }` turns it silent.
 */
class CaptureWorklet extends AudioWorkletProcessor {
  constructor() {
    super()
    this.resampler = new Resampler(sampleRate, 16_000)
    this.gate = new SoundGate()
    this.frame = new Int16Array(frameLength)
    this.filled = 0
    this.peak = 0
    this.muted = false
    this.port.onmessage = ({ data }) => {
      this.muted = data.muted
    }
    this.put = (/** @type {number} */ sample) => {
      const level = Math.abs(sample)
      if (level > this.peak) this.peak = level
      this.frame[this.filled++] = this.muted ? 0 : Math.max(-32_768, Math.min(32_767, Math.round(sample * 32_768)))
      if (this.filled < frameLength) return
      const audio = this.gate.push(this.frame)?.buffer
      this.port.postMessage({ peak: Math.min(1, this.peak), audio }, audio === undefined ? [] : [audio])
      this.frame = new Int16Array(frameLength)
      this.filled = 0
      this.peak = 0
    }
  }

  /** @param {ReadonlyArray<ReadonlyArray<Float32Array>>} inputs */
  process(inputs) {
    const channel = inputs[0]?.[0]
    // A microphone that was unplugged has no channels: it is silent.
    this.resampler.push(channel ?? new Float32Array(128), this.put)
    return true
  }
}

registerProcessor("capture", CaptureWorklet)

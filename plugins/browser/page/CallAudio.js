/**
 * Why there is no microphone. `insecure`: the page is not loaded over HTTPS. `unsupported`: the browser is too old.
 * @typedef {"denied" | "missing" | "busy" | "insecure" | "unsupported"} AudioFault
 */

/** @param {unknown} error @returns {AudioFault} */
const faultOf = (error) => {
  const name = error instanceof Error || error instanceof DOMException ? error.name : ""
  if (name === "NotAllowedError" || name === "SecurityError") return "denied"
  if (name === "NotFoundError" || name === "OverconstrainedError") return "missing"
  return name === "NotReadableError" || name === "AbortError" ? "busy" : "unsupported"
}

export class AudioFailed extends Error {
  /** @param {AudioFault} fault */
  constructor(fault) {
    super(fault)
    this.fault = fault
  }
}

/**
 * @typedef {object} AudioListener
 * @property {(audio: ArrayBuffer) => void} onAudio what the microphone has to send: 1 to 16 frames of 20 ms, PCM16 at 16 kHz
 * @property {(name: string) => void} onMark the audio before this mark was heard
 * @property {(side: "caller" | "agent", peak: number) => void} onLevel from 0 to 1
 * @property {() => void} onUnplugged the microphone is gone
 * @property {(isPaused: boolean) => void} onPaused the browser has stopped the sound, or goes on
 */

/** @param {string} deviceId */
const microphone = async (deviceId) => {
  if (!window.isSecureContext) throw new AudioFailed("insecure")
  if (navigator.mediaDevices?.getUserMedia === undefined) throw new AudioFailed("unsupported")
  const audio = { echoCancellation: true, noiseSuppression: true, autoGainControl: true, channelCount: 1 }
  try {
    return await navigator.mediaDevices.getUserMedia({
      audio: deviceId === "" ? audio : { ...audio, deviceId: { exact: deviceId } }
    })
  } catch (error) {
    throw new AudioFailed(faultOf(error))
  }
}

/** Microphone and loudspeaker of a call. */
export class CallAudio {
  /**
   * Asks for the microphone and starts both. Must be called by a click, so that the browser plays sound.
   * @param {{ microphone: string, speaker: string }} devices ids; empty: the browser's choice
   * @param {AudioListener} listener
   */
  static async open(devices, listener) {
    if (window.AudioContext === undefined) throw new AudioFailed("unsupported")
    const context = new AudioContext({ latencyHint: "interactive" })
    try {
      // Both at once: the first needs the click, the second the person.
      const resumed = context.resume()
      const stream = await microphone(devices.microphone)
      try {
        await resumed
        if (context.audioWorklet === undefined) throw new AudioFailed("unsupported")
        const modules = ["CaptureWorklet.js", "PlaybackWorklet.js"].map((name) => new URL(name, import.meta.url).href)
        await Promise.all(modules.map((url) => context.audioWorklet.addModule(url)))
        const audio = new CallAudio(context, stream, listener)
        if (devices.speaker !== "") await audio.useSpeaker(devices.speaker)
        return audio
      } catch (error) {
        for (const track of stream.getTracks()) track.stop()
        throw error
      }
    } catch (error) {
      void context.close()
      throw error instanceof AudioFailed ? error : new AudioFailed("unsupported")
    }
  }

  /**
   * @param {AudioContext} context
   * @param {MediaStream} stream
   * @param {AudioListener} listener
   */
  constructor(context, stream, listener) {
    this.context = context
    this.listener = listener
    this.isClosed = false
    this.capture = new AudioWorkletNode(context, "capture", { numberOfOutputs: 0, channelCount: 1 })
    this.playback = new AudioWorkletNode(context, "playback", { numberOfInputs: 0, outputChannelCount: [1] })
    this.playback.connect(context.destination)
    this.capture.port.onmessage = ({ data }) => {
      if (data.audio !== undefined) listener.onAudio(data.audio)
      listener.onLevel("caller", data.peak)
    }
    this.playback.port.onmessage = ({ data }) => {
      if (data.mark !== undefined) listener.onMark(data.mark)
      else listener.onLevel("agent", data.peak)
    }
    context.onstatechange = () => {
      if (!this.isClosed) listener.onPaused(context.state !== "running")
    }
    this.stream = stream
    this.source = this.attach(stream)
    this.timer = setInterval(() => this.reportLatency(), 1000)
    this.reportLatency()
  }

  reportLatency() {
    const latency = (this.context.baseLatency ?? 0) + (this.context.outputLatency ?? 0)
    this.playback.port.postMessage({ latency })
  }

  /** @param {MediaStream} stream */
  attach(stream) {
    const source = this.context.createMediaStreamSource(stream)
    source.connect(this.capture)
    for (const track of stream.getAudioTracks()) {
      track.onended = () => {
        if (!this.isClosed && this.stream === stream) this.listener.onUnplugged()
      }
    }
    return source
  }

  /** The id of the microphone in use. */
  get microphoneId() {
    return this.stream.getAudioTracks()[0]?.getSettings().deviceId ?? ""
  }

  /** @param {string} deviceId */
  async useMicrophone(deviceId) {
    const stream = await microphone(deviceId)
    if (this.isClosed) {
      for (const track of stream.getTracks()) track.stop()
      return
    }
    const former = this.stream
    this.source.disconnect()
    this.stream = stream
    this.source = this.attach(stream)
    for (const track of former.getTracks()) track.stop()
  }

  /** Whether the loudspeaker can be chosen. */
  static get choosesSpeaker() {
    return "setSinkId" in AudioContext.prototype
  }

  /** @param {string} deviceId */
  async useSpeaker(deviceId) {
    // Not in the types of all browsers.
    await /** @type {any} */ (this.context).setSinkId(deviceId)
    this.reportLatency()
  }

  /** @param {boolean} muted */
  mute(muted) {
    this.capture.port.postMessage({ muted })
  }

  /** @param {ArrayBuffer} frame */
  play(frame) {
    this.playback.port.postMessage({ frame }, [frame])
  }

  /** Asks for `onMark` when the audio so far has been heard. @param {string} name */
  mark(name) {
    this.playback.port.postMessage({ mark: name })
  }

  /** Drops what has not been heard. */
  clear() {
    this.playback.port.postMessage({ clear: true })
  }

  /** Goes on after the browser has stopped the sound. */
  resume() {
    return this.context.resume()
  }

  close() {
    if (this.isClosed) return
    this.isClosed = true
    clearInterval(this.timer)
    for (const track of this.stream.getTracks()) track.stop()
    void this.context.close()
  }
}

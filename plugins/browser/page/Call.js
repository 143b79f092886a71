import { CallAudio } from "./CallAudio.js"
import { CallConnection } from "./CallConnection.js"

/** @type {Record<string, string>} */
const activities = {
  listening: "Listening",
  thinking: "Thinking",
  "using-tool": "Using a tool",
  speaking: "Speaking"
}

/** What the engine's refusals mean to a person. @type {Record<string, string>} */
export const refusals = {
  busy: "All lines are busy. Try again in a few minutes.",
  declined: "This link has expired or was used as often as it may be. Ask for a new one.",
  unavailable: "The agent does not take calls right now. Try again later."
}

/** What to do about a microphone that cannot be used. */
export const audioFaults = {
  denied:
    "The microphone is blocked. Allow it for this page, with the icon beside the address or in the settings of the browser, and start the call again.",
  missing: "No microphone was found. Connect one, and start the call again.",
  busy: "The microphone cannot be opened. Close other programs that use it, and start the call again.",
  insecure: "The microphone works only on a secure page. Open this link with https://.",
  unsupported: "This browser cannot make calls. Use a current version of Chrome, Edge, Firefox or Safari."
}

/** @type {Record<string, string>} */
export const reasons = {
  lost: "The network was gone for more than 10 seconds, so the call has ended. Check your connection, and call again.",
  gone: "The server was restarted, so the call has ended. Call again.",
  closed: "The call was closed because of an error. Load this page again.",
  error: "An error on the server has ended the call. Call again.",
  shutdown: "The server is being restarted, so the call has ended. Call again in a minute.",
  timeout: "The call was as long as it may be.",
  "inactivity-timeout": "The call has ended, because nothing was said for a while."
}

/** Why a connection was refused, which only an ordinary request can find out. @param {string} page */
const refusalOf = async (page) => {
  try {
    const { status } = await fetch(page, { method: "HEAD", cache: "no-store" })
    if (status === 404) return refusals.declined
    if (status === 429) return "Too many calls were refused. Wait a minute, and start the call again."
    return "The server does not take the call right now. Try again in a minute."
  } catch {
    return "The server cannot be reached. Check your connection, and start the call again."
  }
}

/**
 * A call, from the click to its end.
 * @typedef {object} CallEnd
 * @property {string} error what to do; empty: it ended as calls do
 * @property {boolean} hasStarted false: there was no call, and `error` says why
 * @property {boolean} isByAgent the agent hung up, or the server, which stops: it says the same of both
 */
export class Call {
  /**
   * @param {import("./CallView.js").CallView} view
   * @param {string} page the address of the page
   * @param {(end: CallEnd) => void} onEnd
   */
  constructor(view, page, onEnd) {
    this.view = view
    this.page = page
    this.onEnd = onEnd
    /** @type {CallAudio | undefined} */
    this.audio = undefined
    /** @type {CallConnection | undefined} */
    this.connection = undefined
    this.isAnswered = false
    this.isOver = false
    this.isMuted = false
    this.status = ""
  }

  async start() {
    this.view.state("Asking for the microphone …", "connecting")
    try {
      const audio = await CallAudio.open(
        { microphone: this.view.microphone.value, speaker: this.view.speaker.value },
        {
          onAudio: (audio) => this.connection?.sendAudio(audio),
          onMark: (name) => this.connection?.send({ event: "mark", name }),
          onLevel: (side, peak) => this.view.level(side, side === "caller" && this.isMuted ? 0 : peak),
          onUnplugged: () => void this.replaceMicrophone(),
          onPaused: (isPaused) => this.paused(isPaused)
        }
      )
      if (this.isOver) return audio.close()
      this.audio = audio
    } catch (error) {
      // AudioFailed
      const fault = /** @type {{ fault?: keyof typeof audioFaults }} */ (error).fault ?? "unsupported"
      this.end(audioFaults[fault])
      return
    }
    this.view.calling(true)
    this.show("Calling …", "connecting")
    const url = new URL(this.page, location.href)
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:"
    this.connection = new CallConnection(`${url.href}/call`, {
      onMessage: (message) => this.receive(message),
      onAudio: (frame) => this.audio?.play(frame),
      onLost: (isLost) => this.lost(isLost),
      onEnd: (end) => void this.disconnected(end)
    })
  }

  /** @param {string} text @param {string} kind */
  show(text, kind) {
    this.status = text
    this.kind = kind
    this.view.state(text, kind)
  }

  /** @param {Record<string, any>} message */
  receive(message) {
    switch (message.event) {
      case "ringing":
        return this.show("Ringing …", "connecting")
      case "answered":
        this.isAnswered = true
        return this.show("Connected", "listening")
      case "activity":
        return this.show(activities[message.activity] ?? "Connected", message.activity)
      case "mark":
        return this.audio?.mark(message.name)
      case "clear":
        return this.audio?.clear()
      case "saying":
        return this.view.say(message.role, message.text)
      case "said":
        return this.view.said(message.role, message.text)
      case "latency":
        return this.view.latency(message.ms)
      case "dtmf":
        return this.view.line("keys", "Agent pressed", message.digits)
      case "refused":
        return this.end(refusals[message.cause] ?? "The call was refused.")
      case "ended":
        return this.end(reasons[message.reason] ?? "", message.reason === "agent-hangup")
      default:
    }
  }

  /** @param {boolean} isLost */
  lost(isLost) {
    if (isLost) this.view.state("Connection lost: reconnecting …", "lost")
    else this.view.state(this.status, this.kind)
    this.view.error(isLost ? "The connection was lost. Check your network: the call waits for 10 seconds." : "")
  }

  /** @param {import("./CallConnection.js").End} end */
  async disconnected(end) {
    this.end(end === "refused" ? await refusalOf(this.page) : (reasons[end] ?? ""))
  }

  /** @param {boolean} isPaused */
  paused(isPaused) {
    if (this.isOver) return
    this.view.paused(isPaused)
    this.view.error(isPaused ? "The browser has stopped the sound of this page. Press Continue to go on." : "")
  }

  /** The page may be heard and seen again. */
  async wake() {
    await this.audio?.resume()
    this.connection?.retry()
  }

  async replaceMicrophone() {
    try {
      await this.useMicrophone("")
      this.view.error("The microphone was unplugged. The call goes on with another one.")
    } catch {
      this.view.error("The microphone was unplugged. Connect one, and choose it under Devices; the call goes on.")
    }
  }

  /** @param {string} deviceId */
  async useMicrophone(deviceId) {
    await this.audio?.useMicrophone(deviceId)
    this.audio?.mute(this.isMuted)
  }

  toggleMute() {
    this.isMuted = !this.isMuted
    this.audio?.mute(this.isMuted)
    this.view.muted(this.isMuted)
  }

  /** @param {string} digit */
  press(digit) {
    this.connection?.send({ event: "dtmf", digit })
    // Before the answer nothing takes digits.
    if (this.isAnswered) this.view.line("keys", "You pressed", digit)
  }

  hangUp() {
    this.end("")
  }

  /** @param {string} error what to do; empty: the call has ended as calls do @param {boolean} [isByAgent] */
  end(error, isByAgent = false) {
    if (this.isOver) return
    this.isOver = true
    this.connection?.hangUp()
    this.audio?.close()
    this.onEnd({ error, hasStarted: this.isAnswered || error === "", isByAgent })
  }
}

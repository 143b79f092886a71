/** @param {string} id @returns {any} */
const byId = (id) => {
  const element = document.getElementById(id)
  if (element === null) throw new Error(`the page has no ${id}`)
  return element
}

/** Lines of the transcript that are kept. */
const mostLines = 500

const speakers = { caller: "You", agent: "Agent" }

/** What the page shows. */
export class CallView {
  constructor() {
    this.start = byId("start")
    this.hangUp = byId("hang-up")
    this.mute = byId("mute")
    this.keypadButton = byId("keypad-button")
    this.keypad = byId("keypad")
    this.resume = byId("resume")
    this.microphone = byId("microphone")
    this.speaker = byId("speaker")
    this.speakerRow = byId("speaker-row")
    this.log = byId("transcript")
    this.meters = { caller: byId("caller-level"), agent: byId("agent-level") }
    this.saying = { caller: byId("caller-saying"), agent: byId("agent-saying") }
    this.isInCall = false
    this.isStarting = false
  }

  /** The button stays where the focus is: one that is disabled would lose it. @param {boolean} isStarting */
  starting(isStarting) {
    this.isStarting = isStarting
    this.start.setAttribute("aria-disabled", String(isStarting))
  }

  /** A short line: what happens now. @param {string} text @param {string} kind */
  state(text, kind = "") {
    byId("state").textContent = text
    document.body.dataset.state = kind
  }

  /** What went wrong and what to do; empty: nothing. @param {string} text */
  error(text) {
    byId("error").textContent = text
  }

  /** @param {boolean} isInCall @param {boolean} [canStart] whether a call may start again with this link */
  calling(isInCall, canStart = true) {
    const inFocus = document.activeElement
    const hadFocus =
      [this.start, this.hangUp, this.mute, this.keypadButton].includes(inFocus) || this.keypad.contains(inFocus)
    this.isInCall = isInCall
    for (const element of [this.hangUp, this.mute, this.keypadButton, byId("levels")]) element.hidden = !isInCall
    this.start.hidden = isInCall || !canStart
    byId("intro").hidden = true
    this.starting(false)
    this.muted(false)
    this.openKeypad(false)
    this.paused(false)
    if (!hadFocus) return
    if (isInCall) this.hangUp.focus()
    else if (canStart) this.start.focus()
    else byId("heading").focus()
  }

  /** In the place of the button that starts a call. */
  closed() {
    byId("intro").textContent = "No more calls can start with this link. Ask whoever gave it to you for a new one."
    byId("intro").hidden = false
  }

  /** @param {boolean} isMuted */
  muted(isMuted) {
    this.mute.setAttribute("aria-pressed", String(isMuted))
  }

  /** @param {boolean} isOpen */
  openKeypad(isOpen) {
    this.keypad.hidden = !isOpen
    this.keypadButton.setAttribute("aria-expanded", String(isOpen))
  }

  /** The browser has stopped the sound: only a click lets it go on. @param {boolean} isPaused */
  paused(isPaused) {
    this.resume.hidden = !isPaused
  }

  /** @param {"caller" | "agent"} side @param {number} peak */
  level(side, peak) {
    // Loudness as it is felt: 0 is -50 dB.
    this.meters[side].value = peak === 0 ? 0 : Math.max(0, 1 + Math.log10(peak) / 2.5)
  }

  /** The words of a turn that is not finished. @param {"caller" | "agent"} role @param {string} text */
  say(role, text) {
    const line = this.saying[role]
    line.hidden = text === ""
    line.lastElementChild.textContent = text
    if (text !== "") this.scroll()
  }

  /** @param {"caller" | "agent"} role @param {string} text */
  said(role, text) {
    this.say(role, "")
    this.line(role, speakers[role], text)
  }

  /** @param {string} kind @param {string} who @param {string} text */
  line(kind, who, text) {
    const line = document.createElement("p")
    line.className = kind
    const name = document.createElement("b")
    name.textContent = who
    const words = document.createElement("span")
    words.textContent = text
    line.append(name, " ", words)
    this.log.append(line)
    while (this.log.childElementCount > mostLines) this.log.firstElementChild.remove()
    this.scroll()
  }

  /** What was being said when the call ended stays. */
  keepWords() {
    for (const role of /** @type {const} */ (["caller", "agent"])) {
      const text = this.saying[role].lastElementChild.textContent
      if (text !== "") this.said(role, text)
    }
  }

  scroll() {
    const box = byId("conversation")
    box.scrollTop = box.scrollHeight
  }

  /** @param {number} ms */
  latency(ms) {
    byId("latency").textContent = `Answered after ${(ms / 1000).toFixed(2)} s`
  }

  clear() {
    this.log.replaceChildren()
    this.say("caller", "")
    this.say("agent", "")
    byId("latency").textContent = ""
  }

  /**
   * Fills the choice of devices.
   * @param {ReadonlyArray<MediaDeviceInfo>} devices
   * @param {boolean} choosesSpeaker
   */
  devices(devices, choosesSpeaker) {
    /** @param {any} select @param {string} kind @param {string} name */
    const fill = (select, kind, name) => {
      const chosen = select.value
      const own = devices.filter((device) => device.kind === kind && device.deviceId !== "")
      const options = own.map(({ deviceId, label }, index) => new Option(label || `${name} ${index + 1}`, deviceId))
      select.replaceChildren(new Option("Default", ""), ...options)
      select.value = own.some(({ deviceId }) => deviceId === chosen) ? chosen : ""
    }
    fill(this.microphone, "audioinput", "Microphone")
    fill(this.speaker, "audiooutput", "Loudspeaker")
    this.speakerRow.hidden = !choosesSpeaker
  }
}

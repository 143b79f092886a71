import { audioFaults, Call, reasons, refusals } from "./Call.js"
import { CallAudio } from "./CallAudio.js"
import { CallView } from "./CallView.js"

/** The page of a call link: wires its elements. */

const view = new CallView()
const page = location.pathname.replace(/\/$/, "")
const isEmbedded = window.parent !== window
/** @type {Call | undefined} */
let call

/** Tells the page around this one, which is not known here: so nothing but the state. @param {string} state */
const tell = (state) => {
  if (isEmbedded) window.parent.postMessage({ type: "svc-call", state }, "*")
}

const refreshDevices = async () => {
  const devices = (await navigator.mediaDevices?.enumerateDevices?.()) ?? []
  view.devices(devices, CallAudio.choosesSpeaker)
}

/** Proxies answer with these for a server that has stopped, and the server itself while it stops. */
const unavailable = [502, 503, 504]

/**
 * Whether another call may start with the link, as far as the server says, and whether there is a server.
 * @returns {Promise<"open" | "closed" | "stopped">}
 */
const linkState = async () => {
  try {
    const { headers, status } = await fetch(page, { method: "HEAD", cache: "no-store" })
    if (status === 404) return "closed"
    // The page itself, which has this header, is 503 while the database is unavailable.
    return unavailable.includes(status) && !headers.has("X-Robots-Tag") ? "stopped" : "open"
  } catch {
    return "stopped"
  }
}

const start = async () => {
  if (view.isStarting) return
  view.starting(true)
  view.error("")
  view.clear()
  tell("calling")
  const started = new Call(view, page, async ({ error, hasStarted, isByAgent }) => {
    call = undefined
    view.keepWords()
    view.state(hasStarted ? "Call ended" : "The call did not start", "ended")
    view.error(error)
    // Without a microphone nothing was asked of the server.
    const state = view.isStarting ? "open" : await linkState()
    if (isByAgent && state === "stopped") view.error(reasons.shutdown)
    view.calling(false, state !== "closed")
    if (state === "closed" && error !== refusals.declined) view.closed()
    tell("ended")
  })
  call = started
  await started.start()
  await refreshDevices()
}

view.start.addEventListener("click", () => void start())
view.hangUp.addEventListener("click", () => call?.hangUp())
view.mute.addEventListener("click", () => call?.toggleMute())
view.keypadButton.addEventListener("click", () => view.openKeypad(view.keypad.hidden))
view.resume.addEventListener("click", () => void call?.wake())
view.keypad.addEventListener("click", (/** @type {Event} */ event) => {
  const digit = /** @type {HTMLElement} */ (event.target).dataset.digit
  if (digit !== undefined) call?.press(digit)
})
document.addEventListener("keydown", ({ altKey, ctrlKey, key, metaKey, target }) => {
  const isTyping = target instanceof HTMLSelectElement
  if (view.isInCall && !isTyping && !altKey && !ctrlKey && !metaKey && /^[0-9*#]$/.test(key)) call?.press(key)
})
view.microphone.addEventListener("change", () => {
  call?.useMicrophone(view.microphone.value).then(
    () => view.error(""),
    ({ fault }) => view.error(audioFaults[/** @type {keyof typeof audioFaults} */ (fault)] ?? audioFaults.busy)
  )
})
view.speaker.addEventListener("change", () => {
  call?.audio
    ?.useSpeaker(view.speaker.value)
    .catch(() => view.error("The loudspeaker cannot be used. Choose another one under Devices."))
})
navigator.mediaDevices?.addEventListener?.("devicechange", () => void refreshDevices())
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") void call?.wake()
})
addEventListener("online", () => void call?.wake())
addEventListener("pagehide", () => call?.hangUp())
void refreshDevices()
tell("ready")
if (isEmbedded && location.hash === "#start") void start()

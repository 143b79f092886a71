import type { CallTimeline } from "@svc/api/calls/CallTimeline"
import { html } from "../documents/Html.ts"
import { shortText } from "./BoundedText.ts"

/** `1 min 5 s`. */
const duration = (seconds: number): string =>
  seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`

/** `2026-11-22 21:04:05 UTC`. */
const utc = (iso: string): string => `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`

const money = (eur: number): string => `${eur.toFixed(4).replace(/0{1,2}$/, "")} EUR`

const fact = (name: string, value: string | number | null): string =>
  `<div><dt>${html(name)}</dt><dd>${shortText(value === null || value === "" ? "–" : String(value))}</dd></div>`

const count = (n: number): string => n.toLocaleString("en-US")

const lineFacts = ({ line }: CallTimeline): ReadonlyArray<string> => {
  const { carrier_call_id, codec, jitter_ms, packets_late, packets_lost, telephony } = line
  const packets = [
    ...(packets_lost === null ? [] : [`${count(packets_lost)} lost`]),
    ...(packets_late === null ? [] : [`${count(packets_late)} late`])
  ]
  const heard = [...packets, ...(jitter_ms === null ? [] : [`jitter ${jitter_ms} ms`])].join(", ")
  return [
    fact("Line", [telephony, ...(codec === null ? [] : [codec])].join(", ")),
    ...(carrier_call_id === null ? [] : [fact("Carrier's id", carrier_call_id)]),
    ...(heard === "" ? [] : [fact("Packets", heard)])
  ]
}

const usageFacts = ({ usage }: CallTimeline): ReadonlyArray<string> => {
  if (usage === null) return []
  const { llm, stt, tts } = usage
  const cached = (n: number) => (n === 0 ? "" : ` (${count(n)} cached)`)
  return [
    fact(
      "Model",
      `${count(llm.requests)} requests, ${count(llm.input_tokens)}${cached(llm.cached_input_tokens)} tokens in, ${count(llm.output_tokens)} out`
    ),
    fact("Text-to-speech", `${count(tts.characters)} characters${cached(tts.cached_characters)}`),
    fact("Speech-to-text", `${stt.seconds} s`)
  ]
}

/** A setting in a few words. */
const inWords = (value: unknown): string =>
  value === null ? "not set" : typeof value === "string" ? value : JSON.stringify(value)

/** The settings that apply, and those that do not. */
export const settingsOf = ({ settings }: CallTimeline): string => {
  if (settings === null) return ""
  const { languages, left_out, speech, ...others } = settings
  const shown: ReadonlyArray<readonly [string, unknown]> = [
    ...Object.entries(others),
    ["speech", { speed: speech.speed, pronunciations: speech.pronunciations.length }],
    ["languages", languages.map(({ language, voice }) => `${language} (${voice})`).join(", ")]
  ]
  const left = left_out.map(
    ({ field, reason }) => `<li class="plain"><code>${shortText(field)}</code> ${shortText(reason)}</li>`
  )
  const without = left.length === 0 ? "" : `<h3>Left out</h3><ol>${left.join("")}</ol>`
  return `<section aria-labelledby="settings"><h2 id="settings">Settings</h2><dl>${shown
    .map(([name, value]) => fact(name, inWords(value)))
    .join("")}</dl>${without}</section>`
}

/** The facts of a call, what it used and its line. */
export const factsOf = (timeline: CallTimeline): string => {
  const { call, cost, turns } = timeline
  const extras = [
    ...(cost.recording_cost === 0 ? [] : [`with recording ${money(cost.recording_cost)}`]),
    ...(cost.transfer_cost === 0 ? [] : [`with transfer ${money(cost.transfer_cost)}`]),
    ...(cost.llm_cost === 0 ? [] : [`with models ${money(cost.llm_cost)}`]),
    ...(cost.llm_discount === 0 ? [] : [`with discount ${money(cost.llm_discount)}`])
  ]
  return `<section aria-labelledby="facts"><h2 id="facts">Call</h2><dl>${[
    fact("From", call.from_number),
    fact("To", call.to_number),
    fact("Started", utc(call.started_at)),
    fact("Duration", duration(call.duration_seconds)),
    fact("Ended by", call.ended_reason ?? (call.ended_at === null ? "live" : null)),
    fact("Disposition", call.disposition),
    ...(call.transferred_to === null ? [] : [fact("Transferred to", call.transferred_to)]),
    fact("Turns", Math.max(call.turn_count, turns.length)),
    fact("Tools", call.tools_called.join(", ")),
    fact("Cost", call.ended_at === null ? "at the end" : [money(cost.total_cost), ...extras].join(", ")),
    ...usageFacts(timeline),
    ...lineFacts(timeline),
    fact("Agent", call.agent_id)
  ].join("")}</dl></section>`
}

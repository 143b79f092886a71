import { suite } from "@svc/providers/testing/Suite"
import { telephonyChecks } from "@svc/providers/testing/TelephonyChecks"
import { earlyPhones } from "./EarlyPhones.ts"
import { phones, plugin } from "./SipPhones.ts"

/**
 * Checks that do not apply. The frames of a leg are packets on their way as soon as they are sent, so that a burst cannot be
 * taken back; the engine paces them. The phones are legs of the plugin, whose frames have the first codec, whatever is on the
 * wire: those of another format would be converted twice, which no label survives.
 */
const inapplicable: ReadonlySet<string> = new Set([
  "a leg emits whole samples in each declared format",
  "clear drops the audio that was sent before it"
])

/** Checks with phones that play before they answer. */
const early: ReadonlySet<string> = new Set([
  "dial passes the audio before the answer to onEarlyMedia if earlyMedia is declared",
  "early media ends with dial, and the leg does not emit it again"
])

suite(
  { name: "calls over SIP" },
  telephonyChecks({
    layer: plugin(
      27_060,
      { trunkUri: "sip:127.0.0.1:27070", rtpPorts: "27100-28099", transfer: "bridge" },
      { peerTimeouts: { silence: 1000, probe: 1000 } }
    ),
    sessions: 100,
    phone: () => phones(27_070, 27_060)
  }).filter(({ name }) => !inapplicable.has(name) && !early.has(name))
)

suite(
  { name: "calls over SIP with early media" },
  telephonyChecks({
    layer: plugin(0, { trunkUri: "sip:127.0.0.1:27070", rtpPorts: "30500-30549", transfer: "bridge" }),
    phone: earlyPhones
  }).filter(({ name }) => early.has(name))
)

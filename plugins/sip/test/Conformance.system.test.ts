import { suite } from "@svc/providers/testing/Suite"
import { telephonyChecks } from "@svc/providers/testing/TelephonyChecks"
import { phones, plugin } from "./SipPhones.ts"

/**
 * Checks that the phones cannot take part in. Frames are packets on their way as soon as they are sent, so that a burst cannot
 * be taken back; the engine paces them. The phones are legs of the plugin: they send no audio before they answer, and their
 * frames have the first codec, whatever is on the wire.
 */
const others: ReadonlySet<string> = new Set([
  "a leg emits whole samples in each declared format",
  "clear drops the audio that was sent before it",
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
  }).filter(({ name }) => !others.has(name))
)

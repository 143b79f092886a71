import { audioChecks } from "./AudioChecks.ts"
import { callChecks } from "./CallChecks.ts"
import type { Check } from "./Check.ts"
import { dialChecks } from "./DialChecks.ts"
import { earlyMediaChecks } from "./EarlyMediaChecks.ts"
import { messagingChecks } from "./MessagingChecks.ts"
import { numbersChecks } from "./NumbersChecks.ts"
import { packetChecks } from "./PacketChecks.ts"
import { carrierFaultChecks, regulatoryChecks } from "./RegulatoryChecks.ts"
import { type TelephonyCheckOptions, telephonyHarness } from "./TelephonyHarness.ts"
import { transferChecks } from "./TransferChecks.ts"

/** The requirements on a telephone network. */
export const telephonyChecks = (options: TelephonyCheckOptions): ReadonlyArray<Check> => {
  const harness = telephonyHarness(options)
  return [
    ...callChecks(harness, options),
    ...audioChecks(harness),
    ...packetChecks(harness),
    ...transferChecks(harness),
    ...dialChecks(harness),
    ...earlyMediaChecks(harness),
    ...messagingChecks(harness, options),
    ...numbersChecks(harness, options),
    ...regulatoryChecks(harness, options),
    ...carrierFaultChecks(harness, options)
  ]
}

import { audioChecks } from "./AudioChecks.ts"
import { callChecks } from "./CallChecks.ts"
import type { Check } from "./Check.ts"
import { dialChecks } from "./DialChecks.ts"
import { messagingChecks } from "./MessagingChecks.ts"
import { numbersChecks } from "./NumbersChecks.ts"
import { carrierFaultChecks, regulatoryChecks } from "./RegulatoryChecks.ts"
import { type TelephonyCheckOptions, telephonyHarness } from "./TelephonyHarness.ts"
import { transferChecks } from "./TransferChecks.ts"

/** The requirements on a telephone network. */
export const telephonyChecks = (options: TelephonyCheckOptions): ReadonlyArray<Check> => {
  const harness = telephonyHarness(options)
  return [
    ...callChecks(harness, options),
    ...audioChecks(harness),
    ...transferChecks(harness),
    ...dialChecks(harness),
    ...messagingChecks(harness, options),
    ...numbersChecks(harness, options),
    ...regulatoryChecks(harness, options),
    ...carrierFaultChecks(harness, options)
  ]
}

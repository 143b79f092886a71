/** The states of a call at Twilio. See https://www.twilio.com/docs/voice/api/call-resource. */

const finals = ["completed", "busy", "failed", "no-answer", "canceled"] as const
export type FinalStatus = (typeof finals)[number]

/** The status if no other follows it. */
export const finalStatus = (status: unknown): FinalStatus | undefined => finals.find((one) => one === status)

/** The end of a call as the engine gets it. */
export const endOf = (status: FinalStatus): "hangup" | "failed" => (status === "failed" ? "failed" : "hangup")

/** Why an answered call has failed whose media stream does not come. */
export const noStream = "Twilio did not open the media stream; its console says why, at the call's errors"

import { createHash } from "node:crypto"

/**
 * Ids of traces and spans (W3C Trace Context, sections 3.2.2.3 and 3.2.2.4) that follow from the call's id: so the debug page
 * knows the trace of a call, and a call that another node settles has the same one.
 */

const hash = (text: string): string => createHash("sha256").update(text).digest("hex")

/** 16 bytes as hexadecimal digits. */
export const traceIdOf = (callId: string): string => hash(`svc trace ${callId}`).slice(0, 32)

/** 8 bytes as hexadecimal digits. `part`: a name that no other span of the call has. */
export const spanIdOf = (callId: string, part: string): string => hash(`svc span ${callId} ${part}`).slice(0, 16)

/** The span of the whole call. */
export const rootSpanIdOf = (callId: string): string => spanIdOf(callId, "call")

/** 2^52: so many values have the digits of a trace's id that decide whether it is sampled. */
const values = 2 ** 52

/** Whether a trace is among this share of all. The same on each node. */
export const isSampled = (traceId: string, share: number): boolean =>
  Number.parseInt(traceId.slice(-13), 16) / values < share

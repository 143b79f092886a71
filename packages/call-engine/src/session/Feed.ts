import type { UntimedInput } from "@svc/conversation/Input"

/** Gives an input to the conversation. Synchronous; never throws. */
export type Feed = (input: UntimedInput) => void

import type { Input } from "../conversation/Input.ts"

/** An input of the conversation without its time, which the session adds. */
export type Happening = Input extends infer I ? (I extends Input ? Omit<I, "at"> : never) : never

/** Tells the conversation what happened. Synchronous; never throws. */
export type Feed = (happening: Happening) => void

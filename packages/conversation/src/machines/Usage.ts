import type { CallUsage } from "@svc/api/calls/CallUsage"
import type { Command } from "../Command.ts"
import { type Draft, patch } from "../Draft.ts"
import type { InputOf } from "../Input.ts"
import type { Conversation } from "../State.ts"

/**
 * What the call uses of its providers. The last figures of the media come when the call is over. A request to the model counts
 * when the conversation asks, so that one which fails, is cancelled, or is under way when the process dies counts too; its
 * tokens count when the provider reports them.
 */

/** More than any request or call has; a larger count is a fault of a plugin. */
const most = 1e12

/** A count of a plugin: whole, and not negative. */
const whole = (count: number): number => (count > 0 ? Math.min(Math.round(count), most) : 0)

/** Commands that send a request to the language model. One that adopts the answer to an earlier request sends none. */
const asksModel = (command: Command): boolean =>
  command._tag === "AskAhead" ||
  command._tag === "Extract" ||
  command._tag === "Summarize" ||
  (command._tag === "AskModel" && command.ahead === undefined)

const addToModel = ({ usage }: Conversation, add: Partial<CallUsage["llm"]>): CallUsage => {
  const { llm } = usage
  const input_tokens = llm.input_tokens + whole(add.input_tokens ?? 0)
  const cached = llm.cached_input_tokens + whole(add.cached_input_tokens ?? 0)
  return {
    ...usage,
    llm: {
      requests: llm.requests + (add.requests ?? 0),
      input_tokens,
      cached_input_tokens: Math.min(cached, input_tokens),
      output_tokens: llm.output_tokens + whole(add.output_tokens ?? 0)
    }
  }
}

/** Counts the requests of a step. Called at the end of every step. */
export const countRequests = (d: Draft): void => {
  const requests = d.commands.filter(asksModel).length
  if (requests > 0) patch(d, { usage: addToModel(d.state, { requests }) })
}

/** The state with what the shell reports; it has no other effect. */
export const reported = (state: Conversation, input: InputOf<"ModelUsed" | "MediaReported">): Conversation => {
  if (input._tag === "MediaReported") {
    const { line, stt, tts } = input
    return { ...state, line, usage: { ...state.usage, stt, tts } }
  }
  if (state.phase === "over") return state
  return { ...state, usage: addToModel(state, { ...input, requests: input.is_retry === true ? 1 : 0 }) }
}

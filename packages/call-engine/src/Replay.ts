import { hash } from "node:crypto"
import type { Command } from "./conversation/Command.ts"
import { type Conversation, start, step } from "./conversation/Conversation.ts"
import type { Facts, Input } from "./conversation/Input.ts"

/** A journal row as replay needs it. */
export interface RecordedInput {
  readonly seq: number
  readonly input: Facts | Input
  readonly commands: string
}

/** A short digest of the commands that a step gave; equal commands, equal digest. */
export const digest = (commands: ReadonlyArray<Command>): string =>
  commands.length === 0 ? "" : hash("sha1", JSON.stringify(commands), "base64url").slice(0, 10)

/** What a journal gives when it is played again. */
export interface Replayed {
  readonly state: Conversation
  readonly steps: ReadonlyArray<{ readonly input: Facts | Input; readonly commands: ReadonlyArray<Command> }>
  /** Rows whose commands were others when the call was live: the logic has changed since. */
  readonly differing: ReadonlyArray<number>
}

/** Runs a journal through the conversation again; undefined when it does not begin with the call's facts. */
export const replay = (rows: ReadonlyArray<RecordedInput>): Replayed | undefined => {
  const first = rows[0]
  if (first === undefined || first.input._tag !== "Facts") return undefined
  let [state, commands] = start(first.input)
  const steps = [{ input: first.input as Facts | Input, commands }]
  const differing = digest(commands) === first.commands ? [] : [first.seq]
  for (const row of rows.slice(1)) {
    if (row.input._tag === "Facts") continue
    ;[state, commands] = step(state, row.input)
    steps.push({ input: row.input, commands })
    if (digest(commands) !== row.commands) differing.push(row.seq)
  }
  return { state, steps, differing }
}

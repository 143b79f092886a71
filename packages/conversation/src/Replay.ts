import { hash } from "node:crypto"
import { canonicalJson } from "@svc/api/CanonicalJson"
import { atOnce } from "@svc/api/Thread"
import type { Command } from "./Command.ts"
import { type Conversation, start, step } from "./Conversation.ts"
import type { Facts, Input } from "./Input.ts"

/** The part of a journal row that replay needs. */
export interface RecordedInput {
  readonly seq: number
  readonly input: Facts | Input
  readonly commands: string
}

/**
 * A short digest of the commands of a step. It does not depend on the order of an object's fields, which the database
 * does not keep.
 */
export const digest = (commands: ReadonlyArray<Command>): string =>
  commands.length === 0 ? "" : hash("sha1", canonicalJson(commands), "base64url").slice(0, 10)

/** The result of a replay. */
export interface Replayed {
  readonly state: Conversation
  readonly steps: ReadonlyArray<{
    readonly seq: number
    readonly input: Facts | Input
    readonly commands: ReadonlyArray<Command>
  }>
  /** The `seq` of rows with a different digest: the logic has changed since the call. */
  readonly differing: ReadonlyArray<number>
}

/**
 * Runs a journal through the conversation again; undefined when it does not begin with the call's facts. Yields after each
 * row, and before its digest: of a large one both take milliseconds.
 */
export function* replaying(rows: ReadonlyArray<RecordedInput>): Generator<void, Replayed | undefined> {
  const first = rows[0]
  if (first === undefined || first.input._tag !== "Facts") return undefined
  let [state, commands] = start(first.input)
  const steps = [{ seq: first.seq, input: first.input as Facts | Input, commands }]
  const differing = digest(commands) === first.commands ? [] : [first.seq]
  for (const row of rows) {
    if (row.input._tag === "Facts") continue
    ;[state, commands] = step(state, row.input)
    steps.push({ seq: row.seq, input: row.input, commands })
    yield
    if (digest(commands) !== row.commands) differing.push(row.seq)
    yield
  }
  return { state, steps, differing }
}

/** All steps of {@link replaying} at once. */
export const replay = (rows: ReadonlyArray<RecordedInput>): Replayed | undefined => atOnce(replaying(rows))

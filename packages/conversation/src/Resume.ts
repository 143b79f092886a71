import type { Command, CommandOf } from "./Command.ts"
import type { UntimedInput } from "./Input.ts"
import type { Replayed } from "./Replay.ts"

/** What a conversation needs to continue after the process that held it has died. */
export interface Unfinished {
  /** Work whose outcome is still awaited and that has no effect outside the process: it is done again. */
  readonly commands: ReadonlyArray<Command>
  /** The outcomes of work that may have had an effect: it is not done again. */
  readonly inputs: ReadonlyArray<UntimedInput>
}

const lost = "the server restarted before the outcome was known"

/**
 * The work that a replayed conversation waits for. The model is asked again unless it had begun to speak or called tools; tools count as
 * failed, because they may have done their work.
 */
export const unfinished = ({ state, steps }: Replayed): Unfinished => {
  const given = steps.flatMap((step) => step.commands)
  const last = <Tag extends Command["_tag"]>(tag: Tag): CommandOf<Tag> | undefined =>
    given.findLast((command): command is CommandOf<Tag> => command._tag === tag)
  const lookUp = (id: string) => given.findLast((c) => c._tag === "LookUp" && c.id === id)
  const commands: Array<Command | undefined> = []
  const inputs: Array<UntimedInput> = []

  if (state.phase === "starting" || (state.phase === "menu" && state.gathers.length === 0))
    commands.push(last("FetchConfig"))
  if (state.model !== null) {
    const { turn } = state.model
    const gave = (tag: "ModelSentence" | "ModelToolCalls"): boolean =>
      steps.some(({ input }) => input._tag === tag && input.turn === turn)
    // Asked again, it would call its tools again.
    if (gave("ModelToolCalls")) inputs.push({ _tag: "ModelDone", turn })
    else if (gave("ModelSentence")) inputs.push({ _tag: "ModelFailed", turn, reason: lost })
    else commands.push(last("AskModel"))
  }
  for (const { id } of state.entries.flatMap((e) => (e.kind === "agent" ? e.tools.filter((t) => t.pending) : []))) {
    const begun = given.some((c) => (c._tag === "InvokeTool" || c._tag === "SendSms") && c.id === id)
    if (begun) inputs.push({ _tag: "ToolFailed", id, reason: lost })
    commands.push(lookUp(id))
  }
  if (state.knowledge.pending !== null) commands.push(lookUp(state.knowledge.pending.id))
  if (state.history.pending !== null && state.ended_at === null) commands.push(last("Summarize"))
  if (state.post_call === "extracting") commands.push(last("Extract"))
  if (state.post_call === "texting") inputs.push({ _tag: "PostCallSmsDone", failed: lost })
  for (const timer of state.timers)
    commands.push(given.findLast((command) => command._tag === "StartTimer" && command.timer === timer))
  return { commands: commands.filter((command) => command !== undefined), inputs }
}

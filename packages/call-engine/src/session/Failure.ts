import { Cause, Option } from "effect"

/** Why something failed, in one line: the typed error's reason, or the defect's message. */
export const reasonOf = (cause: Cause.Cause<{ readonly reason: string }>): string =>
  Option.match(Cause.failureOption(cause), {
    onSome: (error) => error.reason,
    onNone: () => {
      const defect = Cause.squash(cause)
      return defect instanceof Error ? defect.message : String(defect)
    }
  })

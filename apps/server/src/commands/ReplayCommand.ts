import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { json, run } from "./AccountCommands.ts"

/** The command `svc replay` of this version of the program. It works beside a running server, and without one. */
export const replayCommand = (version: string) =>
  Command.make(
    "replay",
    {
      source: Args.text({ name: "call" }).pipe(
        Args.withDescription("Call, by public or numeric id, test session, or the file of a saved journal")
      ),
      save: Options.text("save").pipe(
        Options.withPseudoName("file"),
        Options.withDescription("Also write the call's journal to this new file"),
        Options.optional
      ),
      json
    },
    (options) =>
      run(
        () => import("./replay/Replay.ts"),
        (m) => m.replay({ ...options, version })
      )
  ).pipe(
    Command.withDescription("Run a call's journal through the conversation again, and show what differs (exit code 1)")
  )

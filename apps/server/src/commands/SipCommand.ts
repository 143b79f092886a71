import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { json, run } from "./AccountCommands.ts"

const url = Options.text("url").pipe(
  Options.withPseudoName("url"),
  Options.withDescription("Address of the server on this machine; SVC_URL by default, else by SVC_HOST and SVC_PORT"),
  Options.optional
)

/** The command `svc sip`. */
export const sipCommand = Command.make("sip").pipe(
  Command.withDescription("SIP: registrations and calls of a running server"),
  Command.withSubcommands([
    Command.make("status", { url, json }, (options) =>
      run(
        () => import("./SipStatus.ts"),
        (m) => m.status(options)
      )
    ).pipe(Command.withDescription("Registrations, calls in progress, packet loss and ignored sources"))
  ])
)

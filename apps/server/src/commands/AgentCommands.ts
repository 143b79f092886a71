import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { E164 } from "@svc/api/Wire"
import { Schema } from "effect"
import { json, run } from "./AccountCommands.ts"

const number = (name: string) =>
  E164.annotations({
    message: () => ({ message: `--${name} must be a phone number in E.164, such as +15550100200`, override: true })
  })

const Digits = Schema.String.pipe(Schema.pattern(/^[0-9]{1,20}$/, { message: () => "--digits must be 1 to 20 digits" }))

/** The commands on agents: `svc agent`. They work beside a running server, and without one. */
export const agentCommand = Command.make("agent").pipe(
  Command.withDescription("Agents' servers: check one"),
  Command.withSubcommands([
    Command.make(
      "check",
      {
        agent: Args.text({ name: "agent" }).pipe(
          Args.withDescription("Agent, by public or numeric id, or the URL of a server")
        ),
        from: Options.text("from").pipe(
          Options.withDescription("Number of the caller, E.164"),
          Options.withSchema(number("from")),
          Options.withDefault("+15550100200")
        ),
        to: Options.text("to").pipe(
          Options.withDescription("Number that was called, E.164; the agent's first one by default"),
          Options.withSchema(number("to")),
          Options.optional
        ),
        tool: Options.text("tool").pipe(
          Options.withDescription("Also call this tool of the answer; arguments are made from its parameters"),
          Options.optional
        ),
        with: Options.text("with").pipe(
          Options.withDescription("The arguments of --tool, a JSON object"),
          Options.optional
        ),
        allTools: Options.boolean("all-tools").pipe(
          Options.withDescription("Call every tool: your server does what it does in a call")
        ),
        transcript: Options.boolean("transcript").pipe(Options.withDescription("Also send a transcript.updated")),
        digits: Options.text("digits").pipe(
          Options.withDescription("What the caller presses in a menu or for a tool with gather"),
          Options.withSchema(Digits),
          Options.withDefault("1")
        ),
        secret: Options.redacted("secret").pipe(
          Options.withDescription("Server secret; the agent's own by default, for a URL SVC_SERVER_SECRET"),
          Options.optional
        ),
        strict: Options.boolean("strict").pipe(Options.withDescription("Warnings count as faults")),
        dev: Options.boolean("dev").pipe(
          Options.withDescription(
            "Allow private URLs and load the plugins of development mode, as svc serve --dev does"
          )
        ),
        json
      },
      (options) =>
        run(
          () => import("./agent-check/AgentCheck.ts"),
          (m) => m.agentCheck(options),
          options.dev
        )
    ).pipe(
      Command.withDescription(
        "Send a sample call to an agent's server, and report its faults (exit code 1); there is no call"
      )
    )
  ])
)

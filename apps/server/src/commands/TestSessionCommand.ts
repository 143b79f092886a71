import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { E164 } from "@svc/api/Wire"
import { Schema } from "effect"
import { inOneLine, json, run } from "./AccountCommands.ts"

const Metadata = Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown }))

const agent = Args.text({ name: "agent" }).pipe(Args.withDescription("Agent, by public or numeric id, or by name"))

/** Options of commands that are clients of a running server. */
const client = {
  key: Options.redacted("key").pipe(
    Options.withPseudoName("key"),
    Options.withDescription("Project key, or an organization key with --project; SVC_KEY by default"),
    Options.optional
  ),
  url: Options.text("url").pipe(
    Options.withPseudoName("url"),
    Options.withDescription("Address of the server; SVC_URL by default, else http://127.0.0.1:8787"),
    Options.optional
  ),
  project: Options.text("project").pipe(
    Options.withPseudoName("id"),
    Options.withDescription("With an organization key: the project, by public or numeric id"),
    Options.optional
  )
}

const from = Options.text("from").pipe(
  Options.withPseudoName("number"),
  Options.withDescription("The caller's number, E.164"),
  Options.withSchema(inOneLine(E164, "--from must be a phone number in E.164, such as +15550100200")),
  Options.optional
)

const metadata = (of: string) =>
  Options.text("metadata").pipe(
    Options.withPseudoName("json"),
    Options.withDescription(`Metadata of the ${of}, a JSON object`),
    Options.withSchema(inOneLine(Metadata, '--metadata must be a JSON object, such as {"test":true}')),
    Options.optional
  )

/** The command `svc chat`. It is a client of a running server. */
export const chatCommand = Command.make(
  "chat",
  { agent, ...client, from, metadata: metadata("session"), json },
  (options) =>
    run(
      () => import("./test-session/TextConversation.ts"),
      (m) => m.chat(options)
    )
).pipe(Command.withDescription("Talk to an agent of a running server in text"))

const whole = (name: string, min: number, max: number) =>
  inOneLine(Schema.Int.pipe(Schema.between(min, max)), `--${name} must be a whole number from ${min} to ${max}`)

/** The command `svc call`. It is a client of a running server. */
export const callCommand = Command.make(
  "call",
  {
    agent,
    ...client,
    from,
    metadata: metadata("calls"),
    expiresIn: Options.integer("expires-in").pipe(
      Options.withPseudoName("seconds"),
      Options.withDescription("How long calls can start with the link, 60 to 86400; 3600 by default"),
      Options.withSchema(whole("expires-in", 60, 86_400)),
      Options.withDefault(3600)
    ),
    maxCalls: Options.integer("max-calls").pipe(
      Options.withPseudoName("n"),
      Options.withDescription("How many calls can start with the link, 1 to 1000; 1 by default"),
      Options.withSchema(whole("max-calls", 1, 1000)),
      Options.withDefault(1)
    ),
    json
  },
  (options) =>
    run(
      () => import("./test-session/CallLink.ts"),
      (m) => m.callLink(options)
    )
).pipe(Command.withDescription("Print a link to a web page that calls an agent of a running server"))

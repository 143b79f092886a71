import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { E164 } from "@svc/api/Wire"
import { Schema } from "effect"
import { inOneLine, json, run } from "./AccountCommands.ts"

const Metadata = Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown }))

/** The command `svc chat`. It is a client of a running server. */
export const chatCommand = Command.make(
  "chat",
  {
    agent: Args.text({ name: "agent" }).pipe(Args.withDescription("Agent, by public or numeric id, or by name")),
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
    ),
    from: Options.text("from").pipe(
      Options.withPseudoName("number"),
      Options.withDescription("The caller's number, E.164"),
      Options.withSchema(inOneLine(E164, "--from must be a phone number in E.164, such as +15550100200")),
      Options.optional
    ),
    metadata: Options.text("metadata").pipe(
      Options.withPseudoName("json"),
      Options.withDescription("Metadata of the session, a JSON object"),
      Options.withSchema(inOneLine(Metadata, '--metadata must be a JSON object, such as {"test":true}')),
      Options.optional
    ),
    json
  },
  (options) =>
    run(
      () => import("./test-session/TextConversation.ts"),
      (m) => m.chat(options)
    )
).pipe(Command.withDescription("Talk to an agent of a running server in text"))

import { Bootstrap, type BootstrapKey, type BootstrapResult } from "@svc/auth/Bootstrap"
import { Console, Context, Effect, Layer, Redacted } from "effect"

const line = (name: string, { generated, key }: BootstrapKey, variable: string): string =>
  `  ${name.padEnd(14)} ${generated ? Redacted.value(key) : `as given in ${variable}`}`

/** Printed on the first start. Generated keys are shown only here, because only their hashes are stored. */
const announcement = ({ keys, org, project }: Extract<BootstrapResult, { readonly created: true }>): string =>
  [
    "",
    `First start: made organization ${org.public_id} with project ${project.public_id}.`,
    "Its keys; note them now, they are not shown again:",
    "",
    line("project key", keys.project, "SVC_BOOTSTRAP_PROJECT_KEY"),
    line("org key", keys.org, "SVC_BOOTSTRAP_ORG_KEY"),
    line("workspace key", keys.workspace, "SVC_BOOTSTRAP_WORKSPACE_KEY"),
    ""
  ].join("\n")

/** Whether this start found an empty database, and what it created then. */
export class FirstStart extends Context.Tag("@svc/server/FirstStart")<FirstStart, BootstrapResult>() {
  /** Creates the first organization if there is none. Prints its keys at once, so that a later failure does not lose them. */
  static readonly layer: Layer.Layer<FirstStart, never, Bootstrap> = Layer.effect(
    FirstStart,
    Effect.gen(function* () {
      const result = yield* (yield* Bootstrap).run
      if (result.created && Object.values(result.keys).some(({ generated }) => generated)) {
        yield* Console.log(announcement(result))
      }
      return result
    })
  )
}

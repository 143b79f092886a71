import { ApiKeyNotFound } from "@svc/api/accounts/ApiKey"
import { OrganizationNotFound } from "@svc/api/accounts/Organization"
import { ProjectNotFound } from "@svc/api/VoiceError"
import { Effect } from "effect"

/** The ids that a command line has. */
interface Given {
  readonly org?: string
  readonly project?: string | undefined
  readonly key?: string
}

/** Errors of ids that lead to nothing say which id that is, and which command lists the right ones. */
export const namesWhatIsNotFound =
  ({ key, org, project }: Given) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.mapError(effect, (error) => {
      if (error instanceof OrganizationNotFound && org !== undefined) {
        return new OrganizationNotFound({ message: `organization not found: ${org}; svc org list shows all` })
      }
      if (error instanceof ProjectNotFound && project !== undefined) {
        const message = `project not found: ${project}; svc project list --org ${org} shows those of the organization`
        return new ProjectNotFound({ message })
      }
      if (error instanceof ApiKeyNotFound && key !== undefined) {
        const message = `API key not found, or revoked: ${key}; svc keys list --org <id> shows the ids of the keys, with --project <id> those of a project`
        return new ApiKeyNotFound({ message })
      }
      return error
    })

import * as Handlers from "@svc/api/Handlers"
import { CurrentPrincipal } from "@svc/api/Principal"
import { VoiceApi } from "@svc/api/VoiceApi"
import { Effect, type Layer } from "effect"
import { KeyManagement } from "./KeyManagement.ts"
import { createdOrgKey, createdWorkspaceKey, orgKey, workspaceKey } from "./KeyWire.ts"
import { Organizations } from "./Organizations.ts"

/** Handlers of `/v1/org`, its keys and its workspace's keys. */
export const OrganizationHttp: Layer.Layer<never, never, Organizations | KeyManagement | Handlers.HandlerRegistry> =
  Handlers.group(
    VoiceApi,
    "organization",
    Effect.gen(function* () {
      const organizations = yield* Organizations
      const management = yield* KeyManagement

      const orgHolder = Effect.map(CurrentPrincipal, ({ org }) => ({ kind: "org", org_id: org.id }) as const)
      const workspaceHolder = Effect.map(
        CurrentPrincipal,
        ({ org }) => ({ kind: "workspace", org_id: org.id }) as const
      )

      return {
        // Organizations are never deleted, so a missing row is a defect.
        get: () => Effect.flatMap(CurrentPrincipal, ({ org }) => Effect.orDie(organizations.info(org.id))),
        listKeys: ({ urlParams }) =>
          Effect.map(
            Effect.flatMap(orgHolder, (holder) => management.list(holder, urlParams)),
            (keys) => ({ api_keys: keys.map(orgKey), ...urlParams })
          ),
        createKey: ({ payload }) =>
          Effect.map(
            Effect.flatMap(orgHolder, (holder) => management.create(holder, payload.name)),
            createdOrgKey
          ),
        revokeKey: ({ path }) =>
          Effect.gen(function* () {
            const { key_id } = yield* CurrentPrincipal
            yield* management.revokeOther(yield* orgHolder, path.keyId, key_id)
          }),
        listWorkspaceKeys: ({ urlParams }) =>
          Effect.map(
            Effect.flatMap(workspaceHolder, (holder) => management.list(holder, urlParams)),
            (keys) => ({ workspace_keys: keys.map(workspaceKey), ...urlParams })
          ),
        createWorkspaceKey: ({ payload: { expires_at, name, scopes } }) =>
          Effect.map(
            Effect.flatMap(workspaceHolder, (holder) =>
              management.create(
                {
                  ...holder,
                  scopes: [...new Set(scopes)],
                  expires_at: expires_at === null ? null : new Date(expires_at)
                },
                name
              )
            ),
            createdWorkspaceKey
          ),
        revokeWorkspaceKey: ({ path }) =>
          Effect.flatMap(workspaceHolder, (holder) => management.revoke(holder, path.keyId))
      }
    })
  )

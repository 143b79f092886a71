import { randomUUID } from "node:crypto"
import type { CarrierRequestFailed } from "@svc/providers/CarrierApi"
import { Duration, Effect, Schedule } from "effect"
import type { TelnyxApi } from "./TelnyxApi.ts"

/** The commands of Call Control for one call. */
export interface Commands {
  /** `POST /calls/{call_control_id}/actions/{action}`. Repeated with the same `command_id`, so it is carried out once. */
  readonly command: (
    callControlId: string,
    action: string,
    body?: Readonly<Record<string, unknown>>
  ) => Effect.Effect<unknown, CarrierRequestFailed>
  /** Hangs up, and tries for a minute. A call that is over already needs no hang-up. Never fails. */
  readonly hangup: (callControlId: string) => Effect.Effect<void>
}

/** Ids of calls have a colon, which the path keeps. */
const segment = (id: string): string => encodeURIComponent(id).replaceAll("%3A", ":")

/** `onFailure` gets the reason of a hang-up that was given up. */
export const make = (api: TelnyxApi, onFailure: (callControlId: string, reason: string) => void): Commands => {
  const command: Commands["command"] = (callControlId, action, body = {}) =>
    Effect.suspend(() =>
      api.request({
        method: "POST",
        path: `/calls/${segment(callControlId)}/actions/${action}`,
        json: { command_id: randomUUID(), ...body },
        isRepeatable: true
      })
    )
  return {
    command,
    hangup: (callControlId) =>
      command(callControlId, "hangup").pipe(
        Effect.retry({
          while: ({ outcome }) => outcome !== "refused",
          schedule: Schedule.spaced(Duration.seconds(5)).pipe(Schedule.intersect(Schedule.recurs(6)))
        }),
        Effect.catchAll(({ outcome, reason }) =>
          Effect.sync(() => {
            if (outcome !== "refused") onFailure(callControlId, reason)
          })
        ),
        Effect.asVoid
      )
  }
}

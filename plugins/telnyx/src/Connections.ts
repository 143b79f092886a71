import { Effect } from "effect"
import { listOf, type TelnyxApi } from "./TelnyxApi.ts"

/** Numbers whose application is remembered. */
const mostRemembered = 10_000

const text = (value: unknown): string | undefined => (typeof value === "string" && value !== "" ? value : undefined)

const idOf = (application: unknown): string | undefined => text(Object(application).id)

/** The Call Control applications of the account, which Telnyx also calls connections. */
export interface Connections {
  /**
   * The application for calls from a number: that of the setting, of the number, the one with our webhook, or the only one
   * of the account.
   */
  readonly of: (number: string) => Effect.Effect<string | undefined>
  /** The one for numbers that are bought. */
  readonly own: Effect.Effect<string | undefined>
}

export const make = (options: {
  readonly api: TelnyxApi
  /** Of the setting. */
  readonly fixed: string | undefined
  readonly webhookUrl: string
}): Connections => {
  const { api, fixed, webhookUrl } = options
  const known = new Map<string, string>()
  let found: string | undefined
  /** The application of an account that has one, at the last look. */
  let only: string | undefined

  const withWebhook = api
    .request({ method: "GET", path: "/call_control_applications", query: { "page[size]": "250" } })
    .pipe(
      Effect.map((body) => {
        const applications = listOf(body) ?? []
        found = idOf(applications.find((one) => Object(one).webhook_event_url === webhookUrl))
        only = applications.length === 1 ? idOf(applications[0]) : undefined
        return found
      }),
      Effect.tap((id) =>
        id === undefined
          ? Effect.logWarning(
              `No Call Control application of the account has the webhook ${webhookUrl}: calls to its numbers do not come here. Set it in Mission Control, with API version 2`
            )
          : Effect.void
      ),
      Effect.catchAll(({ reason }) =>
        Effect.as(Effect.logWarning(`The Call Control applications cannot be listed: ${reason}`), undefined)
      )
    )
  const own = Effect.suspend(() => {
    const id = fixed ?? found
    return id === undefined ? withWebhook : Effect.succeed(id)
  })

  const ofNumber = (number: string) =>
    api.request({ method: "GET", path: "/phone_numbers", query: { "filter[phone_number]": number } }).pipe(
      Effect.map((body) => {
        const entry = listOf(body)?.find((one) => Object(one).phone_number === number)
        const id = text(Object(entry).connection_id)
        if (id !== undefined) {
          if (known.size >= mostRemembered) known.clear()
          known.set(number, id)
        }
        return id
      }),
      Effect.orElseSucceed(() => undefined)
    )

  return {
    own,
    of: (number) =>
      Effect.suspend(() => {
        const id = fixed ?? known.get(number)
        if (id !== undefined) return Effect.succeed(id)
        return Effect.flatMap(ofNumber(number), (ofIt) =>
          ofIt === undefined ? Effect.map(own, (ours) => ours ?? only) : Effect.succeed(ofIt)
        )
      })
  }
}

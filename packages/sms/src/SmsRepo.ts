import { SqlClient, SqlSchema } from "@effect/sql"
import type { AgentId, CallId } from "@svc/api/Ids"
import { SmsMessage } from "@svc/api/sms/SmsMessage"
import { Context, Effect, Layer, type Option, Schema } from "effect"

/** A message to send. */
export interface NewSms {
  readonly public_id: string
  readonly org_id: number
  readonly project_id: number
  readonly agent_id: number | null
  readonly agent_public_id: AgentId | null
  readonly call_id: CallId | null
  /** Unique: there is one message per reference. */
  readonly reference: string
  readonly to_number: string
  readonly from_number: string | null
  readonly sender_name: string | null
  readonly sender_type: "number" | "alphanumeric"
  readonly message: string
  readonly segments: number
  readonly telephony: string
}

/** The result of sending a message. */
export interface SmsOutcome {
  readonly status: "sent" | "failed"
  /** Why it failed. */
  readonly error: string | null
  readonly provider_message_id: string | null
  /** EUR as decimal text; null when it failed. */
  readonly cost_eur: string | null
}

const { message_id, status, to, ...sharedFields } = SmsMessage.fields

/** A row of `sms_messages`, the columns that are read. */
const SmsRow = Schema.Struct({
  ...sharedFields,
  public_id: message_id,
  to_number: to,
  status: Schema.Literal("sending", ...status.literals),
  error: Schema.NullOr(Schema.String),
  cost_eur: Schema.NullOr(Schema.NumberFromString)
})
export type SmsRow = typeof SmsRow.Type

/** Table `sms_messages`. */
export class SmsRepo extends Context.Tag("@svc/sms/SmsRepo")<
  SmsRepo,
  {
    /** Inserts a message as being sent. False when its reference was used before: do not send it then. */
    readonly begin: (sms: NewSms) => Effect.Effect<boolean>
    /** Writes the outcome. False when the message already has one. */
    readonly finish: (publicId: string, outcome: SmsOutcome) => Effect.Effect<boolean>
    readonly find: (reference: string) => Effect.Effect<Option.Option<SmsRow>>
  }
>() {
  static readonly layer: Layer.Layer<SmsRepo, never, SqlClient.SqlClient> = Layer.effect(
    SmsRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = sql.literal(Object.keys(SmsRow.fields).join(", "))
      const find = SqlSchema.findOne({
        Request: Schema.String,
        Result: SmsRow,
        execute: (reference) => sql`select ${columns} from sms_messages where reference = ${reference}`
      })
      const isOne = (rows: ReadonlyArray<unknown>) => rows.length === 1
      return {
        begin: (sms) =>
          sql`
            insert into sms_messages ${sql.insert({ ...sms })} on conflict (reference) do nothing returning id`.pipe(
            Effect.map(isOne),
            Effect.orDie
          ),
        finish: (publicId, { cost_eur, error, provider_message_id, status }) =>
          sql`
            update sms_messages set status = ${status}, error = ${error}, provider_message_id = ${provider_message_id},
              cost_eur = ${cost_eur}::numeric, finished_at = now()
            where public_id = ${publicId} and status = 'sending' returning id`.pipe(Effect.map(isOne), Effect.orDie),
        find: (reference) => Effect.orDie(find(reference))
      }
    })
  )
}

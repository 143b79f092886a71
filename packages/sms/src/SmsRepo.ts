import { SqlClient, SqlSchema, type Statement } from "@effect/sql"
import { AgentId, CallId } from "@svc/api/Ids"
import { SmsMessage } from "@svc/api/sms/SmsMessage"
import { Context, Effect, Layer, type Option, Schema } from "effect"

/** A message to send. */
const NewSms = Schema.Struct({
  public_id: Schema.String,
  org_id: Schema.Number,
  project_id: Schema.Number,
  agent_id: Schema.NullOr(Schema.Number),
  agent_public_id: Schema.NullOr(AgentId),
  call_id: Schema.NullOr(CallId),
  /** The other end of the call. */
  caller_number: Schema.NullOr(Schema.String),
  /** Unique: there is one message per reference. */
  reference: Schema.String,
  to_number: Schema.String,
  from_number: Schema.NullOr(Schema.String),
  sender_name: Schema.NullOr(Schema.String),
  sender_type: SmsMessage.fields.sender_type,
  message: Schema.String,
  segments: Schema.Number,
  /** The project's number, and the plugin that carries it. */
  number: Schema.String,
  telephony: Schema.String,
  /** EUR as decimal text: what it costs if it is sent. */
  price_eur: Schema.String,
  /** The lease under which it is sent. */
  node: Schema.String
})
export type NewSms = typeof NewSms.Type

/** A message of a dead node. Rows of earlier versions lack the number and the price. */
const LostSms = Schema.Struct({
  ...NewSms.fields,
  number: Schema.NullOr(Schema.String),
  price_eur: Schema.NullOr(Schema.String),
  /** With this one. */
  takeovers: Schema.Number,
  created_at: Schema.DateFromSelf
})
export type LostSms = typeof LostSms.Type

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

/** The registration under which nodes settle the leases of dead nodes on messages; see NodeLease.onDeath. */
export const leases = "sms.messages"
/** The number of messages that are claimed at once. */
const claimed = 20

/** Table `sms_messages`. */
export class SmsRepo extends Context.Tag("@svc/sms/SmsRepo")<
  SmsRepo,
  {
    /** Inserts a message as being sent. False when its reference was used before: do not send it then. */
    readonly begin: (sms: NewSms) => Effect.Effect<boolean>
    /** Writes the outcome. False when the message already has one, or with `node`: does not belong to it any more. */
    readonly finish: (publicId: string, outcome: SmsOutcome, node?: string) => Effect.Effect<boolean>
    readonly find: (reference: string) => Effect.Effect<Option.Option<SmsRow>>
    /** Messages that are being sent, by any node, and for how long the oldest one has been. */
    readonly backlog: Effect.Effect<{ readonly pending: number; readonly oldest_seconds: number }>
    /**
     * Whether there may be messages that {@link claimLost} claims: those of dead nodes, or that have been sent for a
     * minute. An expression for DueCheck.
     */
    readonly mayHaveLost: Statement.Fragment
    /**
     * Gives messages of dead nodes to this one. Also its own that are not in `held`, of whose insert it had no answer.
     */
    readonly claimLost: (node: string, held: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<LostSms>>
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
      const lostColumns = sql.literal(Object.keys(LostSms.fields).join(", "))
      const decodeLost = Schema.decodeUnknown(Schema.Array(LostSms))
      const isOne = (rows: ReadonlyArray<unknown>) => rows.length === 1
      /** A minute is more than a node needs to begin a message, and than an earlier version waits for the network. */
      const isOld = sql`m.created_at < now() - interval '1 minute'`
      const isOfDeadNode = sql`not exists (
        select 1 from nodes n where n.id = m.node and not ${leases} = any(n.settled)
      )`
      return {
        mayHaveLost: sql`exists (
          select from sms_messages m
          where m.status = 'sending' and (${isOld} or (m.node is not null and ${isOfDeadNode}))
        )`,
        begin: (sms) =>
          sql`
            insert into sms_messages ${sql.insert({ ...sms })} on conflict (reference) do nothing returning id`.pipe(
            Effect.map(isOne),
            Effect.orDie
          ),
        finish: (publicId, { cost_eur, error, provider_message_id, status }, node) =>
          sql`
            update sms_messages set status = ${status}, error = ${error}, provider_message_id = ${provider_message_id},
              cost_eur = ${cost_eur}::numeric, finished_at = now()
            where public_id = ${publicId} and status = 'sending' and ${node === undefined ? sql`true` : sql`node = ${node}`}
            returning id`.pipe(Effect.map(isOne), Effect.orDie),
        find: (reference) => Effect.orDie(find(reference)),
        backlog: sql<{ readonly pending: number; readonly oldest_seconds: number }>`
          select count(*)::int as pending,
            greatest(0, coalesce(extract(epoch from now() - min(created_at)), 0))::float8 as oldest_seconds
          from sms_messages where status = 'sending'`.pipe(
          Effect.map(([backlog = { pending: 0, oldest_seconds: 0 }]) => backlog),
          Effect.orDie
        ),
        claimLost: (node, held) =>
          sql`
            update sms_messages set node = ${node}, takeovers = takeovers + 1
            where id in (
              select m.id from sms_messages m
              where m.status = 'sending' and m.public_id <> all(${held}::text[]) and case
                when m.node is null or m.node = ${node} then ${isOld}
                else ${isOfDeadNode}
              end
              order by m.id limit ${claimed} for update skip locked
            )
            returning ${lostColumns}`.pipe(Effect.flatMap(decodeLost), Effect.orDie)
      }
    })
  )
}

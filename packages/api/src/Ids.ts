import { Effect, Schema } from "effect"

/**
 * Identifiers. Public ids are a prefix and 24 characters of `[0-9a-z]` from a cryptographic source;
 * numeric ids are database identities. A malformed id gets the same
 * 404 as an unknown one, so paths decode with {@link AnyId} and the service looks it up.
 */
const alphabet = "0123456789abcdefghijklmnopqrstuvwxyz"

const publicId = <const Prefix extends string, const Brand extends string>(prefix: Prefix, brand: Brand) =>
  Schema.String.pipe(
    Schema.pattern(new RegExp(`^${prefix}_[0-9a-z]{24}$`), { examples: [`${prefix}_${alphabet.slice(0, 24)}`] }),
    Schema.brand(brand),
    Schema.annotations({ identifier: brand, description: `Public id, ${prefix}_ and 24 characters of [0-9a-z]` })
  )

/** An agent's public id, `agent_…`. */
export const AgentId = publicId("agent", "AgentId")
export type AgentId = typeof AgentId.Type

/** A call's public id, `call_…`. */
export const CallId = publicId("call", "CallId")
export type CallId = typeof CallId.Type

/** A test session's public id, `ts_…`. It takes the place of the call's id in the session's conversation. */
export const TestSessionId = Schema.String.pipe(
  Schema.pattern(/^ts_[0-9a-z]{24}$/, { examples: [`ts_${alphabet.slice(0, 24)}`] }),
  Schema.brand("CallId"),
  Schema.brand("TestSessionId"),
  Schema.annotations({ identifier: "TestSessionId", description: "Public id, ts_ and 24 characters of [0-9a-z]" })
)
export type TestSessionId = typeof TestSessionId.Type

/** A project's public id, `proj_…`. */
export const ProjectId = publicId("proj", "ProjectId")
export type ProjectId = typeof ProjectId.Type

/** A knowledge base's public id, `kb_…`. */
export const KnowledgeBaseId = publicId("kb", "KnowledgeBaseId")
export type KnowledgeBaseId = typeof KnowledgeBaseId.Type

/** An organization's public id, `org_…`. */
export const OrgId = publicId("org", "OrgId")
export type OrgId = typeof OrgId.Type

/** An event's id, `whe_…`; the same on every delivery of the event. */
export const EventId = publicId("whe", "EventId")
export type EventId = typeof EventId.Type

/** A booking customer's public id, `bcus_…`. */
export const BookingCustomerId = publicId("bcus", "BookingCustomerId")
export type BookingCustomerId = typeof BookingCustomerId.Type

/** Random bytes, generated many at a time: a call of getRandomValues costs as much as a few thousand bytes. */
const randomBytes = new Uint8Array(2048)
let next = randomBytes.length

const randomByte = (): number => {
  if (next === randomBytes.length) {
    crypto.getRandomValues(randomBytes)
    next = 0
  }
  return randomBytes[next++] ?? 255
}

/** 24 characters of `[0-9a-z]`, each from an unbiased cryptographic draw. */
const randomPart = (): string => {
  let out = ""
  while (out.length < 24) {
    const byte = randomByte()
    if (byte < 252) out += alphabet[byte % 36]
  }
  return out
}

/** A new public id of the given kind, e.g. `yield* generate(AgentId, "agent")`. */
export const generate = <A extends string>(schema: Schema.Schema<A, string>, prefix: string): Effect.Effect<A> => {
  const make = Schema.decodeSync(schema)
  return Effect.sync(() => make(`${prefix}_${randomPart()}`))
}

export const newAgentId: Effect.Effect<AgentId> = generate(AgentId, "agent")
export const newCallId: Effect.Effect<CallId> = generate(CallId, "call")
export const newTestSessionId: Effect.Effect<TestSessionId> = generate(TestSessionId, "ts")
export const newProjectId: Effect.Effect<ProjectId> = generate(ProjectId, "proj")
export const newKnowledgeBaseId: Effect.Effect<KnowledgeBaseId> = generate(KnowledgeBaseId, "kb")
export const newOrgId: Effect.Effect<OrgId> = generate(OrgId, "org")
export const newBookingCustomerId: Effect.Effect<BookingCustomerId> = generate(BookingCustomerId, "bcus")
/** The id of a chat completion, `chatcmpl-…`, with the dash of OpenAI's ids. */
export const newChatCompletionId: Effect.Effect<string> = Effect.sync(() => `chatcmpl-${randomPart()}`)
export const newEventId: Effect.Effect<EventId> = generate(EventId, "whe")
/** New ids of `count` events, in one operation: the writer of live calls needs hundreds a second. */
export const newEventIds = (count: number): Effect.Effect<ReadonlyArray<EventId>> =>
  Effect.sync(() =>
    Array.from({ length: count }, () => EventId.make(`whe_${randomPart()}`, { disableValidation: true }))
  )

/** A path parameter that names a row by its public or its numeric id. The service finds out which. */
export const AnyId = Schema.String.annotations({ description: "Public id or numeric id" })

/** Reads a path or query id: the numeric id, the public id, or neither (which no row has). */
export const parseId = <A extends string>(
  schema: Schema.Schema<A, string>
): ((id: string) => { readonly numeric: number } | { readonly public: A } | undefined) => {
  const isPublic = Schema.is(schema)
  return (id) => {
    if (isPublic(id)) return { public: id }
    if (/^[1-9][0-9]{0,14}$/.test(id)) return { numeric: Number(id) }
    return undefined
  }
}

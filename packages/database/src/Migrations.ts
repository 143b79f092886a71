import { SqlClient, type SqlError } from "@effect/sql"
import { Data, Effect } from "effect"
import outbox from "./migrations/0001_outbox.ts"
import nodes from "./migrations/0002_nodes.ts"
import accounts from "./migrations/0003_accounts.ts"
import agents from "./migrations/0004_agents.ts"
import numbers from "./migrations/0005_numbers.ts"
import calls from "./migrations/0006_calls.ts"
import accountLists from "./migrations/0007_account_lists.ts"
import billing from "./migrations/0008_billing.ts"
import limits from "./migrations/0009_limits.ts"
import callLists from "./migrations/0010_call_lists.ts"
import cron from "./migrations/0011_cron.ts"
import bookings from "./migrations/0012_bookings.ts"
import webhooks from "./migrations/0013_webhooks.ts"
import knowledgeBases from "./migrations/0014_knowledge_bases.ts"
import agentConfiguration from "./migrations/0015_agent_configuration.ts"
import liveCalls from "./migrations/0016_live_calls.ts"
import debugTokens from "./migrations/0017_debug_tokens.ts"
import recordings from "./migrations/0018_recordings.ts"
import callbackExchanges from "./migrations/0019_callback_exchanges.ts"
import webhookDeliveries from "./migrations/0020_webhook_deliveries.ts"
import sms from "./migrations/0021_sms.ts"
import directDeliveries from "./migrations/0022_direct_deliveries.ts"
import liveProjects from "./migrations/0023_live_projects.ts"
import holds from "./migrations/0024_holds.ts"
import deliveryOwners from "./migrations/0025_delivery_owners.ts"
import debugLinks from "./migrations/0026_debug_links.ts"
import addresses from "./migrations/0027_addresses.ts"
import webhookIds from "./migrations/0028_webhook_ids.ts"
import smsOwners from "./migrations/0029_sms_owners.ts"
import numberOrders from "./migrations/0030_number_orders.ts"
import testSessions from "./migrations/0031_test_sessions.ts"
import knowledgePassages from "./migrations/0032_knowledge_passages.ts"
import chatSlots from "./migrations/0033_chat_slots.ts"
import knowledgeIndex from "./migrations/0034_knowledge_index.ts"
import erasedAddresses from "./migrations/0035_erased_addresses.ts"
import knowledgeRefreshes from "./migrations/0036_knowledge_refreshes.ts"
import callFailures from "./migrations/0037_call_failures.ts"
import knowledgeIndexRows from "./migrations/0038_knowledge_index_rows.ts"
import knowledgeVectors from "./migrations/0039_knowledge_vectors.ts"
import callUsage from "./migrations/0040_call_usage.ts"
import callLinks from "./migrations/0041_call_links.ts"
import outboundCountries from "./migrations/0042_outbound_countries.ts"
import agentNameSearch from "./migrations/0043_agent_name_search.ts"

/** One step of the schema, in its own file under `migrations/`. */
type Migration = Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient>

/**
 * All migrations in the order in which they run, one per file of the folder `migrations`. A released migration is never
 * changed; a later one corrects it.
 */
export const migrations: Readonly<Record<string, Migration>> = {
  "0001_outbox": outbox,
  "0002_nodes": nodes,
  "0003_accounts": accounts,
  "0004_agents": agents,
  "0005_numbers": numbers,
  "0006_calls": calls,
  "0007_account_lists": accountLists,
  "0008_billing": billing,
  "0009_limits": limits,
  "0010_call_lists": callLists,
  "0011_cron": cron,
  "0012_bookings": bookings,
  "0013_webhooks": webhooks,
  "0014_knowledge_bases": knowledgeBases,
  "0015_agent_configuration": agentConfiguration,
  "0016_live_calls": liveCalls,
  "0017_debug_tokens": debugTokens,
  "0018_recordings": recordings,
  "0019_callback_exchanges": callbackExchanges,
  "0020_webhook_deliveries": webhookDeliveries,
  "0021_sms": sms,
  "0022_direct_deliveries": directDeliveries,
  "0023_live_projects": liveProjects,
  "0024_holds": holds,
  "0025_delivery_owners": deliveryOwners,
  "0026_debug_links": debugLinks,
  "0027_addresses": addresses,
  "0028_webhook_ids": webhookIds,
  "0029_sms_owners": smsOwners,
  "0030_number_orders": numberOrders,
  "0031_test_sessions": testSessions,
  "0032_knowledge_passages": knowledgePassages,
  "0033_chat_slots": chatSlots,
  "0034_knowledge_index": knowledgeIndex,
  "0035_erased_addresses": erasedAddresses,
  "0036_knowledge_refreshes": knowledgeRefreshes,
  "0037_call_failures": callFailures,
  "0038_knowledge_index_rows": knowledgeIndexRows,
  "0039_knowledge_vectors": knowledgeVectors,
  "0040_call_usage": callUsage,
  "0041_call_links": callLinks,
  "0042_outbound_countries": outboundCountries,
  "0043_agent_name_search": agentNameSearch
}

/** A migration failed; the whole run was rolled back. */
export class MigrationFailed extends Data.TaggedError("MigrationFailed")<{
  readonly name: string
  readonly message: string
  readonly cause: unknown
}> {}

/** Id of the advisory lock; no other lock uses it. */
const lock = 5_782_001

/**
 * Runs the missing migrations in one transaction, and returns their names. Servers that start at once wait for each other
 * on a lock.
 *
 * The migrator of @effect/sql is not used: it compares only the newest id, so a migration that is merged after one with
 * a higher number never runs, and two concurrent first starts fail on its table.
 */
export const run: Effect.Effect<
  ReadonlyArray<string>,
  MigrationFailed | SqlError.SqlError,
  SqlClient.SqlClient
> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`select pg_advisory_xact_lock(${lock})`
  yield* sql`
      create table if not exists migrations (
        name text primary key,
        applied_at timestamptz not null default now()
      )`
  const rows = yield* sql<{ readonly name: string }>`select name from migrations`
  const applied = new Set(rows.map((row) => row.name))
  const unknown = [...applied].filter((name) => !(name in migrations))
  if (unknown.length > 0) {
    yield* Effect.logWarning(`The database has migrations of a newer release: ${unknown.sort().join(", ")}`)
  }
  const missing = Object.entries(migrations).filter(([name]) => !applied.has(name))
  for (const [name, migration] of missing) {
    yield* Effect.mapError(
      migration,
      (cause) => new MigrationFailed({ name, message: `Migration ${name} failed: ${cause.message}`, cause })
    )
    yield* sql`insert into migrations (name) values (${name})`
  }
  return missing.map(([name]) => name)
}).pipe((all) => Effect.flatMap(SqlClient.SqlClient, (sql) => sql.withTransaction(all)))

import type { Repository, WorkspaceFile } from "./Repository.ts"
import type { Violation } from "./Violation.ts"

/** The package that owns each table. Only its owner reads and writes a table; others use the owner's service. */
export type Owners = Readonly<Record<string, string>>

/** A file, or a folder ending in `/`, that may use tables of other packages, and why. */
export interface TableException {
  readonly path: string
  readonly tables: ReadonlyArray<string>
  readonly reason: string
}

export const owners: Owners = {
  migrations: "packages/database",
  events: "packages/database",
  nodes: "packages/cluster",
  cron_jobs: "packages/cluster",
  organizations: "packages/auth",
  projects: "packages/auth",
  api_keys: "packages/auth",
  auth_failures: "packages/auth",
  request_counts: "packages/auth",
  balances: "packages/billing",
  ledger_entries: "packages/billing",
  call_holds: "packages/billing",
  usage_days: "packages/billing",
  webhooks: "packages/webhooks",
  webhook_deliveries: "packages/webhooks",
  webhook_attempts: "packages/webhooks",
  webhook_dead_letters: "packages/webhooks",
  agents: "packages/agents",
  agent_audit_log: "packages/agents",
  agent_knowledge_bases: "packages/agents",
  knowledge_bases: "packages/knowledge",
  knowledge_passages: "packages/knowledge",
  knowledge_indexes: "packages/knowledge",
  knowledge_models: "packages/knowledge",
  knowledge_embeddings: "packages/knowledge",
  knowledge_vectors: "packages/knowledge",
  phone_numbers: "packages/numbers",
  addresses: "packages/numbers",
  number_orders: "packages/numbers",
  sms_messages: "packages/sms",
  calls: "packages/call-engine",
  call_journal: "packages/call-engine",
  callback_exchanges: "packages/call-engine",
  debug_links: "packages/call-engine",
  call_links: "packages/call-engine",
  recordings: "packages/call-engine",
  signing_secrets: "packages/call-engine",
  test_sessions: "packages/call-engine",
  test_session_journal: "packages/call-engine",
  chat_slots: "packages/chat",
  booking_customers: "packages/bookings",
  idempotency_keys: "packages/bookings",
  idempotency_key_counts: "packages/bookings"
}

/** A new exception needs a reason that a reviewer accepts. One that is no longer used is reported. */
export const exceptions: ReadonlyArray<TableException> = [
  {
    path: "packages/webhooks/src/delivery/DeliveryFanOut.ts",
    tables: ["events"],
    reason: "its query for events to retain is part of the statement in which the outbox removes the others"
  },
  {
    path: "packages/webhooks/src/delivery/ClaimStatement.ts",
    tables: ["events", "nodes"],
    reason:
      "a claim returns requests ready to send, and takes over from dead nodes, in one statement per batch: the measured " +
      "throughput rests on 0.034 statements per delivery (docs/decisions/0007-deliveries-table.md)"
  },
  {
    path: "packages/webhooks/src/DeliveriesRepo.ts",
    tables: ["events"],
    reason: "a delivery refers to its event: lists, resend and replay join it, in one statement with what they change"
  },
  {
    path: "packages/call-engine/src/record/LiveCallBatch.ts",
    tables: ["nodes"],
    reason:
      "share-locks the rows of the nodes that have these calls, so that recovery of a dead node waits for the flush"
  },
  {
    path: "packages/sms/src/SmsRepo.ts",
    tables: ["nodes"],
    reason: "a claim takes over the messages of dead nodes, also those that were stored after the node was settled"
  },
  {
    path: "packages/call-engine/src/testing/SeedCalls.ts",
    tables: ["usage_days"],
    reason: "fills a test database with many calls and their usage, at once"
  },
  {
    path: "packages/database/src/SecretRotation.ts",
    tables: ["webhooks", "agents", "signing_secrets"],
    reason:
      "checks and re-encrypts the secrets of all packages by one mechanism; it reads and writes nothing else there"
  },
  {
    path: "packages/agents/src/KnowledgeBasesRepo.ts",
    tables: ["knowledge_bases"],
    reason: "finds and share-locks the bases that an agent is linked to, in the transaction that links them"
  },
  {
    path: "packages/agents/src/AgentsRepo.ts",
    tables: ["knowledge_bases"],
    reason: "a link refers to its base: lists of agents join it for its public id"
  },
  {
    path: "packages/knowledge/src/search/SearchRepo.ts",
    tables: ["agent_knowledge_bases"],
    reason: "a caller waits for the search: it finds the bases of the agent in the statement that reads the question"
  },
  {
    path: "packages/bookings/src/CustomersRepo.ts",
    tables: ["organizations"],
    reason:
      "locks the organization's row, so that concurrent requests cannot pass the limit on customers; reads nothing"
  }
]

const rule = "tables"

const sqlWord = "[a-z_][a-z0-9_]*"
const tableClause = new RegExp(
  `\\b(?:from|join|into|update|using|table|analyze|truncate)\\s+((?:only\\s+)?(?:${sqlWord}(?:\\s+(?:as\\s+)?${sqlWord})?\\s*,\\s*)*${sqlWord})(?![.\\w])`,
  "gi"
)
const withClause = new RegExp(
  `(?:\\bwith(?:\\s+recursive)?|,)\\s*(${sqlWord})\\s*(?:\\([^()]*\\)\\s*)?as\\s+(?:not\\s+)?(?:materialized\\s*)?\\(`,
  "gi"
)
const createOrDrop = new RegExp(
  `\\b(create|drop)\\s+(?:unlogged\\s+)?table\\s+(?:if\\s+(?:not\\s+)?exists\\s+)?(${sqlWord})`,
  "gi"
)

interface TableUse {
  readonly table: string
  readonly line: number
}

const lineAt = (text: string, index: number, first: number) => first + text.slice(0, index).split("\n").length - 1

const withoutComments = (text: string) => text.replace(/--.*/g, "")

/**
 * The names that stand in a file's SQL where a table does, without those of its common table expressions. Aliases are
 * among them: the rule looks only at names of tables. Names in `sql.literal` and other strings are not seen.
 */
const usesOf = (file: WorkspaceFile): ReadonlyArray<TableUse> =>
  file.sql.flatMap((template) => {
    const text = withoutComments(template.text)
    const expressions = new Set([...text.matchAll(withClause)].map((match) => match[1]?.toLowerCase()))
    return [...text.matchAll(tableClause)].flatMap((match) =>
      (match[1] ?? "").split(",").flatMap((entry) => {
        const table =
          entry
            .replace(/^\s*only\s+/i, "")
            .trim()
            .split(/\s+/)[0]
            ?.toLowerCase() ?? ""
        return expressions.has(table) ? [] : [{ table, line: lineAt(text, match.index, template.line) }]
      })
    )
  })

const isMigration = (path: string) => /\/migrations\/\d{4}_[^/]+\.ts$/.test(path)

const sources = (repository: Repository) =>
  repository.workspaces
    .filter(({ folder }) => folder !== "test")
    .flatMap(({ files, folder }) => files.filter(({ area }) => area === "source").map((file) => ({ file, folder })))

/** The tables that migrations create and do not drop, with the place of each. */
const existing = (repository: Repository): ReadonlyMap<string, { readonly file: string; readonly line: number }> => {
  const found = new Map<string, { readonly file: string; readonly line: number }>()
  for (const { file } of sources(repository).toSorted((a, b) => a.file.path.localeCompare(b.file.path))) {
    for (const template of file.sql) {
      const text = withoutComments(template.text)
      for (const [, verb, table = ""] of text.matchAll(createOrDrop)) {
        if (verb?.toLowerCase() === "drop") found.delete(table)
        else found.set(table, { file: file.path, line: lineAt(text, text.indexOf(table), template.line) })
      }
    }
  }
  return found
}

const covers = (exception: TableException, path: string) =>
  exception.path.endsWith("/") ? path.startsWith(exception.path) : path === exception.path

/** Every table has an owner, and only its owner's SQL names it. Migrations, which create them all, are left out. */
export const tables =
  (ownedBy: Owners = owners, allowed: ReadonlyArray<TableException> = exceptions) =>
  (repository: Repository): ReadonlyArray<Violation> => {
    const tree = existing(repository)
    const folders = new Set(repository.workspaces.map(({ folder }) => folder))
    const used = new Set<string>()

    const foreign = sources(repository)
      .filter(({ file }) => !isMigration(file.path))
      .flatMap(({ file, folder }) =>
        usesOf(file).flatMap(({ line, table }): ReadonlyArray<Violation> => {
          const owner = Object.hasOwn(ownedBy, table) ? ownedBy[table] : undefined
          if (owner === undefined || owner === folder) return []
          const exception = allowed.find((entry) => entry.tables.includes(table) && covers(entry, file.path))
          if (exception === undefined) {
            return [
              { file: file.path, line, rule, message: `${table} belongs to ${owner}: use a service of that package` }
            ]
          }
          used.add(`${exception.path} ${table}`)
          return []
        })
      )
    const unowned = [...tree]
      .filter(([table]) => !Object.hasOwn(ownedBy, table))
      .map(([table, place]) => ({ ...place, rule, message: `${table} has no owner: add it to the list of owners` }))
    const gone = Object.entries(ownedBy)
      .filter(([table, owner]) => !tree.has(table) || !folders.has(owner))
      .map(([table, owner]) => {
        const what = tree.has(table) ? `its owner ${owner} is no package` : "no migration creates it"
        return { file: "test/src/architecture/Tables.ts", line: 1, rule, message: `${table}: ${what}` }
      })
    const stale = allowed.flatMap(({ path, tables }) =>
      tables
        .filter((table) => !used.has(`${path} ${table}`))
        .map((table) => ({ file: path, line: 1, rule, message: `does not use ${table}: remove the exception` }))
    )
    return [...foreign, ...unowned, ...gone, ...stale]
  }

import { packageOf, type Repository, resolveFrom, type Workspace, type WorkspaceFile } from "./Repository.ts"
import type { Import } from "./SourceFile.ts"
import type { Violation } from "./Violation.ts"

/**
 * What a package may import from other workspaces: whole packages, service files of packages, types of packages, and
 * single modules.
 */
interface Permission {
  readonly packages: ReadonlyArray<string> | "everything"
  readonly services?: ReadonlyArray<string>
  readonly types?: ReadonlyArray<string>
  readonly modules?: ReadonlyArray<string>
  /** Packages that only its tests may import. */
  readonly tests?: ReadonlyArray<string>
}

const foundation = ["api", "providers", "database", "cluster", "urls"]

// An agent's webhook is a managed subscription; no other slice needs `webhooks`, events go through the outbox. Tests
// that compose the agents slice also compose its subscriptions.
const table: Readonly<Record<string, Permission>> = {
  "packages/api": { packages: [] },
  "packages/providers": { packages: [] },
  // What a plugin author needs as well stays in providers: the audio formats and G.711.
  "packages/audio": { packages: [], types: ["providers"], modules: ["@svc/providers/Audio", "@svc/providers/G711"] },
  "packages/conversation": { packages: ["api"], types: ["providers"] },
  "packages/matching": { packages: ["api"] },
  "packages/plugin-host": { packages: ["providers"] },
  "packages/database": { packages: ["api"] },
  "packages/cluster": { packages: ["api", "database"] },
  "packages/urls": { packages: ["api"], tests: ["providers"] },
  "packages/auth": { packages: foundation },
  "packages/billing": { packages: foundation, services: ["auth"] },
  "packages/webhooks": { packages: foundation, services: ["auth", "billing"] },
  "packages/agents": { packages: foundation, services: ["auth", "billing", "webhooks"] },
  "packages/knowledge": { packages: foundation, services: ["auth", "billing", "agents"], tests: ["webhooks"] },
  "packages/numbers": { packages: foundation, services: ["auth", "billing", "agents"], tests: ["webhooks"] },
  "packages/sms": { packages: foundation, services: ["auth", "billing", "agents", "numbers"], tests: ["webhooks"] },
  "packages/call-engine": {
    packages: [...foundation, "conversation", "audio", "plugin-host"],
    services: ["auth", "billing", "agents", "knowledge", "numbers", "sms"],
    tests: ["webhooks"]
  },
  "packages/chat": { packages: ["api", "providers", "database", "cluster"], services: ["auth"] },
  "packages/bookings": { packages: ["api", "database", "cluster"], services: ["auth", "billing"] },
  "plugins/*": { packages: ["providers"], tests: ["plugin-host"] },
  "simulator/src/demo": { packages: ["api", "providers", "server"] },
  simulator: { packages: ["api", "providers"] },
  "apps/server": { packages: "everything" },
  test: { packages: "everything" }
}

const permissionOf = (workspace: Workspace, file: WorkspaceFile): Permission | undefined =>
  workspace.folder === "simulator" && file.path.startsWith("simulator/src/demo/")
    ? table["simulator/src/demo"]
    : (table[workspace.folder] ?? table[workspace.folder.replace(/\/[^/]+$/, "/*")])

const isService = (specifier: string) => !/(Repo|Http|Slice|Workers?)$/.test(specifier)

const describe = ({ packages, services = [], types = [], modules = [] }: Permission) => {
  const whole = packages === "everything" ? ["everything"] : packages
  const parts = [
    ...whole,
    ...(services.length === 0 ? [] : [`service files of ${services.join(", ")}`]),
    ...(types.length === 0 ? [] : [`types of ${types.join(", ")}`]),
    ...modules
  ]
  return parts.length === 0 ? "nothing of ours" : parts.join(", ")
}

/** The table as docs/architecture.md shows it: workspace, and what it may import. */
export const importRows: ReadonlyArray<readonly [workspace: string, mayImport: string]> = Object.entries(table).map(
  ([workspace, permission]) => [workspace, describe(permission)]
)

/** Checks every import of one workspace by another against the table. */
export const importTable = (repository: Repository): ReadonlyArray<Violation> => {
  const folders = new Map(repository.workspaces.map((workspace) => [workspace.manifest.name, workspace.folder]))
  return repository.workspaces.flatMap((workspace) =>
    workspace.files.flatMap((file) =>
      file.imports.flatMap((found) => {
        const message = violationMessage(workspace, file, found, folders)
        return message === undefined ? [] : [{ file: file.path, line: found.line, rule: "import table", message }]
      })
    )
  )
}

const violationMessage = (
  workspace: Workspace,
  file: WorkspaceFile,
  { kind, specifier }: Import,
  folders: ReadonlyMap<string, string>
): string | undefined => {
  if (specifier.startsWith(".")) return relativeViolation(workspace, file, specifier)
  const target = packageOf(specifier) ?? ""
  const folder = folders.get(target)
  if (folder === undefined) {
    return target.startsWith("@svc/") ? `${target} is not a workspace of this repository` : undefined
  }
  if (folder === workspace.folder) {
    return file.area === "source" ? `write ${specifier} as a relative import: it is this package` : undefined
  }
  const permission = permissionOf(workspace, file)
  if (permission === undefined) return `${workspace.folder} has no row in the import table`
  const { modules = [], packages, services = [], tests = [], types = [] } = permission
  const short = target.replace("@svc/", "")
  if (packages === "everything" || packages.includes(short) || modules.includes(specifier)) return undefined
  // A test of a pure package may use values of the packages whose types it knows.
  if (types.includes(short) && (kind === "type" || file.area === "test")) return undefined
  // Tests wire layers as main does: repositories of the packages to the left, and plugins.
  if (file.area === "test" && ([...services, ...tests].includes(short) || folder.startsWith("plugins/")))
    return undefined
  if (!services.includes(short)) return `${specifier}: ${workspace.folder} may import ${describe(permission)}`
  return isService(specifier)
    ? undefined
    : `${specifier} is private to ${folder}: of it ${workspace.folder} may import the service files only`
}

const relativeViolation = (workspace: Workspace, file: WorkspaceFile, specifier: string): string | undefined => {
  const target = resolveFrom(file.path, specifier)
  if (!target.startsWith(`${workspace.folder}/`)) {
    return `${specifier} leaves ${workspace.folder}: import another package by its name`
  }
  const inner = target.slice(workspace.folder.length + 1)
  return file.area === "source" && /^tests?\//.test(inner) ? `${specifier}: source does not import tests` : undefined
}

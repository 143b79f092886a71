import { describe, expect, it } from "@effect/vitest"
import { citations } from "./src/architecture/Citations.ts"
import { fileCycles, packageCycles } from "./src/architecture/Cycles.ts"
import { declaredDependencies, exactVersions, usedDependencies } from "./src/architecture/Dependencies.ts"
import { barrels, fileLengths, fileNames, syntax } from "./src/architecture/Files.ts"
import { globals } from "./src/architecture/Globals.ts"
import { importRows, importTable } from "./src/architecture/ImportTable.ts"
import { importTablePage } from "./src/architecture/ImportTablePage.ts"
import { lockfile } from "./src/architecture/Lockfile.ts"
import { migrations } from "./src/architecture/Migrations.ts"
import { projectReferences } from "./src/architecture/Projects.ts"
import { type Repository, readRepository } from "./src/architecture/Repository.ts"
import { tables } from "./src/architecture/Tables.ts"
import { report, type Violation } from "./src/architecture/Violation.ts"

type Rule = (repository: Repository) => ReadonlyArray<Violation>
type Files = Readonly<Record<string, string>>

const root = JSON.stringify({
  name: "svc",
  workspaces: ["packages/*", "apps/*", "plugins/*", "simulator", "test"],
  devDependencies: { vitest: "3.2.7" }
})

const manifest = (name: string, rest: object = {}) => JSON.stringify({ name, version: "0.1.0", ...rest }, null, 2)

const packages: Files = {
  "package.json": root,
  "packages/api/package.json": manifest("@svc/api"),
  "packages/providers/package.json": manifest("@svc/providers"),
  "packages/auth/package.json": manifest("@svc/auth"),
  "packages/agents/package.json": manifest("@svc/agents"),
  "packages/numbers/package.json": manifest("@svc/numbers"),
  "packages/webhooks/package.json": manifest("@svc/webhooks"),
  "packages/audio/package.json": manifest("@svc/audio"),
  "packages/conversation/package.json": manifest("@svc/conversation"),
  "packages/plugin-host/package.json": manifest("@svc/plugin-host"),
  "plugins/sip/package.json": manifest("@svc/plugin-sip"),
  "apps/server/package.json": manifest("@svc/server"),
  "simulator/package.json": manifest("@svc/simulator"),
  "test/package.json": manifest("@svc/test")
}

/** The violations of `rule` in a repository with these files and the usual packages. */
const violationsOf = (rule: Rule, files: Files) =>
  report(rule(readRepository(new Map(Object.entries({ ...packages, ...files })))))

describe("importTable", () => {
  const of = (files: Files) => violationsOf(importTable, files)

  it("lets a slice import the foundation packages and service files of the slices below it", () => {
    const code = 'import { AgentId } from "@svc/api/Ids"\nimport { Agents } from "@svc/agents/Agents"\n'
    expect(of({ "packages/numbers/src/Numbers.ts": code })).toEqual([])
  })

  it("refuses a slice above, by value, by type, by re-export and by dynamic import", () => {
    const code = [
      'import { Agents } from "@svc/agents/Agents"',
      'import type { Agents as A } from "@svc/agents/Agents"',
      'export { Agents } from "@svc/agents/Agents"',
      'export const later = () => import("@svc/agents/Agents")',
      'export type B = import("@svc/agents/Agents").Agents'
    ].join("\n")
    const may = "packages/auth may import api, providers, database, cluster, urls"
    expect(of({ "packages/auth/src/Keys.ts": code })).toEqual(
      [1, 2, 3, 4, 5].map((line) => `packages/auth/src/Keys.ts:${line} [import table] @svc/agents/Agents: ${may}`)
    )
  })

  it("refuses repositories, handlers, workers and the composition of another slice, except in tests", () => {
    const code = ["Repo", "Http", "Worker", "Slice"].map((kind) => `import "@svc/agents/Agents${kind}"`).join("\n")
    expect(of({ "packages/numbers/src/Numbers.ts": code })).toHaveLength(4)
    expect(of({ "packages/numbers/test/Numbers.test.ts": code })).toEqual([])
  })

  it("lets api and providers import no workspace, and plugins only providers", () => {
    const files = {
      "packages/api/src/Ids.ts": 'import "@svc/providers/Audio"',
      "packages/providers/src/Audio.ts": 'import "@svc/api/Ids"',
      "plugins/sip/src/Sip.ts": 'import "@svc/providers/Audio"\nimport "@svc/api/Ids"'
    }
    expect(of(files)).toEqual([
      "packages/api/src/Ids.ts:1 [import table] @svc/providers/Audio: packages/api may import nothing of ours",
      "packages/providers/src/Audio.ts:1 [import table] @svc/api/Ids: packages/providers may import nothing of ours",
      "plugins/sip/src/Sip.ts:2 [import table] @svc/api/Ids: plugins/sip may import providers"
    ])
  })

  it("lets only the demo folder of the simulator import the server", () => {
    const code = 'import "@svc/server/Server"'
    expect(
      of({ "simulator/src/demo/Demo.ts": code, "apps/server/src/main.ts": 'import "@svc/auth/KeysRepo"' })
    ).toEqual([])
    expect(of({ "simulator/src/Screen.tsx": code })).toHaveLength(1)
  })

  it("lets only agents import webhooks", () => {
    const code = 'import "@svc/webhooks/AgentWebhooks"'
    expect(of({ "packages/agents/src/Agents.ts": code })).toEqual([])
    expect(of({ "packages/numbers/src/Numbers.ts": code })).toHaveLength(1)
  })

  it("lets conversation use types of providers, and its tests values of providers", () => {
    const type = 'import type { Audio } from "@svc/providers/Audio"\nexport type { Text } from "@svc/providers/Text"'
    const value = 'import { Audio } from "@svc/providers/Audio"'
    expect(of({ "packages/conversation/src/Turn.ts": type })).toEqual([])
    expect(of({ "packages/conversation/src/Turn.ts": value })).toEqual([
      "packages/conversation/src/Turn.ts:1 [import table] @svc/providers/Audio: packages/conversation may import api, types of providers"
    ])
    expect(
      of({ "packages/conversation/src/Turn.ts": 'export const later = () => import("@svc/providers/Audio")' })
    ).toHaveLength(1)
    expect(
      of({ "packages/conversation/src/Turn.ts": 'import type { Agents } from "@svc/agents/Agents"' })
    ).toHaveLength(1)
    expect(of({ "packages/conversation/test/Turn.test.ts": value })).toEqual([])
  })

  it("lets audio use types of providers and the modules Audio and G711 of it", () => {
    const may = "packages/audio may import types of providers, @svc/providers/Audio, @svc/providers/G711"
    const allowed = ['import { pcm } from "@svc/providers/Audio"', 'import { encode } from "@svc/providers/G711"']
    expect(of({ "packages/audio/src/Codec.ts": allowed.join("\n") })).toEqual([])
    expect(of({ "packages/audio/src/Codec.ts": 'import type { Leg } from "@svc/providers/Telephony"' })).toEqual([])
    expect(of({ "packages/audio/src/Codec.ts": 'import { Leg } from "@svc/providers/Telephony"' })).toEqual([
      `packages/audio/src/Codec.ts:1 [import table] @svc/providers/Telephony: ${may}`
    ])
    expect(of({ "packages/audio/src/Codec.ts": 'import "@svc/providers/Audio/Inner"' })).toHaveLength(1)
  })

  it("lets tests of plugins, but not their sources, use plugin-host", () => {
    const code = 'import { PluginHost } from "@svc/plugin-host/PluginHost"'
    expect(of({ "plugins/sip/test/Sip.test.ts": code })).toEqual([])
    expect(of({ "plugins/sip/src/Sip.ts": code })).toEqual([
      "plugins/sip/src/Sip.ts:1 [import table] @svc/plugin-host/PluginHost: plugins/sip may import providers"
    ])
    expect(of({ "plugins/sip/test/Sip.test.ts": 'import "@svc/agents/Agents"' })).toHaveLength(1)
  })

  it("refuses paths into another package, one's own name, tests, unknown packages and packages without a row", () => {
    expect(of({ "packages/auth/src/Keys.ts": 'import "../../api/src/Ids.ts"' })).toHaveLength(1)
    expect(of({ "packages/auth/src/Keys.ts": 'import "@svc/auth/Projects"' })).toHaveLength(1)
    expect(of({ "packages/auth/src/Keys.ts": 'import "../test/Fake.ts"' })).toHaveLength(1)
    expect(of({ "packages/auth/src/Keys.ts": 'import "@svc/nowhere/Thing"' })).toHaveLength(1)
    const stranger = {
      "packages/new/package.json": manifest("@svc/new"),
      "packages/new/src/A.ts": 'import "@svc/api/Ids"'
    }
    expect(of(stranger)).toEqual(["packages/new/src/A.ts:1 [import table] packages/new has no row in the import table"])
  })

  it("ignores comments and strings", () => {
    const code = '// import "@svc/agents/Agents"\nexport const text = `import "@svc/agents/Agents"`'
    expect(of({ "packages/auth/src/Keys.ts": code })).toEqual([])
  })
})

describe("fileCycles and packageCycles", () => {
  it("report files that load each other, but not by types", () => {
    const loads = { "packages/api/src/A.ts": 'import "./B.ts"', "packages/api/src/B.ts": '\nexport * from "./A.ts"' }
    const types = { ...loads, "packages/api/src/B.ts": 'import type { A } from "./A.ts"' }
    expect(violationsOf(fileCycles, loads)).toEqual([
      "packages/api/src/B.ts:2 [file cycle] packages/api/src/A.ts → packages/api/src/B.ts → packages/api/src/A.ts"
    ])
    expect(violationsOf(fileCycles, types)).toEqual([])
  })

  it("report packages that import each other, also by types, but not in tests", () => {
    const files = {
      "packages/auth/src/A.ts": 'import "@svc/agents/A"',
      "packages/agents/src/A.ts": 'import type { A } from "@svc/auth/A"'
    }
    const { "packages/agents/src/A.ts": back, ...forth } = files
    expect(violationsOf(packageCycles, files)).toHaveLength(1)
    expect(violationsOf(packageCycles, { ...forth, "packages/agents/test/A.test.ts": back })).toEqual([])
  })
})

describe("declaredDependencies, usedDependencies and exactVersions", () => {
  const api = (rest: object) => ({ "packages/api/package.json": manifest("@svc/api", rest) })

  it("report imports of a source that its package does not declare; tests may use the root's", () => {
    const code = 'import { Effect } from "effect/Effect"\nimport { it } from "vitest"\nimport { join } from "node:path"'
    expect(violationsOf(declaredDependencies, { "packages/api/src/A.ts": code })).toEqual([
      "packages/api/src/A.ts:1 [dependencies] effect is not declared in the package.json of @svc/api",
      "packages/api/src/A.ts:2 [dependencies] vitest is not declared in the package.json of @svc/api"
    ])
    const declared = api({ dependencies: { effect: "3.22.4" } })
    expect(violationsOf(declaredDependencies, { ...declared, "packages/api/test/A.test.ts": code })).toEqual([])
  })

  it("require react for JSX", () => {
    const code = "export const Screen = () => <b>hello</b>"
    expect(violationsOf(declaredDependencies, { "simulator/src/Screen.tsx": code })).toEqual([
      "simulator/src/Screen.tsx:1 [dependencies] react is not declared in the package.json of @svc/simulator"
    ])
  })

  it("report unused dependencies, except those named in a string, optional ones and peers", () => {
    const lock = { packages: { "": {}, "node_modules/effect": { peerDependencies: { peer: "1.0.0" } } } }
    const files = {
      ...api({
        dependencies: { effect: "3.22.4", idle: "1.0.0", named: "1.0.0", peer: "1.0.0" },
        devDependencies: { "@types/x": "1.0.0", untested: "1.0.0" },
        optionalDependencies: { binary: "1.0.0" }
      }),
      "package-lock.json": JSON.stringify(lock),
      "packages/api/src/A.ts": 'import { Effect } from "effect"\nexport const at = import.meta.resolve("named/file")',
      "packages/api/test/A.test.ts": 'import "idle"'
    }
    expect(violationsOf(usedDependencies, files)).toEqual([
      "packages/api/package.json:6 [dependencies] idle is declared and never imported",
      "packages/api/package.json:12 [dependencies] untested is a devDependency that no test imports"
    ])
  })

  it("report ranges and different versions of a dependency", () => {
    const files = {
      ...api({ dependencies: { effect: "3.22.4", ws: "^8.0.0", "@svc/providers": "0.2.0" } }),
      "packages/auth/package.json": manifest("@svc/auth", { peerDependencies: { effect: "3.22.3" } })
    }
    expect(violationsOf(exactVersions, files)).toEqual([
      "packages/api/package.json:6 [dependencies] ws ^8.0.0 is not an exact version",
      "packages/api/package.json:7 [dependencies] @svc/providers 0.2.0, but 0.1.0 in another package.json",
      "packages/auth/package.json:5 [dependencies] effect 3.22.3, but 3.22.4 in another package.json"
    ])
  })
})

describe("barrels, fileNames, fileLengths and syntax", () => {
  it("report index files and files with nothing but re-exports as barrels", () => {
    const files = {
      "packages/api/src/All.ts": 'export * from "./A.ts"\nexport type { B } from "./B.ts"',
      "packages/api/src/Some.ts": 'import { A } from "./A.ts"\nexport { A }',
      "packages/api/src/index.ts": "export const a = 1",
      "packages/api/src/Own.ts": 'export { A } from "./A.ts"\nexport const b = 1',
      "packages/api/src/Effects.ts": 'import "./A.ts"'
    }
    expect(violationsOf(barrels, files).map((line) => line.split(" ")[0])).toEqual([
      "packages/api/src/All.ts:1",
      "packages/api/src/index.ts:1",
      "packages/api/src/Some.ts:1"
    ])
  })

  it("report source files that are not PascalCase nouns, except entry points and migrations", () => {
    const good = ["main.ts", "Agents.ts", "http/Errors.ts", "migrations/0001_outbox.ts", "Globals.d.ts"]
    const bad = ["agents.ts", "Agent-list.ts", "utils/Text.ts", "Helpers.ts", "common/Ids.ts", "0001_outbox.ts"]
    const tree = (names: ReadonlyArray<string>) =>
      Object.fromEntries(names.map((name) => [`packages/api/src/${name}`, ""]))
    expect(violationsOf(fileNames, tree(good))).toEqual([])
    expect(violationsOf(fileNames, tree(bad))).toHaveLength(bad.length)
    expect(violationsOf(fileNames, { "packages/api/test/some.test.ts": "" })).toEqual([])
  })

  it("report source files of more than 400 lines", () => {
    const lines = (count: number) => ({ "packages/api/src/A.ts": "export {}\n".repeat(count) })
    expect(violationsOf(fileLengths, lines(400))).toEqual([])
    expect(violationsOf(fileLengths, lines(401))).toEqual([
      "packages/api/src/A.ts:401 [file length] 401 lines, at most 400: split it"
    ])
  })

  it("report syntax errors with their line", () => {
    const [only] = violationsOf(syntax, { "packages/api/src/A.ts": "const a = 1\nconst a b" })
    expect(only).toMatch(/^packages\/api\/src\/A\.ts:2 \[syntax\]/)
  })
})

describe("globals", () => {
  const of = (code: string, rule: Rule = globals([])) => violationsOf(rule, { "packages/api/src/A.ts": code })

  it.each([
    "process.env.HOME",
    "globalThis.process.env",
    "const { env } = process",
    'import { env } from "node:process"',
    "Date.now()",
    "const clock = Date.now",
    "new Date()",
    "setTimeout(() => {}, 1)",
    "globalThis.setInterval(() => {}, 1)",
    "const sleep = { sleep: setTimeout }",
    'import { setTimeout as sleep } from "node:timers/promises"',
    "Math.random()"
  ])("report %s", (code) => {
    expect(of(`\n${code}`)).toHaveLength(1)
    expect(of(`\n${code}`)[0]).toContain("packages/api/src/A.ts:2 [global state]")
  })

  it.each([
    "new Date(0)",
    "clearTimeout(1)",
    "options.setTimeout(1)",
    "const x = { setTimeout: 1 }",
    "type T = ReturnType<typeof setTimeout>",
    "// Date.now()",
    'const text = "process.env"'
  ])("ignore %s", (code) => {
    expect(of(code)).toEqual([])
  })

  it("ignore tests and sources with an allowance, which must be used", () => {
    const allow = globals([{ path: "packages/api/src/A.ts", globals: ["Date.now"], reason: "for this test" }])
    expect(violationsOf(globals([]), { "packages/api/test/A.test.ts": "Date.now()" })).toEqual([])
    expect(of("Date.now()", allow)).toEqual([])
    expect(of("Date.now(); new Date()", allow)).toHaveLength(1)
    expect(of("", allow)).toEqual([
      "packages/api/src/A.ts:1 [global state] does not use Date.now: remove the allowance"
    ])
  })
})

describe("projectReferences", () => {
  const project = (...paths: ReadonlyArray<string>) => JSON.stringify({ references: paths.map((path) => ({ path })) })
  const files = {
    "package.json": JSON.stringify({ name: "svc", workspaces: ["packages/*", "test"] }),
    "tsconfig.build.json": project("packages/auth"),
    "packages/auth/package.json": manifest("@svc/auth", { dependencies: { "@svc/api": "0.1.0" } }),
    "packages/auth/tsconfig.json": project("../api"),
    "packages/api/tsconfig.json": project()
  }
  const of = (changes: Files) => {
    const used = new Map(Object.entries({ ...packages, ...files, ...changes }))
    const kept = ["packages/api/package.json", "packages/auth/package.json"]
    for (const path of Object.keys(packages))
      if (path.startsWith("packages/") && !kept.includes(path) && !(path in changes)) used.delete(path)
    return report(projectReferences(readRepository(used)))
  }

  it("report missing, unneeded and unreachable project references", () => {
    expect(of({})).toEqual([])
    expect(of({ "packages/auth/tsconfig.json": project() })).toEqual([
      "packages/auth/tsconfig.json:1 [project references] lacks a reference to packages/api",
      "tsconfig.build.json:1 [project references] does not reach packages/api"
    ])
    expect(of({ "packages/api/tsconfig.json": project("../auth") })).toHaveLength(1)
    expect(of({ "packages/new/package.json": manifest("@svc/new") })).toHaveLength(2)
  })
})

describe("migrations", () => {
  const folder = "packages/database/src/migrations"
  const list = "packages/database/src/Migrations.ts"
  const base = {
    "packages/database/package.json": manifest("@svc/database"),
    [`${folder}/0001_a.ts`]: "",
    [`${folder}/0002_b.ts`]: ""
  }
  const of = (files: Files) => violationsOf(migrations, { ...base, ...files })

  it("report migrations that are unlisted, out of order, misnumbered or listed twice", () => {
    const both = 'import a from "./migrations/0001_a.ts"\nimport b from "./migrations/0002_b.ts"'
    expect(of({ [list]: both })).toEqual([])
    expect(of({ [list]: 'import a from "./migrations/0001_a.ts"' })).toEqual([
      `${folder}/0002_b.ts:1 [migrations] is in no list, so it never runs`
    ])
    expect(of({ [list]: both.split("\n").toReversed().join("\n") })).toEqual([
      `${list}:2 [migrations] lists ${folder}/0001_a.ts out of order`
    ])
    expect(of({ [list]: `${both}\nimport c from "./migrations/0004_c.ts"`, [`${folder}/0004_c.ts`]: "" })).toEqual([
      `${folder}/0004_c.ts:1 [migrations] is number 0004, expected 0003`
    ])
    expect(of({ [list]: both, "packages/database/src/Other.ts": both })).toHaveLength(1)
  })
})

describe("tables", () => {
  const migration = "packages/agents/src/migrations/0001_a.ts"
  const base = {
    [migration]: "sql`create table agents (id int)`\nsql`create table if not exists keys (id int)`"
  }
  const owners = { agents: "packages/agents", keys: "packages/auth" }
  const of = (files: Files, rule: Rule = tables(owners, [])) => violationsOf(rule, { ...base, ...files })
  const uses = (statement: string) => of({ "packages/auth/src/Keys.ts": `const a = sql\`${statement}\`` })

  it.each([
    "select * from agents",
    "select 1 from keys k join agents a on a.id = k.id",
    "select 1 from keys as k, agents",
    "insert into agents (id) values ($)",
    "update agents set id = 1",
    "UPDATE ONLY agents set id = 1",
    "delete from agents where id = 1",
    "delete from keys k using agents a where a.id = k.id",
    "with found as (select 1 from agents) select * from found",
    "truncate agents"
  ])("report a table of another package in: %s", (statement) => {
    expect(uses(statement)).toEqual([
      "packages/auth/src/Keys.ts:1 [tables] agents belongs to packages/agents: use a service of that package"
    ])
  })

  it.each([
    "select agents from keys",
    "select 1 from keys agents",
    "select 1 from keys k where k.a is distinct from agents.a",
    "with agents (id) as materialized (select 1), b as (select 2) select * from agents",
    "with recursive b as (select 1), agents as (select 2) select * from agents",
    "select 1 from keys -- and not from agents",
    "select 1 from agents_of_keys",
    "select 1 from keys for update skip locked"
  ])("leave alone: %s", (statement) => {
    expect(uses(statement)).toEqual([])
  })

  it("report the line, also after expressions of several lines, and in nested templates", () => {
    const code =
      "sql`\n  select $" +
      "{sql.literal(\n  name\n)}\n  from agents`\nsql`select ($" +
      "{\nsql`select 1 from agents`})`"
    expect(of({ "packages/auth/src/Keys.ts": code }).map((line) => line.split(" ")[0])).toEqual([
      "packages/auth/src/Keys.ts:5",
      "packages/auth/src/Keys.ts:7"
    ])
  })

  it("do not bind the owner, migrations, tests, strings and other tags", () => {
    const code = "sql`select * from agents`"
    expect(of({ "packages/agents/src/Agents.ts": code })).toEqual([])
    expect(of({ "packages/auth/src/migrations/0002_b.ts": code })).toEqual([])
    expect(of({ "packages/auth/test/Keys.test.ts": code, "test/src/Seed.ts": code })).toEqual([])
    expect(of({ "packages/auth/src/Keys.ts": 'html`from agents`; "from agents"; `from agents`' })).toEqual([])
  })

  it("have exceptions by file and by folder, which must be used", () => {
    const code = "sql`select * from agents`"
    const except = (path: string) => tables(owners, [{ path, tables: ["agents"], reason: "for this test" }])
    const of = (rule: Rule, path: string) => violationsOf(rule, { ...base, [path]: code })
    expect(of(except("packages/auth/src/Keys.ts"), "packages/auth/src/Keys.ts")).toEqual([])
    expect(of(except("packages/auth/src/keys/"), "packages/auth/src/keys/Repo.ts")).toEqual([])
    expect(of(except("packages/auth/src/Keys.ts"), "packages/agents/src/Keys.ts")).toEqual([
      "packages/auth/src/Keys.ts:1 [tables] does not use agents: remove the exception"
    ])
  })

  it("name every table that the migrations leave, and no others, with a package that exists", () => {
    expect(of({ "packages/auth/src/migrations/0002_b.ts": "sql`create unlogged table late (id int)`" })).toEqual([
      "packages/auth/src/migrations/0002_b.ts:1 [tables] late has no owner: add it to the list of owners"
    ])
    const list = "test/src/architecture/Tables.ts:1 [tables]"
    expect(of({ "packages/auth/src/migrations/0002_b.ts": "sql`drop table keys`" })).toEqual([
      `${list} keys: no migration creates it`
    ])
    expect(of({}, tables({ ...owners, keys: "packages/gone" }, []))).toEqual([
      `${list} keys: its owner packages/gone is no package`
    ])
  })
})

describe("lockfile", () => {
  const of = (locked: object) => {
    const tree = new Map([
      ["package.json", JSON.stringify({ name: "svc", devDependencies: { vite: "7.3.8" } })],
      ["package-lock.json", JSON.stringify({ packages: locked }, null, 2)]
    ])
    return report(lockfile(readRepository(tree)))
  }

  it("reports differences from package.json, packages missing for a platform, and private registries", () => {
    const whole = {
      "": { devDependencies: { vite: "7.3.8" } },
      "node_modules/vite": { integrity: "sha512-0", optionalDependencies: { mac: "1.0.0" } }
    }
    const mac = { integrity: "sha512-0" }
    expect(of({ ...whole, "node_modules/mac": { ...mac, resolved: "https://registry.npmjs.org/mac.tgz" } })).toEqual([])
    expect(of(whole)).toEqual([
      "package-lock.json:8 [lockfile] lacks mac, which another platform needs: run `npm run lock`"
    ])
    expect(of({ ...whole, "": {}, "node_modules/mac": mac })).toEqual([
      "package-lock.json:3 [lockfile] vite differs from the root's package.json: run `npm run lock`"
    ])
    expect(of({ ...whole, "node_modules/mac": { ...mac, resolved: "http://10.0.0.1/mac.tgz" } })).toEqual([
      "package-lock.json:14 [lockfile] http://10.0.0.1/mac.tgz is not on the public registry"
    ])
  })

  it("reports packages of a production install without an integrity hash", () => {
    const root = { "": { devDependencies: { vite: "7.3.8" } } }
    const tool = { "node_modules/vite": { dev: true } }
    expect(of({ ...root, ...tool, "node_modules/@svc/api": { resolved: "packages/api", link: true } })).toEqual([])
    expect(of({ ...root, ...tool, "node_modules/pg": { resolved: "https://registry.npmjs.org/pg.tgz" } })).toEqual([
      "package-lock.json:11 [lockfile] node_modules/pg has no integrity hash, and production installs it"
    ])
  })
})

describe("The import table in docs/architecture.md", () => {
  const page = (rows: ReadonlyArray<readonly [string, string]>) =>
    [
      "# Architecture",
      "",
      "## Who may import whom",
      "",
      "| package | may import |",
      "| --- | --- |",
      ...rows.map(([workspace, mayImport]) => `| \`${workspace}\` | ${mayImport} |`),
      "",
      "## A call"
    ].join("\n")
  const of = (rows: ReadonlyArray<readonly [string, string]>) =>
    violationsOf(importTablePage, { "docs/architecture.md": page(rows) })

  it("passes when it has the rows of the rule", () => {
    expect(of(importRows)).toEqual([])
  })

  it("reports a row that differs, one that is missing, and one that the rule does not have", () => {
    const [first, second, ...others] = importRows
    const changed = [[first?.[0] ?? "", "everything"], ...others, ["packages/attic", "nothing of ours"]] as const
    expect(of(changed)).toEqual([
      `docs/architecture.md:3 [import table page] has no row for ${second?.[0]}: ${second?.[1]}`,
      `docs/architecture.md:7 [import table page] ${first?.[0]} may import ${first?.[1]}`,
      `docs/architecture.md:${6 + changed.length} [import table page] packages/attic has no row in ImportTable.ts`
    ])
  })

  it("reports every row when the page does not exist", () => {
    expect(violationsOf(importTablePage, {})).toHaveLength(importRows.length)
  })
})

describe("Citations", () => {
  const of = (files: Files) => violationsOf(citations, files)
  const sign = String.fromCharCode(0xa7)
  const comment = (...words: ReadonlyArray<string>) => `// Words (${words.join(" ")}) around it\n`

  it("refuses sections of documents outside the repository", () => {
    const cited = [
      ["spec", "6.6"],
      ["spec", "2.6a,", "4.6"],
      ["decisions", `${sign}4.16`],
      ["Architecture", `${sign}7`],
      ["decisions", "4.16"],
      [`${sign}4.11`],
      ["as", "the", "spec", "says"]
    ]
    for (const words of cited) {
      expect(of({ "packages/auth/src/Keys.ts": comment(...words) })).toEqual([
        expect.stringMatching(
          /^packages\/auth\/src\/Keys\.ts:1 \[citations\] ".*" cites a document outside the repository$/
        )
      ])
    }
    expect(of({ "docs/guide.md": comment(...(cited[0] ?? [])) })).toHaveLength(1)
  })

  it("allows public documents, and words that only look similar", () => {
    const code = [
      `// RFC 3261 ${sign}12.2.1; see RFC 4733`,
      "// The OpenAPI specification 3.1, in 3 decisions of 4.2 ms",
      "const specs = [1, 2]"
    ].join("\n")
    expect(of({ "packages/auth/src/Keys.ts": code })).toEqual([])
  })

  it("checks that pages cited in sources and documents exist and have the cited heading", () => {
    const files = {
      "docs/reference/calls.md": "# Calls\n\n## The record's fields\n",
      "docs/guide.md":
        "[one](reference/calls.md) [two](reference/calls.md#the-records-fields) [three](#guide)\n\n# Guide\n",
      "packages/auth/src/Keys.ts": [
        "// See docs/reference/calls.md. Also docs/reference/calls.md#the-records-fields",
        '// (docs/reference/calls.md, "The record\'s fields"), https://example.com/docs/other.md'
      ].join("\n")
    }
    expect(of(files)).toEqual([])
    expect(
      of({
        ...files,
        "docs/other.md":
          "[gone](reference/gone.md) [anchor](reference/calls.md#gone) [code](../packages/auth/src/Gone.ts)",
        "packages/auth/src/Limits.ts": '// See docs/gone.md\n// (docs/reference/calls.md, "Gone")'
      })
    ).toEqual([
      "docs/other.md:1 [citations] docs/reference/calls.md has no heading for #gone",
      "docs/other.md:1 [citations] docs/reference/gone.md does not exist",
      "docs/other.md:1 [citations] packages/auth/src/Gone.ts does not exist",
      "packages/auth/src/Limits.ts:1 [citations] docs/gone.md does not exist",
      'packages/auth/src/Limits.ts:2 [citations] docs/reference/calls.md has no heading "Gone"'
    ])
  })

  it("checks that files and folders named in documents exist", () => {
    const files = { "packages/auth/src/Keys.ts": "" }
    const names = ["packages/auth/src/Keys.ts", "packages/auth/src", "packages/auth/src/<name>.ts", "packages/gone"]
    expect(of({ ...files, "docs/guide.md": names.map((name) => `\`${name}\``).join(" ") })).toEqual([])
    expect(of({ ...files, "docs/guide.md": "`packages/auth/src/Gone.ts` `packages/auth/gone`" })).toEqual([
      "docs/guide.md:1 [citations] packages/auth/gone does not exist",
      "docs/guide.md:1 [citations] packages/auth/src/Gone.ts does not exist"
    ])
  })

  it("ignores code blocks in documents", () => {
    expect(of({ "docs/guide.md": "```sh\ncat docs/gone.md\n```\n" })).toEqual([])
  })
})

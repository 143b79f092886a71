import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { type Mutant, mutantsOf } from "./Mutants.ts"
import { type Target, targets } from "./Targets.ts"

export const root = fileURLToPath(new URL("../..", import.meta.url))

/** The task of a process that runs tests, and the file for its reports; as JSON in `SVC_MUTATION`. */
export interface Order {
  readonly target: string
  /** Numbers of the mutants to run. */
  readonly numbers: ReadonlyArray<number>
  /** What the tests execute, measured by the first process of a run and used by those that replace it. */
  readonly coverageFile: string
  /** Gets one `Progress` per line. */
  readonly progressFile: string
}

/** `wait`: how many ms may pass without further progress before the process is ended. */
export type Progress =
  | { readonly tag: "started"; readonly wait: number; readonly number?: number }
  | { readonly tag: "finished"; readonly number: number; readonly result: "killed" | "survived" | "uncovered" }
  | { readonly tag: "failed"; readonly message: string }

const filesOf = (path: string): ReadonlyArray<string> =>
  statSync(join(root, path)).isDirectory()
    ? readdirSync(join(root, path))
        .toSorted()
        .flatMap((name) => filesOf(`${path}/${name}`))
    : [path]

export interface Plan {
  readonly target: Target
  /** By number. */
  readonly mutants: ReadonlyArray<Mutant>
  readonly code: ReadonlyMap<
    string,
    { readonly code: string; readonly mutants: ReadonlyArray<Mutant>; readonly first: number }
  >
  readonly tests: ReadonlyArray<string>
}

/** The same for the same sources, so processes agree on the numbers. */
export const planOf = (name: string): Plan => {
  const target = targets.find((one) => one.name === name)
  if (target === undefined) throw new Error(`${name} is none of ${targets.map((one) => one.name).join(", ")}`)
  const sources = target.sources.flatMap(filesOf).filter((path) => path.endsWith(".ts") && !path.includes("/testing/"))
  const code = new Map<string, { code: string; mutants: ReadonlyArray<Mutant>; first: number }>()
  const all: Array<Mutant> = []
  for (const path of sources) {
    const text = readFileSync(join(root, path), "utf8")
    const mutants = mutantsOf(path, text)
    code.set(path, { code: text, mutants, first: all.length })
    all.push(...mutants)
  }
  return {
    target,
    mutants: all,
    code,
    tests: target.tests.flatMap(filesOf).filter((path) => path.endsWith(".test.ts"))
  }
}

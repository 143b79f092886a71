import type { Repository } from "./Repository.ts"
import type { GlobalUse } from "./SourceFile.ts"
import type { Violation } from "./Violation.ts"

/** A file, or a folder ending in `/`, that may use globals directly, and why. */
export interface Allowance {
  readonly path: string
  readonly globals: ReadonlyArray<GlobalUse["name"]>
  readonly reason: string
}

/** The exceptions. A new one needs a reason that a reviewer accepts; one that is no longer used is reported. */
export const allowances: ReadonlyArray<Allowance> = [
  {
    path: "packages/call-engine/src/media/Ticker.ts",
    globals: ["setTimeout"],
    reason: "the one media clock: a fiber per frame would cost more than the frame"
  },
  {
    path: "plugins/simulated/src/Network/TimeSource.ts",
    globals: ["setTimeout"],
    reason: "the media clock of the simulated phone; a plugin cannot use that of the call engine"
  },
  {
    path: "apps/server/src/stalls/StallThread.ts",
    globals: ["setTimeout"],
    reason: "a thread of its own, without Effect, so that it starts fast and needs little memory"
  },
  {
    path: "apps/server/src/stalls/StallWatch.ts",
    globals: ["setInterval"],
    reason: "what is watched is Node's event loop, and not the scheduler of fibers"
  }
]

const instead: Readonly<Record<GlobalUse["name"], string>> = {
  "process.env": "read it with Config when the layer is built",
  "Date.now": "use Clock",
  "new Date()": "use DateTime.now",
  setTimeout: "use Effect.sleep, Effect.timeout or a Schedule",
  setInterval: "use Effect.repeat with a Schedule",
  "Math.random": "use Random, or node:crypto for secrets"
}

const covers = (allowance: Allowance, path: string) =>
  allowance.path.endsWith("/") ? path.startsWith(allowance.path) : path === allowance.path

/** Time, randomness and the environment come from Effect's services, so that tests and replay can replace them. */
export const globals =
  (allowed: ReadonlyArray<Allowance> = allowances) =>
  (repository: Repository): ReadonlyArray<Violation> => {
    const used = new Set<string>()
    const files = repository.workspaces.flatMap((workspace) => workspace.files).filter((file) => file.area === "source")
    const uses = files.flatMap((file) =>
      file.globals.flatMap(({ name, line }): ReadonlyArray<Violation> => {
        const allowance = allowed.find((entry) => entry.globals.includes(name) && covers(entry, file.path))
        if (allowance === undefined) {
          return [{ file: file.path, line, rule: "global state", message: `${name}: ${instead[name]}` }]
        }
        used.add(`${allowance.path} ${name}`)
        return []
      })
    )
    const stale = allowed.flatMap(({ path, globals }) =>
      globals
        .filter((name) => !used.has(`${path} ${name}`))
        .map((name) => ({
          file: path,
          line: 1,
          rule: "global state",
          message: `does not use ${name}: remove the allowance`
        }))
    )
    return [...uses, ...stale]
  }

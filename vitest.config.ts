import { availableParallelism } from "node:os"
import { configDefaults, defineConfig } from "vitest/config"

// Vitest hands these to Node in the test processes as well, where "import" or "module" would also apply to require().
const conditions = ["@svc/source", "node"]

// Many tests wait, so three share two cores; beyond six cores half of them, so that media clocks keep their time.
const processes = Math.max(3, Math.floor(availableParallelism() / 2))

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    include: [
      "packages/*/test/**/*.test.{ts,tsx}",
      "plugins/*/test/**/*.test.ts",
      "apps/*/test/**/*.test.ts",
      "simulator/test/**/*.test.{ts,tsx}",
      "test/**/*.test.ts"
    ],
    exclude: [...configDefaults.exclude, "test/browser/**"],
    globalSetup: [".ci/build.mjs", "packages/database/testing/globalSetup.ts"],
    setupFiles: [".ci/testers.mjs"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: "forks",
    // Files share processes: loading everything anew for each took a quarter of the time.
    poolOptions: { forks: { isolate: false } },
    // As many at least as at most: the pool may end one that is idle twice, and then calls a green run failed.
    minWorkers: processes,
    maxWorkers: processes
  }
})

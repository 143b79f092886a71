import { availableParallelism } from "node:os"
import { configDefaults, defineConfig } from "vitest/config"

// Vitest passes these to Node in the test processes too, where "import" or "module" would also apply to require().
const conditions = ["@svc/source", "node"]

// At least three, because many tests wait; at most half of the cores, so that media clocks stay on time.
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
    exclude: [...configDefaults.exclude, "test/browser/**", "**/*.system.test.ts"],
    globalSetup: [".ci/build.mjs", "packages/database/testing/globalSetup.ts"],
    setupFiles: [".ci/testers.mjs"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: "forks",
    // Files share processes: loading modules for each file took a quarter of the time.
    poolOptions: { forks: { isolate: false } },
    // Minimum equals maximum: the pool may stop an idle process twice and then report a passing run as failed.
    minWorkers: processes,
    maxWorkers: processes
  }
})

import { defineConfig } from "vitest/config"

const conditions = ["@svc/source", "node", "import", "module", "default"]

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
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: "forks"
  }
})

import { defineConfig, mergeConfig } from "vitest/config"
import base from "./vitest.config.ts"

// Pages in a real browser, Debian's: `npm run test:browser`. SVC_TEST_CHROMIUM names another one.
export default mergeConfig(
  { ...base, test: { ...base.test, include: [] } },
  defineConfig({ test: { include: ["test/browser/**/*.test.ts"], testTimeout: 60_000 } })
)

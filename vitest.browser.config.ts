import { configDefaults, defineConfig } from "vitest/config"
import base from "./vitest.config.ts"

// `npm run test:browser`: pages in the system's Chromium, or the one that SVC_TEST_CHROMIUM names.
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: ["test/browser/**/*.test.ts"],
    exclude: configDefaults.exclude,
    testTimeout: 60_000,
    // One after the other: a browser that waits for a core plays sound with gaps.
    minWorkers: 1,
    maxWorkers: 1
  }
})

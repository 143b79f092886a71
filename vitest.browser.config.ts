import { configDefaults, defineConfig } from "vitest/config"
import base from "./vitest.config.ts"

// Pages in a real browser, Debian's: `npm run test:browser`. SVC_TEST_CHROMIUM names another one.
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: ["test/browser/**/*.test.ts"],
    exclude: configDefaults.exclude,
    testTimeout: 60_000
  }
})

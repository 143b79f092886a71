import { configDefaults, defineConfig } from "vitest/config"
import base from "./vitest.config.ts"

// `npm run test:system`: slow tests, and those that start, kill and restart whole programs and database servers.
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: ["**/test/**/*.system.test.ts"],
    exclude: configDefaults.exclude,
    testTimeout: 90_000
  }
})

import { configDefaults, defineConfig } from "vitest/config"
import base from "./vitest.config.ts"

// The black-box tests that CI also runs with a newer Node, as one run: those of `npm test`, and some of `npm run test:system`.
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: ["test/blackbox/**/*.test.ts"],
    exclude: [
      ...configDefaults.exclude,
      "test/blackbox/**/!(Embedded|Crash|CallFaults|Keypad|Realism|TestSessions).system.test.ts"
    ],
    testTimeout: 90_000
  }
})

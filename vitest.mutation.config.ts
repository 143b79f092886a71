import { relative } from "node:path"
import { defineConfig } from "vitest/config"
import { instrument } from "./test/mutation/Mutants.ts"
import { type Order, planOf, root } from "./test/mutation/Plan.ts"

const conditions = ["@svc/source", "node"]
const order: Order = JSON.parse(process.env["SVC_MUTATION"] ?? "{}")
const plan = planOf(order.target)

/** `npm run test:mutation` starts Vitest with this: one process with every mutant of a target compiled into its sources. */
export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  plugins: [
    {
      name: "mutants",
      enforce: "pre",
      transform: (_, id) => {
        const source = plan.code.get(relative(root, id))
        return source === undefined ? null : { code: instrument(source.code, source.mutants, source.first), map: null }
      }
    }
  ],
  test: {
    include: ["test/mutation/Session.ts"],
    globalSetup: plan.target.database ? ["packages/database/testing/globalSetup.ts"] : [],
    setupFiles: [".ci/testers.mjs"],
    provide: { mutationOrder: order },
    // The session has its own, shorter ones under a mutant.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: [["default", { summary: false }]],
    silent: true,
    pool: "forks",
    poolOptions: { forks: { isolate: false, singleFork: true } }
  }
})

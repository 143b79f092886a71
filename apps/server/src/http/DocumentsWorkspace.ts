import type { Conventions } from "./DocumentsConventions.ts"

/** What holds for every answer of the workspace API (spec 7.2). Its errors are one schema, whatever the endpoint. */
export const workspace: Conventions = {
  headers: {
    "X-Request-Id": { description: "Names this request, as `meta.request_id` does.", schema: { type: "string" } }
  },
  headersOf: () => ["X-Request-Id"],
  parametersOf: () => [],
  checksOf: () => []
}

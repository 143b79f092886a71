import { fileURLToPath } from "node:url"
import { Effect, type Scope } from "effect"
import { textAt } from "./ApiClient.ts"
import * as CustomerServer from "./CustomerServer.ts"
import type { Environment } from "./SvcProcess.ts"

const plugin = fileURLToPath(new URL("../../fixtures/carrier/Plugin.mjs", import.meta.url))

/** An order that the carrier has carried out, under its key. */
export interface CarriedOut {
  readonly event: "purchase" | "release"
  readonly key: string
  readonly number: string
}

/**
 * Chooses another answer than the usual one, which comes at once; undefined: the usual one. `later`: the usual one, when
 * the test says so; `never`, `nonsense`: the operation is carried out as usual, and the answer never comes or is wrong.
 */
export type Otherwise = (event: string, number: string) => CustomerServer.Answer | "never" | "later" | "nonsense"

/** A carrier that outlives the servers which buy from it. It keeps the rules of the contract unless the test says otherwise. */
export interface SellingCarrier {
  /** Of a server with the plugin `carrier`. */
  readonly env: Environment
  /** What the platform pays for: carrier's id by number. */
  readonly rented: Map<string, string>
  /** What was carried out, each key once. */
  readonly carriedOut: ReadonlyArray<CarriedOut>
  /** Keys with which an event came for a number, repetitions too. */
  readonly keysOf: (event: string, number: string) => ReadonlyArray<string>
  otherwise: Otherwise
  /** Gives the answers that were to come later. */
  readonly answerNow: (number: string) => void
}

const refused = (number: string) => ({ refused: `${number} is not for sale.` })

/** Starts one; the scope stops it. */
export const start: Effect.Effect<SellingCarrier, never, Scope.Scope> = Effect.gen(function* () {
  const rented = new Map<string, string>()
  const answers = new Map<string, unknown>()
  const carriedOut: Array<CarriedOut> = []
  const waiting = new Map<string, () => void>()

  const purchase = (key: string, number: string): unknown => {
    if (rented.has(number)) return refused(number)
    const carrier_id = `id-${key}`
    rented.set(number, carrier_id)
    carriedOut.push({ event: "purchase", key, number })
    return { value: { number, carrier_id } }
  }
  const release = (key: string, number: string): unknown => {
    rented.delete(number)
    carriedOut.push({ event: "release", key, number })
    return {}
  }
  /** Carries out an order once per key. */
  const once = (key: string, run: () => unknown): unknown => {
    const answer = answers.has(key) ? answers.get(key) : run()
    answers.set(key, answer)
    return answer
  }
  const usual = ({ body, event }: CustomerServer.Received): unknown => {
    switch (event) {
      case "purchase":
      case "release": {
        const [key, number] = [textAt(body, "key"), textAt(body, "number")]
        return once(key, () => (event === "purchase" ? purchase(key, number) : release(key, number)))
      }
      case "owned":
        return { value: [...rented].map(([number, carrier_id]) => ({ number, carrier_id })) }
      case "search":
        return { value: [] }
      case "requirements":
        return { value: { fields: [], number_types: ["local"] } }
      case "submit":
        return { value: { submission_id: `s-${textAt(body, "key")}` } }
      case "status":
        return { value: [{ type: "local", status: "verified", rejection_reason: null }] }
      default:
        return {}
    }
  }

  const server = yield* CustomerServer.start((request) => {
    const number = String(request.body["number"])
    const other = carrier.otherwise(request.event, number)
    if (other !== undefined && typeof other !== "string") return other
    const json = usual(request)
    if (other === undefined) return { json }
    if (other === "never") return undefined
    if (other === "nonsense") return { json: { value: { number: "+19995550199", carrier_id: "wrong" } } }
    return { write: (response) => void waiting.set(number, () => CustomerServer.reply(response, json)) }
  })
  const carrier: SellingCarrier = {
    env: { SVC_PLUGINS: `${plugin},@svc/plugin-simulated`, SVC_CARRIER_URL: server.url, SVC_CARRIER_SELLS: "true" },
    rented,
    carriedOut,
    keysOf: (event, number) =>
      server.of(event).flatMap(({ body }) => (body["number"] === number ? [textAt(body, "key")] : [])),
    otherwise: () => undefined,
    answerNow: (number) => {
      waiting.get(number)?.()
      waiting.delete(number)
    }
  }
  return carrier
})

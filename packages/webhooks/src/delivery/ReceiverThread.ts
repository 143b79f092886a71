import type { LookupAddress } from "node:dns"
import { constants, platform, setPriority } from "node:os"
import { parentPort, workerData } from "node:worker_threads"
import { connectorOf } from "@svc/urls/UrlSafety/Connector"
import type { LookupCallback } from "@svc/urls/UrlSafety/LookupQueue"
import type { Policy } from "@svc/urls/UrlSafety/Policy"
import type { DeliveryRequest } from "./DeliveryRequest.ts"
import { type AttemptResult, connectTimeoutMs, receiverRequests } from "./ReceiverRequests.ts"

/**
 * The thread that sends the requests of all deliveries: what receivers answer, and when, must not hold the thread that
 * paces the calls. Names are resolved by the main thread, which limits the look-ups of the whole process.
 */

/** What the thread is started with. */
export interface ThreadSettings {
  readonly policy: Policy
}

/** To the thread. Ids are chosen by who asks. */
export type ToThread =
  | { readonly _tag: "Post"; readonly requests: ReadonlyArray<readonly [id: number, request: DeliveryRequest]> }
  | { readonly _tag: "Cancel"; readonly id: number }
  | {
      readonly _tag: "Resolved"
      readonly id: number
      readonly error: { readonly message: string; readonly code?: unknown } | null
      readonly addresses: ReadonlyArray<LookupAddress>
    }

/** From the thread. Results of one turn of its event loop come together. */
export type FromThread =
  | { readonly _tag: "Results"; readonly results: ReadonlyArray<readonly [id: number, result: AttemptResult]> }
  | { readonly _tag: "Resolve"; readonly id: number; readonly hostname: string }

const send = (message: FromThread) => parentPort?.postMessage(message)

const lookups = new Map<number, LookupCallback>()
let nextLookup = 0
const resolve = (hostname: string, done: LookupCallback): void => {
  const id = nextLookup++
  lookups.set(id, done)
  send({ _tag: "Resolve", id, hostname })
}

let results: Array<readonly [number, AttemptResult]> = []
const flush = () => {
  const completed = results
  results = []
  send({ _tag: "Results", results: completed })
}

const serve = ({ policy }: ThreadSettings): void => {
  const { post } = receiverRequests(connectorOf(policy, resolve, { timeout: connectTimeoutMs }))
  const cancels = new Map<number, () => void>()
  parentPort?.on("message", (message: ToThread) => {
    switch (message._tag) {
      case "Post":
        for (const [id, request] of message.requests) {
          const cancel = post(request, (result) => {
            cancels.delete(id)
            if (results.length === 0) setImmediate(flush)
            results.push([id, result])
          })
          cancels.set(id, cancel)
        }
        return
      case "Cancel":
        cancels.get(message.id)?.()
        return
      case "Resolved": {
        const done = lookups.get(message.id)
        lookups.delete(message.id)
        const { addresses, error } = message
        done?.(error === null ? null : Object.assign(new Error(error.message), { code: error.code }), addresses)
      }
    }
  })
}

// Calls have priority. On Linux this sets the priority of this thread alone; on other systems it would change the whole
// process.
if (platform() === "linux") setPriority(0, constants.priority.PRIORITY_BELOW_NORMAL)
serve(workerData)

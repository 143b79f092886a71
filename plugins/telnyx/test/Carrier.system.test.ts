import { mkdtempSync, rmSync } from "node:fs"
import type { ServerResponse } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import type { CarrierAddress } from "@svc/providers/Carrier"
import { Effect } from "effect"
import { setUp, startAt, type TelnyxSetup } from "../src/testing/TelnyxSetup.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-telnyx-"))),
  (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
)

const services = ({ telephony: { numbers, regulatory, sms } }: TelnyxSetup) => {
  if (numbers === undefined || regulatory === undefined || sms === undefined) throw new Error("a capability is missing")
  return { numbers, regulatory, sms }
}

const count = ({ carrier }: TelnyxSetup, method: string, path: string): number =>
  carrier.requests.filter((request) => request.method === method && request.path === path).length

/** The carrier carries the request out, and its answer is lost. */
const loseAnswer = (response: ServerResponse): false => {
  response.end = () => {
    response.destroy()
    return response
  }
  return false
}

it.scopedLive("a purchase whose answer was lost is found again by its key, and no second number is bought", () =>
  Effect.gen(function* () {
    const setup = yield* setUp({ settings: { connectionId: "app-1", messagingProfileId: "profile-1" } })
    const { numbers } = services(setup)
    const [number = ""] = setup.carrier.inventory.forSale
    let isFirst = true
    setup.carrier.faults.intercept = ({ method, path }, response) => {
      if (method !== "POST" || path !== "/v2/number_orders" || !isFirst) return false
      isFirst = false
      return loseAnswer(response)
    }
    const order = { key: "order:1", number, address: null }
    expect((yield* Effect.flip(numbers.purchase(order)))._tag).toBe("CarrierUnavailable")
    const bought = yield* numbers.purchase(order)
    expect(yield* numbers.purchase(order)).toEqual(bought)
    expect(count(setup, "POST", "/v2/number_orders")).toBe(1)
    expect(setup.carrier.inventory.orders).toMatchObject([
      { customer_reference: "order:1", connection_id: "app-1", messaging_profile_id: "profile-1" }
    ])
    expect((yield* Effect.flip(numbers.purchase({ ...order, key: "order:2" })))._tag).toBe("CarrierRefused")
  })
)

it.scopedLive("a purchase waits for an order that is pending, and owned reads all pages", () =>
  Effect.gen(function* () {
    const setup = yield* setUp({ settings: { connectionId: "app-1" } })
    const { inventory } = setup.carrier
    for (let index = 0; index < 300; index++) {
      inventory.rented.push({ id: `n${index}`, phone_number: `+1303555${1000 + index}`, status: "active" })
    }
    inventory.rented.push({ id: "gone", phone_number: "+13035559999", status: "deleted" })
    inventory.orderPolls = 1
    const { numbers } = services(setup)
    const [number = ""] = inventory.forSale
    yield* numbers.purchase({ key: "order:3", number, address: null })
    const owned = numbers.owned === undefined ? [] : yield* numbers.owned
    expect(owned.length).toBe(301)
    expect(owned.map((one) => one.number)).toContain(number)
  })
)

it.scopedLive("a release with the key of one that is done ends no later rent, also after a restart", () =>
  Effect.gen(function* () {
    const data = yield* folder
    const setup = yield* setUp({ folder: data, settings: { connectionId: "app-1" } })
    const { numbers } = services(setup)
    const [number = ""] = setup.carrier.inventory.forSale
    yield* numbers.purchase({ key: "order:4", number, address: null })
    yield* numbers.release({ key: "release:1", number })
    expect(setup.carrier.inventory.rented).toEqual([])
    yield* numbers.purchase({ key: "order:5", number, address: null })
    const again = services(yield* startAt(setup.carrier, setup.server, { folder: data }))
    yield* again.numbers.release({ key: "release:1", number })
    expect(setup.carrier.inventory.rented.length).toBe(1)
    yield* again.numbers.release({ key: "release:2", number })
    expect(setup.carrier.inventory.rented.length).toBe(0)
  })
)

it.scopedLive("a text message whose answer was lost may be sent; 429 is repeated, and a refusal has its reason", () =>
  Effect.gen(function* () {
    const setup = yield* setUp()
    const { sms } = services(setup)
    const message = {
      id: "sms_1",
      to: "+12025550100",
      from: "+12025550199",
      sender_type: "number",
      message: "Hi"
    } as const
    let isBusy = true
    setup.carrier.faults.intercept = ({ path }, response) => {
      if (path !== "/v2/messages") return false
      if (!isBusy) return loseAnswer(response)
      isBusy = false
      response.writeHead(429, { "retry-after": "0" }).end("{}")
      return true
    }
    const lost = yield* Effect.flip(sms.send(message))
    expect(lost.mayBeSent).toBe(true)
    expect(setup.carrier.messages.length).toBe(1)
    expect(count(setup, "POST", "/v2/messages")).toBe(2)
    setup.carrier.faults.intercept = () => false
    const refused = yield* Effect.flip(
      sms.send({ ...message, to: "+12025550000", from: "Svc", sender_type: "alphanumeric" })
    )
    expect(refused.mayBeSent).toBeUndefined()
    expect(refused.reason).toContain("SVC_TELNYX_MESSAGING_PROFILE_ID")
  })
)

const address: CarrierAddress = {
  customer_name: "Jansen B.V.",
  street: "Damrak 1",
  city: "Amsterdam",
  postcode: "1012 LG",
  region: null,
  country: "NL"
}

it.scopedLive("an address is verified for each type of number, and its group is used for the purchase", () =>
  Effect.gen(function* () {
    const setup = yield* setUp({ settings: { connectionId: "app-1" } })
    const { numbers, regulatory } = services(setup)
    expect(yield* regulatory.requirements("NL")).toMatchObject({ number_types: ["local", "mobile"] })
    expect(yield* regulatory.requirements("US")).toEqual({ fields: [], number_types: [] })
    const { submission_id } = yield* regulatory.submit({ key: "addr:1", address })
    expect(yield* regulatory.status(submission_id)).toEqual([
      { type: "local", status: "pending", rejection_reason: null },
      { type: "mobile", status: "pending", rejection_reason: null }
    ])
    expect((yield* regulatory.status(submission_id)).map(({ status }) => status)).toEqual(["verified", "verified"])
    const [number = ""] = setup.carrier.inventory.forSale
    yield* numbers.purchase({ key: "order:6", number, address: { ...address, submission_id } })
    const [local] = setup.carrier.inventory.groups
    expect(setup.carrier.inventory.orders[0]?.["phone_numbers"]).toBeDefined()
    const ordered = setup.carrier.requests.find(({ method, path }) => method === "POST" && path === "/v2/number_orders")
    expect(ordered?.json["phone_numbers"]).toEqual([{ phone_number: number, requirement_group_id: local?.["id"] }])
  })
)

it.scopedLive(
  "an address that Telnyx declines is rejected with a reason, and one in a country without demands is verified",
  () =>
    Effect.gen(function* () {
      const setup = yield* setUp()
      setup.carrier.inventory.groupPolls = 0
      setup.carrier.inventory.groupVerdict = "declined"
      const { regulatory } = services(setup)
      const { submission_id } = yield* regulatory.submit({ key: "addr:2", address })
      const [local] = yield* regulatory.status(submission_id)
      expect(local).toMatchObject({ type: "local", status: "rejected" })
      expect(local?.rejection_reason).toContain("Mission Control")
      const free = yield* regulatory.submit({ key: "addr:3", address: { ...address, country: "US" } })
      expect((yield* regulatory.status(free.submission_id)).map(({ status }) => status)).toEqual([
        "verified",
        "verified",
        "verified"
      ])
    })
)

it.scopedLive("with a wrong key the plugin is unhealthy, and names the setting", () =>
  Effect.gen(function* () {
    const setup = yield* setUp({ settings: { apiKey: "wrong" } })
    const health = yield* setup.telephony.health
    expect(health.healthy ? "" : health.reason).toContain("SVC_TELNYX_API_KEY was refused")
  })
)

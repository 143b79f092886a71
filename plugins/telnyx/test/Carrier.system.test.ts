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

it.scopedLive("a release whose answer was lost before a restart ends no later rent, and one not carried out is", () =>
  Effect.gen(function* () {
    const data = yield* folder
    const setup = yield* setUp({ folder: data, settings: { connectionId: "app-1" } })
    const { faults, inventory } = setup.carrier
    const { numbers } = services(setup)
    const [number = ""] = inventory.forSale
    yield* numbers.purchase({ key: "order:7", number, address: null })
    faults.intercept = ({ method }, response) => method === "DELETE" && loseAnswer(response)
    expect((yield* Effect.flip(numbers.release({ key: "release:3", number })))._tag).toBe("CarrierUnavailable")
    expect(inventory.rented).toEqual([])
    faults.intercept = () => false
    yield* numbers.purchase({ key: "order:8", number, address: null })
    const second = services(yield* startAt(setup.carrier, setup.server, { folder: data }))
    yield* second.numbers.release({ key: "release:3", number })
    expect(inventory.rented.length).toBe(1)

    faults.intercept = ({ method }, response) => {
      if (method === "DELETE") response.writeHead(403).end("{}")
      return method === "DELETE"
    }
    yield* Effect.flip(second.numbers.release({ key: "release:4", number }))
    faults.intercept = () => false
    const third = services(yield* startAt(setup.carrier, setup.server, { folder: data }))
    yield* third.numbers.release({ key: "release:4", number })
    expect(inventory.rented).toEqual([])
  })
)

it.scopedLive("rows of lists with null in a field are read, and rows without an id are left out", () =>
  Effect.gen(function* () {
    const setup = yield* setUp({ settings: { connectionId: "app-1" } })
    const { numbers } = services(setup)
    const region = { region_type: null, region_name: null }
    const lists: { readonly [path: string]: unknown } = {
      "/v2/available_phone_numbers": [
        { phone_number: "+12125550001", region_information: [region, { region_type: "location", region_name: "NYC" }] },
        { phone_number: "+12125550002", region_information: [region] },
        { phone_number: null },
        null
      ],
      "/v2/phone_numbers": [
        { id: "1", phone_number: "+12125550003", status: null },
        { id: null, phone_number: "+12125550004", status: "active" },
        7
      ],
      "/v2/number_orders": [
        { id: "1", status: "success", customer_reference: "order:9", phone_numbers: null },
        { id: null, status: "success", customer_reference: "order:10" },
        { id: null }
      ]
    }
    setup.carrier.faults.intercept = ({ path }, response) => {
      const data = lists[path]
      if (data === undefined) return false
      response.writeHead(200).end(JSON.stringify({ data, meta: { total_pages: null } }))
      return true
    }
    expect(yield* numbers.search({ country: "US", type: "local", limit: 10 })).toMatchObject([
      { number: "+12125550001", area: "NYC" },
      { number: "+12125550002", area: null }
    ])
    expect(numbers.owned && (yield* numbers.owned)).toEqual([{ number: "+12125550003", carrier_id: "1" }])
    const bought = yield* numbers.purchase({ key: "order:9", number: "+12125550003", address: null })
    expect(bought.carrier_id).toBe("1")
    // What cannot be read may be the rent or the order that is looked for.
    const unreadable = { key: "order:10", number: "+12125550003", address: null }
    expect((yield* Effect.flip(numbers.purchase(unreadable)))._tag).toBe("CarrierUnavailable")
    const release = { key: "release:5", number: "+12125550004" }
    expect((yield* Effect.flip(numbers.release(release))).reason).toContain("+12125550004 without an id")
    expect(count(setup, "POST", "/v2/number_orders")).toBe(0)
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

it.scopedLive("a regulatory requirement that cannot be read is left out and named in the log, once", () =>
  Effect.gen(function* () {
    const setup = yield* setUp()
    const { regulatory } = services(setup)
    const submitted = yield* regulatory.submit({ key: "addr:8", address })
    const requirement = { id: "r1", name: "End user address", field_type: "address" }
    setup.carrier.faults.intercept = ({ path }, response) => {
      if (path !== "/v2/regulatory_requirements") return false
      response.setHeader("content-type", "application/json")
      response.end(
        JSON.stringify({
          data: [
            { phone_number_type: "local", regulatory_requirements: [requirement] },
            { phone_number_type: "mobile", regulatory_requirements: [{ name: "no id" }] },
            "garbage"
          ]
        })
      )
      return true
    }
    for (let time = 0; time < 2; time++) {
      expect(yield* regulatory.requirements("NL")).toMatchObject({ number_types: ["local"] })
    }
    // Nobody knows whether the address is good enough for mobile numbers.
    expect(yield* Effect.flip(regulatory.status(submitted.submission_id))).toMatchObject({ _tag: "CarrierUnavailable" })
    const lines = setup.double.logged
      .map(({ message }) => message)
      .filter((line) => line.includes("requirements in NL"))
    expect(lines).toEqual([
      expect.stringContaining('entry 1 of Telnyx\'s regulatory requirements in NL (phone_number_type: "mobile")'),
      expect.stringContaining("entry 2 of")
    ])
    for (const body of ['{"data":"garbage"}', '{"data":["garbage"]}']) {
      setup.carrier.faults.intercept = ({ path }, response) => {
        if (path !== "/v2/regulatory_requirements") return false
        response.setHeader("content-type", "application/json")
        response.end(body)
        return true
      }
      expect(yield* Effect.flip(regulatory.requirements("NL"))).toMatchObject({ _tag: "CarrierUnavailable" })
    }
  })
)

it.scopedLive("a number is ordered with a group that is not approved yet, and with none that was declined", () =>
  Effect.gen(function* () {
    const setup = yield* setUp({ settings: { connectionId: "app-1" } })
    const { inventory, requests } = setup.carrier
    inventory.groupPolls = 100
    const { numbers, regulatory } = services(setup)
    const { submission_id } = yield* regulatory.submit({ key: "addr:4", address })
    const [first = "", second = "", third = ""] = inventory.forSale
    const buy = (key: string, number: string) =>
      numbers.purchase({ key, number, address: { ...address, submission_id } })
    const [local, mobile] = inventory.groups
    if (local === undefined || mobile === undefined) throw new Error("the groups are missing")
    yield* buy("order:11", first)
    local["status"] = "declined"
    yield* buy("order:12", second)
    mobile["status"] = "expired"
    yield* buy("order:13", third)
    const ordered = requests.filter(({ method, path }) => method === "POST" && path === "/v2/number_orders")
    expect(ordered.map(({ json }) => json["phone_numbers"])).toEqual([
      [{ phone_number: first, requirement_group_id: local["id"] }],
      [{ phone_number: second, requirement_group_id: mobile["id"] }],
      [{ phone_number: third }]
    ])
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

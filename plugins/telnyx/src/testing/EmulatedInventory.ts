import type { EmulatedRequest } from "@svc/providers/testing/EmulatedServer"

/** An answer of the emulated interface. */
export interface Answer {
  readonly status: number
  readonly body: unknown
}

type Entry = Record<string, unknown>

export const ok = (data: unknown): Answer => ({ status: 200, body: { data } })
export const notFound: Answer = { status: 404, body: { errors: [{ code: "10005", title: "Resource not found" }] } }
const refused = (detail: string): Answer => ({
  status: 422,
  body: { errors: [{ code: "85001", title: "Refused", detail }] }
})

const cities: Readonly<Record<string, string>> = { "212": "NEW YORK", "312": "CHICAGO" }

/** The numbers for sale and rented, the orders, addresses and requirement groups of an emulated account. */
export class EmulatedInventory {
  /** Numbers for sale in the United States, by area code. */
  readonly forSale: Array<string> = Array.from(
    { length: 40 },
    (_, index) => `+1${index % 2 === 0 ? "212" : "312"}555${String(2000 + index)}`
  )
  readonly rented: Array<Entry> = []
  readonly orders: Array<Entry> = []
  readonly addresses: Array<Entry> = []
  readonly groups: Array<Entry> = []
  readonly applications: Array<Entry> = []
  /** How often a pending order is looked at until it is carried out. */
  orderPolls = 0
  /** How often a submitted group is looked at until it is decided. */
  groupPolls = 1
  groupVerdict = "approved"
  #ids = 0

  answer({ json, method, query }: EmulatedRequest, path: string): Answer {
    const [, collection = "", id, action] = path.split("/")
    switch (collection) {
      case "available_phone_numbers":
        return this.#available(query)
      case "phone_numbers":
        return method === "DELETE" ? this.#release(id ?? "") : this.#list(this.rented, query, "phone_number")
      case "number_orders":
        if (method === "POST") return this.#order(json)
        return id === undefined ? this.#list(this.orders, query, "customer_reference") : this.#look(id)
      case "call_control_applications":
        return ok(this.applications)
      case "addresses":
        if (method === "POST") return ok(this.#add(this.addresses, { ...json }))
        return id === undefined
          ? this.#list(this.addresses, query, "customer_reference")
          : this.#one(this.addresses, id)
      case "regulatory_requirements":
        return this.#requirements(query)
      case "requirement_groups":
        return this.#groups(method, json, query, id, action)
      default:
        return notFound
    }
  }

  #add(list: Array<Entry>, entry: Entry): Entry {
    const added = { id: `1234567890-${++this.#ids}`, ...entry }
    list.push(added)
    return added
  }

  #one(list: ReadonlyArray<Entry>, id: string): Answer {
    const found = list.find((entry) => entry["id"] === decodeURIComponent(id))
    return found === undefined ? notFound : ok(found)
  }

  #list(list: ReadonlyArray<Entry>, query: URLSearchParams, field: string): Answer {
    const wanted = query.get(`filter[${field}]`) ?? query.get(`filter[${field}][eq]`)
    const found = list.filter((entry) => wanted === null || entry[field] === wanted)
    const size = Number(query.get("page[size]") ?? 20)
    const number = Number(query.get("page[number]") ?? 1)
    return {
      status: 200,
      body: {
        data: found.slice((number - 1) * size, number * size),
        meta: {
          total_pages: Math.ceil(found.length / size),
          total_results: found.length,
          page_number: number,
          page_size: size
        }
      }
    }
  }

  #available(query: URLSearchParams): Answer {
    if (query.get("filter[country_code]") !== "US") return refused("no coverage in this country")
    const [code, city] = [query.get("filter[national_destination_code]"), query.get("filter[locality]")]
    const found = this.forSale.filter((number) => {
      const area = number.slice(2, 5)
      return (code === null || area === code) && (city === null || cities[area] === city)
    })
    const local = query.get("filter[phone_number_type]") === "local" ? found : []
    return ok(
      local.slice(0, Number(query.get("filter[limit]") ?? 50)).map((phone_number) => ({
        phone_number,
        record_type: "available_phone_number",
        region_information: [
          { region_type: "country_code", region_name: "US" },
          { region_type: "location", region_name: cities[phone_number.slice(2, 5)] }
        ]
      }))
    )
  }

  #order(json: Entry): Answer {
    const [wanted] = Array.isArray(json["phone_numbers"]) ? json["phone_numbers"] : []
    const number = String(Object(wanted).phone_number)
    const index = this.forSale.indexOf(number)
    if (index === -1) return refused(`${number} is not available`)
    this.forSale.splice(index, 1)
    const order = this.#add(this.orders, {
      ...json,
      record_type: "number_order",
      status: "pending",
      polls: this.orderPolls,
      phone_numbers: [{ id: `order-${number}`, phone_number: number, status: "pending", requirements_met: true }]
    })
    if (this.orderPolls === 0) this.#fulfil(order)
    return ok({ ...order })
  }

  #fulfil(order: Entry): void {
    order["status"] = "success"
    const [wanted] = Array.isArray(order["phone_numbers"]) ? order["phone_numbers"] : []
    this.#add(this.rented, {
      phone_number: Object(wanted).phone_number,
      status: "active",
      connection_id: order["connection_id"] ?? null
    })
  }

  #look(id: string): Answer {
    const order = this.orders.find((entry) => entry["id"] === id)
    if (order === undefined) return notFound
    if (order["status"] === "pending") {
      order["polls"] = Number(order["polls"]) - 1
      if (Number(order["polls"]) <= 0) this.#fulfil(order)
    }
    return ok({ ...order })
  }

  #release(id: string): Answer {
    const index = this.rented.findIndex((entry) => entry["id"] === decodeURIComponent(id))
    const [gone] = index === -1 ? [] : this.rented.splice(index, 1)
    if (gone === undefined) return notFound
    this.forSale.push(String(gone["phone_number"]))
    return ok({ ...gone, status: "deleted" })
  }

  #requirements(query: URLSearchParams): Answer {
    if (query.get("filter[country_code]") !== "NL") return ok([])
    return ok(
      ["local", "mobile"].map((phone_number_type) => ({
        country_code: "NL",
        phone_number_type,
        action: "ordering",
        regulatory_requirements: [
          { id: `address-${phone_number_type}`, name: "End user address", field_type: "address" }
        ]
      }))
    )
  }

  #groups(method: string, json: Entry, query: URLSearchParams, id?: string, action?: string): Answer {
    if (method === "POST" && action === "submit_for_approval") {
      const group = this.groups.find((entry) => entry["id"] === id)
      if (group === undefined) return notFound
      group["status"] = "pending-approval"
      group["polls"] = this.groupPolls
      return { status: 200, body: group }
    }
    // Groups come without `data`.
    if (method === "POST") return { status: 200, body: this.#add(this.groups, { ...json, status: "unapproved" }) }
    const reference = query.get("filter[customer_reference]")
    const found = this.groups.filter((entry) => reference === null || entry["customer_reference"] === reference)
    for (const group of found) {
      if (group["status"] !== "pending-approval") continue
      group["polls"] = Number(group["polls"]) - 1
      if (Number(group["polls"]) < 0) group["status"] = this.groupVerdict
    }
    return { status: 200, body: found.map((group) => ({ ...group })) }
  }
}

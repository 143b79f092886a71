import { newSid } from "./EmulatedCall.ts"

/** The answer to a request: its status and its JSON. */
export type Answer = readonly [status: number, body?: unknown]

type Query = Readonly<Record<string, string>>
type Row = Record<string, unknown>

const notFound: Answer = [404, { code: 20404, message: "The requested resource was not found", status: 404 }]
const invalid = (code: number, message: string): Answer => [400, { code, message, status: 400 }]

const places: ReadonlyArray<readonly [string, string]> = [
  ["212", "New York"],
  ["415", "San Francisco"]
]
const forSale = places.flatMap(([area, locality]) =>
  Array.from({ length: 40 }, (_, n) => ({
    phone_number: `+1${area}55501${String(n).padStart(2, "0")}`,
    locality,
    iso_country: "US"
  }))
)

/** The numbers, addresses and regulatory bundles of the emulated account. */
export class EmulatedInventory {
  readonly rents = new Map<string, Row>()
  readonly addresses: Array<Row> = []
  readonly regulatory = {
    Bundles: [] as Array<Row>,
    EndUsers: [] as Array<Row>,
    SupportingDocuments: [] as Array<Row>,
    ItemAssignments: [] as Array<Row>
  }
  /** Of the carrier's server, for the pages that follow. */
  origin = ""
  /** What becomes of a bundle under review. */
  verdict = "twilio-approved"

  /** Regulatory compliance, below `/v2/RegulatoryCompliance/`. */
  answerRegulatory(method: string, path: string, form: Query): Answer {
    if (path === "Regulations") {
      if (form["IsoCountry"] === "XK") return notFound
      const types = form["IsoCountry"] === "NL" ? ["local", "mobile"] : []
      const requirements = {
        end_user: [{ type: "business" }],
        supporting_document: [[{ accepted_documents: [{ type: "business_address" }] }]]
      }
      return [200, { results: types.map((number_type) => ({ sid: `RN${number_type}`, number_type, requirements })) }]
    }
    const [resource = "", sid, below] = path.split("/")
    if (resource !== "Bundles" && resource !== "EndUsers" && resource !== "SupportingDocuments") return notFound
    const rows = this.regulatory[resource]
    if (sid === undefined && method === "GET" && resource !== "Bundles") return this.#page(rows, path, form)
    if (sid === undefined) return this.#collection(rows, "results", method, form, resource === "Bundles" ? "BU" : "IT")
    const row = rows.find((one) => one["sid"] === sid)
    if (row === undefined) return notFound
    if (below === "ItemAssignments") {
      this.regulatory.ItemAssignments.push({ bundle: sid, ...form })
      return [201, { sid: newSid("BV") }]
    }
    if (method === "POST") row["status"] = form["Status"] ?? "draft"
    const answer = { ...row }
    if (row["status"] === "in-review") row["status"] = this.verdict
    if (row["status"] === "pending-review") row["status"] = "in-review"
    return [200, answer]
  }

  /** Numbers and addresses, below the account. */
  answer(method: string, path: string, form: Query): Answer {
    if (path.startsWith("AvailablePhoneNumbers/")) return this.#search(path, form)
    const address = this.addresses.find(({ sid }) => path === `Addresses/${sid}.json`)
    if (address !== undefined && method === "GET") return [200, address]
    if (path === "Addresses.json") return this.#collection(this.addresses, "addresses", method, form, "AD")
    if (path === "IncomingPhoneNumbers.json") return method === "POST" ? this.#buy(form) : this.#list(form)
    const [, sid] = path.match(/^IncomingPhoneNumbers\/(\w+)\.json$/) ?? []
    const rent = [...this.rents].find(([, { sid: one }]) => one === sid)
    if (rent === undefined || method !== "DELETE") return notFound
    this.rents.delete(rent[0])
    return [204]
  }

  #collection(rows: Array<Row>, field: string, method: string, form: Query, prefix: string): Answer {
    if (method === "GET") {
      const name = form["FriendlyName"]
      return [200, { [field]: rows.filter((row) => name === undefined || row["friendly_name"] === name) }]
    }
    const row = { sid: newSid(prefix), friendly_name: form["FriendlyName"], status: "draft", ...form }
    rows.push(row)
    return [201, row]
  }

  /** A list of regulatory compliance that has no filter, in small pages, so that more than one is read. */
  #page(rows: ReadonlyArray<Row>, path: string, { Page = "0", PageSize = "50" }: Query): Answer {
    const size = Math.min(Number(PageSize), 3)
    const from = Number(Page) * size
    const next = `${this.origin}/v2/RegulatoryCompliance/${path}?PageSize=${size}&Page=${Number(Page) + 1}`
    const meta = { key: "results", next_page_url: from + size < rows.length ? next : null }
    return [200, { results: rows.slice(from, from + size), meta }]
  }

  #search(path: string, form: Query): Answer {
    if (!/^AvailablePhoneNumbers\/US\/(Local|Mobile|TollFree)\.json$/.test(path)) return notFound
    const { AreaCode = "", Contains = "", InLocality } = form
    const found = forSale.filter(
      ({ locality, phone_number }) =>
        path.endsWith("/Local.json") &&
        !this.rents.has(phone_number) &&
        phone_number.startsWith(`+1${AreaCode}`) &&
        phone_number.includes(Contains) &&
        (InLocality === undefined || InLocality === locality)
    )
    return [200, { available_phone_numbers: found.slice(0, Number(form["PageSize"] ?? 30)) }]
  }

  #list(form: Query): Answer {
    const { Page = "0", PageSize = "50", PhoneNumber } = form
    const all = [...this.rents.values()].filter(
      (rent) => PhoneNumber === undefined || rent["phone_number"] === PhoneNumber
    )
    // Small pages, so that more than one is read.
    const size = Math.min(Number(PageSize), 3)
    const from = Number(Page) * size
    const next =
      from + size < all.length ? `/2010-04-01/Accounts/AC/IncomingPhoneNumbers.json?Page=${Number(Page) + 1}` : null
    return [200, { incoming_phone_numbers: all.slice(from, from + size), next_page_uri: next }]
  }

  #buy(form: Query): Answer {
    const number = form["PhoneNumber"] ?? ""
    if (this.rents.has(number) || number.endsWith("9999")) return invalid(21422, `${number} is not available.`)
    const rent = { sid: newSid("PN"), phone_number: number, friendly_name: form["FriendlyName"], ...form }
    this.rents.set(number, rent)
    return [201, rent]
  }
}

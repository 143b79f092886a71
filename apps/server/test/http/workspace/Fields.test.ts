import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { made, organization, request, workspaceServer } from "../../servers/WorkspaceServer.ts"

/** The fields of a booking customer: validation, normalization, defaults. */

const emoji = "\u{1f600}"

/** Values of one field that are taken, each with what is kept of it. */
const valid: ReadonlyArray<readonly [field: string, value: unknown, kept: unknown]> = [
  ["name", "Bo", "Bo"],
  ["name", "  Bo  ", "Bo"],
  ["name", "Zo\u00eb \u5f20\u4f1f O'Brien", "Zo\u00eb \u5f20\u4f1f O'Brien"],
  ["email", "a.b+c@sub.example.co.uk", "a.b+c@sub.example.co.uk"],
  ["email", " a@example.com ", "a@example.com"],
  ["phone", "06 12345678", "+31612345678"],
  ["phone", "06-12 34 56 78", "+31612345678"],
  ["phone", "(020) 624 1111", "+31206241111"],
  ["phone", "+31612345678", "+31612345678"],
  ["phone", "0031 6 12345678", "+31612345678"],
  ["phone", "+1 202-555-0123", "+12025550123"],
  ["address", "Damrak 1", "Damrak 1"],
  ["address", null, null],
  ["address", "", null],
  ["postcode", "1012 LG", "1012 LG"],
  ["postcode", "1012lg", "1012 LG"],
  ["postcode", " 1012 lg ", "1012 LG"],
  ["postcode", null, null],
  ["postcode", "", null],
  ["city", "'s-Gravenhage", "'s-Gravenhage"],
  ["city", null, null],
  ["country", "NL", "NL"],
  ["country", "be", "BE"],
  ["country", "JP", "JP"],
  ["language", "nl", "nl"],
  ["language", "en-GB", "en-GB"],
  ["birthdate", "1987-04-30", "1987-04-30"],
  ["birthdate", "2000-02-29", "2000-02-29"],
  ["birthdate", "0001-01-01", "0001-01-01"],
  ["birthdate", null, null],
  ["birthdate", "", null],
  ["marketing_opt_in", true, true],
  ["marketing_opt_in", false, false],
  ["notes", "Prefers\nmornings", "Prefers\nmornings"],
  ["notes", "x".repeat(5000), "x".repeat(5000)],
  ["notes", emoji.repeat(5000), emoji.repeat(5000)],
  ["notes", null, null],
  ["notes", "", null]
]

/** Values of one field that are refused. */
const invalid: ReadonlyArray<readonly [field: string, value: unknown]> = [
  ["name", ""],
  ["name", "   "],
  ["name", null],
  ["name", 5],
  ["name", ["Bo"]],
  ["name", "a\u0000b"],
  ["email", "nobody"],
  ["email", "a@b@example.com"],
  ["email", "@example.com"],
  ["email", "a@"],
  ["email", "a b@example.com"],
  ["email", "a@example.com\nBcc: b@example.com"],
  ["email", 5],
  ["email", { at: "example.com" }],
  ["phone", "12"],
  ["phone", "call me"],
  ["phone", "+31612345678901234567"],
  ["phone", "+999 123"],
  ["phone", 612345678],
  ["address", 1],
  ["address", "a\u0000b"],
  ["postcode", "1012"],
  ["postcode", "1012 L"],
  ["postcode", "10122 LG"],
  ["postcode", "1012 LG8"],
  ["postcode", "LG 1012"],
  ["postcode", 1012],
  ["city", false],
  ["country", "Netherlands"],
  ["country", "XX"],
  ["country", "N"],
  ["country", ""],
  ["country", null],
  ["country", 31],
  ["language", "nl-NL-"],
  ["language", "nederlands"],
  ["language", ""],
  ["language", null],
  ["language", 1],
  ["birthdate", "30-04-1987"],
  ["birthdate", "1987-4-30"],
  ["birthdate", "1987-02-30"],
  ["birthdate", "2001-02-29"],
  ["birthdate", "1987-13-01"],
  ["birthdate", "0000-01-01"],
  ["birthdate", "1987-04-30T00:00:00Z"],
  ["birthdate", 19870430],
  ["marketing_opt_in", "true"],
  ["marketing_opt_in", 1],
  ["marketing_opt_in", null],
  ["notes", "x".repeat(5001)],
  ["notes", emoji.repeat(5001)],
  ["notes", 5],
  ["notes", "a\u0000b"]
]

const shown = (value: unknown) => JSON.stringify(value).slice(0, 60)

layer(workspaceServer(), { excludeTestServices: true })("fields of a booking customer", (it) => {
  it.effect("have their defaults when only the required ones are sent", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const answer = yield* request("POST", "", { key, body: { name: "Bo", email: "bo@example.com" } })
      expect(answer.status).toBe(201)
      const { created_at, id, updated_at, ...rest } = answer.customer
      expect(updated_at).toBe(created_at)
      expect(rest).toEqual({
        name: "Bo",
        email: "bo@example.com",
        phone: null,
        address: null,
        postcode: null,
        city: null,
        country: "NL",
        language: "nl",
        birthdate: null,
        marketing_opt_in: false,
        notes: null,
        total_bookings: 0,
        is_anonymized: false,
        deleted_at: null
      })
      expect((yield* request("GET", `/${id}`, { key })).customer).toEqual(answer.customer)
    })
  )

  it.effect("valid values are normalized and stored on POST and PATCH, and returned by GET", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const { id } = yield* made(key)
      for (const [field, value, kept] of valid) {
        const body = { name: "Anna", email: "anna@example.com", [field]: value }
        const created = yield* request("POST", "", { key, body })
        expect([field, shown(value), created.fields, created.status]).toEqual([field, shown(value), [], 201])
        expect(created.customer).toMatchObject({ [field]: kept })
        const patched = yield* request("PATCH", `/${id}`, { key, body: { country: "NL", [field]: value } })
        expect([field, shown(value), patched.fields, patched.status]).toEqual([field, shown(value), [], 200])
        expect(patched.customer).toMatchObject({ [field]: kept })
        const got = yield* request("GET", `/${id}`, { key })
        expect(got.customer).toEqual(patched.customer)
      }
    })
  )

  it.effect("invalid values are refused with the name of their field on POST and PATCH, and change nothing", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const before = yield* made(key)
      for (const [field, value] of invalid) {
        const body = { name: "Anna", email: "anna@example.com", [field]: value }
        const requests = [
          request("POST", "", { key, body }),
          request("PATCH", `/${before.id}`, { key, body: { [field]: value } })
        ]
        for (const answer of yield* Effect.all(requests)) {
          expect([field, shown(value), answer.code, answer.fields]).toEqual([
            field,
            shown(value),
            "VALIDATION_ERROR",
            [field]
          ])
          expect(answer.body.error?.param).toBe(field)
          expect(answer.text).not.toMatch(/Schema|Refinement|Expected|\bnull\)|undefined/)
        }
      }
      const list = yield* request("GET", "", { key })
      expect(list.customers).toEqual([before])
    })
  )

  it.effect("a name, and an email or a phone number, are required", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const create = (body: unknown) => request("POST", "", { key, body })
      const nameless = yield* create({ email: "a@example.com" })
      expect([nameless.code, nameless.body.error?.issues]).toEqual([
        "VALIDATION_ERROR",
        [{ field: "name", message: "name is required." }]
      ])
      for (const reach of [
        {},
        { email: null },
        { email: "", phone: "" },
        { phone: "  " },
        { email: null, phone: null }
      ]) {
        const answer = yield* create({ name: "Bo", ...reach })
        expect([reach, answer.code]).toEqual([reach, "VALIDATION_ERROR"])
        expect(answer.fields.length).toBeGreaterThan(0)
        for (const field of answer.fields) expect(["email", "phone"]).toContain(field)
      }
      expect((yield* create({ name: "Bo", phone: "0612345678" })).customer.email).toBeNull()
      expect((yield* create({ name: "Bo", email: "", phone: "0612345678" })).customer.email).toBeNull()
      expect((yield* request("POST", "", { key })).code).toBe("VALIDATION_ERROR")
    })
  )

  it.effect("email and phone cannot both be removed, but either one can", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const { id } = yield* made(key, { phone: "0612345678" })
      const patch = (body: unknown) => request("PATCH", `/${id}`, { key, body })
      expect((yield* patch({ email: null, phone: null })).code).toBe("VALIDATION_ERROR")
      expect((yield* patch({ email: null })).customer).toMatchObject({ email: null, phone: "+31612345678" })
      for (const phone of [null, "", " "]) expect((yield* patch({ phone })).code).toBe("VALIDATION_ERROR")
      const swapped = yield* patch({ phone: null, email: "new@example.com" })
      expect(swapped.customer).toMatchObject({ email: "new@example.com", phone: null })
    })
  )

  it.effect("one of two concurrent changes that remove email and phone is refused", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      for (let round = 0; round < 10; round++) {
        const { id } = yield* made(key, { phone: "0612345678" })
        const bodies = [{ email: null }, { phone: null }]
        const answers = yield* Effect.forEach(bodies, (body) => request("PATCH", `/${id}`, { key, body }), {
          concurrency: "unbounded"
        })
        expect(answers.map(({ status }) => status).sort()).toEqual([200, 400])
      }
    })
  )

  it.effect("fifty concurrent changes of different fields are all kept", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const { id } = yield* made(key)
      const changes = { name: "Zo", phone: "+31612345678", address: "A 1", postcode: "1234 AB", city: "C", notes: "N" }
      const bodies = Object.entries(changes).map(([field, value]) => ({ [field]: value }))
      const answers = yield* Effect.forEach(
        Array.from({ length: 50 }, (_, i) => bodies[i % bodies.length]),
        (body) => request("PATCH", `/${id}`, { key, body }),
        { concurrency: "unbounded" }
      )
      expect(answers.every(({ status }) => status === 200)).toBe(true)
      expect((yield* request("GET", `/${id}`, { key })).customer).toMatchObject(changes)
    })
  )

  it.effect("PATCH changes only the fields that are sent, and updated_at", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const before = yield* made(key, {
        phone: "0612345678",
        notes: "N",
        birthdate: "1987-04-30",
        marketing_opt_in: true
      })
      const answer = yield* request("PATCH", `/${before.id}`, { key, body: { city: "Gouda" } })
      expect(answer.customer).toEqual({ ...before, city: "Gouda", updated_at: answer.customer.updated_at })
      expect(answer.customer.updated_at > before.updated_at).toBe(true)
    })
  )

  it.effect("unknown and read-only fields are ignored, on POST and on PATCH", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const readOnly = {
        id: `bcus_${"1".repeat(24)}`,
        total_bookings: 99,
        deleted_at: "2020-01-01T00:00:00.000Z",
        created_at: "2020-01-01T00:00:00.000Z",
        updated_at: "2020-01-01T00:00:00.000Z",
        is_anonymized: true,
        org_id: 1,
        public_id: "x",
        nickname: "Bobby",
        ["__proto__"]: { name: "Eve" }
      }
      const before = yield* made(key, readOnly)
      expect(before).toMatchObject({ total_bookings: 0, deleted_at: null, is_anonymized: false })
      expect(before.id).not.toBe(readOnly.id)
      expect(before.created_at > "2021").toBe(true)
      const answer = yield* request("PATCH", `/${before.id}`, { key, body: { ...readOnly, name: "Bo" } })
      expect(answer.customer).toEqual({ ...before, name: "Bo", updated_at: answer.customer.updated_at })
    })
  )

  it.effect("issues lists every invalid field", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const body = { email: "nobody", country: "XX", birthdate: "x", marketing_opt_in: "yes", notes: "x".repeat(5001) }
      const faulty = ["birthdate", "country", "email", "marketing_opt_in", "notes"]
      const created = yield* request("POST", "", { key, body })
      expect([...created.fields].sort()).toEqual([...faulty, "name"].sort())
      const { id } = yield* made(key)
      expect([...(yield* request("PATCH", `/${id}`, { key, body })).fields].sort()).toEqual(faulty)
      const between = { name: "Bo", phone: "12", postcode: "12", birthdate: "1987-04-30" }
      expect([...(yield* request("POST", "", { key, body: between })).fields].sort()).toEqual(["phone", "postcode"])
    })
  )

  it.effect("postcode has the Dutch format in the Netherlands only, also when the country changes", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const belgian = yield* made(key, { country: "BE", postcode: "B-1000" })
      expect(belgian.postcode).toBe("B-1000")
      const patch = (body: unknown) => request("PATCH", `/${belgian.id}`, { key, body })
      const moved = yield* patch({ country: "NL" })
      expect([moved.code, moved.fields]).toEqual(["VALIDATION_ERROR", ["postcode"]])
      expect((yield* patch({ country: "NL", postcode: "1012lg" })).customer).toMatchObject({
        country: "NL",
        postcode: "1012 LG"
      })
      expect((yield* patch({ postcode: "W1A 1AA" })).code).toBe("VALIDATION_ERROR")
      expect((yield* patch({ country: "GB", postcode: "W1A 1AA" })).customer.postcode).toBe("W1A 1AA")
    })
  )

  it.effect("a phone number without a country code is read as one of the customer's country", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      expect((yield* made(key, { country: "BE", phone: "0470 12 34 56" })).phone).toBe("+32470123456")
      const german = yield* made(key, { country: "DE" })
      const patched = yield* request("PATCH", `/${german.id}`, { key, body: { phone: "030 901820" } })
      expect(patched.customer.phone).toBe("+4930901820")
      const moved = yield* request("PATCH", `/${german.id}`, { key, body: { country: "NL" } })
      expect(moved.customer.phone).toBe("+4930901820")
      const both = yield* request("PATCH", `/${german.id}`, { key, body: { country: "FR", phone: "06 12 34 56 78" } })
      expect(both.customer.phone).toBe("+33612345678")
    })
  )

  it.effect("a lone surrogate, which JSON allows, does not cause a 500", () =>
    Effect.gen(function* () {
      const { key } = yield* organization()
      const body = '{"name":"A\\ud800","email":"a@example.com","notes":"\\udc00","\\ud800":"\\ud800"}'
      for (const once of [{}, { once: "halves" }]) {
        const answer = yield* request("POST", "", { key, body, ...once })
        expect([200, 201, 400]).toContain(answer.status)
      }
    })
  )
})

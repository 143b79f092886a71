import { VoiceApi } from "@svc/api/VoiceApi"
import { Either } from "effect"
import { describe, expect, it } from "vitest"
import { endpointsOf } from "../../../src/http/routing/Endpoint.ts"

const endpointOf = (group: string, key: string) => {
  const found = endpointsOf(VoiceApi).find((one) => one.group === group && one.key === key)
  if (found === undefined) throw new Error(`there is no ${group}.${key}`)
  return Either.getOrThrow(found.endpoint)
}

describe("a body with several faults", () => {
  it("gets a message for each; if it has more than 200 values, for the first, because each takes time", () => {
    const faults = (values: number) => {
      const more = Array.from({ length: values }, () => 0)
      const decoded = endpointOf("agents", "create").decodeBody({ name: 5, server_url: 6, more })
      return Either.isLeft(decoded) ? Object.keys(decoded.left.details ?? {}) : []
    }
    expect(faults(190)).toEqual(["name", "server_url"])
    expect(faults(201)).toEqual(["name"])
  })
})

describe("a field of a body", () => {
  const detailsOf = (group: string, key: string, body: unknown) => {
    const decoded = endpointOf(group, key).decodeBody(body)
    return Either.isLeft(decoded) ? decoded.left.details : undefined
  }

  it("role of a chat message names all roles, and a known role is no fault of a message that lacks something", () => {
    const details = (message: unknown) => detailsOf("chat", "complete", { model: "svc-ki-1.0", messages: [message] })
    const field = "messages.0.role"
    for (const role of ["function", "", 5]) {
      expect(details({ role, content: "hello" })).toEqual({
        [field]: `${field} must be one of: system, developer, user, assistant, tool`
      })
    }
    for (const role of ["system", "developer", "user"]) {
      expect(details({ role, content: "hello" })).toBeUndefined()
      expect(details({ role })).toEqual({ "messages.0.content": "messages.0.content is required." })
    }
  })

  it("country that is written as a code and is none is named", () => {
    const address = { customer_name: "Ann", street: "Main Street 1", city: "Ghent", postcode: "9000", region: null }
    const rule = "country must be a two-letter country code (ISO 3166-1 alpha-2)"
    const message = (country: string) => detailsOf("addresses", "create", { ...address, country })?.["country"]
    expect([message("be"), message("XX"), message("Belgium"), message("")]).toEqual([
      undefined,
      `${rule}: XX is not one of them`,
      rule,
      rule
    ])
  })
})

describe("a parameter that comes several times", () => {
  const faultsOf = (search: string) => {
    const decoded = endpointOf("calls", "list").decode({ params: {}, search, headers: {} })
    return Either.isLeft(decoded) ? decoded.left : undefined
  }

  it("is one fault that says how often it came", () => {
    for (const times of [2, 3, 7000]) {
      const message = `limit was given ${times} times: give it once`
      const search = Array.from({ length: times }, () => "limit=5").join("&")
      expect(faultsOf(search)).toMatchObject({ message, details: { limit: message } })
    }
  })
  it("is told beside other faults, and only where the endpoint knows the parameter", () => {
    expect(faultsOf("after=a&after=b&limit=many")).toMatchObject({
      message: "Several fields are not valid",
      details: { after: "after was given 2 times: give it once", limit: expect.stringMatching(/^limit must be/) }
    })
    expect(faultsOf("x=1&x=2")).toBeUndefined()
  })
})

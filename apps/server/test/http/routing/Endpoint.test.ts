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

describe("a parameter that comes several times", () => {
  it("is one fault, however often it comes", () => {
    const { decode } = endpointOf("calls", "list")
    for (const times of [2, 3, 7000]) {
      const search = Array.from({ length: times }, () => "limit=5").join("&")
      const decoded = decode({ params: {}, search, headers: {} })
      expect(Either.isLeft(decoded) ? Object.keys(decoded.left.details ?? {}) : []).toEqual(["limit"])
    }
  })
})

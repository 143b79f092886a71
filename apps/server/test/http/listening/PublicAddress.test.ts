import { describe, expect, it } from "@effect/vitest"
import { ConfigProvider, Effect } from "effect"
import { httpSettings } from "../../../src/http/listening/HttpSettings.ts"
import { publicAddress } from "../../../src/http/listening/PublicAddress.ts"

type Settings = ReadonlyArray<readonly [variable: string, value: string]>

const cases: ReadonlyArray<readonly [where: string, settings: Settings, address: string]> = [
  [
    "where SVC_BASE_URL says",
    [
      ["SVC_BASE_URL", "https://example.com/svc/"],
      ["SVC_PORT", "0"]
    ],
    "https://example.com/svc"
  ],
  ["where the server listens by default", [], "http://127.0.0.1:8787"],
  [
    "at its host and port",
    [
      ["SVC_HOST", "voice.lan"],
      ["SVC_PORT", "80"]
    ],
    "http://voice.lan:80"
  ],
  ["at an IPv6 address in brackets", [["SVC_HOST", "::1"]], "http://[::1]:8787"],
  ["a path when the port is any free one", [["SVC_PORT", "0"]], ""],
  ["a path when it listens on all addresses", [["SVC_HOST", "0.0.0.0"]], ""],
  ["a path when it listens on all IPv6 addresses", [["SVC_HOST", "::"]], ""]
]

describe("A link to this server", () => {
  it.effect.each(cases)("is %s", ([, settings, address]) =>
    Effect.map(httpSettings, (read) => expect(publicAddress(read)).toBe(address)).pipe(
      Effect.withConfigProvider(ConfigProvider.fromMap(new Map(settings)))
    )
  )
})

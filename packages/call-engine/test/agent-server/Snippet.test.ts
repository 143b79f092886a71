import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import { signV1 } from "../../src/testing/AgentServerDouble.ts"

const page = readFileSync(new URL("../../../../docs/calls.md", import.meta.url), "utf8")
const [check = ""] = /import \{ createHmac[\s\S]*?(?=\nconst call = )/.exec(page) ?? []

const secret = "5".repeat(64)
const body = '{"event":"call.started","from":"grüß dich 😀"}'
const now = 1_793_525_400

/** What the server of the page makes of headers, at the time `now`. */
const results = (headers: ReadonlyArray<string>) => {
  const calls = headers.map((header) => `isSigned(Buffer.from(${JSON.stringify(body)}), ${JSON.stringify(header)})`)
  const program = `${check}\nDate.now = () => ${now * 1000}\nconsole.log(JSON.stringify([${calls.join(",")}]))`
  const { stderr, stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
    encoding: "utf8",
    env: { SERVER_SECRET: secret }
  })
  expect(stderr).toBe("")
  return JSON.parse(stdout)
}

describe("the signature check in docs/calls.md", () => {
  it("accepts a signed request, and refuses forged ones and those signed more than 300 seconds ago", () => {
    const good = signV1(secret, String(now), body)
    expect(
      results([
        good,
        signV1(secret, String(now - 300), body),
        signV1(secret, String(now - 301), body),
        good.replace(`t=${now}`, `t=${now + 1}`),
        good.replace(/.$/, (last) => (last === "0" ? "1" : "0")),
        signV1(secret, String(now), `${body} `),
        good.slice(0, -1),
        ""
      ])
    ).toEqual([true, true, false, false, false, false, false, false])
  })
})

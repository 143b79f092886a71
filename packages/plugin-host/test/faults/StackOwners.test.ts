import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { StackOwners } from "../../src/faults/StackOwners.ts"

const repository = fileURLToPath(new URL("../../../../", import.meta.url))
const server = `${repository}apps/server/src/http/listening/HttpServer.ts`
const fence = `${repository}packages/plugin-host/src/fence/FencedLeg.ts`
const installed = "/srv/node_modules/svc-plugin-house"
const house = `${installed}/dist/House.js`
const single = "/srv/single.mjs"

/** An error whose stack has these files, innermost first. */
const errorIn = (...files: ReadonlyArray<string>): Error => {
  const error = new Error("boom")
  const frames = files.map((file, at) => `    at ${at % 2 === 0 ? `run (${file}:1:2)` : `file://${file}:3:4`}`)
  error.stack = ["Error: boom", "    at listOnTimeout (node:internal/timers:581:17)", ...frames].join("\n")
  return error
}

const owners = new StackOwners()
owners.add("house", house, installed)
owners.add("single", single, undefined)
owners.add("simulated", `${repository}plugins/simulated/src/Simulated.ts`, `${repository}plugins/simulated`)

const originOf = (fault: unknown) => {
  const origin = owners.originOf(fault)
  return origin._tag === "Plugin" ? origin.plugin : origin._tag
}

const dependency = "/srv/node_modules/ws/lib/websocket.js"

describe("The origin of an uncaught error", () => {
  it.each<readonly [string, string, unknown]>([
    ["house", "in the plugin's timer", errorIn(house)],
    ["house", "in a dependency below the plugin's package", errorIn(`${installed}/node_modules/ws/index.js`)],
    ["house", "in a shared dependency that the plugin called", errorIn(dependency, house)],
    ["single", "in a plugin that is a single file", errorIn(single)],
    ["simulated", "in a plugin beside our packages", errorIn(`${repository}plugins/simulated/src/Network/PhoneLeg.ts`)],
    ["house", "made during a fenced call, and thrown later", errorIn(house, fence, server)],
    [
      "house",
      "with the plugin in the stack of its cause",
      Object.assign(new Error("x", { cause: errorIn(house) }), { stack: "Error: x" })
    ],
    ["Server", "in our code", errorIn(server)],
    ["Server", "in our code that a plugin called", errorIn(server, house)],
    ["Server", "in a plugin that our code called past the fence", errorIn(house, server)],
    ["Server", "in the fence", errorIn(fence, house)],
    ["Unknown", "in a shared dependency alone", errorIn(dependency)],
    ["Unknown", "without a frame", errorIn()],
    ["Unknown", "that is no error", "boom"],
    ["Unknown", "that is undefined", undefined]
  ])("is %s for one %s", (origin, _, fault) => {
    expect(originOf(fault)).toBe(origin)
  })

  it("is unknown for an error whose stack cannot be read, or whose causes are endless", () => {
    const unreadable = new Error("x")
    Object.defineProperty(unreadable, "stack", {
      get: () => {
        throw new Error("no")
      }
    })
    const endless = errorIn()
    endless.cause = endless
    expect([originOf(unreadable), originOf(endless)]).toEqual(["Unknown", "Unknown"])
  })
})

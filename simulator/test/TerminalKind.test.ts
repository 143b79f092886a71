import { describe, expect, it } from "@effect/vitest"
import { ConfigProvider, Effect } from "effect"
import { hasColor, isDumb, withoutColor } from "../src/ui/TerminalKind.ts"

describe("a terminal without colours", () => {
  it.each([
    ["\u001b[36mcyan\u001b[39m", "cyan"],
    ["\u001b[1mbold\u001b[22m", "\u001b[1mbold\u001b[22m"],
    ["\u001b[1;31mboth\u001b[0m", "\u001b[1mboth\u001b[0m"],
    ["\u001b[7;38;5;200mextended\u001b[m", "\u001b[7mextended\u001b[m"],
    ["\u001b[38;2;1;2;3mtrue\u001b[49m", "true"],
    ["\u001b[95mbright\u001b[107m", "bright"],
    ["\u001b[2Jclear\u001b[5A", "\u001b[2Jclear\u001b[5A"]
  ])("gets %j as %j", (text, expected) => {
    expect(withoutColor(text)).toBe(expected)
  })

  it.effect.each([
    ["NO_COLOR", { NO_COLOR: "1" }, { color: false, dumb: false }],
    ["an empty NO_COLOR", { NO_COLOR: "" }, { color: true, dumb: false }],
    ["TERM=dumb", { TERM: "dumb" }, { color: true, dumb: true }],
    ["neither", {}, { color: true, dumb: false }]
  ] as const)("is known by %s", ([, environment, expected]) =>
    Effect.gen(function* () {
      const color = yield* hasColor
      const dumb = yield* isDumb
      expect({ color, dumb }).toEqual(expected)
    }).pipe(Effect.withConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(environment)))))
  )
})

import { FileSystem } from "@effect/platform"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { expand, matches, readText } from "../src/ScriptFiles.ts"

/** A folder with these files, and a way to leave it out of paths. */
const folderWith = (files: ReadonlyArray<readonly [string, string | Uint8Array]>) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const root = yield* fs.makeTempDirectoryScoped()
    for (const [file, content] of files) {
      yield* fs.makeDirectory(`${root}/${file}`.replace(/\/[^/]*$/, ""), { recursive: true })
      if (file.endsWith("/")) continue
      yield* fs.writeFile(`${root}/${file}`, typeof content === "string" ? new TextEncoder().encode(content) : content)
    }
    const found = (...given: ReadonlyArray<string>) =>
      expand(given.map((one) => `${root}/${one}`)).pipe(
        Effect.map((all) => all.map((file) => file.replace(`${root}/`, ""))),
        Effect.catchAll(({ message }) => Effect.succeed(message.replace(`${root}/`, "")))
      )
    return { found, root }
  }).pipe(Effect.orDie)

describe("a pattern for scripts", () => {
  it.each([
    ["calls/*.yaml", "calls/a.yaml", true],
    ["calls/*.yaml", "calls/b/a.yaml", false],
    ["calls/**/*.yaml", "calls/a.yaml", true],
    ["calls/**/*.yaml", "calls/b/c/a.yaml", true],
    ["**", "calls/b/a.yaml", true],
    ["calls/?.yaml", "calls/a.yaml", true],
    ["calls/?.yaml", "calls/ab.yaml", false],
    ["calls/{a,b*}.{yaml,yml}", "calls/bcd.yml", true],
    ["calls/{a,b}.yaml", "calls/c.yaml", false],
    ["calls/[a-c].yaml", "calls/b.yaml", true],
    ["calls/[!a-c].yaml", "calls/b.yaml", false],
    ["./calls/*.yaml", "calls/a.yaml", true],
    ["a+b(c)/*.yaml", "a+b(c)/d.yaml", true],
    ["calls/[z-a].yaml", "calls/a.yaml", false],
    ["calls/{a", "calls/a", true],
    ["calls/[a", "calls/[a", true]
  ])("%s and %s: %s", (pattern, path, expected) => {
    expect(matches(pattern, path)).toBe(expected)
  })
})

describe("the scripts that arguments name", () => {
  const files = [
    ["a.yaml", ""],
    ["b/c.yml", ""],
    ["b/d.YAML", ""],
    ["b/e.txt", ""],
    ["b/.hidden/f.yaml", ""],
    ["b/node_modules/g.yaml", ""],
    ["[x].yaml", ""],
    ["empty/", ""]
  ] as const

  it.scopedLive("are files, the YAML files of folders, and what patterns match, each once and in order", () =>
    Effect.gen(function* () {
      const { found } = yield* folderWith(files)
      expect(yield* found("b", "a.yaml", "*.yaml")).toEqual(["b/c.yml", "b/d.YAML", "a.yaml", "[x].yaml"])
      expect(yield* found("**/*.{yml,txt}")).toEqual(["b/c.yml", "b/e.txt"])
      expect(yield* found("[x].yaml")).toEqual(["[x].yaml"])
      expect(yield* found("b/../a.yaml", "a.yaml")).toHaveLength(1)
    }).pipe(Effect.provide(NodeContext.layer))
  )

  it.scopedLive("are refused when there are none", () =>
    Effect.gen(function* () {
      const { found } = yield* folderWith(files)
      expect(yield* found("empty")).toBe("empty: the folder has no scripts (*.yaml or *.yml)")
      expect(yield* found("a.yaml", "nope.yaml")).toMatch(
        /^nope\.yaml: there is no such file or folder \(looked for \/.*nope\.yaml\)$/
      )
      expect(yield* found("z*/*.yaml")).toBe("z*/*.yaml: no file matches this pattern")
    }).pipe(Effect.provide(NodeContext.layer))
  )

  it.scopedLive("end with links that lead back", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const { found, root } = yield* folderWith(files)
      yield* fs.symlink(root, `${root}/b/loop`)
      expect(yield* found("b")).toEqual(["b/c.yml", "b/d.YAML"])
    }).pipe(Effect.orDie, Effect.provide(NodeContext.layer))
  )

  it.scopedLive("are texts of at most 5 MB", () =>
    Effect.gen(function* () {
      const { root } = yield* folderWith([
        ["text.yaml", "name: ✂"],
        ["binary.yaml", new Uint8Array([0x6e, 0xff, 0xfe])],
        ["nul.yaml", "name: \0"],
        ["large.yaml", "#".repeat(5_000_001)]
      ])
      const messageOf = (file: string) =>
        Effect.map(Effect.flip(readText(`${root}/${file}`)), ({ message }) => message.replace(`${root}/`, ""))
      expect(yield* readText(`${root}/text.yaml`)).toBe("name: ✂")
      for (const file of ["binary.yaml", "nul.yaml"]) {
        expect(yield* messageOf(file)).toBe(`${file}: the file is not a text in UTF-8, so it is no script`)
      }
      expect(yield* messageOf("large.yaml")).toBe("large.yaml: the file is too large for a script: 5000001 bytes")
      expect(yield* messageOf("gone.yaml")).toBe("gone.yaml: the file cannot be read")
    }).pipe(Effect.provide(NodeContext.layer))
  )
})

import * as NodeContext from "@effect/platform-node/NodeContext"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { svc, tree } from "../../src/Commands.ts"
import { check, read } from "../../src/command-line/CommandLine.ts"
import type { CommandNode } from "../../src/command-line/CommandTree.ts"
import { examples } from "../../src/command-line/Examples.ts"
import { helpPage, usageLine } from "../../src/command-line/HelpPage.ts"

const plain = { width: 80, isStyled: false }

const all = (command: CommandNode): ReadonlyArray<CommandNode> => [command, ...command.children.flatMap(all)]
const commands = all(tree)
const below = commands.filter(({ path }) => path !== "svc")

const words = (line: string) => line.split(" ").filter((word) => word !== "")

/** What is wrong with a command line; undefined when it can be run. */
const faultOf = (line: string) =>
  Effect.gen(function* () {
    const { command, wants } = yield* read(tree, words(line))
    if (wants === "run") yield* check(command, svc.descriptor, words(line))
  }).pipe(
    Effect.as(undefined),
    Effect.catchTag("WrongUsage", ({ message }) => Effect.succeed(message)),
    Effect.provide(NodeContext.layer)
  )

/** The word with its last letter twice. */
const misspelt = (word: string) => word + word.slice(-1)

describe("svc --help", () => {
  it("fits on a terminal of 80 columns and 40 lines, and names all commands", () => {
    const lines = helpPage(tree, plain).split("\n")
    expect(lines.length).toBeLessThanOrEqual(40)
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80)
    for (const { name } of tree.children) expect(lines.filter((line) => line.startsWith(`  ${name} `))).toHaveLength(1)
  })

  it.each(below.map((command) => [command.path, command] as const))(
    "%s --help has the full command",
    (path, command) => {
      const page = helpPage(command, plain)
      expect(page).toContain(`Usage: ${path}`)
      expect(page.split("\n")[0]).toMatch(/^[A-Z].{5,}/)
      for (const { names } of [...command.options, ...command.arguments]) expect(page).toContain(names[0])
      expect(page).not.toMatch(/\u001b|true or false|user-defined|This setting|--wizard|--log-level/)
      expect(Math.max(...page.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80)
    }
  )

  it("has required options in the usage line, and the choices of optional ones in the list", () => {
    const create = commands.find(({ path }) => path === "svc keys create") ?? tree
    expect(usageLine(create)).toBe("svc keys create <kind> --org <id> [options]")
    expect(helpPage(create, plain)).toContain("--scope <full|read>")
  })

  it("has bold headings only where they are shown", () => {
    expect(helpPage(tree, { width: 80, isStyled: true })).toContain("\u001b[1mUsage:\u001b[0m svc <command>")
  })

  it.effect.each(examples.map(({ line }) => line))("shows an example that can be run: %s", (line) =>
    Effect.gen(function* () {
      expect(yield* faultOf(line.replace(/^svc /, ""))).toBeUndefined()
    })
  )
})

describe("a command line", () => {
  it.effect.each(below.map((command) => [command.path, command] as const))(
    "suggests %s for a misspelt name",
    ([path, command]) =>
      Effect.gen(function* () {
        const parent = path.slice(0, -command.name.length)
        const given = `${parent}${misspelt(command.name)}`
        const fault = yield* faultOf(given.replace(/^svc /, ""))
        expect(fault).toContain(`unknown command: ${given}. Did you mean svc `)
      })
  )

  it.effect.each(
    below.flatMap((command) =>
      command.options.flatMap(({ names: [name = ""] }) => [[`${command.path} ${misspelt(name)}`, name] as const])
    )
  )("refuses %s and suggests %s", ([line, name]) =>
    Effect.gen(function* () {
      const option = words(line).at(-1)
      const fault = yield* faultOf(line.replace(/^svc /, ""))
      expect(fault).toContain(
        `unknown option of ${line.slice(0, -String(option).length - 1)}: ${option}. Did you mean ${name}?`
      )
    })
  )

  it.effect.each([
    ["org creat", "unknown command: svc org creat. Did you mean svc org create?\nsvc org --help lists the commands."],
    ["key", "unknown command: svc key. Did you mean svc keys?\nsvc --help lists the commands."],
    ["zzz", "unknown command: svc zzz.\nsvc --help lists the commands."],
    [
      "serve --deb",
      "unknown option of svc serve: --deb. Did you mean --dev?\nUsage: svc serve [options]\nsvc serve --help shows more."
    ],
    ["serve -d", "unknown option of svc serve: -d.\n"],
    ["chat x --wizard", "unknown option of svc chat: --wizard."],
    ["org create", "Missing argument <name>.\nUsage: svc org create <name> [options]"],
    ["org create a b c", "One argument too many: b.\nUsage: svc org create <name> [options]"],
    ["keys create org", "--org is required."],
    ["keys create admin --org 1", "<kind> must be one of org, project, workspace"],
    ["keys create project --org 1 --scope all", "--scope must be one of full, read"],
    ["--completions", "--completions must be one of sh, bash, fish, zsh"],
    ["--completions tcsh", "--completions must be one of sh, bash, fish, zsh"],
    ["org create Acme --tier", "--tier has no value.\nUsage: svc org create <name> [options]"],
    ["numbers search NLD --org 1", "<country> must be a two-letter country code, such as NL"]
  ] as const)("%s is refused: %s", ([line, reason]) =>
    Effect.gen(function* () {
      expect((yield* faultOf(line))?.startsWith(reason)).toBe(true)
    })
  )

  it.effect.each([
    "numbers assign +12125550100 none --org 1",
    "org create Acme --credits -5",
    "org create Acme --credits=20",
    "org create -- --help",
    "keys list --org 1",
    "keys list org --org --json",
    "--completions zsh"
  ])("%s is read as it stands", (line) =>
    Effect.gen(function* () {
      const { wants } = yield* read(tree, words(line))
      expect(wants).toBe("run")
    })
  )

  it.effect.each([
    ["", "svc"],
    ["-h", "svc"],
    ["help", "svc"],
    ["org", "svc org"],
    ["help org create", "svc org create"],
    ["org create Acme --tier payg --help", "svc org create"]
  ] as const)("%j asks for the help page of %s", ([line, path]) =>
    Effect.gen(function* () {
      expect(yield* read(tree, words(line))).toMatchObject({ wants: "help", command: { path } })
    })
  )
})

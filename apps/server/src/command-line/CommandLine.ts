import { stripVTControlCharacters } from "node:util"
import * as CliConfig from "@effect/cli/CliConfig"
import * as Descriptor from "@effect/cli/CommandDescriptor"
import * as HelpDoc from "@effect/cli/HelpDoc"
import { suggestion } from "@svc/api/Suggestion"
import { Data, Effect } from "effect"
import type { CommandNode } from "./CommandTree.ts"
import { usageLine } from "./HelpPage.ts"

/** A command line that no command can be run with. `message` says why and what to do, in a few lines. */
export class WrongUsage extends Data.TaggedError("WrongUsage")<{ readonly message: string }> {}

/** What a command line asks for: to run a command, its help page, or the version of the program. */
export interface Request {
  readonly wants: "run" | "help" | "version"
  readonly command: CommandNode
}

/** Shells for which the library writes completions. */
const shells = ["sh", "bash", "fish", "zsh"]

/** The name that was probably meant; a beginning of several letters is enough. */
const closest = (word: string, known: ReadonlyArray<string>): string | undefined =>
  suggestion(word, known) ?? known.find((name) => name.startsWith(word) && word.replace(/^-*/, "").length > 1)

const wrong = (reason: string, suggestion: string | undefined, next: string) =>
  new WrongUsage({ message: `${reason}.${suggestion === undefined ? "" : ` Did you mean ${suggestion}?`}\n${next}` })

const unknownCommand = (word: string, parent: CommandNode): WrongUsage => {
  const found = closest(
    word,
    parent.children.map(({ name }) => name)
  )
  return wrong(
    `unknown command: ${parent.path} ${word}`,
    found === undefined ? undefined : `${parent.path} ${found}`,
    `${parent.path} --help lists the commands.`
  )
}

const usageOf = (command: CommandNode): string => `Usage: ${usageLine(command)}\n${command.path} --help shows more.`

const unknownOption = (option: string, command: CommandNode): WrongUsage =>
  wrong(
    `unknown option of ${command.path}: ${option}`,
    closest(option, [...command.options.flatMap(({ names }) => names), "--help"]),
    usageOf(command)
  )

/** The first fault in the options that stand before `--`; what follows an option that has a value is this value. */
const findFault = (words: ReadonlyArray<string>, command: CommandNode): WrongUsage | undefined => {
  const known = new Map(command.options.flatMap((option) => option.names.map((name) => [name, option] as const)))
  for (let index = 0; index < words.length; index++) {
    const [name = "", inline] = (words[index] ?? "").split(/=(.*)/s, 2)
    // A number may begin with a sign.
    if (!/^--?[a-z]/i.test(name)) continue
    const option = known.get(name)
    if (option === undefined) return unknownOption(name, command)
    if (option.value === undefined) continue
    const value = inline ?? words[++index]
    if (value === undefined) return wrong(`${name} has no value`, undefined, usageOf(command))
    const choices = option.value.split("|")
    if (choices.length > 1 && !choices.includes(value)) {
      return new WrongUsage({ message: `${name} must be one of ${choices.join(", ")}` })
    }
  }
  return undefined
}

/**
 * Reads a command line, without the program's name, up to the values of its options and arguments. Both the names of
 * commands and of options are checked here: what the library says of an unknown one does not name it.
 */
export const read = (root: CommandNode, given: ReadonlyArray<string>): Effect.Effect<Request, WrongUsage> => {
  const words = given[0] === "help" ? [...given.slice(1), "--help"] : given
  let command = root
  let depth = 0
  for (const word of words) {
    const child = command.children.find(({ name }) => name === word)
    if (child === undefined) break
    command = child
    depth++
  }
  const rest = words.slice(depth)
  const [next] = rest
  if (command.children.length > 0 && next !== undefined && !next.startsWith("-")) {
    return unknownCommand(next, command)
  }
  const end = rest.indexOf("--")
  const options = end < 0 ? rest : rest.slice(0, end)
  if (options.includes("--help") || options.includes("-h")) return Effect.succeed({ wants: "help", command })
  if (command === root && next === "--version") return Effect.succeed({ wants: "version", command })
  if (command === root && next !== undefined && /^--completions(=|$)/.test(next)) {
    const shell = next.split("=")[1] ?? rest[1]
    if (shell !== undefined && shells.includes(shell)) return Effect.succeed({ wants: "run", command })
    return new WrongUsage({ message: `--completions must be one of ${shells.join(", ")}` })
  }
  const fault = findFault(options, command)
  if (fault !== undefined) return fault
  return Effect.succeed({ wants: command.children.length > 0 ? "help" : "run", command })
}

/** What the library says, with the name of what it is about. */
const reworded = (message: string, command: CommandNode): string => {
  const choices = /^Expected one of the following cases: (.*)$/.exec(message)?.[1]
  const about = command.arguments.find(({ value }) => value?.replaceAll("|", ", ") === choices)
  if (choices !== undefined && about !== undefined) return `${about.names[0]} must be one of ${choices}`
  return message.replace(/^Expected to find option: '(.+)'$/, "$1 is required").replace(/\.$/, "")
}

/** Checks the values of a command line that was read, as the library reads them. */
export const check = (command: CommandNode, descriptor: Descriptor.Command<unknown>, words: ReadonlyArray<string>) =>
  Descriptor.parse(descriptor, ["svc", ...words], CliConfig.defaultConfig).pipe(
    Effect.mapError(({ error }) => stripVTControlCharacters(HelpDoc.toAnsiText(error)).replace(/\s+/g, " ").trim()),
    Effect.flatMap((directive) => {
      const [extra] = directive._tag === "BuiltIn" ? [] : directive.leftover
      return extra === undefined ? Effect.void : Effect.fail(`One argument too many: ${extra}`)
    }),
    Effect.mapError((message) => {
      const reason = reworded(message, command)
      // What is wrong with a value says all; who leaves something out looks for the usage.
      const isValue = / must be /.test(reason)
      return new WrongUsage({ message: isValue ? reason : `${reason}.\n${usageOf(command)}` })
    })
  )

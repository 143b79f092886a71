import { stripVTControlCharacters } from "node:util"
import * as CliConfig from "@effect/cli/CliConfig"
import * as Descriptor from "@effect/cli/CommandDescriptor"
import * as HelpDoc from "@effect/cli/HelpDoc"
import type { Usage } from "@effect/cli/Usage"
import { HashMap, Option } from "effect"

/** An option or an argument of a command. */
export interface Parameter {
  /** `--json`, also with its aliases; of an argument `<name>`. */
  readonly names: ReadonlyArray<string>
  /** What an option's value is, or the choices of an argument; undefined for a flag and for any text. */
  readonly value: string | undefined
  readonly isOptional: boolean
  readonly description: string
}

/** A command as its help page shows it, read from its definition. */
export interface CommandNode {
  /** The words that call it, such as `svc org create`. */
  readonly path: string
  readonly name: string
  readonly description: string
  readonly arguments: ReadonlyArray<Parameter>
  readonly options: ReadonlyArray<Parameter>
  /** Its subcommands, in the order of their definition. */
  readonly children: ReadonlyArray<CommandNode>
}

type Definition = readonly [name: string, paragraphs: ReadonlyArray<string>]

const config = CliConfig.make({ showBuiltIns: false })

const textOf = (doc: HelpDoc.HelpDoc): string =>
  stripVTControlCharacters(HelpDoc.toAnsiText(doc)).replace(/\s+/g, " ").trim()

const blocks = (doc: HelpDoc.HelpDoc): ReadonlyArray<Exclude<HelpDoc.HelpDoc, HelpDoc.Sequence>> =>
  doc._tag === "Sequence" ? [...blocks(doc.left), ...blocks(doc.right)] : [doc]

const definitionsIn = (doc: HelpDoc.HelpDoc): ReadonlyArray<Definition> =>
  blocks(doc).flatMap((block) =>
    block._tag === "DescriptionList"
      ? block.definitions.map(([name, body]): Definition => [textOf(HelpDoc.p(name)), blocks(body).map(textOf)])
      : []
  )

/** The library puts the type of the value first, and whether it may be left out last. */
const descriptionOf = (names: ReadonlyArray<string>, definitions: ReadonlyArray<Definition>): string => {
  const [, [, ...paragraphs] = []] = definitions.find(([key]) => key.split(/[\s,()]+/).includes(names[0] ?? "")) ?? []
  return paragraphs.filter((text) => !/^This (setting|option|argument) /.test(text)).join(" ")
}

const parameters = (usage: Usage, definitions: ReadonlyArray<Definition>, isOptional = false): Array<Parameter> => {
  switch (usage._tag) {
    case "Empty":
    case "Mixed":
      return []
    case "Named": {
      const value = Option.getOrUndefined(usage.acceptedValues)?.replaceAll(" | ", "|")
      return [{ names: usage.names, value, isOptional, description: descriptionOf(usage.names, definitions) }]
    }
    case "Optional":
      return parameters(usage.usage, definitions, true)
    case "Repeated":
      return parameters(usage.usage, definitions, isOptional)
    case "Alternation":
    case "Concat":
      return [...parameters(usage.left, definitions, isOptional), ...parameters(usage.right, definitions, isOptional)]
  }
}

type AnyCommand = Descriptor.Command<unknown>

const nodeOf = (
  command: AnyCommand,
  parent: string | undefined,
  children: (path: string) => ReadonlyArray<CommandNode>
) => {
  const help = blocks(Descriptor.getHelp(command, config))
  const [{ names: [name = ""] = [] } = {}, ...all] = parameters(
    Descriptor.getUsage(command),
    help.flatMap(definitionsIn)
  )
  const path = parent === undefined ? name : `${parent} ${name}`
  const description = help.findIndex((block) => block._tag === "Header" && textOf(block) === "DESCRIPTION")
  const isOption = ({ names }: Parameter) => names.some((one) => one.startsWith("-"))
  return {
    path,
    name,
    description: description < 0 ? "" : textOf(help[description + 1] ?? HelpDoc.empty),
    arguments: all.filter((parameter) => !isOption(parameter)),
    options: all.filter(isOption),
    children: children(path)
  }
}

/** A command of the program: one that runs, or a group of such. */
const commandOf = (command: AnyCommand, parent: string): CommandNode =>
  nodeOf(command, parent, (path) => {
    // The map of the subcommands has no order; the list in the help text has.
    const listed = blocks(Descriptor.getHelp(command, config)).flatMap((block) =>
      block._tag === "Enumeration" ? block.elements.map((line) => textOf(line).split(" ")[0] ?? "") : []
    )
    const known = Descriptor.getSubcommands(command)
    return listed.flatMap((name) =>
      Option.match(HashMap.get(known, name), {
        onNone: () => [],
        onSome: (child) => [nodeOf(child, path, () => [])]
      })
    )
  })

/** The program with its commands, in the given order. */
export const commandTree = (program: AnyCommand, commands: ReadonlyArray<AnyCommand>): CommandNode =>
  nodeOf(program, undefined, (path) => commands.map((command) => commandOf(command, path)))

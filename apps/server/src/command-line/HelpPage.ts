import type { CommandNode, Parameter } from "./CommandTree.ts"
import { examples } from "./Examples.ts"

/** How a help page is shown. */
export interface Style {
  /** Columns of a line. */
  readonly width: number
  /** Whether headings are bold. */
  readonly isStyled: boolean
}

/** For the terminal behind a stream; without one, or with `NO_COLOR` or `TERM=dumb`, plain text of 80 columns. */
export const styleOf = (stream: NodeJS.WriteStream): Style =>
  stream.isTTY === true
    ? { width: Math.min(Math.max(stream.columns, 40), 100), isStyled: stream.hasColors(16) }
    : { width: 80, isStyled: false }

const wrap = (text: string, width: number): Array<string> =>
  text.split(" ").reduce<Array<string>>((lines, word) => {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
    return lines
  }, [])

/** Names in a column with their descriptions beside them, or below a name that is too long. */
const columns = (rows: ReadonlyArray<readonly [name: string, description: string]>, width: number): Array<string> => {
  const left = Math.min(Math.max(...rows.map(([name]) => name.length)), 28)
  return rows.flatMap(([name, description]) => {
    const lines = description === "" ? [] : wrap(description, width - left - 4)
    const beside = name.length <= left ? lines.shift() : undefined
    return [
      beside === undefined ? `  ${name}` : `  ${name.padEnd(left)}  ${beside}`,
      ...lines.map((line) => `${" ".repeat(left + 4)}${line}`)
    ]
  })
}

const named = ({ names, value }: Parameter): string =>
  value === undefined ? names.join(", ") : `${names.join(", ")} <${value}>`

/** Choices are long: the list of options has them. */
const inUsage = ({ names: [name = ""], value }: Parameter): string =>
  value === undefined ? name : `${name} <${value.includes("|") ? name.replace(/^--/, "") : value}>`

/** The line that says how a command is called, such as `svc org create <name> [options]`. */
export const usageLine = (command: CommandNode): string =>
  [
    command.path,
    ...(command.children.length > 0 ? ["<command>"] : []),
    ...command.arguments.map(({ isOptional, names: [name = ""] }) => (isOptional ? `[${name}]` : name)),
    ...command.options.filter(({ isOptional }) => !isOptional).map(inUsage),
    ...(command.options.some(({ isOptional }) => isOptional) ? ["[options]"] : [])
  ].join(" ")

const helpOption = ["-h, --help", "Show this page"] as const

/** The help page of a command. */
export const helpPage = (command: CommandNode, { isStyled, width }: Style): string => {
  const heading = (text: string) => (isStyled ? `\u001b[1m${text}\u001b[0m` : text)
  const section = (title: string, lines: ReadonlyArray<string>) =>
    lines.length === 0 ? [] : ["", heading(title), ...lines]
  const isRoot = !command.path.includes(" ")
  const tried = examples.filter(
    ({ line }) => line.startsWith(`${command.path} `) && (!isRoot || line.startsWith("svc "))
  )
  const shown = isRoot ? tried.filter(({ isFirst }) => isFirst) : tried
  const values = command.arguments.map(
    ({ description, names: [name = ""], value }) =>
      [
        name,
        [description, ...(value === undefined ? [] : [`one of ${value.replaceAll("|", ", ")}`])]
          .filter((text) => text !== "")
          .join("; ")
      ] as const
  )
  return [
    ...wrap(command.description, width),
    "",
    `${heading("Usage:")} ${usageLine(command)}`,
    ...section(
      "Commands:",
      command.children.length === 0
        ? []
        : columns(
            command.children.map((child) => [child.name, child.description]),
            width
          )
    ),
    ...section("Arguments:", values.length === 0 ? [] : columns(values, width)),
    ...section(
      "Options:",
      columns(
        [
          ...command.options.map((option) => [named(option), option.description] as const),
          helpOption,
          ...(isRoot
            ? ([
                ["--version", "Print the version"],
                ["--completions <shell>", "Print completions for sh, bash, fish or zsh"]
              ] as const)
            : [])
        ],
        width
      )
    ),
    ...section(
      "Examples:",
      shown.map(({ line, what }) =>
        `  ${line.padEnd(what === "" ? 0 : Math.max(...shown.map((one) => one.line.length)))}  ${what}`.trimEnd()
      )
    ),
    ...(command.children.length === 0 ? [] : ["", `${command.path} <command> --help describes a command.`])
  ].join("\n")
}

import { Config, Effect } from "effect"

const variable = (name: string) => Effect.orDie(Config.withDefault(Config.string(name), ""))

/** Whether the terminal may get colours. See https://no-color.org. */
export const hasColor: Effect.Effect<boolean> = Effect.map(variable("NO_COLOR"), (value) => value === "")

/** Whether the terminal cannot place text: it gets plain lines. */
export const isDumb: Effect.Effect<boolean> = Effect.map(variable("TERM"), (value) => value === "dumb")

/** Whether a parameter of an SGR sequence sets a colour, as in ECMA-48 and the bright colours of aixterm. */
const isColor = (parameter: number): boolean =>
  (parameter >= 30 && parameter <= 49) || (parameter >= 90 && parameter <= 107)

/** Removes the colours of a text and keeps bold, dim, italic, underlined and inverse text. */
export const withoutColor = (text: string): string =>
  text.replace(/\u001b\[([0-9;]*)m/g, (sequence, list: string) => {
    const parameters = list.split(";").map(Number)
    const kept: Array<number> = []
    for (let n = 0; n < parameters.length; n++) {
      const parameter = parameters[n] ?? 0
      // Extended colours have parameters of their own: 38;5;n and 38;2;r;g;b.
      if (parameter === 38 || parameter === 48) n += parameters[n + 1] === 5 ? 2 : 4
      else if (!isColor(parameter)) kept.push(parameter)
    }
    if (kept.length === parameters.length) return sequence
    return kept.length === 0 ? "" : `\u001b[${kept.join(";")}m`
  })

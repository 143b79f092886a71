import { Box, Text } from "ink"
import { clock } from "../CallSummary.ts"
import type { CallView } from "../CallView.ts"
import type { Listed } from "../PhoneState.ts"
import { Frame, innerArea } from "./Frame.tsx"
import type { Area } from "./ScreenLayout.ts"
import { crop, fill, pad, wrap } from "./TextWrap.ts"

/** The visible range of the list, which includes the selected row. */
export const visible = (count: number, selected: number, height: number): readonly [number, number] => {
  const first = Math.max(0, Math.min(count - height, selected - Math.floor(height / 2)))
  return [first, Math.min(count, first + height)]
}

/**
 * The numbers to dial with their agents. `notes` says what else there is to know about a number. `problem` is shown in an
 * empty list, as far as it fits.
 */
export const NumberList = (props: {
  readonly numbers: ReadonlyArray<Listed>
  readonly notes: ReadonlyMap<string, string>
  readonly selected: number
  /** Whether keys change the selection. */
  readonly active: boolean
  readonly problem: string | null
  readonly aside?: string
  readonly area: Area
}) => {
  const { active, area, aside, notes, numbers, problem, selected } = props
  const room = innerArea(area)
  const entries = numbers.map(({ agent, number }) => {
    const note = notes.get(number)
    return {
      number,
      short: note ?? agent ?? "no agent",
      below: [agent ?? "no agent", ...(note === undefined ? [] : [note])].flatMap((text) => wrap(text, room.width - 3))
    }
  })
  // Rows below each number if there is room: its agent and the note.
  const isTall = entries.reduce((rows, { below }) => rows + 1 + below.length, 0) <= room.height
  const [from, to] = visible(numbers.length, selected, isTall ? numbers.length : room.height)
  return (
    <Frame title="Numbers" area={area} color={active ? "cyan" : "gray"} {...(aside === undefined ? {} : { aside })}>
      {entries.length === 0 ? (
        <Text {...(problem === null ? { dimColor: true } : { color: "red" })}>
          {fill(problem ?? "no numbers yet; type one to dial it", room)}
        </Text>
      ) : (
        entries.slice(from, to).map(({ below, number, short }, n) => {
          const isSelected = from + n === selected
          const mark = isSelected ? "▸ " : "  "
          return (
            <Box key={number} flexDirection="column">
              <Text inverse={isSelected && active} bold={isSelected} wrap="truncate">
                {isTall ? pad(mark + number, room.width) : pad(`${mark}${number}  ${short}`, room.width)}
              </Text>
              {isTall ? below.map((row) => <Text key={row} dimColor wrap="truncate">{`   ${row}`}</Text>) : null}
            </Box>
          )
        })
      )}
    </Frame>
  )
}

const timeOfDay = (at: number): string => new Date(at).toTimeString().slice(0, 5)

/** The calls of this phone, the newest first. */
export const CallList = (props: {
  readonly calls: ReadonlyArray<CallView>
  readonly selected: number
  readonly opened: number | null
  readonly active: boolean
  readonly aside?: string
  readonly area: Area
}) => {
  const { active, area, aside, calls, opened, selected } = props
  const room = innerArea(area)
  const isTall = calls.length * 2 <= room.height
  const at = Math.min(selected, Math.max(0, calls.length - 1))
  const [from, to] = visible(calls.length, at, isTall ? calls.length : room.height)
  return (
    <Frame title="Calls" area={area} color={active ? "cyan" : "gray"} {...(aside === undefined ? {} : { aside })}>
      {calls.slice(from, to).map((call, n) => {
        const isSelected = active && from + n === at
        const mark = isSelected ? "▸" : call.id === opened ? "•" : " "
        const outcome =
          call.phase !== "ended"
            ? call.phase
            : call.answered_at === null || call.ended_at === null
              ? (call.meaning ?? "not answered")
              : `${clock(call.ended_at - call.answered_at)} ${call.cause ?? ""}`
        const head = `${mark} ${timeOfDay(call.dialled_at)} ${call.to}`
        return (
          <Box key={call.id} flexDirection="column">
            <Text inverse={isSelected} bold={isSelected} wrap="truncate">
              {pad(isTall ? head : `${head} ${outcome}`, room.width)}
            </Text>
            {isTall ? <Text dimColor wrap="truncate">{`    ${crop(outcome, room.width - 4)}`}</Text> : null}
          </Box>
        )
      })}
    </Frame>
  )
}

const keys = ["123", "456", "789", "*0#"]

/** A dial pad that highlights the last digit. */
export const DialPad = (props: { readonly highlighted: string; readonly active: boolean; readonly area: Area }) => {
  const { active, area, highlighted } = props
  const gap = " ".repeat(Math.max(1, Math.floor((innerArea(area).width - 9) / 4)))
  return (
    <Frame title={active ? "Keypad: sends digits" : "Keypad"} area={area} color={active ? "magenta" : "gray"}>
      {keys.map((row) => (
        <Text key={row} wrap="truncate">
          {[...row].map((key) => (
            <Text key={key}>
              {gap}
              <Text inverse={key === highlighted} bold={active} dimColor={!active && key !== highlighted}>
                {` ${key} `}
              </Text>
            </Text>
          ))}
        </Text>
      ))}
    </Frame>
  )
}

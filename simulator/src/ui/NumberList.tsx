import { Box, Text } from "ink"
import type { Listed } from "../PhoneState.ts"
import { Frame, innerArea } from "./Frame.tsx"
import type { Area } from "./ScreenLayout.ts"
import { crop, pad } from "./TextWrap.ts"

/** The visible range of the list, which includes the selected row. */
export const visible = (count: number, selected: number, height: number): readonly [number, number] => {
  const first = Math.max(0, Math.min(count - height, selected - Math.floor(height / 2)))
  return [first, Math.min(count, first + height)]
}

/** The numbers of the project with their agents. */
export const NumberList = (props: {
  readonly numbers: ReadonlyArray<Listed>
  readonly selected: number
  /** Whether keys change the selection. */
  readonly active: boolean
  readonly area: Area
}) => {
  const { active, area, numbers } = props
  const room = innerArea(area)
  const selected = Math.min(props.selected, Math.max(0, numbers.length - 1))
  // Two rows per number if there is room: number and agent.
  const tall = numbers.length * 2 <= room.height
  const [from, to] = visible(numbers.length, selected, tall ? numbers.length : room.height)
  return (
    <Frame title="Numbers" area={area} color={active ? "cyan" : "gray"}>
      {numbers.length === 0 ? (
        <Text dimColor wrap="wrap">
          no numbers yet; type one to dial it
        </Text>
      ) : (
        numbers.slice(from, to).map((entry, n) => {
          const isSelected = from + n === selected
          const agent = entry.agent ?? "no agent"
          const mark = isSelected ? "▸ " : "  "
          return (
            <Box key={entry.number} flexDirection="column">
              <Text inverse={isSelected && active} bold={isSelected} wrap="truncate">
                {tall ? pad(mark + entry.number, room.width) : pad(`${mark}${entry.number}  ${agent}`, room.width)}
              </Text>
              {tall ? <Text dimColor wrap="truncate">{`    ${crop(agent, room.width - 4)}`}</Text> : null}
            </Box>
          )
        })
      )}
    </Frame>
  )
}

const keys = ["123", "456", "789", "*0#"]

/** A dial pad that highlights the last digit. */
export const DialPad = (props: { readonly highlighted: string; readonly active: boolean; readonly area: Area }) => {
  const { active, area, highlighted } = props
  const gap = " ".repeat(Math.max(1, Math.floor((innerArea(area).width - 9) / 4)))
  return (
    <Frame title={active ? "Keypad: keys are sent" : "Keypad"} area={area} color={active ? "magenta" : "gray"}>
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

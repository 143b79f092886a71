import { Box, Text } from "ink"
import type { ReactNode } from "react"
import type { Area } from "./ScreenLayout.ts"
import { crop, width } from "./TextWrap.ts"

/** A pane with its title in the upper border. With less than three rows it has no border. */
export const Frame = (props: {
  readonly title: string
  /** A second title on the right. */
  readonly aside?: string
  readonly area: Area
  readonly color?: string
  readonly children: ReactNode
}) => {
  const { area, color = "gray" } = props
  if (area.height <= 0 || area.width < 4) return null
  if (area.height < 3) {
    return (
      <Box width={area.width} height={area.height} flexDirection="column" overflow="hidden">
        {props.children}
      </Box>
    )
  }
  const title = crop(props.title, area.width - 5)
  const room = area.width - 5 - width(title)
  const aside = props.aside !== undefined && width(props.aside) + 3 <= room ? props.aside : ""
  const line = "─".repeat(Math.max(0, room - (aside === "" ? 0 : width(aside) + 3)))
  return (
    <Box width={area.width} height={area.height} flexDirection="column">
      <Text color={color} wrap="truncate">
        ╭─ <Text bold>{title}</Text> {line}
        {aside === "" ? "" : ` ${aside} ─`}╮
      </Text>
      <Box
        borderStyle="round"
        borderTop={false}
        borderColor={color}
        width={area.width}
        height={area.height - 1}
        paddingX={area.width >= 20 ? 1 : 0}
        flexDirection="column"
        overflow="hidden"
      >
        {props.children}
      </Box>
    </Box>
  )
}

/** The area inside a frame. */
export const innerArea = (area: Area): Area =>
  area.height < 3
    ? area
    : { width: Math.max(1, area.width - (area.width >= 20 ? 4 : 2)), height: Math.max(0, area.height - 2) }

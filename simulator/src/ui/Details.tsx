import { Box, Text } from "ink"
import type { CallView } from "../CallView.ts"
import { type DetailRow, latencyRows, requestRows, webhookRows } from "./DetailRows.ts"
import { Frame, innerArea } from "./Frame.tsx"
import type { Area } from "./ScreenLayout.ts"
import { crop } from "./TextWrap.ts"

const sections = [
  { title: "Requests to the agent's server", rowsOf: requestRows, share: 0.4 },
  { title: "Webhooks", rowsOf: webhookRows, share: 0.3 },
  { title: "Latency of each turn", rowsOf: latencyRows, share: 0.3 }
] as const

const Rows = (props: { readonly rows: ReadonlyArray<DetailRow>; readonly area: Area }) => (
  <>
    {props.rows.map(({ key, kind, text }) => (
      <Text
        key={key}
        wrap="truncate"
        bold={kind === "head"}
        dimColor={kind === "faint"}
        {...(kind === "bad" ? { color: "red" } : {})}
      >
        {crop(text, props.area.width)}
      </Text>
    ))}
  </>
)

/** Requests to the agent's server, webhooks and latencies of a call in panes above each other, the newest rows of each. */
export const DetailPanes = (props: { readonly call: CallView | null; readonly area: Area }) => {
  const { area, call } = props
  let left = area.height
  return (
    <Box flexDirection="column">
      {sections.map(({ rowsOf, share, title }, n) => {
        const height = n === sections.length - 1 ? left : Math.floor(area.height * share)
        left -= height
        const room = innerArea({ width: area.width, height })
        const rows = call === null ? [] : rowsOf(call, room.width)
        const head = rows.filter(({ kind }) => kind === "head")
        const shown = [...head, ...rows.slice(head.length).slice(-Math.max(1, room.height - head.length))]
        return (
          <Frame key={title} title={title} area={{ width: area.width, height }}>
            <Rows rows={shown} area={room} />
          </Frame>
        )
      })}
    </Box>
  )
}

/** The same in one pane, for terminals without room for more. */
export const Details = (props: { readonly call: CallView | null; readonly scroll: number; readonly area: Area }) => {
  const { area, call } = props
  const room = innerArea(area)
  const rows: ReadonlyArray<DetailRow> =
    call === null
      ? [{ key: "none", text: "The details of a call appear here.", kind: "faint" }]
      : sections.flatMap(
          ({ rowsOf, title }): ReadonlyArray<DetailRow> => [
            { key: title, text: title, kind: "head" },
            ...rowsOf(call, room.width).map((row) => ({ ...row, key: `${title}.${row.key}` }))
          ]
        )
  const from = Math.min(props.scroll, Math.max(0, rows.length - room.height))
  const below = rows.length - room.height - from
  return (
    <Frame title="Details" area={area} color="cyan" {...(below > 0 ? { aside: `${below} more: PgDn` } : {})}>
      <Rows rows={rows.slice(from, from + room.height)} area={room} />
    </Frame>
  )
}

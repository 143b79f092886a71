import { Box } from "ink"
import { isGathering } from "../CallView.ts"
import { callsOf, inCall, type PhoneState } from "../PhoneState.ts"
import { type Controls, choices, isDigits, selectedIndex } from "./Controls.ts"
import { DetailPanes, Details } from "./Details.tsx"
import { Events } from "./Events.tsx"
import { CallBar, Header } from "./Header.tsx"
import { Help } from "./Help.tsx"
import { Footer, InputLine, type InputMode } from "./InputLine.tsx"
import { CallList, DialPad, NumberList } from "./NumberList.tsx"
import { layout } from "./ScreenLayout.ts"
import { Transcript } from "./Transcript.tsx"

const noNotes: ReadonlyMap<string, string> = new Map()

const modeOf = (controls: Controls, state: PhoneState): InputMode => {
  if (!inCall(state) || state.call === null) {
    return controls.list === "calls" && controls.number === "" && callsOf(state).length > 0 ? "calls" : "dial"
  }
  if (controls.keypad) return "keypad"
  if (isGathering(state.call)) return "gather"
  return isDigits(controls.speech) ? "digits" : "speech"
}

/** The whole screen as a function of the phone's state, the controls and the size of the terminal. */
export const Screen = (props: {
  readonly state: PhoneState
  readonly controls: Controls
  readonly url: string
  /** The hint in the empty input line during a call. */
  readonly hint?: string
  /** What there is to know about a number, by number. */
  readonly notes?: ReadonlyMap<string, string>
  readonly columns: number
  readonly rows: number
}) => {
  const { columns, controls, rows, state } = props
  const calling = inCall(state)
  const calls = callsOf(state)
  const opened = calling ? undefined : calls.find(({ id }) => id === controls.opened)
  const call = opened ?? state.call
  const mode = modeOf(controls, state)
  const isBrowsing = mode === "calls" && opened === undefined
  const at = layout(columns, rows, calling, calls.length > 0 && !isBrowsing, calls.length > 0)
  const value =
    mode === "dial" || mode === "calls"
      ? controls.number
      : mode === "keypad"
        ? (state.call?.digits ?? "")
        : controls.speech
  const hasBoth = at.calls.height > 0
  const other = !calling && !hasBoth && calls.length > 0
  const callList = (
    <CallList
      calls={calls}
      selected={controls.selectedCall}
      opened={opened?.id ?? null}
      active={mode === "calls"}
      area={hasBoth ? at.calls : at.numbers}
      {...(other ? { aside: "Tab: numbers" } : {})}
    />
  )
  const numbers = (
    <NumberList
      numbers={choices(controls, state)}
      notes={props.notes ?? noNotes}
      selected={selectedIndex(controls, state)}
      active={mode === "dial"}
      problem={state.key_problem}
      area={at.numbers}
      {...(other ? { aside: "Tab: calls" } : {})}
    />
  )
  const lists = hasBoth ? (
    <>
      {numbers}
      {callList}
    </>
  ) : mode === "calls" ? (
    callList
  ) : (
    numbers
  )
  const events = <Events log={state.log} area={at.events} />
  const hasDetails = at.details.height > 0
  const transcript =
    controls.details && !hasDetails ? (
      <Details call={call} scroll={controls.scroll} area={at.transcript} />
    ) : (
      <Transcript
        call={call}
        isOpened={opened !== undefined}
        problem={state.key_problem}
        scroll={controls.scroll}
        area={at.transcript}
      />
    )
  return (
    <Box flexDirection="column" width={columns} height={at.rows} overflow="hidden">
      <Header url={props.url} connection={state.connection} now={state.now} columns={columns} />
      <CallBar call={call} connection={state.connection} now={state.now} columns={columns} />
      {controls.help ? (
        <Help scroll={controls.scroll} area={{ width: columns, height: Math.max(1, at.rows - 2) }} />
      ) : at.stacked ? (
        <Box flexDirection="column">
          {lists}
          {transcript}
          {events}
        </Box>
      ) : (
        <Box>
          <Box flexDirection="column">
            {lists}
            {at.keypad.height > 0 ? (
              <DialPad
                highlighted={controls.highlighted}
                active={mode === "keypad" || mode === "gather"}
                area={at.keypad}
              />
            ) : null}
          </Box>
          <Box flexDirection="column">
            {transcript}
            {at.eventsBeside ? null : events}
          </Box>
          {at.eventsBeside ? events : null}
          {hasDetails ? <DetailPanes call={call} area={at.details} /> : null}
        </Box>
      )}
      {controls.help ? null : (
        <InputLine
          mode={mode}
          value={value}
          columns={columns}
          height={at.inputHeight}
          notice={at.footer ? null : controls.notice}
          {...(mode === "speech" && props.hint !== undefined ? { hint: props.hint } : {})}
        />
      )}
      {at.footer && !controls.help ? <Footer mode={mode} notice={controls.notice} columns={columns} /> : null}
    </Box>
  )
}

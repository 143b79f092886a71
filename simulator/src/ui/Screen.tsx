import { Box } from "ink"
import { inCall, type PhoneState } from "../PhoneState.ts"
import type { Controls } from "./Controls.ts"
import { Events } from "./Events.tsx"
import { CallBar, Header } from "./Header.tsx"
import { Footer, InputLine, type InputMode } from "./InputLine.tsx"
import { DialPad, NumberList } from "./NumberList.tsx"
import { layout } from "./ScreenLayout.ts"
import { Transcript } from "./Transcript.tsx"

/** The whole screen as a function of the phone's state, the controls and the size of the terminal. */
export const Screen = (props: {
  readonly state: PhoneState
  readonly controls: Controls
  readonly url: string
  /** The hint in the empty input line during a call. */
  readonly hint?: string
  readonly columns: number
  readonly rows: number
}) => {
  const { columns, controls, rows, state } = props
  const calling = inCall(state)
  const at = layout(columns, rows, calling, state.call !== null)
  const mode: InputMode = !calling ? "dial" : controls.keypad ? "keypad" : "speech"
  const value = mode === "dial" ? controls.number : mode === "speech" ? controls.speech : (state.call?.digits ?? "")
  const numbers = (
    <NumberList numbers={state.numbers} selected={controls.selected} active={!calling} area={at.numbers} />
  )
  const events = <Events log={state.log} area={at.events} />
  const transcript = <Transcript call={state.call} scroll={controls.scroll} area={at.transcript} />
  return (
    <Box flexDirection="column" width={columns} height={at.rows} overflow="hidden">
      <Header url={props.url} connection={state.connection} now={state.now} columns={columns} />
      <CallBar call={state.call} connection={state.connection} now={state.now} columns={columns} />
      {at.stacked ? (
        <Box flexDirection="column">
          {numbers}
          {transcript}
          {events}
        </Box>
      ) : (
        <Box>
          <Box flexDirection="column">
            {numbers}
            {at.keypad.height > 0 ? (
              <DialPad highlighted={controls.highlighted} active={mode === "keypad"} area={at.keypad} />
            ) : null}
          </Box>
          <Box flexDirection="column">
            {transcript}
            {at.eventsBeside ? null : events}
          </Box>
          {at.eventsBeside ? events : null}
        </Box>
      )}
      <InputLine
        mode={mode}
        value={value}
        columns={columns}
        height={at.inputHeight}
        {...(mode === "speech" && props.hint !== undefined ? { hint: props.hint } : {})}
      />
      {at.footer ? <Footer mode={mode} columns={columns} /> : null}
    </Box>
  )
}

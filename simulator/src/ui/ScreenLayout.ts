/** The size of a pane in cells, including its frame. Height 0: hidden. */
export interface Area {
  readonly width: number
  readonly height: number
}

/** The sizes and positions of all panes. */
export interface ScreenLayout {
  readonly columns: number
  /** One row less than the terminal: Ink clears the screen at each redraw when all rows are used. */
  readonly rows: number
  /** Whether panes are above each other instead of side by side. */
  readonly stacked: boolean
  readonly numbers: Area
  /** Height 0: there is only room for one of the lists, in the area of `numbers`. */
  readonly calls: Area
  readonly keypad: Area
  readonly transcript: Area
  readonly events: Area
  /** Requests, webhooks and latencies beside the transcript. */
  readonly details: Area
  /** Whether events have their own column. */
  readonly eventsBeside: boolean
  /** 3 with a frame, 1 without it. */
  readonly inputHeight: number
  readonly footer: boolean
}

const none: Area = { width: 0, height: 0 }
const keypadHeight = 6

/**
 * Computes the layout. `calling`: a call has not ended; `shows`: there is a call to show; `lists`: there are calls to
 * list.
 */
export const layout = (
  columns: number,
  terminalRows: number,
  calling: boolean,
  shows: boolean,
  lists: boolean
): ScreenLayout => {
  const rows = Math.max(4, terminalRows - 1)
  const inputHeight = rows >= 12 ? 3 : 1
  const footer = rows >= 8
  const body = Math.max(1, rows - 2 - inputHeight - (footer ? 1 : 0))
  const base = {
    columns,
    rows,
    inputHeight,
    footer,
    calls: none,
    details: none,
    body: { width: columns, height: body }
  }

  if (columns >= 72 && body >= 8) {
    const left = columns >= 150 ? 38 : columns >= 100 ? 32 : 26
    const keypad = body >= 5 + keypadHeight ? { width: left, height: keypadHeight } : none
    const listRows = body - keypad.height
    // The list of calls is never shorter than that of numbers.
    const callsHeight = lists && listRows >= 14 ? Math.ceil(listRows / 2) : 0
    const calls = { width: left, height: callsHeight }
    const numbers = { width: left, height: listRows - callsHeight }
    if (columns >= 150 && body >= 30) {
      const right = Math.min(86, Math.floor(columns * 0.42))
      const middle = columns - left - right
      const eventsHeight = 12
      return {
        ...base,
        stacked: false,
        numbers,
        calls,
        keypad,
        transcript: { width: middle, height: body - eventsHeight },
        events: { width: middle, height: eventsHeight },
        details: { width: right, height: body },
        eventsBeside: false
      }
    }
    if (columns >= 110) {
      const right = Math.min(44, Math.floor(columns * 0.3))
      return {
        ...base,
        stacked: false,
        numbers,
        calls,
        keypad,
        transcript: { width: columns - left - right, height: body },
        events: { width: right, height: body },
        eventsBeside: true
      }
    }
    const eventsHeight = body >= 14 ? 6 : body >= 10 ? 4 : 0
    return {
      ...base,
      stacked: false,
      numbers,
      calls,
      keypad,
      transcript: { width: columns - left, height: body - eventsHeight },
      events: eventsHeight === 0 ? none : { width: columns - left, height: eventsHeight },
      eventsBeside: false
    }
  }

  const eventsHeight = body >= 12 ? 5 : body >= 9 ? 4 : 0
  const rest = body - eventsHeight
  const numbersHeight = calling ? 0 : shows ? (rest >= 9 ? 4 : 0) : rest
  return {
    ...base,
    stacked: true,
    numbers: numbersHeight === 0 ? none : { width: columns, height: numbersHeight },
    keypad: none,
    transcript: rest - numbersHeight <= 0 ? none : { width: columns, height: rest - numbersHeight },
    events: eventsHeight === 0 ? none : { width: columns, height: eventsHeight },
    eventsBeside: false
  }
}

import type { RunFigures } from "./Run.ts"

/** One line of the result. */
export interface Line {
  readonly what: string
  readonly figure: number
  /** Figures beside it that are not judged, see `table`. */
  readonly others?: ReadonlyArray<number>
  readonly unit: "" | "ms" | "%" | "KB"
  /** Less than, at most or at least this much; absent where there is no budget. */
  readonly budget?: {
    readonly must: number
    readonly goal: number
    readonly atLeast?: boolean
    readonly atMost?: boolean
  }
}

export const quantile = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0

const known = (values: ReadonlyArray<number | null>): ReadonlyArray<number> => values.flatMap((value) => value ?? [])

const callsUp = "calls up to the end"
/** The number of calls that must stay connected; not judged in a run with fewer calls. */
const callsBudget = {
  simulated: { must: 200, goal: 500 },
  browser: { must: 200, goal: 500 },
  sip: { must: 300, goal: 800 }
}
/**
 * From this number of calls on, their CPU time is judged: with fewer, what the server takes for itself counts more. Over SIP
 * it is always judged.
 */
const cpuBudgetFrom = 200

/** The figures of a run against the budgets. */
export const linesOf = ({ busy, calls, idle, load, network, server, turns }: RunFigures): ReadonlyArray<Line> => {
  const response = known(turns.map((turn) => turn.response_ms))
  const model = known(turns.map((turn) => turn.llm_ttfb_ms))
  const voice = known(turns.map((turn) => turn.tts_ttfb_ms))
  const cpu = (server.cpuMs / server.wallMs) * 100
  const perCall = (after: number, before: number) => (after - before) / calls / 1024
  const late = { must: 20, goal: 5 }
  return [
    {
      what: callsUp,
      figure: load.up,
      unit: "",
      ...(calls < callsBudget[network].must ? {} : { budget: { ...callsBudget[network], atLeast: true } })
    },
    { what: "dropped calls", figure: load.dropped, unit: "" },
    { what: "frame lateness on the wire p50", figure: load.lateness.p50, unit: "ms" },
    { what: "frame lateness on the wire p99", figure: load.lateness.p99, unit: "ms", budget: late },
    { what: "frame lateness on the wire max", figure: load.lateness.max, unit: "ms" },
    { what: "frame jitter on the wire p99", figure: load.jitter.p99, unit: "ms" },
    { what: "frame lateness by the server's clock p99", figure: server.ticker.p99, unit: "ms" },
    { what: "slots skipped after stalls", figure: server.skipped, unit: "" },
    { what: "frames heard", figure: load.frames, unit: "" },
    { what: "frames missing", figure: load.missing, unit: "" },
    { what: "event-loop delay p50", figure: server.loop.p50, unit: "ms" },
    { what: "event-loop delay p99", figure: server.loop.p99, unit: "ms", budget: { must: 20, goal: 10 } },
    { what: "event-loop delay max", figure: server.loop.max, unit: "ms" },
    { what: "agent turns heard per second", figure: load.turns / (load.wallMs / 1000), unit: "" },
    { what: "platform latency per turn p50", figure: quantile(response, 0.5), unit: "ms" },
    { what: "platform latency per turn p99", figure: quantile(response, 0.99), unit: "ms", budget: late },
    { what: "  of which the model p99", figure: quantile(model, 0.99), unit: "ms" },
    { what: "  of which text-to-speech and media p99", figure: quantile(voice, 0.99), unit: "ms" },
    { what: "caller's last words → first frame, on the wire p50", figure: load.answer.p50, unit: "ms" },
    { what: "caller's last words → first frame, on the wire p99", figure: load.answer.p99, unit: "ms" },
    {
      what: "memory per call (resident)",
      figure: perCall(busy.rss, idle.rss),
      unit: "KB",
      budget: { must: 2048, goal: 512 }
    },
    { what: "memory per call (held)", figure: perCall(busy.held, idle.held), unit: "KB" },
    { what: "memory of the server (resident)", figure: busy.rss / 1024, unit: "KB" },
    { what: "CPU of the server", figure: cpu, unit: "%" },
    {
      what: "CPU per call-second",
      figure: server.cpuMs / (server.wallMs / 1000) / calls,
      unit: "ms",
      ...((network === "sip" || calls >= cpuBudgetFrom) && { budget: { must: 4, goal: 1.5 } })
    },
    { what: "CPU per turn of both sides", figure: server.cpuMs / load.turns, unit: "ms" },
    { what: "CPU of the load generator", figure: (load.cpuMs / load.wallMs) * 100, unit: "%" },
    { what: "event-loop delay of the load generator p99", figure: load.loop.p99, unit: "ms" },
    {
      what: "server waiting for a core used by other programs",
      figure: (server.waitedMs / server.wallMs) * 100,
      unit: "%"
    }
  ]
}

/** The lines of several runs as one: the median of each figure. */
export const medianOf = (runs: ReadonlyArray<ReadonlyArray<Line>>): ReadonlyArray<Line> =>
  (runs[0] ?? []).map((line, index) => ({
    ...line,
    figure: quantile(
      runs.flatMap((lines) => lines[index]?.figure ?? []),
      0.5
    )
  }))

export type Verdict = "met goal" | "met must" | "missed"

export const verdictOf = ({ budget, figure }: Line): Verdict | undefined => {
  if (budget === undefined) return undefined
  const keeps = (limit: number) =>
    budget.atLeast === true ? figure >= limit : budget.atMost === true ? figure <= limit : figure < limit
  return keeps(budget.goal) ? "met goal" : keeps(budget.must) ? "met must" : "missed"
}

/** Whether all calls stayed connected and no budget was missed. */
export const meetsBudgets = (lines: ReadonlyArray<Line>, calls: number): boolean =>
  lines.every((line) => (line.what === callsUp ? line.figure >= calls : verdictOf(line) !== "missed"))

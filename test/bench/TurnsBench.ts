// How long callers wait for an answer, with and without speculation: npm run bench:turns
import { parseArgs } from "node:util"
import { Effect } from "effect"
import { table } from "./Table.ts"
import { type CallerTurn, type Measured, measure, type Tokens } from "./TurnsCall.ts"
import { type Line, quantile, verdictOf } from "./Verdict.ts"

const { values } = parseArgs({
  options: { calls: { type: "string", default: "5" }, help: { type: "boolean", default: false } }
})
if (values.help) {
  console.log("npm run bench:turns -- [--calls 5]   calls of each chain, with and without speculation")
  process.exit(0)
}
const calls = Number(values.calls)

/** The latencies of the simulated providers. */
const firstTokenMs = 400
const firstByteMs = 200
const finalMs = 300
const model = { first_token_ms: firstTokenMs, tokens_per_second: 60 }
const tts = { first_byte_ms: firstByteMs }

/** The chains, each with the time from the last sound at which the turn can end at the earliest. */
const chains = [
  { name: "speech-to-text ends turns", stt: { final_after_ms: finalMs }, turn_taking: {} },
  { name: "the same, with eager ends", stt: { final_after_ms: finalMs, eager: true }, turn_taking: {} },
  { name: "500 ms of silence end turns", stt: { final_after_ms: finalMs, endpointing: "none" }, turn_taking: {} },
  { name: "800 ms of silence end turns", stt: { final_after_ms: finalMs }, turn_taking: { end_of_turn_ms: 800 } }
] as const

/** A third of the turns has a pause, after which the caller goes on. */
const pauseMs = 200
const turns: ReadonlyArray<CallerTurn> = [
  ["I would like to book a table"],
  ["for two people", "on Friday evening"],
  ["at eight"],
  ["do you have a table near the window"],
  ["then the other one please", "if it is quiet"],
  ["what is on the menu today"],
  ["that sounds good"],
  ["my name is Smith", "with an i"],
  ["can we bring a dog"]
].map((texts) => ({ texts, pauseMs }))

/** All answers begin with five words, so that turns differ only by the caller. */
const script = {
  rules: [
    { user: "table", say: "There is one left, certainly. It is by the door." },
    { user: "Friday", say: "Friday would be just fine. At what time?" }
  ],
  otherwise: "I have noted that down. Is there anything else?"
}

const answerOf = (chain: (typeof chains)[number], preemptive: boolean) => {
  const providers = { stt: chain.stt, model, tts }
  return {
    system_prompt: `You take bookings.\n\`\`\`script\n${JSON.stringify({ ...script, providers })}\n\`\`\``,
    turn_taking: { ...chain.turn_taking, preemptive }
  }
}

const run = async (chain: (typeof chains)[number], preemptive: boolean): Promise<Measured> => {
  const answers: Array<number> = []
  const tokens: Tokens = { requests: 0, input: 0, output: 0 }
  for (let id = 1; id <= calls; id++) {
    const one = await Effect.runPromise(measure({ id, answer: answerOf(chain, preemptive), turns, restMs: 6000 }))
    answers.push(...one.answers)
    tokens.requests += one.tokens.requests
    tokens.input += one.tokens.input
    tokens.output += one.tokens.output
  }
  return { answers, tokens }
}

/** The answer cannot begin earlier: the model is asked with the last sound, and its first token is spoken. */
const minimum = firstTokenMs + firstByteMs
const gained = { must: 250, goal: 400, atLeast: true }

const lines: Array<Line> = []
const wasted: Array<string> = []
for (const chain of chains) {
  const after = await run(chain, false)
  const ahead = await run(chain, true)
  const [before50 = 0, before99 = 0] = [0.5, 0.99].map((share) => quantile(after.answers, share))
  const [ahead50 = 0, ahead99 = 0] = [0.5, 0.99].map((share) => quantile(ahead.answers, share))
  const judged = chain === chains[0] ? { budget: gained } : {}
  lines.push(
    {
      what: `${chain.name}: p50`,
      figure: before50 - ahead50,
      others: [ahead50, before50, minimum],
      unit: "ms",
      ...judged
    },
    { what: `${chain.name}: p99`, figure: before99 - ahead99, others: [ahead99, before99, minimum], unit: "ms" }
  )
  const more = (of: keyof Tokens): string => {
    const [used, all] = [after.tokens[of], ahead.tokens[of]]
    return `${all - used} more than ${used} (${Math.round(((all - used) / used) * 100)} %)`
  }
  wasted.push(
    `${chain.name}: requests ${more("requests")}, input tokens ${more("input")}, output tokens ${more("output")}`
  )
}

console.log(
  table(
    `${calls} calls of ${turns.length} turns on each chain, a third of the turns with a pause of ${pauseMs} ms. Clock: virtual.\n` +
      `Final words ${finalMs} ms after the last sound, first token after ${firstTokenMs} ms, 60 tokens a second, ` +
      `voice after ${firstByteMs} ms.\nFrom the caller's last sound to the agent's first frame:`,
    lines,
    ["gained", "with", "without", "minimum"]
  )
)
console.log(`\nWasted by answers that were dropped:\n${wasted.join("\n")}`)
process.exitCode = lines.some((line) => verdictOf(line) === "missed") ? 1 : 0

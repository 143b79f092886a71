import { describe, expect, it } from "vitest"
import type { CallConfig } from "../../src/answers/CallConfig.ts"
import { recordOf } from "../../src/CallRecord.ts"
import type { Command } from "../../src/Command.ts"
import { isSpeaking } from "../../src/Entries.ts"
import { floorOf } from "../../src/Floor.ts"
import { announcementMs, longestMs, outcomeMs } from "../../src/machines/Transfer.ts"
import { digest, replay } from "../../src/Replay.ts"
import { facts, Script, tool } from "../../src/testing/Script.ts"
import { spokenMs, VirtualShell } from "../doubles/VirtualShell.ts"

const sales = "+15550003333"
const destination = "+15550004444"
const destinations: Partial<CallConfig> = { transfer_destinations: { sales }, first_message: null }

type State = "ringing" | "completed" | "busy" | "no-answer" | "rejected" | "failed"

class Call extends VirtualShell {
  constructor(change: Partial<CallConfig> = {}) {
    super(Script.live({ ...destinations, ...change }))
  }

  request(): this {
    this.input({ _tag: "TransferRequested", destination })
    return this
  }

  progress(state: State, reason: string | null = null): this {
    this.input({ _tag: "TransferProgressed", state, reason })
    return this
  }

  /** The caller asks, and the model calls the tool after a sentence. */
  useTool(args: Readonly<Record<string, unknown>> = { destination: "sales" }): this {
    this.script.say("Sales please")
    this.input({ _tag: "ModelSentence", turn: 0, text: "One moment." })
    this.input({ _tag: "ModelToolCalls", turn: 0, calls: [{ id: "t", name: "transfer_call", arguments: args }] })
    this.input({ _tag: "ModelDone", turn: 0 })
    return this
  }

  get all(): ReadonlyArray<Command> {
    return this.script.commands
  }

  data(event: string): ReadonlyArray<unknown> {
    return this.all.flatMap((c) => (c._tag === "Emit" && c.event === event ? [c.data] : []))
  }

  count(tag: Command["_tag"]): number {
    return this.all.filter((c) => c._tag === tag).length
  }

  get asked(): ReadonlyArray<string> {
    return this.all.flatMap((c) => (c._tag === "AskModel" ? [JSON.stringify(c.messages.at(-1))] : []))
  }

  get outcome(): string {
    const { disposition, ended_reason, status } = this.script.state.outcome ?? {}
    return `${status} ${disposition} ${ended_reason}`
  }
}

const ids = { call_id: facts.call_id, agent_id: facts.agent_id, from: facts.from }

describe("a transfer by the model", () => {
  it("begins when the agent has finished its sentence, with exactly the fields of the event", () => {
    const call = new Call().useTool({ destination: "sales", reason: "wants to buy" })
    expect(call.count("Transfer")).toBe(0)
    call.advance(spokenMs)
    expect(call.data("transfer.initiated")).toEqual([{ ...ids, transfer_to: sales, reason: "wants to buy" }])
    expect(call.all.filter((c) => c._tag === "Transfer")).toEqual([{ _tag: "Transfer", destination: sales }])
    expect(call.count("InvokeTool")).toBe(0)
  })

  it("that completes stops the agent: no model request, no speech, and transfer.completed is emitted", () => {
    const call = new Call().useTool()
    call.advance(spokenMs + 2000)
    const asked = call.asked.length
    call.progress("ringing").progress("completed")
    expect(call.asked).toHaveLength(asked)
    expect(call.data("transfer.completed")).toEqual([{ ...ids, transfer_to: sales }])
    expect(call.data("tool.completed")).toMatchObject([
      { tool_name: "transfer_call", result: { status: "transferred" } }
    ])
    expect(call.script.state.phase).toBe("transferred")
    call.script.commands.length = 0
    call.input({ _tag: "CallerFinal", text: "Hello sales" })
    call.input({ _tag: "CallerEndOfTurn" })
    call.input({ _tag: "Dtmf", digit: "1" })
    call.advance(60_000)
    expect(call.all).toEqual([])
    call.input({ _tag: "CallerHungUp" })
    expect(call.outcome).toBe("completed transferred transfer")
    const record = recordOf(call.script.state)
    expect(record).toMatchObject({ transferred_to: sales, transfer_duration_seconds: 60, duration_seconds: 3 })
    expect(record.tools_called).toEqual(["transfer_call"])
  })

  it("that fails gives the model the reason, and the agent continues", () => {
    for (const [state, reason, failure_reason] of [
      ["busy", null, "busy"],
      ["no-answer", "nobody", "no answer"],
      ["rejected", null, "rejected"],
      ["failed", "no such number", "no such number"],
      ["failed", null, "failed"]
    ] as const) {
      const call = new Call().useTool()
      call.advance(spokenMs)
      call.progress(state, reason)
      expect(call.data("transfer.failed")).toEqual([{ ...ids, transfer_to: sales, reason: null, failure_reason }])
      expect(call.asked.at(-1)).toContain(`failed: ${failure_reason}`)
      call.input({ _tag: "ModelSentence", turn: 1, text: "They do not answer." })
      call.input({ _tag: "ModelDone", turn: 1 })
      call.advance(spokenMs)
      expect(call.script.transcript).toEqual([
        "user: Sales please",
        "assistant: One moment.",
        "assistant: They do not answer."
      ])
    }
  })

  it("to an unknown label fails with an error that lists the labels", () => {
    for (const label of ["support", "__proto__", "toString", 7, undefined]) {
      const call = new Call().useTool({ destination: label })
      call.advance(60_000)
      expect(call.count("Transfer")).toBe(0)
      expect(call.asked.at(-1)).toContain("There are: sales.")
      expect(call.script.state.transfer).toBeNull()
    }
  })

  it("requested twice in one turn goes to the first destination", () => {
    const call = new Call({ transfer_destinations: { sales, support: destination } })
    call.script.say("Sales please")
    const calls = ["sales", "support"].map((label) => ({
      id: label,
      name: "transfer_call",
      arguments: { destination: label }
    }))
    call.input({ _tag: "ModelToolCalls", turn: 0, calls })
    call.input({ _tag: "ModelDone", turn: 0 })
    expect(call.all.flatMap((c) => (c._tag === "Transfer" ? [c.destination] : []))).toEqual([sales])
    call.progress("busy")
    expect(call.count("AskModel")).toBe(2)
  })

  it("is not offered without transfer_destinations", () => {
    const offered = (change: Partial<CallConfig>) => {
      const call = new Call(change)
      call.script.say("Hello")
      return call.all.flatMap((c) => (c._tag === "AskModel" ? c.tools.map(({ name }) => name) : []))
    }
    expect(offered({})).toContain("transfer_call")
    expect(offered({ transfer_destinations: {} })).not.toContain("transfer_call")
  })
})

describe("a transfer through the API", () => {
  it("stops the agent and the model", () => {
    const call = new Call({ first_message: "A long greeting." })
    call.advance(spokenMs)
    call.script.say("Hello")
    call.input({ _tag: "ModelSentence", turn: 1, text: "I am just saying" })
    call.request()
    expect(call.all.flatMap((c) => (c._tag === "CancelModel" || c._tag === "StopSpeaking" ? [c._tag] : []))).toEqual([
      "CancelModel",
      "StopSpeaking"
    ])
    expect(call.data("transfer.initiated")).toEqual([{ ...ids, transfer_to: destination, reason: null }])
    expect(call.count("Transfer")).toBe(1)
    call.progress("completed")
    expect(call.all.filter((c) => c._tag === "TransferOver")).toEqual([{ _tag: "TransferOver", failure_reason: null }])
  })

  it("that fails completes the API request, is shown to the model, and does not count as a tool call", () => {
    const call = new Call().request().progress("rejected")
    expect(call.all.filter((c) => c._tag === "TransferOver")).toEqual([
      { _tag: "TransferOver", failure_reason: "rejected" }
    ])
    expect(call.asked).toHaveLength(1)
    expect(call.asked[0]).toContain("failed: rejected")
    call.input({ _tag: "CallerHungUp" })
    expect(recordOf(call.script.state)).toMatchObject({ tool_call_count: 0, tools_called: [], transferred_to: null })
    expect(call.outcome).toBe("completed answered caller-hangup")
  })

  it("silences the agent meanwhile, and the caller's words are answered after it has failed", () => {
    const call = new Call({ inactivity_timeout: 5 }).request().progress("ringing")
    call.advance(20_000)
    call.script.say("Are you there?")
    expect(call.count("AskModel")).toBe(0)
    expect(call.count("Speak")).toBe(0)
    expect(call.script.state.phase).toBe("live")
    call.progress("no-answer")
    expect(call.count("AskModel")).toBe(1)
    expect(call.script.transcript).toEqual(["user: Are you there?"])
  })

  it("ends an active gather, and its tool gets an error", () => {
    const call = new Call()
    const rules = { prompt: "Digits", voice: null, language: null, max_digits: 4, terminator: "#", timeout_seconds: 5 }
    call.input({ _tag: "GatherRequested", rules })
    call.advance(spokenMs)
    call.request()
    expect(call.data("call.gather.completed")).toHaveLength(1)
    call.input({ _tag: "GatherRequested", rules })
    expect(call.script.state.gathers).toEqual([])
    call.progress("busy")
    expect(call.count("AskModel")).toBe(1)
  })

  it("does not ask the model when it ends the gather of a tool", () => {
    const gather = { prompt: "", voice: null, language: null, max_digits: 4, terminator: "#", timeout_seconds: 5 }
    const call = new Call({ tools: [{ ...tool("pin"), gather }] })
    call.script.say("Here is my pin")
    call.input({ _tag: "ModelToolCalls", turn: 0, calls: [{ id: "t", name: "pin", arguments: {} }] })
    call.input({ _tag: "ModelDone", turn: 0 })
    call.script.take()
    call.request()
    expect(call.script.take().filter((c) => c.startsWith("AskModel"))).toEqual([])
    expect(floorOf(call.script.state)).toBe("transferring")
    call.progress("busy")
    expect(call.script.take().filter((c) => c.startsWith("AskModel")).length).toBe(1)
  })

  it("silences speech that was queued before SpeechCleared", () => {
    const s = Script.live(destinations).say("What time is it?")
    s.input({ _tag: "ModelSentence", turn: 0, text: "It is noon." })
      .input({ _tag: "SpeechStarted", id: "u0" })
      .say("Stop")
    s.input({ _tag: "ModelSentence", turn: 1, text: "As you like." }).take()
    s.input({ _tag: "TransferRequested", destination })
    expect(s.take()).toContain("StopSpeaking")
    expect(isSpeaking(s.state)).toBe(false)
  })

  it("is not started twice", () => {
    const call = new Call().request().request()
    expect(call.count("Transfer")).toBe(1)
    call.progress("busy").request()
    expect(call.count("Transfer")).toBe(2)
  })

  it("has no effect before the answer or during the farewell", () => {
    const fresh = new Script()
    fresh.input({ _tag: "TransferRequested", destination })
    expect(fresh.state.transfer).toBeNull()
    const call = new Call()
    call.input({ _tag: "EndRequested", by: "api" })
    call.request()
    expect(call.count("Transfer")).toBe(0)
  })
})

describe("during a transfer", () => {
  it("a hang-up of the caller fails it, and the call ends with caller-hangup", () => {
    const call = new Call().request().progress("ringing")
    call.input({ _tag: "CallerHungUp" })
    expect(call.data("transfer.failed")).toEqual([
      { ...ids, transfer_to: destination, reason: null, failure_reason: "the caller hung up" }
    ])
    expect(call.count("TransferOver")).toBe(1)
    expect(call.outcome).toBe("completed answered caller-hangup")
  })

  it("an end through the API or by max_duration fails it, and the farewell is spoken", () => {
    const ended = new Call().request()
    ended.input({ _tag: "EndRequested", by: "api" })
    ended.advance(spokenMs)
    expect(ended.outcome).toBe("completed answered api")
    expect(ended.data("transfer.failed")).toMatchObject([{ failure_reason: "the call ended" }])
    const late = new Call({ max_duration: 60 })
    late.advance(50_000)
    late.request()
    late.advance(10_000 + spokenMs)
    expect(late.outcome).toBe("completed answered timeout")
    expect(late.data("transfer.failed")).toHaveLength(1)
  })

  it("a network that hangs fails it after the time limit, and a late `completed` is accepted", () => {
    const call = new Call().request()
    call.advance(outcomeMs)
    expect(call.data("transfer.failed")).toMatchObject([
      { failure_reason: "the network did not tell the outcome in time" }
    ])
    call.progress("busy")
    expect(call.data("transfer.failed")).toHaveLength(1)
    call.input({ _tag: "ModelSentence", turn: 1, text: "It did not work." })
    call.progress("completed")
    expect(call.data("transfer.completed")).toEqual([])
    call.input({ _tag: "CallerHungUp" })
    expect(call.outcome).toBe("completed transferred transfer")
  })

  it("repeated and unrequested reports of the network are ignored", () => {
    const call = new Call().progress("completed").progress("busy")
    expect(call.script.state.phase).toBe("live")
    call.request().progress("ringing").progress("ringing").progress("busy").progress("busy").progress("ringing")
    expect(call.data("transfer.failed")).toHaveLength(1)
    expect(call.count("AskModel")).toBe(1)
  })

  it("the death of the process fails the call and the transfer", () => {
    const call = new Call().request()
    call.input({ _tag: "Crashed", reason: "killed" })
    expect(call.outcome).toBe("failed failed error")
    expect(call.data("transfer.failed")).toMatchObject([{ failure_reason: "the call ended" }])
  })
})

describe("a call that was transferred", () => {
  it("ends with disposition transferred, and after four hours at the latest", () => {
    const endings: ReadonlyArray<(call: Call) => void> = [
      (call) => call.input({ _tag: "CallerHungUp" }),
      (call) => call.input({ _tag: "LegFailed", reason: "broken" }),
      (call) => call.input({ _tag: "EndRequested", by: "api" }),
      (call) => call.input({ _tag: "EndRequested", by: "shutdown" }),
      (call) => call.input({ _tag: "Crashed", reason: "killed" }),
      (call) => call.advance(longestMs)
    ]
    for (const end of endings) {
      const call = new Call({ max_duration: 60 }).request().progress("completed")
      call.advance(120_000)
      expect(call.script.state.phase).toBe("transferred")
      end(call)
      expect(call.outcome).toBe("completed transferred transfer")
      expect(call.count("Hangup")).toBe(1)
      expect(recordOf(call.script.state).transfer_duration_seconds).toBeGreaterThanOrEqual(120)
    }
  })

  it("replays from its journal", () => {
    const call = new Call({ first_message: null })
    call.useTool()
    call.advance(spokenMs)
    call.progress("ringing").progress("busy").request().progress("completed")
    call.input({ _tag: "CallerHungUp" })
    const again = new Script()
    const rows = [
      { seq: 0, input: facts as Parameters<typeof replay>[0][number]["input"], commands: digest(again.commands) }
    ]
    for (const [index, input] of call.script.inputs.entries()) {
      const before = again.commands.length
      again.at = input.at
      again.input(input)
      rows.push({ seq: index + 1, input, commands: digest(again.commands.slice(before)) })
    }
    const replayed = replay(JSON.parse(JSON.stringify(rows)))
    expect(replayed?.differing).toEqual([])
    expect(replayed?.state.outcome).toEqual(call.script.state.outcome)
  })
})

describe("a transfer_announcement", () => {
  const announcing = (transfer_announcement: string, change: Partial<CallConfig> = {}) =>
    new Call({ transfer_announcement, ...change })
  const transfers = (call: Call) => call.all.filter((c) => c._tag === "Transfer")
  const limits = (call: Call) =>
    call.all.flatMap((c) => (c._tag === "StartTimer" && c.timer === "transfer" ? [c.ms] : []))

  it("goes with the transfer, with the model's reason and the caller's number, in the call's voice", () => {
    const call = announcing("A call from {{from}}: {{ reason }}. {{other}}").useTool({
      destination: "sales",
      reason: "wants a chair"
    })
    call.advance(spokenMs)
    expect(transfers(call)).toEqual([
      {
        _tag: "Transfer",
        destination: sales,
        announcement: {
          text: `A call from ${facts.from}: wants a chair. {{other}}`,
          voice: "Sarah",
          language: "en-US"
        }
      }
    ])
    expect(limits(call)).toEqual([outcomeMs + announcementMs])
    // It is said to the destination, not to the caller.
    expect(call.all.flatMap((c) => (c._tag === "Speak" ? [c.text] : []))).toEqual(["One moment."])
  })

  it("has no reason through the API, is spoken without Markdown, and in the speed of the call", () => {
    const speech = { speed: 1.5, pronunciations: [{ text: "VIP", say: "very important person" }] }
    const call = announcing("**A VIP**{{reason}}", { speech }).request()
    expect(transfers(call)).toMatchObject([{ announcement: { text: "A very important person", speed: 1.5 } }])
  })

  it("is left out when nothing of it can be spoken, as without one", () => {
    for (const call of [announcing("{{reason}} 🙂").request(), new Call().request()]) {
      expect(transfers(call)).toEqual([{ _tag: "Transfer", destination }])
      expect(limits(call)).toEqual([outcomeMs])
    }
  })
})

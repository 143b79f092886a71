import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { Command, CommandOf } from "../src/Command.ts"
import { start, step } from "../src/Conversation.ts"
import { isSpeaking } from "../src/Entries.ts"
import { floorOf } from "../src/Floor.ts"
import { digest, replay } from "../src/Replay.ts"
import { anyCall, commandsOf, type Played } from "./doubles/Histories.ts"
import { propertyRuns } from "./doubles/PropertyRuns.ts"

const runs = propertyRuns(1000)

/** All properties are checked on the same calls, which are run to their end. */
const calls = fc.sample(anyCall, runs)

const holds = (check: (call: Played) => void): void => {
  try {
    for (const call of calls) check(call)
  } catch {
    // Finds the same failing call again and shrinks it.
    fc.assert(fc.property(anyCall, check), runs)
  }
}

const of = <Tag extends Command["_tag"]>(commands: ReadonlyArray<Command>, tag: Tag): ReadonlyArray<CommandOf<Tag>> =>
  commands.filter((c): c is CommandOf<Tag> => c._tag === tag)

const eventsOf = (commands: ReadonlyArray<Command>): ReadonlyArray<string> =>
  of(commands, "Emit").map(({ event }) => event)

/** How often each of these events was emitted. */
const count = (events: ReadonlyArray<string>, ...names: ReadonlyArray<string>): number =>
  events.filter((event) => names.includes(event)).length

/** Every way in which a call that rang can end (docs/reference/calls.md, "States"). */
const outcomes = new Set([
  "completed answered caller-hangup",
  "completed answered agent-hangup",
  "completed answered api",
  "completed answered timeout",
  "completed answered silence-timeout",
  "completed transferred transfer",
  "completed voicemail agent-hangup",
  "completed voicemail caller-hangup",
  "failed failed error",
  "canceled no-answer caller-hangup",
  "no-answer no-answer null",
  "busy busy null"
])

describe("inputs in any order", () => {
  it("end the call exactly once, with nothing pending, when the shell carries out all commands", () => {
    holds((call) => {
      expect(call.state.phase).toBe("over")
      expect(of(commandsOf(call), "Finish").length).toBe(1)
      expect(of(commandsOf(call), "Hangup").length).toBe(1)
      expect(call.state.timers).toEqual([])
      expect(isSpeaking(call.state)).toBe(false)
      expect(call.state.model).toBeNull()
      expect(call.state.transfer).toBeNull()
      expect(call.state.gathers).toEqual([])
      const pending = call.state.entries.flatMap((e) => (e.kind === "agent" ? e.tools.filter((t) => t.pending) : []))
      expect(pending).toEqual([])
    })
  })

  it("give no command after Finish", () => {
    holds((call) => {
      expect(commandsOf(call).at(-1)?._tag).toBe("Finish")
      for (const { input } of call.steps) expect(step(call.state, input)).toEqual([call.state, []])
    })
  })

  it("lead to no Speak, AskModel, Listen or InvokeTool after the hang-up", () => {
    holds((call) => {
      const commands = commandsOf(call)
      const after = commands.slice(commands.findIndex((c) => c._tag === "Hangup") + 1).map((c) => c._tag)
      for (const tag of ["Speak", "AskModel", "InvokeTool", "Listen", "Transfer", "Answer", "Dial", "FetchConfig"]) {
        expect(after).not.toContain(tag)
      }
    })
  })

  it("leave the agent silent during a transfer and while a voicemail has the call", () => {
    holds((call) => {
      let [state] = start(call.facts)
      for (const { commands, input } of call.steps) {
        ;[state] = step(state, input)
        if (!["transferring", "voicemail"].includes(floorOf(state))) continue
        expect(isSpeaking(state)).toBe(false)
        const said = commands.findLastIndex((c) => c._tag === "Speak")
        expect(commands.findLastIndex((c) => c._tag === "StopSpeaking")).toBeGreaterThanOrEqual(said)
      }
    })
  })

  it("end with a documented outcome, which is that of an answered call if the call was answered", () => {
    holds((call) => {
      const { disposition, ended_reason, status } = call.state.outcome ?? {}
      expect(outcomes).toContain(`${status} ${disposition} ${ended_reason}`)
      if (status === "completed") expect(call.state.answered_at).not.toBeNull()
      if (status === "busy" || status === "no-answer" || status === "canceled")
        expect(call.state.answered_at).toBeNull()
      if (disposition === "voicemail" || status === "busy" || status === "no-answer")
        expect(call.facts.outbound).toBeDefined()
      expect(disposition === "transferred").toBe(call.state.transferred !== null)
      expect(count(eventsOf(commandsOf(call)), "call.started")).toBe(call.state.answered_at === null ? 0 : 1)
      expect(count(eventsOf(commandsOf(call)), "call.ringing")).toBe(1)
    })
  })

  it("emit an end event for each start event of speech, gathers and transfers", () => {
    holds((call) => {
      const events = eventsOf(commandsOf(call))
      expect(count(events, "speech.ended")).toBe(count(events, "speech.started"))
      expect(count(events, "ai.speech.ended")).toBe(count(events, "ai.speech.started"))
      expect(count(events, "transfer.completed", "transfer.failed")).toBe(count(events, "transfer.initiated"))
      expect(of(commandsOf(call), "TransferOver").length).toBe(count(events, "transfer.initiated"))
      expect(count(events, "tool.completed", "tool.timeout")).toBeLessThanOrEqual(count(events, "tool.invoked"))
    })
  })

  it("invoke each tool once, and start one timer for it", () => {
    holds((call) => {
      const commands = commandsOf(call)
      const searches = of(commands, "LookUp").filter(({ purpose }) => purpose === "tool")
      const run = [...of(commands, "InvokeTool"), ...of(commands, "SendSms"), ...searches].map(({ id }) => id)
      const invoked = run.filter((id) => id !== "post_call")
      expect(new Set(invoked).size).toBe(invoked.length)
      const started = of(commands, "StartTimer").filter(({ timer }) => timer.startsWith("tool:"))
      expect(started.map(({ timer }) => timer).sort()).toEqual(invoked.map((id) => `tool:${id}`).sort())
    })
  })

  it("lead to the same commands and state, but for usage, when the model is asked ahead as often as possible", () => {
    let held = 0
    holds((call) => {
      // With knowledge bases the words would be looked up earlier.
      if (call.facts.knowledge === true) return
      const { preemptive: _, ...facts } = call.facts
      let [plain, plainCommands] = start(facts)
      let [state, commands] = start({ ...facts, preemptive: true })
      const expected = [...plainCommands]
      const all = [...commands]
      for (const { input } of call.steps) {
        if (input._tag === "CallerEndExpected" || input._tag === "CallerEndWithdrawn") continue
        ;[plain, plainCommands] = step(plain, input)
        expected.push(...plainCommands)
        ;[state, commands] = step(state, input)
        all.push(...commands)
        // The end of the turn is expected with the words so far, after every input.
        ;[state, commands] = step(state, { _tag: "CallerEndExpected", at: input.at, text: state.caller.partial })
        all.push(...commands)
      }
      held += of(all, "AskAhead").length
      const isOfHeldAnswer = (c: Command): boolean =>
        c._tag === "AskAhead" ||
        c._tag === "DropAhead" ||
        ((c._tag === "StartTimer" || c._tag === "StopTimer") && c.timer === "ahead")
      const others = all.flatMap((c): ReadonlyArray<Command> => {
        if (isOfHeldAnswer(c)) return []
        if (c._tag !== "AskModel") return [c]
        const { ahead: __, ...asked } = c
        return [asked]
      })
      expect(others).toEqual(expected)
      const { speculation, usage } = plain
      const timers = state.timers.filter((timer) => timer !== "ahead")
      expect({ ...state, facts, speculation, timers, usage }).toEqual(plain)
    })
    expect(held).toBeGreaterThan(50)
  })

  it("ask the model ahead only where nothing is held, and adopt only what is held", () => {
    holds((call) => {
      let held: string | null = null
      for (const c of commandsOf(call)) {
        if (c._tag === "AskAhead") {
          expect(held).toBeNull()
          held = c.id
        } else if (c._tag === "DropAhead") {
          expect(c.id).toBe(held)
          held = null
        } else if (c._tag === "AskModel") {
          // Nothing is held beside a generation.
          expect(c.ahead ?? null).toBe(held)
          held = null
        }
      }
    })
  })

  it("look nothing up and offer no search for an agent that had no knowledge bases", () => {
    holds((call) => {
      const commands = commandsOf(call)
      if (call.facts.knowledge === true) return
      expect(of(commands, "LookUp")).toEqual([])
      expect(JSON.stringify(of(commands, "AskModel"))).not.toMatch(
        /reference_material|search_knowledge"[^}]*description/
      )
    })
  })

  it("give the model each passage that it gets before the last words of the caller, after the same prompt", () => {
    holds((call) => {
      for (const { messages } of of(commandsOf(call), "AskModel")) {
        const references = messages.flatMap(({ content }, i) => (content.startsWith("<reference_material>") ? [i] : []))
        expect(references.length).toBeLessThanOrEqual(1)
        for (const at of references) {
          expect(at).toBe(messages.findLastIndex(({ role }) => role === "user") - 1)
        }
        expect(messages[0]).toEqual({ role: "system", content: call.state.config?.system_prompt })
      }
    })
  })

  it("emit transcript.updated for each turn of the transcript, numbered from 0", () => {
    holds((call) => {
      const updates = of(commandsOf(call), "Emit").flatMap((c) => (c.event === "transcript.updated" ? [c.data] : []))
      expect(updates.map((data) => data.turn_index)).toEqual(updates.map((_, i) => i))
      expect(updates.map((data) => data.turn.content)).toEqual(call.state.transcript.map((turn) => turn.content))
    })
  })

  it("stop only running timers", () => {
    holds((call) => {
      const running = new Set<string>()
      for (const command of call.first) if (command._tag === "StartTimer") running.add(command.timer)
      for (const { commands } of call.steps) {
        for (const command of commands) {
          if (command._tag === "StartTimer") running.add(command.timer)
          if (command._tag === "StopTimer") expect(running).toContain(command.timer)
        }
      }
    })
  })

  it("lead to states that are plain JSON", () => {
    holds((call) => {
      for (const state of [call.unsettled, call.state]) expect(JSON.parse(JSON.stringify(state))).toEqual(state)
    })
  })

  it("give the same commands when the journal is replayed", () => {
    holds((call) => {
      const rows = [
        { seq: 0, input: call.facts, commands: digest(call.first) },
        ...call.steps.map(({ commands, input }, i) => ({ seq: i + 1, input, commands: digest(commands) }))
      ]
      const replayed = replay(JSON.parse(JSON.stringify(rows)))
      expect(replayed?.differing).toEqual([])
      expect(replayed?.state.transcript).toEqual(call.state.transcript)
    })
  })
})

import { expect, it } from "@effect/vitest"
import type { EventDraft } from "@svc/api/events/Event"
import { replay } from "@svc/conversation/Replay"
import { facts, tool } from "@svc/conversation/testing/Script"
import { healthy } from "@svc/providers/Health"
import type { LanguageModel, ModelMessage } from "@svc/providers/LanguageModel"
import { type Context, Effect, FiberSet, Logger, TestClock } from "effect"
import type { JournalRow } from "../../src/record/JournalRepo.ts"
import type { ServerRequestRow } from "../../src/record/ServerRequestsRepo.ts"
import { LookUpFailed } from "../../src/session/CallKnowledge.ts"
import type { ConversationServices } from "../../src/session/ConversationServices.ts"
import * as TextSession from "../../src/session/TextSession.ts"
import { agent } from "../doubles/VirtualPhone.ts"

const lastOf = (messages: ReadonlyArray<ModelMessage>): string => JSON.stringify(messages.at(-1))

/** A model that calls a lookup tool on request, repeats the result, and ends the call at "bye". */
const model: Context.Tag.Service<LanguageModel> = {
  id: "scripted",
  models: [],
  health: Effect.succeed(healthy),
  generate: ({ messages }, onDelta) =>
    Effect.sync(() => {
      const last = lastOf(messages)
      if (last.includes("explode")) throw new Error("model bug")
      if (last.includes("gold"))
        onDelta({ _tag: "ToolCall", call: { id: "t1", name: "lookup", arguments: { what: "gold" } } })
      else if (last.includes("bye"))
        onDelta({ _tag: "ToolCall", call: { id: "t2", name: "end_call", arguments: { disposition: "resolved" } } })
      else onDelta({ _tag: "Text", text: last.includes("42") ? "It is 42." : "Yes?" })
    })
}

const answer = {
  system_prompt: "You answer.",
  first_message: "Hello.",
  tools: [tool("lookup")],
  end_session_message: "So long."
}

const services = Effect.gen(function* () {
  const rows: Array<JournalRow> = []
  const events: Array<EventDraft> = []
  const transcript: Array<string> = []
  const requests: Array<ServerRequestRow> = []
  const background = yield* FiberSet.runtime(yield* FiberSet.make<void>())<never>()
  const all: ConversationServices = {
    agentServer: {
      callStarted: () => Effect.succeed(answer),
      toolCall: () => Effect.succeed({ answer: 42 }),
      transcriptUpdated: (_, { content, role }) => Effect.sync(() => void transcript.push(`${role}: ${content}`))
    },
    knowledge: {
      lookUp: () => Effect.succeed({ bases: 0, passages: [], without_vectors: null }),
      prepare: () => Effect.void
    },
    messages: { send: () => Effect.succeed("sms_1") },
    journal: { append: (row) => void rows.push(row), flush: Effect.void },
    events: { emit: (event) => void events.push(event) },
    serverRequests: { add: (row) => void requests.push(row) },
    models: [model],
    facts: { endpointing: "provider" },
    abilities: { speaks: () => true, voiceFor: (voice: string) => voice, models: "any" },
    background: (effect) => void background(effect),
    report: () => {}
  }
  return { all, rows, events, transcript }
})

/** Lets every ready fiber run. */
const settle = Effect.repeatN(Effect.yieldNow(), 50)

it.scoped(
  "a text-only session without a leg runs a whole conversation: tools, transcript, events, end_call, journal",
  () =>
    Effect.gen(function* () {
      const { all, events, rows, transcript } = yield* services
      const session = yield* TextSession.make(all, { id: 1, agent, facts: { ...facts, ...all.facts } })
      yield* settle
      for (const text of ["Hi", "look up gold", "bye"]) {
        session.say(text)
        yield* settle
      }
      const state = yield* session.over
      expect(state?.outcome).toEqual({ status: "completed", disposition: "answered", ended_reason: "agent-hangup" })
      const said = [
        "assistant: Hello.",
        "user: Hi",
        "assistant: Yes?",
        "user: look up gold",
        "assistant: It is 42.",
        "user: bye",
        "assistant: So long."
      ]
      expect(state?.transcript.map(({ content, role }) => `${role}: ${content}`)).toEqual(said)
      expect(transcript).toEqual(said)
      expect(events.map(({ event }) => event)).toEqual(expect.arrayContaining(["call.ringing", "call.started"]))
      const replayed = replay(rows)
      expect(replayed?.differing).toEqual([])
      expect(replayed?.state).toEqual(state)
    })
)

it.scoped("a text-only session that is abandoned takes no more inputs and ends without a state", () =>
  Effect.gen(function* () {
    const { all, rows } = yield* services
    const session = yield* TextSession.make(all, { id: 1, agent, facts: { ...facts, ...all.facts } })
    yield* settle
    session.abandon()
    const before = rows.length
    session.say("Hi")
    expect(yield* session.over).toBeUndefined()
    expect([session.isOver(), rows.length]).toEqual([true, before])
  })
)

it.scoped("a look-up in knowledge gives the model a message of its own; one that fails or hangs gives none", () =>
  Effect.gen(function* () {
    const { all } = yield* services
    const requests: Array<ReadonlyArray<ModelMessage>> = []
    const passage = { knowledge_base: "Shop", heading: null, text: "We open at nine.", score: 1 }
    const lookUp: ConversationServices["knowledge"]["lookUp"] = (_, query) =>
      query.includes("broken")
        ? new LookUpFailed({ reason: "it broke" })
        : query.includes("mad")
          ? Effect.die(new Error("bug"))
          : query.includes("slow")
            ? Effect.never
            : Effect.succeed({ bases: 1, passages: [passage], without_vectors: null })
    const session = yield* TextSession.make(
      {
        ...all,
        knowledge: { lookUp, prepare: () => Effect.void },
        models: [
          {
            ...model,
            generate: (request, onDelta) => {
              requests.push(request.messages)
              return model.generate(request, onDelta)
            }
          }
        ]
      },
      { id: 1, agent, facts: { ...facts, ...all.facts, knowledge: true } }
    )
    yield* settle
    for (const text of ["When do you open?", "Something broken", "Something mad", "Something slow"]) {
      session.say(text)
      yield* settle
      yield* TestClock.adjust("150 millis")
      yield* settle
    }
    const shown = requests.map((messages) => messages.map(({ content, role }) => [role, content.slice(0, 20)]))
    const own = [
      [
        ["user", "<reference_material>"],
        ["user", "When do you open?"]
      ],
      [["user", "Something broken"]],
      [["user", "Something mad"]],
      [["user", "Something slow"]]
    ]
    expect(shown.map((messages, turn) => messages.slice(-(own[turn]?.length ?? 0)))).toEqual(own)
    // Providers cache by the bytes of the prompt.
    expect(new Set(requests.map(([first]) => JSON.stringify(first)))).toEqual(
      new Set([JSON.stringify({ role: "system", content: answer.system_prompt })])
    )
    expect(shown.map((messages) => messages.filter(([, text]) => text?.startsWith("<ref")).length)).toEqual([
      1, 0, 0, 0
    ])
  })
)

it.scoped("a call whose look-ups go on without vectors logs the reason once", () =>
  Effect.gen(function* () {
    const { all } = yield* services
    const logged: Array<string> = []
    const log = Logger.make(({ message }) => void logged.push(String(message)))
    const session = yield* TextSession.make(
      {
        ...all,
        knowledge: {
          lookUp: () => Effect.succeed({ bases: 1, passages: [], without_vectors: "the provider is down" }),
          prepare: () => Effect.void
        }
      },
      { id: 1, agent, facts: { ...facts, ...all.facts, knowledge: true } }
    ).pipe(Effect.provide(Logger.add(log)))
    yield* settle
    for (const text of ["When do you open?", "And when do you close?"]) {
      session.say(text)
      yield* settle
    }
    expect(logged).toEqual([`Knowledge was looked up by words only in ${facts.call_id}: the provider is down`])
  })
)

import { mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { SqlClient } from "@effect/sql"
import { describe, expect, it } from "@effect/vitest"
import { TestSessionId } from "@svc/api/Ids"
import { Accounts } from "@svc/auth/Accounts"
import { JournalRepo } from "@svc/call-engine/record/JournalRepo"
import { seedCalls } from "@svc/call-engine/testing/SeedCalls"
import { start, step } from "@svc/conversation/Conversation"
import type { Facts, Input } from "@svc/conversation/Input"
import { digest } from "@svc/conversation/Replay"
import { facts, Script } from "@svc/conversation/testing/Script"
import { TestDatabase } from "@svc/database/TestDatabase"
import { BigDecimal, ConfigProvider, Effect, Either, Layer, Option, Redacted, Schema } from "effect"
import { CommandServices } from "../../src/commands/CommandServices.ts"
import { type ReplayOptions, replay } from "../../src/commands/replay/Replay.ts"
import { Reported } from "../../src/StartFailure.ts"

const scripted = Script.live().play("u0").wait(500).say("Look it up").input({ _tag: "CallerHungUp" })

interface Row {
  readonly seq: number
  readonly input: Facts | Input
  readonly commands: string
}

/** The journal that the scripted call leaves. */
const rows = (() => {
  let [state, commands] = start(facts)
  const made: Array<Row> = [{ seq: 0, input: facts, commands: digest(commands) }]
  for (const [index, input] of scripted.inputs.entries()) {
    ;[state, commands] = step(state, input)
    made.push({ seq: index + 1, input, commands: digest(commands) })
  }
  return made
})()

/** The row of the caller's final words, which make the agent answer. */
const answered = rows.findIndex(({ input }) => input._tag === "CallerEndOfTurn")

const Services = JournalRepo.layer.pipe(Layer.provideMerge(CommandServices))

/** A database with three calls, newest last; the first one has this journal. */
const database = (journal: ReadonlyArray<Row>) =>
  Effect.gen(function* () {
    const url = yield* TestDatabase.freshUrl
    const settings = ConfigProvider.fromMap(new Map([["SVC_DATABASE_URL", Redacted.value(url)]]))
    const ids = yield* Effect.gen(function* () {
      const accounts = yield* Accounts
      const sql = yield* SqlClient.SqlClient
      const org = yield* accounts.createOrganization({
        name: "Acme",
        tier: "payg",
        balance_eur: BigDecimal.unsafeFromString("1")
      })
      const project = yield* accounts.createProject(org.id, { name: "Default", description: null })
      const [agent] = yield* sql<{ readonly id: number; readonly public_id: string }>`
        insert into agents (public_id, org_id, project_id, name, name_folded, voice, language, max_duration, recording, end_call_enabled,
          server_secret, server_url)
        values ('agent_000000000000000000000001', ${org.id}, ${project.id}, 'A', 'a', 'Sarah', 'en-US', 600, false, true, 's', 'https://example.com')
        returning id, public_id`
      yield* seedCalls({
        org_id: org.id,
        project_id: project.id,
        agents: agent === undefined ? [] : [agent],
        count: 2,
        until: new Date(facts.started_at),
        days: 1
      })
      const calls = yield* sql<{ readonly id: number; readonly public_id: string }>`
        select id, public_id from calls order by id`
      const [first] = calls
      if (first !== undefined) {
        yield* Effect.flatMap(JournalRepo, ({ insert }) =>
          insert(journal.map((row) => ({ ...row, call_id: first.id })))
        )
      }
      return calls
    }).pipe(Effect.provide(Services), Effect.withConfigProvider(settings))
    return { settings, ids }
  })

const folder = () => mkdtempSync(join(tmpdir(), "svc-replay-"))

/** What the command printed and how it ended. */
const run = (options: Partial<ReplayOptions>, settings = ConfigProvider.fromMap(new Map())) =>
  Effect.gen(function* () {
    const out: Array<string> = []
    const err: Array<string> = []
    const defaults = yield* Effect.console
    const ended = yield* Effect.either(
      Effect.withConsole(replay({ source: "", save: Option.none(), json: false, version: "1.2.3", ...options }), {
        ...defaults,
        log: (...parts: ReadonlyArray<unknown>) => Effect.sync(() => void out.push(parts.join(" "))),
        error: (...parts: ReadonlyArray<unknown>) => Effect.sync(() => void err.push(parts.join(" ")))
      })
    )
    const code = Either.isRight(ended) ? 0 : ended.left instanceof Reported ? ended.left.exitCode : String(ended.left)
    return { code, out: out.join("\n"), err: err.join("\n") }
  }).pipe(Effect.provide(NodeContext.layer), Effect.withConfigProvider(settings))

const Line = Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
const linesOf = (file: string) =>
  readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => ({ ...Schema.decodeSync(Line)(line) }))
const writeLines = (file: string, lines: ReadonlyArray<unknown>) =>
  writeFileSync(file, lines.map((line) => JSON.stringify(line)).join("\n"))

describe("svc replay", () => {
  it.scopedLive("takes a call by public or numeric id, and has exit code 0 when every step acts as recorded", () =>
    Effect.gen(function* () {
      const { ids, settings } = yield* database(rows)
      const id = ids[0]?.public_id ?? ""
      const byPublic = yield* run({ source: id }, settings)
      expect(byPublic).toEqual({
        code: 0,
        err: "",
        out:
          `${id}: ${rows.length} steps, completed, answered, caller-hangup\n` +
          "This version gives the recorded commands at every step."
      })
      expect(yield* run({ source: String(ids[0]?.id) }, settings)).toEqual(byPublic)
      const { code, out } = yield* run({ source: id, json: true }, settings)
      expect([code, JSON.parse(out)]).toEqual([
        0,
        {
          ok: true,
          call_id: id,
          saved: null,
          ended: true,
          steps: rows.length,
          outcome: { status: "completed", disposition: "answered", ended_reason: "caller-hangup" },
          differences: []
        }
      ])
    })
  )

  it.scopedLive("takes a test session by public id, and says that an unknown one cannot be replayed", () =>
    Effect.gen(function* () {
      const { ids, settings } = yield* database(rows)
      const id = TestSessionId.make(`ts_${"a".repeat(24)}`)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`
          insert into test_sessions (public_id, org_id, project_id, agent_id, agent_public_id, created_at)
          select ${id}, org_id, project_id, agent_id, agent_public_id, now() from calls limit 1`
        yield* sql`
          insert into test_session_journal (session_id, seq, input, commands)
          select test_sessions.id, seq, input, commands from test_sessions, call_journal
          where call_id = ${ids[0]?.id ?? 0} and seq < ${rows.length - 1}`
      }).pipe(Effect.provide(Services), Effect.withConfigProvider(settings))
      expect(yield* run({ source: id }, settings)).toEqual({
        code: 0,
        err: "",
        out:
          `${id}: ${rows.length - 1} steps, the test session was live\n` +
          "This version gives the recorded commands at every step."
      })
      const save = Option.some(join(folder(), "session.jsonl"))
      expect((yield* run({ source: id, save }, settings)).code).toBe(0)
      expect((yield* run({ source: Option.getOrThrow(save) })).out).toContain(`${id}: ${rows.length - 1} steps`)
      const unknown = yield* run({ source: `ts_${"b".repeat(24)}` }, settings)
      expect([unknown.code, unknown.err]).toEqual([2, expect.stringContaining("there is no test session ts_bbbb")])
    })
  )

  it.scopedLive("says that an unknown call, and a call without a journal, cannot be replayed, with exit code 2", () =>
    Effect.gen(function* () {
      const { ids, settings } = yield* database(rows)
      for (const source of ["call_000000000000000000000000", "999999999", "99999999999999999999"]) {
        const { code, err, out } = yield* run({ source }, settings)
        expect([code, out]).toEqual([2, ""])
        expect(err).toContain(`svc: there is no call ${source} in this database`)
      }
      const source = ids[1]?.public_id ?? ""
      const { code, err } = yield* run({ source }, settings)
      expect(code).toBe(2)
      expect(err).toContain(`the call ${source} has no journal`)
    })
  )

  it.scopedLive("shows the step that differs with the recorded digest and the commands of now; exit code 1", () =>
    Effect.gen(function* () {
      const other = rows.map((row) => (row.seq === answered ? { ...row, commands: "otherdigest" } : row))
      const { ids, settings } = yield* database(other)
      const source = ids[0]?.public_id ?? ""
      const { code, out } = yield* run({ source }, settings)
      expect(code).toBe(1)
      expect(out).toContain(`This version gives other commands at 1 step, first at seq ${answered}.`)
      expect(out).toMatch(new RegExp(`\\nseq ${answered}  0:\\d\\d\\.\\d{3}  CallerEndOfTurn\\n`))
      expect(out).toContain("  - commands with the digest otherdigest\n")
      expect(out).toContain("  + AskModel {")
      const document = JSON.parse((yield* run({ source, json: true }, settings)).out)
      expect(document.ok).toBe(false)
      expect(document.differences).toHaveLength(1)
      const at = rows[answered]?.input
      expect(document.differences[0]).toMatchObject({
        seq: answered,
        at: at?._tag === "CallerEndOfTurn" ? at.at : -1,
        time: new Date(facts.started_at + (at?._tag === "CallerEndOfTurn" ? at.at : 0)).toISOString(),
        input: at,
        recorded: { digest: "otherdigest", commands: null },
        now: { digest: rows[answered]?.commands }
      })
    })
  )

  it.scopedLive("--save writes a file of its own, with which a later version is compared command by command", () =>
    Effect.gen(function* () {
      const { ids, settings } = yield* database(rows)
      const source = ids[0]?.public_id ?? ""
      const file = join(folder(), "call.jsonl")
      expect((yield* run({ source, save: Option.some(file) }, settings)).code).toBe(0)
      expect(statSync(file).mode & 0o777).toBe(0o600)
      const again = yield* run({ source, save: Option.some(file) }, settings)
      expect([again.code, again.out]).toEqual([2, ""])
      expect(again.err).toContain(`${file} cannot be written: it exists already`)

      // Without a database.
      const { code, out } = yield* run({ source: file })
      expect([code, out]).toEqual([0, expect.stringContaining("caller-hangup, saved by version 1.2.3 at 20")])

      const [head, ...lines] = linesOf(file)
      const changed = lines.map((line) => {
        if (line["seq"] !== answered) return line
        const recorded = [...(line["recorded"] as ReadonlyArray<object>), { _tag: "Note", text: "as it was" }]
        return { ...line, recorded, commands: digest(recorded as never) }
      })
      writeLines(file, [head, ...changed])
      const differing = yield* run({ source: file })
      expect(differing.code).toBe(1)
      expect(differing.out).toContain('\n  - Note {"text":"as it was"}')
      expect(differing.out).toMatch(/\n {4}AskModel \{/)
      expect(differing.out).not.toContain("+ ")
      const document = JSON.parse((yield* run({ source: file, json: true })).out)
      expect(document.differences[0].recorded.commands.at(-1)).toEqual({ _tag: "Note", text: "as it was" })
    })
  )

  it.scopedLive("names what is wrong with a file, and where, with exit code 2", () =>
    Effect.gen(function* () {
      const { ids, settings } = yield* database(rows)
      const place = folder()
      const good = join(place, "good.jsonl")
      yield* run({ source: ids[0]?.public_id ?? "", save: Option.some(good) }, settings)
      const [head = {}, ...lines] = linesOf(good)
      const bad = join(place, "bad.jsonl")
      const faultOf = (given: ReadonlyArray<unknown> | string) =>
        Effect.gen(function* () {
          if (typeof given === "string") writeFileSync(bad, given)
          else writeLines(bad, given)
          const { code, err, out } = yield* run({ source: bad })
          expect([code, out]).toEqual([2, ""])
          expect(err.split("\n")).toHaveLength(1)
          return err
        })
      const changed = (seq: number, change: object) =>
        faultOf([head, ...lines.map((line) => (line["seq"] === seq ? { ...line, ...change } : line))])

      const notSaved = `svc: ${bad} is not a journal that svc replay --save has written`
      for (const text of ["", "garbage", "null", "[]", '{"svc_journal":"1"}'])
        expect(yield* faultOf(text)).toBe(notSaved)
      expect(yield* faultOf([{ ...head, svc_journal: 2 }, ...lines])).toContain(
        "has version 2 of the form of saved journals; this program reads version 1: use the version that saved it"
      )
      expect(yield* faultOf([{ ...head, rows: "many" }])).toContain(`line 1 of ${bad} cannot be read: rows: `)
      expect(yield* faultOf([head, ...lines.slice(0, -2)])).toContain(
        `has ${lines.length - 2} rows in the place of ${lines.length}: it is not whole`
      )
      expect(yield* faultOf(`${JSON.stringify(head)}\n{"seq":0`)).toContain(`line 2 of ${bad} cannot be read`)
      expect(yield* faultOf([head, ...lines.map((line, seq) => (seq === 3 ? { ...line, seq: 4 } : line))])).toContain(
        "has no row 3: it is not whole"
      )
      expect(yield* changed(2, { input: { _tag: "Teleported", at: 1 } })).toContain(
        'is an input "Teleported", which this version does not know: replay it with the version that ran the call'
      )
      expect(yield* changed(2, { input: { _tag: "Dtmf", at: 1 } })).toMatch(/row 2 of .* cannot be read: digit: /)
      expect(yield* changed(2, { input: facts })).toContain("holds the facts of a call again")
      expect(yield* changed(0, { input: { _tag: "Answered", at: 0 } })).toContain(
        "does not begin with the facts of a call"
      )
      expect((yield* run({ source: join(place, "none") })).err).toContain(
        "there is no such file, and it is no call's id"
      )
      expect((yield* run({ source: place })).code).toBe(2)
      expect((yield* run({ source: good, save: Option.some(bad) })).err).toContain(
        "--save is for the journal of a call"
      )
    })
  )
})

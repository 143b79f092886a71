import { describe, expect, it } from "vitest"
import { recordOf } from "../src/CallRecord.ts"
import type { Conversation } from "../src/State.ts"
import { facts, Script } from "../src/testing/Script.ts"

/** The record of a call with these parts of its state. */
const record = (parts: Partial<Conversation>) => recordOf({ ...Script.greeted().state, ...parts })

describe("the record of a call", () => {
  it("has a duration_seconds that is rounded, from the answer to the end", () => {
    const duration = (ended_at: number) => record({ answered_at: 1000, ended_at }).duration_seconds
    expect([1000, 1200, 2600, 61_400].map(duration)).toEqual([0, 0, 2, 60])
  })

  it("has a duration_seconds of 0 when the call was not answered, or ended before its answer", () => {
    expect(record({ answered_at: null, ended_at: 5000 }).duration_seconds).toBe(0)
    expect(record({ answered_at: 5000, ended_at: 1000 }).duration_seconds).toBe(0)
  })

  it("has a transfer_duration_seconds that is rounded, from the transfer to the end", () => {
    const transferred = { destination: "+15550004444", at: 11_000 }
    expect(record({ answered_at: 1000, transferred, ended_at: 13_600 })).toMatchObject({
      duration_seconds: 10,
      transfer_duration_seconds: 3,
      transferred_to: "+15550004444"
    })
    expect(record({ transferred, ended_at: 10_000 }).transfer_duration_seconds).toBe(0)
  })

  it("has no transfer_duration_seconds and transferred_to without a transfer", () => {
    expect(record({ ended_at: 5000 })).toMatchObject({ transfer_duration_seconds: 0, transferred_to: null })
  })

  it("has an ended_at that counts from the call's start, and is the start when no end is known", () => {
    expect(record({ ended_at: 5000 }).ended_at.getTime()).toBe(facts.started_at + 5000)
    expect(record({ ended_at: null }).ended_at.getTime()).toBe(facts.started_at)
  })

  it("is of a failed call when the conversation has no outcome", () => {
    expect(record({ outcome: null })).toMatchObject({ status: "failed", disposition: "failed", ended_reason: "error" })
  })

  it("has the outcome of the conversation", () => {
    const outcome = { status: "busy", disposition: "busy", ended_reason: null } as const
    expect(record({ outcome })).toMatchObject(outcome)
  })

  it("has null for each field of the extraction schema when nothing was extracted, and no field without a schema", () => {
    const { config } = Script.greeted({ extraction: [{ name: "age", type: "number" }] }).state
    expect(record({ config }).extracted_data).toEqual({ age: null })
    expect(record({ config, extracted: { age: 5 } }).extracted_data).toEqual({ age: 5 })
    expect(record({ config: null }).extracted_data).toEqual({})
  })
})

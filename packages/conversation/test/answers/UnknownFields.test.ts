import { describe, expect, it } from "vitest"
import { unknownFields } from "../../src/answers/UnknownFields.ts"

const fields = (answer: unknown) => unknownFields(answer).map(({ field }) => field)

describe("the unknown fields of an answer to call.started", () => {
  it("are named by their path, with the field that was probably meant", () => {
    expect(unknownFields({ system_prompt: "Hi", firstMessage: "Hello" })).toEqual([
      { field: "firstMessage", reason: "is not a field of the answer, and is ignored; did you mean first_message?" }
    ])
    const [tool] = unknownFields({ tools: [{ name: "a" }, { name: "b", timeout: 3 }] })
    expect(tool?.field).toBe("tools.1.timeout")
    expect(tool?.reason).toMatch(
      /^is not a field of a tool, .*known are name, description, parameters, timeout_seconds/
    )
  })

  it("are found in every object whose fields Svc defines", () => {
    const answer = {
      tools: [{ name: "a", gather: { digits: 4 } }],
      pre_gather: { prompt: "Press 1", max_digits: 1 },
      post_call: { email: {}, sms: { to: "caller", message: "Thanks", text: "Thanks" } },
      extraction_schema: { name: { type: "string", enum: ["a"] } }
    }
    expect(fields(answer)).toEqual([
      "tools.0.gather.digits",
      "pre_gather.max_digits",
      "post_call.email",
      "post_call.sms.text",
      "extraction_schema.name.enum"
    ])
  })

  it("are not the keys that a customer chooses", () => {
    const answer = {
      system_prompt: "Hi",
      metadata: { anything: { at: "all" } },
      transfer_destinations: { desk: "+15550100199" },
      dtmf_actions: { "1": "sales" },
      tools: [{ name: "a", parameters: { type: "object", properties: { whatever: {} } } }],
      extraction_schema: { any_name: { type: "string", description: "x", format: "date", pattern: "x" } },
      pre_gather: {
        prompt: "x",
        digits: 1,
        language: "en-US",
        voice: "male",
        timeout: 5,
        max_retries: 0,
        terminator: ""
      }
    }
    expect(fields(answer)).toEqual([])
  })

  it.each([
    ["no object", 5],
    ["null", null],
    ["a list", [{ a: 1 }]],
    ["parts of wrong types", { tools: "x", pre_gather: [1], post_call: 5, extraction_schema: { a: null } }]
  ])("of %s are none", (_, answer) => {
    expect(fields(answer)).toEqual([])
  })

  it("are at most 20", () => {
    const many = Object.fromEntries(Array.from({ length: 4000 }, (_, n) => [`field_${n}`, 1]))
    expect(fields(many)).toHaveLength(20)
  })
})

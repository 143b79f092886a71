import { HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { Schema } from "effect"
import { AnyId } from "../Ids.ts"
import { ValidationError } from "../VoiceError.ts"
import { E164, Limit } from "../Wire.ts"
import { PhoneNumber, PhoneNumberInUse, PhoneNumberNotFound } from "./PhoneNumber.ts"

const One = Schema.Struct({ phone_number: PhoneNumber })

/** `/v1/phone-numbers` (spec 4.6, decisions §6.2). */
export const PhoneNumbersApi = HttpApiGroup.make("phoneNumbers")
  .add(
    HttpApiEndpoint.get("list", "/v1/phone-numbers")
      .setUrlParams(
        Schema.Struct({
          limit: Schema.optionalWith(Limit(100), { default: () => 50 }),
          after: Schema.optional(Schema.String)
        })
      )
      .addSuccess(
        Schema.Struct({ phone_numbers: Schema.Array(PhoneNumber), next_cursor: Schema.NullOr(Schema.String) })
      )
      .addError(ValidationError.wire)
  )
  .add(
    HttpApiEndpoint.post("import", "/v1/phone-numbers/import")
      .setPayload(
        Schema.Struct({ number: E164, telephony: Schema.String }).annotations({ identifier: "PhoneNumberImport" })
      )
      .addSuccess(One, { status: 201 })
      .addError(ValidationError.wire)
      .addError(PhoneNumberInUse.wire)
  )
  .add(
    HttpApiEndpoint.patch("assign", "/v1/phone-numbers/:numberId")
      .setPath(Schema.Struct({ numberId: AnyId }))
      .setPayload(
        Schema.Struct({ agent_id: Schema.NullOr(Schema.Union(Schema.String, Schema.Int)) }).annotations({
          identifier: "PhoneNumberAssign"
        })
      )
      .addSuccess(One)
      .addError(ValidationError.wire)
      .addError(PhoneNumberNotFound.wire)
  )

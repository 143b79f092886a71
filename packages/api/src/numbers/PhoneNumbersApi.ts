import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { AnyId } from "../Ids.ts"
import { InsufficientCredits, Unavailable, ValidationError } from "../VoiceError.ts"
import { Limit } from "../Wire.ts"
import { NumberForSale, NumberSearchQuery } from "./NumberSearch.ts"
import {
  PhoneNumber,
  PhoneNumberAssign,
  PhoneNumberImport,
  PhoneNumberInUse,
  PhoneNumberNotFound,
  PhoneNumberPurchase,
  PurchaseFailed
} from "./PhoneNumber.ts"

const One = Schema.Struct({ phone_number: PhoneNumber })

/** `/v1/phone-numbers`. See docs/reference/numbers-and-messages.md. */
export const PhoneNumbersApi = HttpApiGroup.make("phoneNumbers")
  .annotateContext(
    OpenApi.annotations({
      title: "Phone numbers",
      description: "Numbers of a project, and the agent that answers each."
    })
  )
  .add(
    HttpApiEndpoint.get("list", "/v1/phone-numbers")
      .annotateContext(
        OpenApi.annotations({
          summary: "List phone numbers",
          description: "Newest first. `after` is the id of the last number seen."
        })
      )
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
    HttpApiEndpoint.get("search", "/v1/phone-numbers/search")
      .annotateContext(
        OpenApi.annotations({
          summary: "Search phone numbers for sale",
          description: "Of all carriers that are loaded. `area` is an area code or a place."
        })
      )
      .setUrlParams(NumberSearchQuery)
      .addSuccess(Schema.Struct({ phone_numbers: Schema.Array(NumberForSale) }))
      .addError(ValidationError.wire)
      .addError(Unavailable.wire)
  )
  .add(
    HttpApiEndpoint.post("purchase", "/v1/phone-numbers/purchase")
      .annotateContext(
        OpenApi.annotations({
          summary: "Buy a phone number",
          description:
            "Debits the first month. Outside the US and Canada an address is required. After 503 the purchase goes on: " +
            "the same request joins it, and the number is bought and paid once."
        })
      )
      .setPayload(PhoneNumberPurchase)
      .addSuccess(One, { status: 201 })
      .addError(ValidationError.wire)
      .addError(PhoneNumberInUse.wire)
      .addError(InsufficientCredits.wire)
      .addError(PurchaseFailed.wire)
      .addError(Unavailable.wire)
  )
  .add(
    HttpApiEndpoint.post("import", "/v1/phone-numbers/import")
      .annotateContext(
        OpenApi.annotations({
          summary: "Import a phone number",
          description:
            "Takes over a number that a telephony plugin already has. A plugin that can list its numbers must list it."
        })
      )
      .setPayload(PhoneNumberImport)
      .addSuccess(One, { status: 201 })
      .addError(ValidationError.wire)
      .addError(PhoneNumberInUse.wire)
  )
  .add(
    HttpApiEndpoint.patch("assign", "/v1/phone-numbers/:numberId")
      .annotateContext(
        OpenApi.annotations({
          summary: "Assign a phone number",
          description: "To an agent of the project, by public or numeric id; null takes the number from its agent."
        })
      )
      .setPath(Schema.Struct({ numberId: AnyId }))
      .setPayload(PhoneNumberAssign)
      .addSuccess(One)
      .addError(ValidationError.wire)
      .addError(PhoneNumberNotFound.wire)
  )
  .add(
    HttpApiEndpoint.del("release", "/v1/phone-numbers/:numberId")
      .annotateContext(
        OpenApi.annotations({
          summary: "Release a phone number",
          description: "Ends its rent. Calls to it no longer arrive. An imported number stays with its carrier."
        })
      )
      .setPath(Schema.Struct({ numberId: AnyId }))
      .addSuccess(Schema.Struct({ deleted: Schema.Literal(true) }))
      .addError(PhoneNumberNotFound.wire)
  )

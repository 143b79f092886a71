import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { AnyId } from "../Ids.ts"
import { ValidationError } from "../VoiceError.ts"
import { Limit } from "../Wire.ts"
import { Address, AddressCreate, AddressInUse, AddressNotFound } from "./Address.ts"

const One = Schema.Struct({ address: Address })
const addressId = Schema.Struct({ addressId: AnyId })

/** `/v1/addresses`. See docs/reference/addresses.md. */
export const AddressesApi = HttpApiGroup.make("addresses")
  .annotateContext(
    OpenApi.annotations({
      title: "Addresses",
      description: "Addresses that some countries demand for a phone number, and their verification by the carrier."
    })
  )
  .add(
    HttpApiEndpoint.get("list", "/v1/addresses")
      .annotateContext(
        OpenApi.annotations({
          summary: "List addresses",
          description: "Newest first. `after` is the id of the last address seen."
        })
      )
      .setUrlParams(
        Schema.Struct({
          limit: Schema.optionalWith(Limit(100), { default: () => 50 }),
          after: Schema.optional(Schema.String)
        })
      )
      .addSuccess(Schema.Struct({ addresses: Schema.Array(Address), next_cursor: Schema.NullOr(Schema.String) }))
      .addError(ValidationError.wire)
  )
  .add(
    HttpApiEndpoint.post("create", "/v1/addresses")
      .annotateContext(
        OpenApi.annotations({
          summary: "Create an address",
          description:
            "The carrier then verifies it. Each step of the verification is an event, `address.verification.…`."
        })
      )
      .setPayload(AddressCreate)
      .addSuccess(One, { status: 201 })
      .addError(ValidationError.wire)
  )
  .add(
    HttpApiEndpoint.get("get", "/v1/addresses/:addressId")
      .annotateContext(OpenApi.annotations({ summary: "Get an address" }))
      .setPath(addressId)
      .addSuccess(One)
      .addError(AddressNotFound.wire)
  )
  .add(
    HttpApiEndpoint.del("remove", "/v1/addresses/:addressId")
      .annotateContext(
        OpenApi.annotations({
          summary: "Delete an address",
          description: "Refused while a phone number uses it. Its verification ends without an event."
        })
      )
      .setPath(addressId)
      .addSuccess(Schema.Struct({ deleted: Schema.Literal(true) }))
      .addError(AddressNotFound.wire)
      .addError(AddressInUse.wire)
  )

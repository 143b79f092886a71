import { Schema } from "effect"
import { define } from "../VoiceError.ts"
import { E164 } from "../Wire.ts"

/** Body of `POST /v1/calls/<id>/transfer`. */
export const TransferRequest = Schema.Struct({
  destination: E164
}).annotations({ identifier: "TransferRequest" })
export type TransferRequest = typeof TransferRequest.Type

/** The response, once the caller is connected to the destination. */
export const TransferDone = Schema.Struct({ success: Schema.Literal(true), destination: Schema.String })

/** The network did not connect the caller to the destination; `message` has the reason. */
export class TransferFailed extends define("TransferFailed", "TRANSFER_FAILED", 422, "transfer failed") {}

/** Extension: another transfer of the call is in progress. */
export class TransferAlreadyActive extends define(
  "TransferAlreadyActive",
  "TRANSFER_ALREADY_ACTIVE",
  409,
  "a transfer is already active on this call"
) {}

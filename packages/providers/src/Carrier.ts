import { Data, type Effect } from "effect"

/** The numbers that a carrier sells, and the verification of addresses that some countries demand for them. */

export type NumberType = "local" | "mobile" | "toll_free"

/** Whether a text is a number in E.164 with its plus sign. See ITU-T E.164, 6. */
export const isE164 = (text: string): boolean => /^\+[1-9]\d{1,14}$/.test(text)

/**
 * The carrier could not be reached, or it is not known whether it carried out the operation. The platform asks again
 * with the same key. `reason` is for people.
 */
export class CarrierUnavailable extends Data.TaggedError("CarrierUnavailable")<{ readonly reason: string }> {}

/**
 * The carrier refuses the operation for good, and nothing has changed there; the platform does not ask again. `reason`
 * is for people, in one plain sentence.
 */
export class CarrierRefused extends Data.TaggedError("CarrierRefused")<{ readonly reason: string }> {}

/** A number for sale. */
export interface OfferedNumber {
  /** E.164. */
  readonly number: string
  /** ISO 3166-1 alpha-2. */
  readonly country: string
  readonly type: NumberType
  /** Area code or place, as the carrier names it. */
  readonly area: string | null
}

/** A number that the carrier rents to the platform. */
export interface OwnedNumber {
  /** E.164. */
  readonly number: string
  /** The carrier's id of the number. */
  readonly carrier_id: string
}

/** An address of a customer. */
export interface CarrierAddress {
  readonly customer_name: string
  readonly street: string
  readonly city: string
  readonly postcode: string
  readonly region: string | null
  /** ISO 3166-1 alpha-2. */
  readonly country: string
}

/**
 * The numbers of a carrier. `key` is the platform's idempotency key: an operation that is repeated with the same key is
 * carried out once and gives the same answer. That holds for repetitions at the same time, after an interruption and
 * after a restart: the carrier must know the key, or the plugin must look whether the carrier has already carried out
 * the operation. A key never comes with another order.
 */
export interface Numbers {
  /**
   * At most `limit` (1 to 500) numbers for sale. `country` is ISO 3166-1 alpha-2; a country in which the carrier sells
   * nothing gives an empty list. `area` is an area code or the name of a place; absent: all.
   */
  readonly search: (query: {
    readonly country: string
    readonly area?: string
    readonly type?: NumberType
    readonly limit: number
  }) => Effect.Effect<ReadonlyArray<OfferedNumber>, CarrierUnavailable>
  /**
   * Rents a number to the platform. A number that is not for sale is refused, also when the platform itself already
   * rents it under another key. `address`: the verified address, with its submission, where the country demands one;
   * else null.
   */
  readonly purchase: (order: {
    readonly key: string
    readonly number: string
    readonly address: (CarrierAddress & { readonly submission_id: string | null }) | null
  }) => Effect.Effect<OwnedNumber, CarrierRefused | CarrierUnavailable>
  /**
   * Ends the rent. Succeeds also for a number that the platform does not have. A repetition with the same key does not
   * end a later rent of the number.
   */
  readonly release: (order: {
    readonly key: string
    readonly number: string
  }) => Effect.Effect<void, CarrierUnavailable>
  /**
   * All numbers that the carrier rents to the platform, at most 100,000. The platform compares them with its own, and
   * they prove that an imported number is the operator's. Absent when the carrier cannot list them.
   */
  readonly owned?: Effect.Effect<ReadonlyArray<OwnedNumber>, CarrierUnavailable>
}

/** The verification of an address for one type of number. */
export interface AddressVerdict {
  readonly type: NumberType
  readonly status: "pending" | "verified" | "rejected" | "expired"
  /** For people, in one plain sentence; null unless rejected. */
  readonly rejection_reason: string | null
}

/** The verification of addresses. */
export interface Regulatory {
  /**
   * What a country demands: fields without which an address is not accepted, and the types of number that it is
   * verified for. Both lists are empty for a country whose addresses the carrier does not verify.
   */
  readonly requirements: (
    country: string
  ) => Effect.Effect<
    { readonly fields: ReadonlyArray<keyof CarrierAddress>; readonly number_types: ReadonlyArray<NumberType> },
    CarrierUnavailable
  >
  /** Submits an address for verification, once per key. An address that lacks a demanded field is refused. */
  readonly submit: (order: {
    readonly key: string
    readonly address: CarrierAddress
  }) => Effect.Effect<{ readonly submission_id: string }, CarrierRefused | CarrierUnavailable>
  /**
   * The state of a submission, one verdict per type of number. The platform asks until none is pending, and then from
   * time to time while one is verified, because a verification may expire. `CarrierRefused`: the carrier does not know
   * the submission.
   */
  readonly status: (
    submissionId: string
  ) => Effect.Effect<ReadonlyArray<AddressVerdict>, CarrierRefused | CarrierUnavailable>
}

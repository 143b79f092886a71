import type { OwnedNumber } from "@svc/providers/Carrier"
import type { CarrierRecord } from "./CarrierRecords.ts"

/** A text message as `GET sms` returns it. */
export interface SentSms {
  readonly id: string
  readonly to: string
  readonly from: string
  readonly message: string
}

/** The number of messages that are kept; the oldest are dropped. Their ids stay known. */
const kept = 2000

/** The outcome of a purchase: the rented number, or why it was refused. */
export type PurchaseOutcome = OwnedNumber | { readonly refused: string }

/** What follows from the orders that reached the simulated carrier, in their sequence. */
export class CarrierState {
  readonly rented = new Map<string, OwnedNumber>()
  /** By key. */
  readonly purchases = new Map<string, PurchaseOutcome>()
  /** Oldest first. */
  readonly messages: Array<SentSms> = []
  /** How often each operation was carried out. */
  readonly operations = { purchase: 0, release: 0, submit: 0, status: 0, sms: 0 }
  readonly #releases = new Set<string>()
  readonly #submissions = new Set<string>()
  readonly #questions = new Map<string, number>()
  readonly #listed = new Set<string>()
  readonly #messageIds = new Set<string>()

  /** How often the state of a submission was asked for. */
  questions(submissionId: string): number {
    return this.#questions.get(submissionId) ?? 0
  }

  /** Applies an order. Whether it was carried out: false for one that was refused or carried out before. */
  apply(record: CarrierRecord): boolean {
    const carriedOut = this.#carryOut(record)
    if (carriedOut && record.order !== "listed") this.operations[record.order]++
    return carriedOut
  }

  #carryOut(record: CarrierRecord): boolean {
    switch (record.order) {
      case "purchase":
        return this.#purchase(record.key, record.number)
      case "release": {
        if (this.#releases.has(record.key)) return false
        this.#releases.add(record.key)
        return this.rented.delete(record.number)
      }
      case "submit": {
        if (this.#submissions.has(record.key)) return false
        this.#submissions.add(record.key)
        return true
      }
      case "status":
        this.#questions.set(record.submission_id, this.questions(record.submission_id) + 1)
        return true
      case "listed": {
        if (this.#listed.has(record.number)) return false
        this.#listed.add(record.number)
        this.#rent(record.number)
        return true
      }
      case "sms": {
        if (this.#messageIds.has(record.id)) return false
        this.#messageIds.add(record.id)
        const { from, id, message, to } = record
        this.messages.push({ id, to, from, message })
        if (this.messages.length > kept) this.messages.shift()
        return true
      }
    }
  }

  #purchase(key: string, number: string): boolean {
    if (this.purchases.has(key)) return false
    if (number.endsWith("9999")) {
      this.purchases.set(key, { refused: `The simulated network does not sell ${number}.` })
      return false
    }
    if (this.rented.has(number)) {
      this.purchases.set(key, { refused: `${number} is already rented.` })
      return false
    }
    this.purchases.set(key, this.#rent(number))
    return true
  }

  #rent(number: string): OwnedNumber {
    // From the number alone, so that it is the same after a restart without a file.
    const rented = { number, carrier_id: `sim-${number.slice(1)}` }
    this.rented.set(number, rented)
    return rented
  }
}

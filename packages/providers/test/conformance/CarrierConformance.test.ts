import { expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { describe } from "vitest"
import { CarrierRefused, CarrierUnavailable, type Numbers, type Regulatory } from "../../src/Carrier.ts"
import { Telephony } from "../../src/Telephony.ts"
import { numbersChecks } from "../../src/testing/NumbersChecks.ts"
import { carrierFaultChecks, regulatoryChecks } from "../../src/testing/RegulatoryChecks.ts"
import { type TelephonyCheckOptions, telephonyHarness } from "../../src/testing/TelephonyHarness.ts"
import { failing, namesOf } from "./Failing.ts"
import { type CarrierBug, refusedNumber } from "./ReferenceCarrier.ts"
import { connectPhone, referenceTelephony } from "./ReferenceTelephony.ts"

const options = (bug?: CarrierBug): TelephonyCheckOptions => ({
  layer: Layer.suspend(() => referenceTelephony(bug)),
  phone: connectPhone,
  forSale: { country: "US", type: "local", refused: refusedNumber }
})

const checksOf = (given: TelephonyCheckOptions) => {
  const harness = telephonyHarness(given)
  return [...numbersChecks(harness, given), ...regulatoryChecks(harness, given), ...carrierFaultChecks(harness, given)]
}

const offers = "search offers different numbers of the country and the type, at most limit"
const inArea = "search offers only numbers of the area if offers name one"
const rents = "purchase rents a number, which is then owned and no longer offered"
const again = "purchase again with the same key gives the same answer and rents no second number"
const together = "purchases with the same key at the same time rent one number"
const interrupted = "purchase with the same key succeeds after the first was interrupted"
const taken = "purchase of a number that is already rented is refused and changes nothing"
const ends = "release ends the rent, also twice, and succeeds for an unknown number"
const laterRent = "release again with the same key does not end a later rent of the number"
const submitOnce = "submit is carried out once per key, also at the same time and after an interruption"
const incomplete = "submit refuses an address without a field that requirements demands"
const final = "status gives one verdict for each type that requirements names, and becomes final"
const unknownSubmission = "status of an unknown submission fails with CarrierRefused"
const purchases = [rents, again, together, interrupted, taken, ends, laterRent]

const expected: { readonly [B in CarrierBug]: ReadonlyArray<string> } = {
  "ignores the country of a search": [offers],
  "ignores the type of a search": [offers],
  "ignores the limit of a search": [offers],
  "ignores the area of a search": [inArea],
  "offers rented numbers": [rents, ends],
  "cannot list what was rented": [],
  "rents again for a repeated purchase": [again, together, interrupted],
  "refuses a repeated purchase": [again, together, interrupted],
  "looks for the key before it orders": [together, taken],
  "remembers the key after the answer": [together, interrupted],
  "rents one number twice": [taken],
  "accepts the refused number": [taken],
  "releases the number of a refused purchase": [taken],
  "does not end the rent": [ends],
  "fails to release an unknown number": [ends],
  "ends a later rent": [laterRent],
  "dies on purchase": purchases,
  "hangs on purchase": purchases,
  "submits again for a repeated submission": [submitOnce],
  "accepts incomplete addresses": [incomplete],
  "gives no verdict for mobile numbers": [final],
  "stays pending": [final],
  "becomes pending again": [final],
  "gives a reason for what is verified": [final],
  "knows every submission": [unknownSubmission]
}

describe("a telephone network that", () => {
  for (const [bug, names] of Object.entries(expected) as ReadonlyArray<[CarrierBug, ReadonlyArray<string>]>) {
    it.effect(`"${bug}" fails its checks`, () =>
      Effect.gen(function* () {
        const checks = checksOf(options(bug))
        expect(yield* failing(checks)).toEqual(namesOf(names, checks))
      })
    )
  }

  it.effect("provides numbers, but nothing to buy is given, fails the checks of numbers", () =>
    Effect.gen(function* () {
      const { forSale: _, ...without } = options()
      const checks = checksOf(without)
      expect(yield* failing(checks)).toEqual([offers, inArea, ...purchases])
    })
  )
})

/** A carrier whose every operation ends in the same way. */
const faulty = (
  run: () => Effect.Effect<never, CarrierUnavailable>,
  refusable: () => Effect.Effect<never, CarrierRefused | CarrierUnavailable> = run
): Layer.Layer<Telephony> => {
  const numbers: Numbers = { search: run, purchase: refusable, release: run, owned: Effect.suspend(run) }
  const regulatory: Regulatory = { requirements: run, submit: refusable, status: refusable }
  const network = Effect.map(Telephony, (telephony) => ({ ...telephony, numbers, regulatory }))
  return Layer.provide(Layer.effect(Telephony, network), referenceTelephony())
}

const closes = "numbers and regulatory fail with CarrierUnavailable when the peer closes the connection early"
const garbage = "numbers and regulatory fail with CarrierUnavailable when the peer sends malformed data"
const hangs = "numbers and regulatory fail with CarrierUnavailable or can be interrupted when the peer hangs"
const refuses = "numbers and regulatory fail with a typed error when the peer refuses"

const faultsThatFail = (layer: Layer.Layer<Telephony>) => {
  const faults = { refuses: layer, closesEarly: layer, sendsGarbage: layer, hangs: layer }
  return failing(carrierFaultChecks(telephonyHarness({ ...options(), faults }), { ...options(), faults }))
}

describe("with a faulty peer a carrier that", () => {
  const unavailable = () => Effect.fail(new CarrierUnavailable({ reason: "HTTP 503" }))

  it.effect("fails with CarrierUnavailable passes its checks", () =>
    Effect.gen(function* () {
      expect(yield* faultsThatFail(faulty(unavailable))).toEqual([])
    })
  )

  it.effect("takes what it does not know for refused fails its checks", () =>
    Effect.gen(function* () {
      const refusing = faulty(unavailable, () => Effect.fail(new CarrierRefused({ reason: "no" })))
      expect(yield* faultsThatFail(refusing)).toEqual([closes, garbage, hangs])
    })
  )

  it.effect("dies fails its checks", () =>
    Effect.gen(function* () {
      expect(yield* faultsThatFail(faulty(() => Effect.die("boom")))).toEqual([refuses, closes, garbage, hangs])
    })
  )

  it.effect("hangs passes the check of a peer that hangs only if it can be interrupted", () =>
    Effect.gen(function* () {
      expect(yield* faultsThatFail(faulty(() => Effect.never))).toEqual([refuses, closes, garbage])
      const stuck = faulty(() => Effect.uninterruptible(Effect.never))
      expect(yield* faultsThatFail(stuck)).toEqual([refuses, closes, garbage, hangs])
    })
  )
})

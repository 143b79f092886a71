import { Effect, Fiber } from "effect"
import type { AddressVerdict, CarrierAddress, CarrierRefused, CarrierUnavailable, Regulatory } from "../Carrier.ts"
import { type Check, CheckFailed, must, mustSucceed } from "./Check.ts"
import { mustStop } from "./Interruption.ts"
import { isCarrierError, newOrderKey, numbersOperations } from "./NumbersChecks.ts"
import type { Network, TelephonyCheckOptions, TelephonyHarness } from "./TelephonyHarness.ts"

/** How often the suite asks for the state of a submission before it gives up. */
const maxQuestions = 50

const fictitious: CarrierAddress = {
  customer_name: "Conformance B.V.",
  street: "Damrak 1",
  city: "Amsterdam",
  postcode: "1012 LG",
  region: null,
  country: "NL"
}

const summary = (verdicts: ReadonlyArray<AddressVerdict>): string =>
  verdicts.map(({ status, type }) => `${type} ${status}`).join(", ")

/** The requirements on the verification of addresses. They pass when the network has no `regulatory`. */
export const regulatoryChecks = (
  harness: TelephonyHarness,
  { address = fictitious }: TelephonyCheckOptions
): ReadonlyArray<Check> => {
  const { check, mustFail, quiet, within } = harness
  const verifying = (name: string, body: (regulatory: Regulatory) => Effect.Effect<void, CheckFailed>): Check =>
    check(name, ({ telephony: { regulatory } }: Network) => (regulatory === undefined ? Effect.void : body(regulatory)))
  const requirements = (regulatory: Regulatory) =>
    within(
      "requirements",
      Effect.suspend(() => regulatory.requirements(address.country))
    ).pipe(mustSucceed("requirements"))
  const submitting = (regulatory: Regulatory, key: string, which = address) =>
    Effect.suspend(() => regulatory.submit({ key, address: which }))
  const submit = (regulatory: Regulatory, key: string) =>
    within("submit", submitting(regulatory, key)).pipe(
      mustSucceed("submit"),
      Effect.map((submitted) => submitted.submission_id)
    )
  const status = (regulatory: Regulatory, id: string) =>
    within(
      "status",
      Effect.suspend(() => regulatory.status(id))
    ).pipe(mustSucceed("status"))

  return [
    verifying("submit is carried out once per key, also at the same time and after an interruption", (regulatory) =>
      Effect.gen(function* () {
        const key = newOrderKey()
        for (const wait of [Effect.void, Effect.yieldNow(), Effect.sleep(20)]) {
          const fiber = yield* Effect.fork(submitting(regulatory, key))
          yield* wait
          yield* within("interrupting submit", Fiber.interrupt(fiber))
        }
        const ids = [
          yield* submit(regulatory, key),
          ...(yield* Effect.replicateEffect(submit(regulatory, key), 5, { concurrency: "unbounded" }))
        ]
        yield* must(new Set(ids).size === 1, `one key gave the submissions ${[...new Set(ids)].join(", ")}`)
        const other = yield* submit(regulatory, newOrderKey())
        yield* must(other !== ids[0], "another key gave the same submission")
      })
    ),
    verifying("submit refuses an address without a field that requirements demands", (regulatory) =>
      Effect.gen(function* () {
        const { fields } = yield* requirements(regulatory)
        for (const field of fields) {
          if (field === "country") continue
          const lacking = { ...address, [field]: field === "region" ? null : "" }
          yield* mustFail(
            `submit without ${field}`,
            submitting(regulatory, newOrderKey(), lacking),
            ({ _tag }) => _tag === "CarrierRefused"
          )
        }
      })
    ),
    verifying("status gives one verdict for each type that requirements names, and becomes final", (regulatory) =>
      Effect.gen(function* () {
        const { number_types: types } = yield* requirements(regulatory)
        const id = yield* submit(regulatory, newOrderKey())
        for (let asked = 0; asked < maxQuestions; asked++) {
          const verdicts = yield* status(regulatory, id)
          const got = verdicts.map(({ type }) => type).toSorted()
          yield* must(
            got.join() === [...types].toSorted().join(),
            `there are verdicts for [${got}] instead of [${types}]`
          )
          const wrong = verdicts.find(
            ({ rejection_reason, status }) => (status === "rejected") !== (rejection_reason !== null)
          )
          yield* must(wrong === undefined, "rejection_reason must be given exactly for what is rejected")
          if (!verdicts.some((verdict) => verdict.status === "pending")) {
            const [again, first] = [yield* status(regulatory, id), summary(verdicts)]
            return yield* must(
              !again.some((verdict) => verdict.status === "pending"),
              `the final state ${first} changed to ${summary(again)}`
            )
          }
          yield* quiet
        }
        return yield* new CheckFailed({ reason: `it was still pending after ${maxQuestions} questions` })
      })
    ),
    verifying("status of an unknown submission fails with CarrierRefused", (regulatory) =>
      Effect.asVoid(
        mustFail(
          "status",
          Effect.suspend(() => regulatory.status("conformance-unknown")),
          ({ _tag }) => _tag === "CarrierRefused"
        )
      )
    )
  ]
}

/** The requirements on `numbers` and `regulatory` with a faulty peer. */
export const carrierFaultChecks = (
  harness: TelephonyHarness,
  { address = fictitious, faults }: TelephonyCheckOptions
): ReadonlyArray<Check> => {
  const { fault, mustFail, quiet } = harness
  const operations = ({
    telephony: { numbers, regulatory }
  }: Pick<Network, "telephony">): ReadonlyArray<
    readonly [string, Effect.Effect<unknown, CarrierRefused | CarrierUnavailable>]
  > => [
    ...(numbers === undefined ? [] : numbersOperations(numbers)),
    ...(regulatory === undefined
      ? []
      : ([
          ["requirements", Effect.suspend(() => regulatory.requirements(address.country))],
          ["submit", Effect.suspend(() => regulatory.submit({ key: newOrderKey(), address }))],
          ["status", Effect.suspend(() => regulatory.status("conformance"))]
        ] as const))
  ]
  const allFail = (tags: (error: { readonly _tag: string }) => boolean) => (network: Pick<Network, "telephony">) =>
    Effect.forEach(operations(network), ([name, effect]) => mustFail(name, effect, tags), { discard: true })
  const unknown = allFail(({ _tag }) => _tag === "CarrierUnavailable")
  return [
    ...fault(
      faults?.refuses,
      "numbers and regulatory fail with a typed error when the peer refuses",
      allFail(isCarrierError)
    ),
    // Whether the operation was carried out is not known, so it must not count as refused.
    ...fault(
      faults?.closesEarly,
      "numbers and regulatory fail with CarrierUnavailable when the peer closes the connection early",
      unknown
    ),
    ...fault(
      faults?.sendsGarbage,
      "numbers and regulatory fail with CarrierUnavailable when the peer sends malformed data",
      unknown
    ),
    ...fault(
      faults?.hangs,
      "numbers and regulatory fail with CarrierUnavailable or can be interrupted when the peer hangs",
      (network) =>
        Effect.forEach(
          operations(network),
          ([name, effect]) =>
            Effect.gen(function* () {
              const fiber = yield* Effect.forkDaemon(Effect.either(effect))
              yield* quiet
              const ended = fiber.unsafePoll()
              if (ended === null) return yield* mustStop(harness, fiber, () => 0)
              yield* mustFail(name, Effect.flatten(ended), ({ _tag }) => _tag === "CarrierUnavailable")
            }),
          { discard: true }
        )
    )
  ]
}

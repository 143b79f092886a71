import { CarrierRefused, CarrierUnavailable, type Numbers, type Regulatory } from "@svc/providers/Carrier"
import { Cause, Duration, Effect, Exit, Option, Predicate } from "effect"
import { errorSummary } from "../ErrorSummary.ts"
import {
  maxOffered,
  offeredNumbers,
  ownedNumbers,
  purchased,
  requirements,
  submission,
  verdicts
} from "./CarrierShapes.ts"
import { runIsolated } from "./IsolatedFiber.ts"
import { type Check, problemOf } from "./Shapes.ts"

/** How long a search for numbers may take. */
export const searchDeadline = Duration.seconds(10)
/** How long every other operation of a carrier may take. */
export const carrierDeadline = Duration.seconds(30)

/** The reason of a plugin's typed error; undefined when it failed with something else. */
const reasonOf = (failure: unknown, tag: string): string | undefined =>
  Predicate.isTagged(failure, tag) && "reason" in failure && typeof failure.reason === "string"
    ? errorSummary(failure.reason)
    : undefined

interface Operation {
  readonly name: string
  readonly deadline: Duration.Duration
  readonly shape: Check
}

/**
 * Runs one operation of a carrier. A throw, a defect, a hang, an undeclared error or an answer of the wrong shape fails
 * with `CarrierUnavailable`: the carrier may have carried out the operation, so the platform asks again with its key.
 */
const operation = <A>(
  id: string,
  { deadline, name, shape }: Operation,
  run: () => Effect.Effect<A, CarrierRefused | CarrierUnavailable>
): Effect.Effect<A, CarrierRefused | CarrierUnavailable> => {
  const unavailable = (reason: string) => new CarrierUnavailable({ reason: `${id}: ${name} ${reason}` })
  const answer = (exit: Exit.Exit<A, unknown>): Effect.Effect<A, CarrierRefused | CarrierUnavailable> => {
    if (Exit.isSuccess(exit)) {
      const problem = problemOf(shape, exit.value)
      return problem === undefined
        ? Effect.succeed(exit.value)
        : Effect.fail(unavailable(`returned something invalid: ${problem}`))
    }
    const failure = Option.getOrUndefined(Cause.failureOption(exit.cause))
    const refused = reasonOf(failure, "CarrierRefused")
    if (refused !== undefined) return Effect.fail(new CarrierRefused({ reason: refused }))
    const reason = reasonOf(failure, "CarrierUnavailable")
    return Effect.fail(
      reason === undefined
        ? unavailable(`crashed: ${errorSummary(Cause.squash(exit.cause))}`)
        : new CarrierUnavailable({ reason: `${id}: ${reason}` })
    )
  }
  // The exit is the value, so that an error of any kind is judged here.
  return runIsolated(() => Effect.exit(Effect.suspend(run)), unavailable).pipe(
    Effect.timeoutFail({
      duration: deadline,
      onTimeout: () => unavailable(`did not answer within ${Duration.format(deadline)}`)
    }),
    Effect.flatMap(answer)
  )
}

/** An operation that the contract does not let a carrier refuse: a refusal counts as not available. */
const unrefused = <A>(
  id: string,
  which: Operation,
  run: () => Effect.Effect<A, CarrierUnavailable>
): Effect.Effect<A, CarrierUnavailable> =>
  Effect.catchTag(
    operation(id, which, run),
    "CarrierRefused",
    ({ reason }) => new CarrierUnavailable({ reason: `${id}: ${which.name} was refused: ${reason}` })
  )

/** A list of at most `limit` entries. */
const limited =
  (limit: number) =>
  <A>(entries: ReadonlyArray<A>): ReadonlyArray<A> =>
    entries.length > limit ? entries.slice(0, limit) : entries

/**
 * The fenced numbers of a carrier. See {@link operation}. There is no circuit breaker: the operations are rare, and
 * each matters.
 */
export const fencedNumbers = (id: string, numbers: Numbers): Numbers => {
  const { owned } = numbers
  return {
    search: (query) =>
      unrefused(id, { name: "search", deadline: searchDeadline, shape: offeredNumbers }, () =>
        numbers.search({ ...query, limit: Math.min(query.limit, maxOffered) })
      ).pipe(Effect.map(limited(query.limit))),
    purchase: (order) =>
      operation(id, { name: "purchase", deadline: carrierDeadline, shape: purchased(order.number) }, () =>
        numbers.purchase(order)
      ),
    release: (order) =>
      unrefused(id, { name: "release", deadline: carrierDeadline, shape: () => undefined }, () =>
        numbers.release(order)
      ).pipe(Effect.asVoid),
    ...(owned === undefined
      ? {}
      : { owned: unrefused(id, { name: "owned", deadline: carrierDeadline, shape: ownedNumbers }, () => owned) })
  }
}

/** The fenced verification of addresses. See {@link operation}. */
export const fencedRegulatory = (id: string, regulatory: Regulatory): Regulatory => ({
  requirements: (country) =>
    unrefused(id, { name: "requirements", deadline: carrierDeadline, shape: requirements }, () =>
      regulatory.requirements(country)
    ),
  submit: (order) =>
    operation(id, { name: "submit", deadline: carrierDeadline, shape: submission }, () => regulatory.submit(order)),
  status: (submissionId) =>
    operation(id, { name: "status", deadline: carrierDeadline, shape: verdicts }, () => regulatory.status(submissionId))
})

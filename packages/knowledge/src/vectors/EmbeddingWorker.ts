import { yieldThread } from "@svc/api/JsonLimits"
import { inSteps } from "@svc/api/Thread"
import { DueCheck } from "@svc/cluster/DueCheck"
import { NodeLease } from "@svc/cluster/NodeLease"
import { startPeriodicTask } from "@svc/cluster/PeriodicTask"
import { EmbeddingError } from "@svc/providers/Embedding"
import { Clock, Duration, Effect, Layer, Option } from "effect"
import { KnowledgeChanges } from "../KnowledgeChanges.ts"
import { cutTo } from "../PassageCutter.ts"
import { EmbeddingModel } from "./EmbeddingModel.ts"
import { bytesOf, codeOf, unitVector } from "./VectorCodes.ts"
import { type Claimed, type Missing, type NewVector, VectorsRepo } from "./VectorsRepo.ts"

/** How often this node looks for bases that lack vectors after a failure. */
const retryInterval = Duration.seconds(1)
/** How often the model is marked as used, and all bases are looked through. */
const registerInterval = "1 minute"
/** Passages of one request, if the provider takes as many. */
const maxBatch = 64
/** Numbers of the vectors of one request. */
const maxNumbers = 100_000
/** Numbers of the vectors that are stored at once: that takes the thread of the calls a millisecond. */
const numbersAtOnce = 32_768
/** Requests for one base in a row, so that a large base does not keep others waiting for long. */
const maxRequests = 16
/** Failures in a row after which the provider is not asked again for this base now. */
const maxFailures = 3
/** The pause of this node after a failure doubles from the first to the second. */
const [firstPause, longestPause] = [1_000, 60_000]
/** A provider that takes longer hangs. */
const embedTimeout = "60 seconds"
/** Most characters of an error that are kept. */
const maxError = 500

const textOf = ({ heading, text }: Missing): string => (heading === null ? text : `${heading}\n${text}`)

/** The vectors as they are stored; undefined when one is invalid. Yields after each. */
function* coded(
  passages: ReadonlyArray<Missing>,
  vectors: ReadonlyArray<Float32Array>,
  dimensions: number
): Generator<void, ReadonlyArray<NewVector> | undefined> {
  const made: Array<NewVector> = []
  for (const [index, { content_hash }] of passages.entries()) {
    const answer = vectors[index] ?? new Float32Array(0)
    const unit = answer.length === dimensions ? unitVector(answer) : undefined
    if (unit === undefined) return undefined
    made.push({ content_hash, code: codeOf(unit), vector: bytesOf(unit) })
    yield
  }
  return made
}

/**
 * Makes the vectors of passages (docs/reference/knowledge.md) when a plugin provides `embedding`. Every node runs it: it
 * claims a base that lacks vectors, asks the provider for a batch, and stores what it answers, batch by batch, if the claim
 * is still the newest. A claim ends with its node, or 5 minutes after its last batch. A batch that fails again, or that the
 * provider refuses, is repeated text by text, so that one text does not keep others from their vectors.
 */
export const EmbeddingWorker: Layer.Layer<
  never,
  never,
  DueCheck | KnowledgeChanges | EmbeddingModel | NodeLease | VectorsRepo
> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const model = yield* EmbeddingModel
    const due = yield* KnowledgeChanges
    const check = yield* DueCheck
    if (model === undefined) return
    const repo = yield* VectorsRepo
    const lease = yield* NodeLease
    const { id: modelId, provider } = model
    const batch = Math.min(maxBatch, provider.limits.texts, Math.floor(maxNumbers / provider.dimensions))
    const storedAtOnce = Math.max(1, Math.floor(numbersAtOnce / provider.dimensions))

    const embed = (passages: ReadonlyArray<Missing>) =>
      Effect.suspend(() =>
        provider.embed(
          passages.map((passage) => cutTo(textOf(passage), provider.limits.characters)),
          "passage"
        )
      ).pipe(
        Effect.catchAllDefect(
          (defect) => new EmbeddingError({ reason: `${provider.id} failed: ${String(defect)}`, retryable: true })
        ),
        Effect.disconnect,
        Effect.timeoutFail({
          duration: embedTimeout,
          onTimeout: () =>
            new EmbeddingError({ reason: `${provider.id} did not answer within ${embedTimeout}`, retryable: true })
        }),
        Effect.flatMap((vectors) => {
          if (vectors.length !== passages.length) {
            const reason = `${provider.id} answered ${vectors.length} vectors for ${passages.length} texts`
            return new EmbeddingError({ reason, retryable: true })
          }
          return Effect.flatMap(
            inSteps(() => coded(passages, vectors, provider.dimensions)),
            (made) =>
              made === undefined
                ? new EmbeddingError({ reason: `${provider.id} answered an invalid vector`, retryable: true })
                : Effect.succeed(made)
          )
        })
      )

    /** In pieces. False when the claim is void. */
    const store = Effect.fnUntraced(function* (claimed: Claimed, made: ReadonlyArray<NewVector>) {
      for (let from = 0; from < made.length; from += storedAtOnce) {
        if (!(yield* repo.store(claimed, made.slice(from, from + storedAtOnce)))) return false
        yield* yieldThread
      }
      return true
    })

    /** Makes and stores vectors until none is missing or the provider fails. Returns why some are missing. */
    const fill = Effect.fnUntraced(function* (claimed: Claimed) {
      let after = -1
      let error: string | null = null
      for (let requests = 0; requests < maxRequests; requests++) {
        const passages = yield* repo.missing(claimed, after, batch)
        const last = passages.at(-1)
        if (last === undefined) break
        after = last.position
        const made = yield* Effect.either(embed(passages))
        if (made._tag === "Right") {
          if (yield* store(claimed, made.right)) continue
          return null
        }
        const { reason, retryable } = made.left
        if (passages.length === 1 || (retryable && claimed.attempts === 0)) return reason
        let failures = 0
        for (const passage of passages) {
          const one = yield* Effect.either(embed([passage]))
          if (one._tag === "Left") {
            error = one.left.reason
            if (++failures >= maxFailures) return error
            continue
          }
          failures = 0
          if (!(yield* store(claimed, one.right))) return null
        }
      }
      return error
    })

    let pause = 0
    let resumeAt = 0
    const onFailure = Effect.fnUntraced(function* (error: string) {
      if (pause === 0) yield* Effect.logWarning(`Passages of knowledge bases get no vectors: ${error}; trying again`)
      pause = Math.min(longestPause, Math.max(firstPause, pause * 2))
      resumeAt = (yield* Clock.currentTimeMillis) + pause
    })
    const onSuccess = Effect.suspend(() => {
      const hadFailed = pause > 0
      pause = 0
      return hadFailed ? Effect.logInfo("Passages of knowledge bases get vectors again") : Effect.void
    })

    yield* lease.onDeath("knowledge vectors", repo.release, due.announce)
    const register = Effect.zipRight(repo.register(provider), repo.enqueueAll(modelId))
    yield* register
    yield* startPeriodicTask({
      every: registerInterval,
      run: Effect.zipRight(register, repo.deleteUnused),
      failureMessage: "Knowledge bases that lack vectors could not be read; trying again"
    })
    yield* startPeriodicTask({
      // After a failure the node goes on by itself.
      every: Effect.sync(() => (pause > 0 ? retryInterval : Duration.infinity)),
      // Made due by this process, or by another one or the time.
      early: Effect.raceFirst(
        yield* due.listen,
        yield* check.register("knowledge.vectors", () => repo.hasDue(modelId))
      ),
      run: Effect.gen(function* () {
        while ((yield* Clock.currentTimeMillis) >= resumeAt) {
          const { id: node, lost } = yield* lease.current
          const claimed = yield* repo.claim(modelId, node)
          if (Option.isNone(claimed)) return
          // Without a result when this node loses its lease: the claim is then taken over.
          const error = yield* Effect.raceFirst(fill(claimed.value), Effect.as(lost, undefined))
          if (error === undefined) return
          const short = error === null ? null : cutTo(error.replaceAll("\0", " "), maxError)
          yield* repo.end(claimed.value, short)
          yield* short === null ? onSuccess : onFailure(short)
        }
      }),
      failureMessage: "Vectors of knowledge bases could not be made; trying again"
    })
  })
)

import { randomUUID } from "node:crypto"
import { appendFileSync, closeSync, fstatSync, openSync, readSync } from "node:fs"
import { CarrierUnavailable } from "@svc/providers/Carrier"
import { PluginError } from "@svc/providers/Plugin"
import { Context, Effect, Either, Layer, Schema } from "effect"
import { CarrierState } from "./CarrierState.ts"

const number = Schema.String
const key = Schema.String

/** One order that reached the simulated carrier. Whether it changes anything is decided by {@link CarrierState}. */
export const CarrierRecord = Schema.Union(
  Schema.Struct({ order: Schema.Literal("purchase"), key, number }),
  Schema.Struct({ order: Schema.Literal("release"), key, number }),
  Schema.Struct({ order: Schema.Literal("submit"), key, submission_id: Schema.String }),
  Schema.Struct({ order: Schema.Literal("status"), submission_id: Schema.String }),
  /** A number that was rented from the start, by the setting. */
  Schema.Struct({ order: Schema.Literal("listed"), number }),
  Schema.Struct({
    order: Schema.Literal("sms"),
    id: Schema.String,
    to: Schema.String,
    from: Schema.String,
    message: Schema.String
  })
)
export type CarrierRecord = typeof CarrierRecord.Type

/** A line of the file. `writer` tells the process whose order it is. */
const Line = Schema.parseJson(Schema.Struct({ writer: Schema.String, record: CarrierRecord }))
const decodeLine = Schema.decodeEither(Line)

interface Records {
  /** Adds an order. Whether it was carried out: false for one that was refused or carried out before. */
  readonly add: (record: CarrierRecord) => Effect.Effect<boolean, CarrierUnavailable>
  readonly state: Effect.Effect<CarrierState, CarrierUnavailable>
}

const inMemory = (): Records => {
  const state = new CarrierState()
  return { add: (record) => Effect.sync(() => state.apply(record)), state: Effect.succeed(state) }
}

/** The bytes of a file from `offset`; undefined when it has become shorter. */
const readFrom = (path: string, offset: number): Buffer | undefined => {
  const file = openSync(path, "r")
  try {
    const length = fstatSync(file).size - offset
    if (length < 0) return undefined
    const bytes = Buffer.alloc(length)
    return bytes.subarray(0, length === 0 ? 0 : readSync(file, bytes, 0, length, offset))
  } finally {
    closeSync(file)
  }
}

/**
 * The records in a file of one JSON object a line. Each order is appended with one write, and its outcome follows from
 * the lines before it. So orders of several processes are in one sequence, and none that was answered is lost when a
 * process is killed.
 */
const inFile = (path: string): Records => {
  const writer = randomUUID()
  let state = new CarrierState()
  let offset = 0
  const unavailable = (cause: unknown) => new CarrierUnavailable({ reason: `the carrier's file ${path}: ${cause}` })

  /** Applies the lines that were added since the last time. Whether the last one of this process was carried out. */
  const catchUp: Effect.Effect<boolean, CarrierUnavailable> = Effect.gen(function* () {
    const bytes = yield* Effect.try({ try: () => readFrom(path, offset), catch: unavailable })
    if (bytes === undefined) {
      // Somebody has emptied it, to begin again.
      state = new CarrierState()
      offset = 0
      return yield* catchUp
    }
    const length = bytes.lastIndexOf(10) + 1
    let carriedOut = false
    for (const text of bytes.toString("utf8", 0, length).split("\n")) {
      if (text === "") continue
      const line = decodeLine(text)
      if (Either.isLeft(line)) return yield* unavailable(`has an invalid line: ${text.slice(0, 100)}`)
      const applied = state.apply(line.right.record)
      if (line.right.writer === writer) carriedOut = applied
    }
    offset += length
    return carriedOut
  })

  return {
    // Synchronous, so that no other order of this process comes between.
    add: (record) =>
      Effect.zipRight(
        Effect.try({ try: () => appendFileSync(path, `${JSON.stringify({ writer, record })}\n`), catch: unavailable }),
        catchUp
      ),
    state: Effect.flatMap(Effect.try({ try: () => appendFileSync(path, ""), catch: unavailable }), () =>
      Effect.map(catchUp, () => state)
    )
  }
}

/** What the simulated carrier knows: rents, submissions and text messages, with the keys of the platform. */
export class CarrierRecords extends Context.Tag("@svc/plugin-simulated/CarrierRecords")<
  CarrierRecords,
  Records & {
    /** Whether the carrier lists the numbers that it rents. */
    readonly listsOwned: boolean
  }
>() {
  /**
   * `file`: where the records are kept; absent: in memory. `owned`: the numbers that are rented from the start; absent:
   * the carrier does not list its rents.
   */
  static readonly layerOf = (settings: {
    readonly file?: string | undefined
    readonly owned?: ReadonlyArray<string> | undefined
  }): Layer.Layer<CarrierRecords, PluginError> =>
    Layer.effect(
      CarrierRecords,
      Effect.gen(function* () {
        const { file, owned } = settings
        const records = file === undefined ? inMemory() : inFile(file)
        yield* records.state
        for (const one of owned ?? []) yield* records.add({ order: "listed", number: one })
        return { ...records, listsOwned: owned !== undefined }
      }).pipe(
        Effect.mapError(
          ({ reason }) =>
            new PluginError({
              plugin: "simulated",
              reason: `${reason}; name a file that can be written in SVC_SIMULATED_CARRIER_FILE, or delete it to begin again`
            })
        )
      )
    )

  static readonly layerMemory: Layer.Layer<CarrierRecords> = Layer.sync(CarrierRecords, () => ({
    ...inMemory(),
    listsOwned: false
  }))
}

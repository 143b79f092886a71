/**
 * Reads OTLP in protobuf: the fields of opentelemetry/proto that tests look at. Written from the .proto files, not from the
 * library that the server writes it with.
 */

type Scalar = "text" | "hex" | "integer" | "fixed64" | "double"

/** The fields of a message by their number; a field of a kind that is not listed is an error. */
interface Message {
  readonly [number: number]: readonly [name: string, kind: Scalar | Message]
}

/** A message: each field with all its values, in order. */
export interface Fields {
  readonly [name: string]: ReadonlyArray<string | bigint | number | Fields>
}

const anyValue: Message = {
  1: ["stringValue", "text"],
  2: ["boolValue", "integer"],
  3: ["intValue", "integer"],
  4: ["doubleValue", "double"]
}
const keyValue: Message = { 1: ["key", "text"], 2: ["value", anyValue] }
const resource: Message = { 1: ["attributes", keyValue] }
const scope: Message = { 1: ["name", "text"], 2: ["version", "text"] }

const event: Message = { 1: ["time", "fixed64"], 2: ["name", "text"], 3: ["attributes", keyValue] }
const span: Message = {
  1: ["traceId", "hex"],
  2: ["spanId", "hex"],
  4: ["parentSpanId", "hex"],
  5: ["name", "text"],
  6: ["kind", "integer"],
  7: ["start", "fixed64"],
  8: ["end", "fixed64"],
  9: ["attributes", keyValue],
  11: ["events", event],
  15: ["status", { 2: ["message", "text"], 3: ["code", "integer"] }]
}
const log: Message = {
  1: ["time", "fixed64"],
  2: ["severityNumber", "integer"],
  3: ["severityText", "text"],
  5: ["body", anyValue],
  6: ["attributes", keyValue],
  9: ["traceId", "hex"],
  10: ["spanId", "hex"],
  11: ["observedTime", "fixed64"]
}
const number: Message = {
  2: ["start", "fixed64"],
  3: ["time", "fixed64"],
  4: ["asDouble", "double"],
  7: ["attributes", keyValue]
}
const histogram: Message = {
  2: ["start", "fixed64"],
  3: ["time", "fixed64"],
  4: ["count", "fixed64"],
  5: ["sum", "double"],
  6: ["bucketCounts", "fixed64"],
  7: ["explicitBounds", "double"],
  9: ["attributes", keyValue]
}
const metric: Message = {
  1: ["name", "text"],
  2: ["description", "text"],
  5: ["gauge", { 1: ["dataPoints", number] }],
  7: ["sum", { 1: ["dataPoints", number], 2: ["temporality", "integer"], 3: ["isMonotonic", "integer"] }],
  9: ["histogram", { 1: ["dataPoints", histogram], 2: ["temporality", "integer"] }]
}

const request = (name: string, scopeName: string, items: string, item: Message): Message => ({
  1: [name, { 1: ["resource", resource], 2: [scopeName, { 1: ["scope", scope], 2: [items, item] }] }]
})

export const tracesRequest = request("resourceSpans", "scopeSpans", "spans", span)
export const logsRequest = request("resourceLogs", "scopeLogs", "logRecords", log)
export const metricsRequest = request("resourceMetrics", "scopeMetrics", "metrics", metric)

/** Decodes a message; see protobuf.dev, "Encoding". */
export const decode = (bytes: Buffer, message: Message): Fields => {
  const fields: Record<string, Array<string | bigint | number | Fields>> = {}
  let at = 0
  const varint = (): bigint => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at++)
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }
  while (at < bytes.length) {
    const tag = Number(varint())
    const wire = tag & 7
    const [name, kind] = message[tag >> 3] ?? []
    const content = wire === 2 ? Number(varint()) : wire === 1 ? 8 : wire === 5 ? 4 : undefined
    if (content === undefined && wire !== 0) throw new Error(`wire type ${wire} at byte ${at}`)
    const value = content === undefined ? varint() : bytes.subarray(at, at + content)
    at += content ?? 0
    // Counts of what was dropped are in all messages, and not of interest.
    if (name === undefined || kind === undefined) continue
    const read = (): string | bigint | number | Fields => {
      if (typeof value === "bigint") return value
      if (typeof kind === "object") return decode(value, kind)
      if (kind === "text") return value.toString("utf8")
      if (kind === "hex") return value.toString("hex")
      return kind === "double" ? value.readDoubleLE() : value.readBigUInt64LE()
    }
    const values = fields[name] ?? []
    values.push(read())
    fields[name] = values
  }
  return fields
}

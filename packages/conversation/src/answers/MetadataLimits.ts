/** The maximum size of metadata as JSON, in bytes, and its maximum nesting. */
const metadataBytes = 65_536
const metadataDepth = 5
/** The most keys of metadata in an answer of the agent's server, nested ones included. */
const answerKeys = 200

/** Whether objects and arrays are nested in more than `levels` levels. Inspects no deeper levels. */
const isDeeper = (value: unknown, levels: number): boolean => {
  if (typeof value !== "object" || value === null) return false
  if (levels === 0) return true
  // No list of the values: metadata may have thousands of keys.
  for (const key in value) if (isDeeper(Reflect.get(value, key), levels - 1)) return true
  return false
}

/** Whether the objects of a value have more than `max` keys in all. Its nesting must be limited. */
const hasMoreKeys = (value: unknown, max: number): boolean => {
  let keys = 0
  const count = (inner: unknown): boolean => {
    if (typeof inner !== "object" || inner === null) return false
    const isList = Array.isArray(inner)
    for (const key in inner) {
      if (!isList && ++keys > max) return true
      if (count(Reflect.get(inner, key))) return true
    }
    return false
  }
  return count(value)
}

/** Why an object cannot be a call's metadata, or null. */
export const metadataProblem = (metadata: unknown): string | null => {
  if (isDeeper(metadata, metadataDepth)) return `metadata must not exceed ${metadataDepth} levels`
  return Buffer.byteLength(JSON.stringify(metadata)) > metadataBytes
    ? `metadata must not exceed ${metadataBytes} bytes`
    : null
}

/** The same for metadata in an answer of the agent's server, whose keys are limited too. */
export const answeredMetadataProblem = (metadata: unknown): string | null => {
  if (isDeeper(metadata, metadataDepth)) return `metadata must not exceed ${metadataDepth} levels`
  return hasMoreKeys(metadata, answerKeys) ? `metadata must not exceed ${answerKeys} keys` : metadataProblem(metadata)
}

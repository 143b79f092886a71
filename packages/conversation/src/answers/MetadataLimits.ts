/** The maximum size of metadata as JSON, in bytes, its maximum nesting, and its most keys, nested ones included. */
const metadataBytes = 65_536
const metadataDepth = 5
const metadataKeys = 200

/** Whether objects and arrays are nested in more than `levels` levels. Inspects no deeper levels. */
const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1)))

/** How many keys the objects of a value have in all. Its nesting must be limited. */
const keysIn = (value: unknown): number => {
  if (typeof value !== "object" || value === null) return 0
  const inner = Object.values(value)
  return inner.reduce<number>((sum, one) => sum + keysIn(one), Array.isArray(value) ? 0 : inner.length)
}

/** Why an object cannot be a call's metadata, or null. */
export const metadataProblem = (metadata: unknown): string | null => {
  if (isDeeper(metadata, metadataDepth)) return `metadata must not exceed ${metadataDepth} levels`
  if (keysIn(metadata) > metadataKeys) return `metadata must not exceed ${metadataKeys} keys`
  const bytes = new TextEncoder().encode(JSON.stringify(metadata)).length
  return bytes > metadataBytes ? `metadata must not exceed ${metadataBytes} bytes` : null
}

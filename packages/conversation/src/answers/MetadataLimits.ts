/** The maximum size of metadata as JSON, in bytes, and its maximum nesting. */
const metadataBytes = 65_536
const metadataDepth = 5

/** Whether objects and arrays are nested in more than `levels` levels. Inspects no deeper levels. */
const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1)))

/** Why an object cannot be a call's metadata, or null. */
export const metadataProblem = (metadata: unknown): string | null => {
  if (isDeeper(metadata, metadataDepth)) return `metadata must not exceed ${metadataDepth} levels`
  const bytes = new TextEncoder().encode(JSON.stringify(metadata)).length
  return bytes > metadataBytes ? `metadata must not exceed ${metadataBytes} bytes` : null
}

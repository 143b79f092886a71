/** Whether the value of an `If-None-Match` header has this entity tag, quotes included (RFC 9110, 13.1.2). */
export const matchesEntityTag = (header: string | undefined, etag: string): boolean =>
  (header ?? "").split(",").some((tag) => tag.trim() === "*" || tag.trim().replace(/^W\//, "") === etag)

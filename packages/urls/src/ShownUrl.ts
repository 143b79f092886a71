/**
 * A URL for texts that people read, without what may be secret: credentials, query and fragment. Undefined for a text
 * that is not a URL.
 */
export const shownUrl = (url: string): string | undefined => {
  if (!URL.canParse(url)) return undefined
  const { host, pathname, protocol } = new URL(url)
  return `${protocol}//${host}${pathname}`
}

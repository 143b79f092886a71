/**
 * A function whose result is made once for each object, and kept as long as the object. For objects that are never
 * changed, such as the entries of a conversation.
 */
export const perObject = <K extends object, V>(make: (key: K) => V): ((key: K) => V) => {
  const made = new WeakMap<K, { readonly value: V }>()
  return (key) => {
    const known = made.get(key)
    if (known !== undefined) return known.value
    const value = make(key)
    made.set(key, { value })
    return value
  }
}

/** The part of a key or of a signing secret that is shown after its creation: three dots and its last 8 characters. */
export const hintOf = (secret: string): string => `...${secret.slice(-8)}`

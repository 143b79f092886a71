import { phrases } from "./Phrases.ts"

const greetings = Object.values(phrases).flatMap(({ voicemailGreetings }) => voicemailGreetings)

const pattern = new RegExp(`(?:^|[^\\p{L}])(?:${greetings.join("|")})`, "iu")

/** Whether words are those of a voicemail, in any language. */
export const soundsLikeVoicemail = (words: string): boolean => pattern.test(words)

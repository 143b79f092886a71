import { nearestRate } from "@svc/audio/Resampler"
import type { CommandOf } from "@svc/conversation/Command"
import { step } from "@svc/conversation/Conversation"
import { Effect, Option } from "effect"
import type { ConversationSession } from "./ConversationSession.ts"
import type { PhoneServices } from "./PhoneServices.ts"
import type { PreparedSpeech } from "./SpeechOutput.ts"

/** The longest time for which a call rings on until its greeting has audio, in milliseconds. */
const longestMs = 1000

/** What the agent will say first when the call is answered now: the first message, or the prompt of the menu. */
const openingOf = (session: ConversationSession): CommandOf<"Speak"> | undefined => {
  const [, commands] = step(session.state(), { _tag: "Answered", at: session.now() })
  return commands.find((command) => command._tag === "Speak")
}

/**
 * Synthesizes what the agent will say first, before a ringing call is answered, so that the caller hears it at once.
 * Completes when it has audio, at the latest after {@link longestMs}; null: there is nothing to prepare.
 */
export const prepareOpening = (
  services: PhoneServices,
  session: ConversationSession
): Effect.Effect<PreparedSpeech | null> =>
  Effect.suspend(() => {
    const opening = openingOf(session)
    if (opening === undefined || opening.turn !== undefined) return Effect.succeed(null)
    const { config, facts } = session.state()
    const preferred = config?.voice ?? facts.agent.voice
    const named = { ...opening, voice: services.resolveVoice(opening.voice, opening.language, preferred) }
    const { provider, voice } = services.chooseVoice(named)
    const { language, speed = 1, text } = opening
    const callId = facts.call_id
    const rates = provider.sampleRatesFor?.({ callId, voice, language }) ?? provider.sampleRates
    const sampleRate = nearestRate(services.expectedRate.hz, rates)
    return Effect.map(
      Effect.timeoutOption(
        services.speechCache.prepare(provider, { callId, turn: opening.id, text, voice, language, sampleRate, speed }),
        longestMs
      ),
      Option.match({
        onNone: () => ({ text, source: "synthesis" as const }),
        onSome: (source) => (source === "none" ? null : { text, source })
      })
    )
  })

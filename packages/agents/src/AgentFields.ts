import type { AgentUpdate } from "@svc/api/agents/AgentBody"
import type { Changeable } from "./AgentsRepo.ts"

/** Limits of `max_duration` in seconds. */
const duration = { min: 60, max: 7200 }

/** A `max_duration` as it is stored: an integer beyond the limits is clamped (spec 4.2, decisions §3.3). */
export const clamp = (seconds: number): number => Math.min(duration.max, Math.max(duration.min, seconds))

const maxName = 200

/** The default name of a clone, cut to the longest that a name may be, and not within a character. */
export const nameOfClone = (source: string): string => {
  const name = `Copy of ${source}`
  if (name.length <= maxName) return name
  return name
    .slice(0, maxName)
    .replace(/[\ud800-\udbff]$/, "")
    .trimEnd()
}

/** What can change of a row, and nothing else of it. */
export const changeable = (row: Changeable): Changeable => ({
  name: row.name,
  language: row.language,
  voice: row.voice,
  max_duration: row.max_duration,
  recording: row.recording,
  end_call_enabled: row.end_call_enabled,
  server_url: row.server_url,
  server_secret: row.server_secret,
  has_webhook: row.has_webhook,
  has_knowledge_bases: row.has_knowledge_bases
})

/** What a body says of the agent's own row. */
export const given = (body: AgentUpdate): Partial<Changeable> => {
  const { name, language, voice, recording, end_call_enabled, server_url } = body
  return {
    ...(name === undefined ? {} : { name }),
    ...(language === undefined ? {} : { language }),
    ...(voice === undefined ? {} : { voice }),
    ...(body.max_duration === undefined ? {} : { max_duration: clamp(body.max_duration) }),
    ...(recording === undefined ? {} : { recording }),
    ...(end_call_enabled === undefined ? {} : { end_call_enabled }),
    ...(server_url === undefined ? {} : { server_url })
  }
}

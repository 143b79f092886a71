import type { HostLog } from "@svc/providers/Host"

/**
 * Limits of a session: more than 500 tokens of keyterms stop its transcription without an error
 * (developers.deepgram.com/docs/keyterm). A token has two bytes or more.
 */
const mostTokens = 500
const mostKeyterms = 100
const bytesPerToken = 2

/** As many keyterms as a session may have, in their order. Logs how many are left out. */
export const fitting = (keyterms: ReadonlyArray<string>, log: HostLog, callId: string): ReadonlyArray<string> => {
  const wanted = [...new Set(keyterms.map((keyterm) => keyterm.trim().replace(/\s+/g, " ")))].filter(
    (keyterm) => keyterm !== ""
  )
  let tokens = 0
  const fit = wanted.filter((keyterm, index) => {
    tokens += Math.ceil(Buffer.byteLength(keyterm) / bytesPerToken)
    return index < mostKeyterms && tokens <= mostTokens
  })
  if (fit.length < wanted.length) {
    log.warning(`${wanted.length - fit.length} of ${wanted.length} keyterms are left out: Deepgram takes 500 tokens`, {
      call_id: callId
    })
  }
  return fit
}

import { readJson } from "@svc/api/JsonLimits"
import { BadRequest, InvalidJson, RequestTooLarge } from "@svc/api/VoiceError"
import { Effect } from "effect"
import type { Exchange } from "./Exchange.ts"
import { awaitsContinue, declaredLength, maxBody } from "./UnreadBody.ts"

/** Fails at once when the request declares a body over 1 MB, or an unsupported content encoding. */
export const checkDeclared = (exchange: Exchange): Effect.Effect<void, RequestTooLarge | BadRequest> => {
  if ((declaredLength(exchange) ?? 0) > maxBody) return Effect.fail(new RequestTooLarge())
  const encoding = exchange.request.headers["content-encoding"]
  return encoding === undefined || encoding === "identity"
    ? Effect.void
    : Effect.fail(new BadRequest({ message: "Content-Encoding is not supported" }))
}

/**
 * The whole body, at most 1 MB; one that is longer fails as soon as that is known, whether it was declared or not.
 * When the client disconnects the request is interrupted.
 */
export const bytes = (exchange: Exchange): Effect.Effect<Uint8Array, RequestTooLarge | BadRequest> =>
  Effect.zipRight(
    checkDeclared(exchange),
    Effect.async<Uint8Array, RequestTooLarge>((resume) => {
      const { request, response } = exchange
      const chunks: Array<Buffer> = []
      let length = 0
      const onData = (chunk: Buffer) => {
        length += chunk.length
        chunks.push(chunk)
        if (length > maxBody) done(Effect.fail(new RequestTooLarge()))
      }
      const onEnd = () => done(Effect.succeed(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)))
      const onClose = () => done(Effect.interrupt)
      const done = (outcome: Effect.Effect<Uint8Array, RequestTooLarge>) => {
        request.off("data", onData).off("end", onEnd).off("close", onClose)
        resume(outcome)
      }
      if (request.destroyed && !request.complete) {
        resume(Effect.interrupt)
        return
      }
      if (awaitsContinue(exchange)) response.writeContinue()
      request.on("data", onData).once("end", onEnd).once("close", onClose)
    })
  )

const isJson = /^application\/(?:json|[\w.+-]+\+json)\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?$/i

const parse = (body: Uint8Array): Effect.Effect<unknown, InvalidJson> =>
  Effect.mapError(readJson(body, "strict"), ({ excess }) =>
    excess === undefined ? new InvalidJson() : new InvalidJson({ message: `The body ${excess}` })
  )

/**
 * The body as JSON. An empty one counts as `{}`, so that missing fields are reported one by one. A body of another
 * content type than JSON is refused; without a content type it is taken for JSON.
 */
export const json = (exchange: Exchange): Effect.Effect<unknown, RequestTooLarge | BadRequest | InvalidJson> =>
  Effect.flatMap(bytes(exchange), (body): Effect.Effect<unknown, BadRequest | InvalidJson> => {
    if (body.byteLength === 0) return Effect.succeed({})
    const type = exchange.request.headers["content-type"]
    return type !== undefined && !isJson.test(type)
      ? Effect.fail(new BadRequest({ message: "Content-Type must be application/json" }))
      : parse(body)
  })

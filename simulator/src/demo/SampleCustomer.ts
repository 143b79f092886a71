import { createHmac, timingSafeEqual } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { CallStartedRequest, ToolCallRequest, TranscriptUpdatedRequest } from "@svc/api/callbacks/CallStarted"
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import { Appointments } from "./Appointments.ts"

/**
 * A sample agent's server: the appointment line of a dentist. Svc sends the requests `call.started` and `tool.call` to
 * the `server_url` of the agent. This file contains everything that a customer has to write.
 */

/** The system prompt. The block is for the scripted model of development mode, which replaces a real one. */
const systemPrompt = `You answer the phone of Bright Smile Dental. Be brief and friendly.
Look up free slots before you offer any, and book only what the caller has agreed to.

\`\`\`script
${JSON.stringify(
  {
    rules: [
      {
        user: "\\bbook (\\w+) at ([0-9:]+) for (\\w+)",
        tool: "book_appointment",
        arguments: { day: "$1", time: "$2", name: "$3" }
      },
      { user: "\\b(\\w+day)\\b", tool: "find_free_slots", arguments: { day: "$1" } },
      { user: "\\b(bye|thank)", tool: "end_call", arguments: { disposition: "resolved" } },
      {
        user: "\\b(person|somebody|reception)",
        say: "One moment.",
        tool: "transfer_call",
        arguments: { destination: "reception" }
      },
      { tool_result: "transfer_call", say: "Nobody is at the desk. What can I do for you?" },
      { tool_result: "find_free_slots", say: "{{result.summary}}" },
      { tool_result: "book_appointment", say: "{{result.summary}}" }
    ],
    otherwise: 'Ask me what is free on Friday, or say "book Friday at 10:30 for Ada".'
  },
  null,
  2
)}
\`\`\`
`

/** The number to which the agent transfers callers who ask for a person. */
const receptionNumber = "+15550100199"

const text = { type: "string" }

/** The answer to `call.started`: the configuration of one call. */
const configuration = {
  system_prompt: systemPrompt,
  first_message: "Bright Smile, hello!",
  end_session_message: "Goodbye!",
  inactivity_timeout: 60,
  transfer_destinations: { reception: receptionNumber },
  voicemail_message: "This is Bright Smile. Please call us back.",
  tools: [
    {
      name: "find_free_slots",
      description: "The free appointments of a weekday.",
      parameters: { type: "object", properties: { day: text }, required: ["day"] }
    },
    {
      name: "book_appointment",
      description: "Books a free slot for a patient.",
      parameters: {
        type: "object",
        properties: { day: text, time: text, name: text },
        required: ["day", "time", "name"]
      }
    }
  ]
}

/** Callers of this number hear a menu first. */
export const menuNumber = "+15550100101"

/**
 * The first answer to `call.started` for that number. The request is sent again with the digit that the caller chose.
 */
const menu = { pre_gather: { prompt: "Press 1 for appointments, 2 for our hours.", timeout: 10 } }

const configure = ({ gather_status, gathered_digit, to }: CallStartedRequest): unknown => {
  if (to === menuNumber && gather_status === null) return menu
  return gathered_digit === "2"
    ? { ...configuration, first_message: "We are open nine to five. Anything else?" }
    : configuration
}

const FindFreeSlots = Schema.Struct({ day: Schema.String })
const BookAppointment = Schema.Struct({ day: Schema.String, time: Schema.String, name: Schema.String })

const isFindFreeSlots = Schema.is(FindFreeSlots)
const isBookAppointment = Schema.is(BookAppointment)

const capital = (word: string): string => word.slice(0, 1).toUpperCase() + word.slice(1).toLowerCase()

/** Runs a tool. Errors are returned as its result, so that the model can inform the caller. */
const runTool = (appointments: Appointments, { arguments: given, name }: ToolCallRequest): unknown => {
  if (name === "find_free_slots" && isFindFreeSlots(given)) {
    const slots = appointments.free(given.day)
    const day = capital(given.day)
    return { slots, summary: slots.length === 0 ? `${day} is full.` : `${day}: ${slots.join(" or ")}.` }
  }
  if (name === "book_appointment" && isBookAppointment(given)) {
    const booked = appointments.book(given.day, given.time)
    const slot = `${capital(given.day)} ${given.time}`
    return { booked, summary: booked ? `Booked: ${slot}, ${given.name}.` : `${slot} is taken.` }
  }
  return { error: `no tool ${name} with such arguments` }
}

/** The age in seconds from which a signed request is refused: somebody may have recorded it and sent it again. */
const maxAge = 300

/**
 * Whether a request has a valid `X-Svc-Signature-V1`: an HMAC of its time and the raw body, compared in constant time.
 * `now` is Unix milliseconds.
 */
export const isSigned = (secret: string, body: Buffer, header: string | undefined, now: number): boolean => {
  const [, seconds, given] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(header ?? "") ?? []
  if (seconds === undefined || given === undefined || now / 1000 - Number(seconds) > maxAge) return false
  const expected = createHmac("sha256", secret).update(`${seconds}.`).update(body).digest()
  return timingSafeEqual(Buffer.from(given, "hex"), expected)
}

const Request = Schema.parseJson(Schema.Union(CallStartedRequest, ToolCallRequest, TranscriptUpdatedRequest))
const decodeRequest = Schema.decodeUnknownOption(Request)

/** A request to the server, for watchers. */
export type Activity =
  | { readonly _tag: "Started"; readonly request: CallStartedRequest }
  | { readonly _tag: "ToolCalled"; readonly request: ToolCallRequest; readonly result: unknown }
  | { readonly _tag: "Transcribed"; readonly request: TranscriptUpdatedRequest }
  | { readonly _tag: "Refused"; readonly reason: string }

/** The maximum length of a request body in bytes. */
const maxBodyBytes = 1_048_576

/** The sample server on a free port of this machine. */
export class SampleCustomer extends Context.Tag("@svc/simulator/demo/SampleCustomer")<
  SampleCustomer,
  {
    /** The `server_url` of the agent. */
    readonly url: string
    /**
     * Sets the agent's `server_secret`, which is known after the agent was created. Until then all requests are
     * refused.
     */
    readonly trust: (secret: Redacted.Redacted) => Effect.Effect<void>
    /** Calls `watcher` with each request, synchronously. */
    readonly watch: (watcher: (activity: Activity) => void) => Effect.Effect<void>
  }
>() {
  static readonly layer: Layer.Layer<SampleCustomer> = Layer.scoped(
    SampleCustomer,
    Effect.gen(function* () {
      const clock = yield* Effect.clock
      const appointments = new Appointments()
      const watchers: Array<(activity: Activity) => void> = []
      let secret: string | undefined
      const notify = (activity: Activity) => {
        for (const watcher of watchers) watcher(activity)
      }
      const refuse = (status: number, reason: string): readonly [number, unknown] => {
        notify({ _tag: "Refused", reason })
        return [status, { error: reason }]
      }

      /** The status and body of the response to one request. */
      const answer = (body: Buffer, signature: string | undefined): readonly [number, unknown] => {
        if (secret === undefined || !isSigned(secret, body, signature, clock.unsafeCurrentTimeMillis()))
          return refuse(401, "the signature is wrong or too old")
        const decoded = decodeRequest(body.toString("utf8"))
        if (decoded._tag === "None") return refuse(400, "the request is not one that this server knows")
        const request = decoded.value
        switch (request.event) {
          case "call.started":
            notify({ _tag: "Started", request })
            return [200, configure(request)]
          case "tool.call": {
            const result = runTool(appointments, request)
            notify({ _tag: "ToolCalled", request, result })
            return [200, { result }]
          }
          case "transcript.updated":
            notify({ _tag: "Transcribed", request })
            return [200, {}]
        }
      }

      const server = createServer((request: IncomingMessage, response: ServerResponse) => {
        const chunks: Array<Buffer> = []
        let size = 0
        request.on("data", (chunk: Buffer) => {
          size += chunk.length
          if (size > maxBodyBytes) request.destroy()
          else chunks.push(chunk)
        })
        request.on("end", () => {
          const signature = request.headers["x-svc-signature-v1"]
          const [status, body] = answer(Buffer.concat(chunks), typeof signature === "string" ? signature : undefined)
          response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
        })
        request.on("error", () => response.destroy())
      })

      const url = yield* Effect.acquireRelease(
        Effect.async<string>((resume) => {
          server.once("error", (error) => resume(Effect.die(error)))
          server.listen(0, "127.0.0.1", () => {
            const address = server.address()
            const port = typeof address === "object" && address !== null ? address.port : 0
            resume(Effect.succeed(`http://127.0.0.1:${port}/svc`))
          })
        }),
        () =>
          Effect.async<void>((resume) => {
            server.close(() => resume(Effect.void))
            server.closeAllConnections()
          })
      )

      return {
        url,
        trust: (given) =>
          Effect.sync(() => {
            secret = Redacted.value(given)
          }),
        watch: (watcher) => Effect.sync(() => void watchers.push(watcher))
      }
    })
  )
}

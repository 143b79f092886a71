import { createHmac, timingSafeEqual } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { CallStartedRequest, ToolCallRequest, TranscriptUpdatedRequest } from "@svc/api/callbacks/CallStarted"
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import { Appointments } from "./Appointments.ts"

/**
 * The server of a customer of Svc: a dentist's appointment line. An agent asks it, at its `server_url`, how to conduct a
 * call, and for each tool that the model calls. All that a customer has to write is in this file.
 */

/** What the agent is told. The block lets the scripted model of development mode play the part of a real one. */
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

/** Where the agent transfers callers to who want to talk to a person. */
const receptionNumber = "+15550100199"

const text = { type: "string" }

/** The answer to `call.started`: everything about one call. */
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

/** Callers of this number choose from a menu first. */
export const menuNumber = "+15550100101"

/** The first answer to `call.started` there: the service asks again, with the key that the caller pressed. */
const menu = { pre_gather: { prompt: "Press 1 for appointments, 2 for our hours.", timeout: 10 } }

const conduct = ({ gather_status, gathered_digit, to }: CallStartedRequest): unknown => {
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

/** Runs a tool. What goes wrong is told in the result, so that the model can tell the caller. */
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

/** Whether a request was signed with the agent's secret: over the raw body, compared in constant time. */
export const isSigned = (secret: string, body: Buffer, header: string | undefined): boolean => {
  const expected = Buffer.from(`sha256=${createHmac("sha256", secret).update(body).digest("hex")}`)
  const given = Buffer.from(header ?? "")
  return given.length === expected.length && timingSafeEqual(given, expected)
}

const Request = Schema.parseJson(Schema.Union(CallStartedRequest, ToolCallRequest, TranscriptUpdatedRequest))
const decodeRequest = Schema.decodeUnknownOption(Request)

/** What the server was asked, for those who watch it. */
export type Activity =
  | { readonly _tag: "Started"; readonly request: CallStartedRequest }
  | { readonly _tag: "ToolCalled"; readonly request: ToolCallRequest; readonly result: unknown }
  | { readonly _tag: "Transcribed"; readonly request: TranscriptUpdatedRequest }
  | { readonly _tag: "Refused"; readonly reason: string }

/** Longest request that is read, in bytes. */
const longestBody = 1_048_576

/** The sample server, listening on a port of its own on this machine. */
export class SampleCustomer extends Context.Tag("@svc/simulator/demo/SampleCustomer")<
  SampleCustomer,
  {
    /** Goes into the agent as its `server_url`. */
    readonly url: string
    /** The agent's `server_secret`, known once the agent is made; until then every request is refused. */
    readonly trust: (secret: Redacted.Redacted) => Effect.Effect<void>
    /** Calls back with each request, synchronously. */
    readonly watch: (watcher: (activity: Activity) => void) => Effect.Effect<void>
  }
>() {
  static readonly layer: Layer.Layer<SampleCustomer> = Layer.scoped(
    SampleCustomer,
    Effect.gen(function* () {
      const appointments = new Appointments()
      const watchers: Array<(activity: Activity) => void> = []
      let secret: string | undefined
      const tell = (activity: Activity) => {
        for (const watcher of watchers) watcher(activity)
      }
      const refuse = (status: number, reason: string): readonly [number, unknown] => {
        tell({ _tag: "Refused", reason })
        return [status, { error: reason }]
      }

      /** Status and body for one request. */
      const answer = (body: Buffer, signature: string | undefined): readonly [number, unknown] => {
        if (secret === undefined || !isSigned(secret, body, signature)) return refuse(401, "the signature is wrong")
        const decoded = decodeRequest(body.toString("utf8"))
        if (decoded._tag === "None") return refuse(400, "the request is not one that this server knows")
        const request = decoded.value
        switch (request.event) {
          case "call.started":
            tell({ _tag: "Started", request })
            return [200, conduct(request)]
          case "tool.call": {
            const result = runTool(appointments, request)
            tell({ _tag: "ToolCalled", request, result })
            return [200, { result }]
          }
          case "transcript.updated":
            tell({ _tag: "Transcribed", request })
            return [200, {}]
        }
      }

      const server = createServer((request: IncomingMessage, response: ServerResponse) => {
        const chunks: Array<Buffer> = []
        let size = 0
        request.on("data", (chunk: Buffer) => {
          size += chunk.length
          if (size > longestBody) request.destroy()
          else chunks.push(chunk)
        })
        request.on("end", () => {
          const signature = request.headers["x-svc-signature"]
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

import { spawn, spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { until } from "./BaresipPhone.ts"

/** Whether sipp is installed. */
export const isInstalled = spawnSync("sipp", ["-v"]).error === undefined

export const absent = "sipp is not installed: its tests were not run (on Debian: apt-get install sip-tester)"

/** The number that scenarios call. */
export const number = "+12025550100"

/** A step of a scenario, as XML. It gets its index, from which branches of earlier requests are counted. */
export type Step = (index: number) => string

/** The session description of sipp: one codec, PCMU (0) or PCMA (8). */
export const sdp = (payloadType: 0 | 8 = 0, direction = "sendrecv"): string =>
  [
    "v=0",
    "o=- 1 1 IN IP[local_ip_type] [local_ip]",
    "s=-",
    "c=IN IP[media_ip_type] [media_ip]",
    "t=0 0",
    `m=audio [rtpstream_audio_port] RTP/AVP ${payloadType}`,
    `a=rtpmap:${payloadType} ${payloadType === 0 ? "PCMU" : "PCMA"}/8000`,
    `a=${direction}`
  ].join("\n")

const target = `sip:${number}@[remote_ip]:[remote_port]`
const contact = "Contact: <sip:sipp@[local_ip]:[local_port];transport=[transport]>"

const sending = (message: string, attributes = ""): Step => {
  return () => `<send${attributes}><![CDATA[\n${message}\n  ]]></send>`
}

interface RequestOptions {
  /** The step of the request whose transaction this one belongs to: that of the INVITE, for CANCEL and the ACK of a refusal. */
  readonly of?: number
  readonly headers?: ReadonlyArray<string>
  readonly body?: string
  /** The Request-URI and the Route headers are those of the dialog, with `rrs` in the step that received them. */
  readonly isRouted?: boolean
  /** In the dialog of a call that sipp got, From and To change sides. */
  readonly isCalled?: boolean
  /** The call is tried again: To has no tag, although a response before gave one. */
  readonly isAgain?: boolean
}

/** Sends a request of the caller; what has an answer is repeated until it comes. */
export const request = (method: string, cseq: number, options: RequestOptions = {}): Step => {
  const { body = "", headers = [], isAgain = false, isCalled = false, isRouted = false, of } = options
  return (index) => {
    const branch = of === undefined || of === index ? "[branch]" : `[branch-${index - of}]`
    const parties = isCalled
      ? ["From: [$called];tag=[pid]SIPpTag01[call_number]", "To: [$caller]"]
      : [
          "From: <sip:sipp@[local_ip]:[local_port]>;tag=[pid]-[call_number]",
          `To: <${target}>${isAgain ? "" : "[peer_tag_param]"}`
        ]
    const lines = [
      `${method} ${isRouted ? "[next_url]" : target} SIP/2.0`,
      `Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=${branch}`,
      ...(isRouted ? ["[routes]"] : []),
      ...parties,
      "Call-ID: [call_id]",
      `CSeq: ${cseq} ${method}`,
      contact,
      "Max-Forwards: 70",
      ...headers,
      ...(body.startsWith("v=0") ? ["Content-Type: application/sdp"] : []),
      "Content-Length: [len]",
      "",
      body
    ]
    return sending(lines.join("\n"), method === "ACK" ? "" : ' retrans="500"')(index)
  }
}

/** Answers the request that came last. */
export const respond = (status: string, headers: ReadonlyArray<string> = [], body = "", attributes = ""): Step =>
  sending(
    [
      `SIP/2.0 ${status}`,
      "[last_Via:]",
      "[last_Record-Route:]",
      "[last_From:]",
      // A response to the first INVITE gives the tag of this side.
      "[last_To:];tag=[pid]SIPpTag01[call_number]",
      "[last_Call-ID:]",
      "[last_CSeq:]",
      contact,
      ...headers,
      ...(body === "" ? [] : ["Content-Type: application/sdp"]),
      "Content-Length: [len]",
      "",
      body
    ].join("\n"),
    attributes
  )

/** The same in the dialog, whose To has a tag. */
export const respondInDialog = (status: string): Step =>
  sending(
    [
      `SIP/2.0 ${status}`,
      "[last_Via:]",
      "[last_Record-Route:]",
      "[last_From:]",
      "[last_To:]",
      "[last_Call-ID:]",
      "[last_CSeq:]",
      contact,
      "Content-Length: 0",
      "",
      ""
    ].join("\n")
  )

/** Receives a response. `action`: what is checked in it. */
export const response = (status: number, attributes = "", action = ""): Step => {
  const inside = action === "" ? "/>" : `><action>${action}</action></recv>`
  return () => `<recv response="${status}"${attributes}${inside}`
}

export const maybe = (status: number): Step => response(status, ' optional="true"')

/** Receives a request. */
export const received = (method: string, attributes = "", action = ""): Step => {
  const inside = action === "" ? "/>" : `><action>${action}</action></recv>`
  return () => `<recv request="${method}"${attributes}${inside}`
}

export const xml =
  (text: string): Step =>
  () =>
    text

export const pause = (ms: number): Step => xml(`<pause milliseconds="${ms}"/>`)

/** A call fails if the body of the message that came does not match. */
export const bodyMatches = (regexp: string): string =>
  `<ereg regexp="${regexp}" search_in="body" check_it="true" assign_to="matched"/><log message="[$matched]"/>`

/** A call fails if a header of the message that came does not match. */
export const headerMatches = (name: string, regexp: string): string => {
  const escaped = regexp.replaceAll('"', "&quot;")
  return `<ereg regexp="${escaped}" search_in="hdr" header="${name}:" check_it="true" assign_to="matched"/><log message="[$matched]"/>`
}

/** INVITE until its ACK, without a wait: the beginning of most scenarios. Its steps are 0 to 4. */
export const answered: ReadonlyArray<Step> = [
  request("INVITE", 1, { body: sdp() }),
  maybe(100),
  maybe(180),
  response(200, ' rrs="true"'),
  request("ACK", 1)
]

/** NOTIFY with the progress of a transfer. */
export const notify = (cseq: number, status: string, state: string, options: RequestOptions = {}): Step =>
  request("NOTIFY", cseq, {
    ...options,
    headers: ["Event: refer", `Subscription-State: ${state}`, "Content-Type: message/sipfrag;version=2.0"],
    body: `SIP/2.0 ${status}\n`
  })

const scenarioOf = (steps: ReadonlyArray<Step>): string =>
  `<?xml version="1.0" encoding="ISO-8859-1" ?>
<!DOCTYPE scenario SYSTEM "sipp.dtd">
<scenario name="calls">
${steps.map((step, index) => step(index)).join("\n")}
</scenario>
`

/** Waits until sipp, or anything else, has a UDP or TCP port, as Linux lists them. */
export const isListening = (port: number, transport: "udp" | "tcp"): Effect.Effect<void> => {
  // The state 0A is that of a TCP socket that listens.
  const row = new RegExp(`:${port.toString(16).toUpperCase().padStart(4, "0")} \\S+ ${transport === "tcp" ? "0A" : ""}`)
  return until(`sipp listens on ${transport} ${port}`, () => row.test(readFileSync(`/proc/net/${transport}`, "latin1")))
}

export interface SippOptions {
  /** Our SIP port; as `host:port` where it is not on 127.0.0.1. */
  readonly port: number | string
  readonly steps: ReadonlyArray<Step>
  readonly calls?: number
  readonly arguments?: ReadonlyArray<string>
  /** The audio of `rtp_stream`. */
  readonly sound?: Uint8Array
}

/** Where a scenario finds the audio. */
export const soundFile = "sound.raw"

/** Runs calls of a scenario. Fails with what sipp says when one of them is not as the scenario wants. */
export const sipp = (options: SippOptions): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const folder = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-sipp-"))),
      (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
    )
    writeFileSync(join(folder, "calls.xml"), scenarioOf(options.steps))
    if (options.sound !== undefined) writeFileSync(join(folder, soundFile), options.sound)
    const target = typeof options.port === "number" ? `127.0.0.1:${options.port}` : options.port
    const { calls = 1 } = options
    const all = [
      "-sf",
      "calls.xml",
      "-i",
      "127.0.0.1",
      "-mi",
      "127.0.0.1",
      "-nostdin",
      "-timeout",
      "40",
      "-timeout_error"
    ]
    const own = ["-m", String(calls), "-l", String(calls), "-r", "20", "-trace_err"]
    yield* Effect.async<void>((resume) => {
      const child = spawn("sipp", [target, ...all, ...own, ...(options.arguments ?? [])], {
        cwd: folder,
        stdio: ["ignore", "ignore", "pipe"]
      })
      let errors = ""
      child.stderr.on("data", (data) => {
        errors += data
      })
      child.once("error", (error) => resume(Effect.die(error)))
      child.once("close", (code) => {
        if (code === 0) return resume(Effect.void)
        resume(Effect.die(new Error(`sipp ended with ${code}: ${errors.slice(0, 4000)}`)))
      })
      return Effect.sync(() => child.kill("SIGKILL"))
    })
  })

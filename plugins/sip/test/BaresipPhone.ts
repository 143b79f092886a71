import { spawn, spawnSync } from "node:child_process"
import * as dgram from "node:dgram"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import * as net from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { freePorts } from "@svc/providers/testing/FreePorts"
import { Effect, ExecutionStrategy, Exit, Schedule, Schema, Scope } from "effect"

/** Whether the softphone is installed. */
export const isInstalled = spawnSync("baresip", ["-h"]).error === undefined

export const absent = "baresip is not installed: its tests were not run (on Debian: apt-get install baresip)"

/** Waits until a condition holds, for 20 s at most. */
export const until = (what: string, condition: () => boolean): Effect.Effect<void> =>
  Effect.sync(condition).pipe(
    Effect.repeat({ until: (holds) => holds, schedule: Schedule.spaced("20 millis") }),
    Effect.timeoutFail({ duration: "20 seconds", onTimeout: () => new Error(`this did not happen: ${what}`) }),
    Effect.orDie,
    Effect.asVoid
  )

const socketOnAnyPort = Effect.acquireRelease(
  Effect.async<dgram.Socket>((resume) => {
    const socket = dgram.createSocket("udp4")
    socket.bind(0, "127.0.0.1", () => resume(Effect.succeed(socket)))
  }),
  (socket) => Effect.sync(() => socket.close())
)

const Event = Schema.parseJson(
  Schema.Struct({ type: Schema.optional(Schema.String), param: Schema.optional(Schema.String) })
)

/** A running softphone that plays back what it hears. */
export interface Baresip {
  /** Its SIP port, UDP and TCP. */
  readonly port: number
  readonly command: (command: string, params?: string) => void
  /** The types of its events, in order. */
  readonly events: ReadonlyArray<string>
  /** Digits that it has received. */
  readonly digits: () => string
}

export interface BaresipOptions {
  /** Its address; with parameters of the account it registers: see the softphone's own documentation. */
  readonly address?: string
  /** Further parameters of its account, such as `;mediaenc=srtp-mand`. */
  readonly account?: string
  /** Further lines of its configuration. */
  readonly config?: string
  /** What it sends: what it hears, or a tone of 1 kHz for 40 s. */
  readonly source?: "loop" | "tone"
}

/** A WAV file with a tone of 1 kHz: PCM16 at 8 kHz. */
const toneFile = (seconds: number): Buffer => {
  const bytes = seconds * 16_000
  const file = Buffer.alloc(44 + bytes)
  file.write("RIFF", 0)
  file.writeUInt32LE(36 + bytes, 4)
  file.write("WAVEfmt ", 8)
  file.writeUInt32LE(16, 16)
  file.writeUInt16LE(1, 20)
  file.writeUInt16LE(1, 22)
  file.writeUInt32LE(8000, 24)
  file.writeUInt32LE(16_000, 28)
  file.writeUInt16LE(2, 32)
  file.writeUInt16LE(16, 34)
  file.write("data", 36)
  file.writeUInt32LE(bytes, 40)
  for (let at = 0; at < bytes; at += 2) file.writeInt16LE(Math.round(10_000 * Math.sin((at * Math.PI) / 8)), 44 + at)
  return file
}

/** Starts a softphone, which ends with the scope. Fails when another program takes one of its ports. */
const startOnce = ({
  account = "",
  address,
  config = "",
  source = "loop"
}: BaresipOptions): Effect.Effect<Baresip, Error, Scope.Scope> =>
  Effect.gen(function* () {
    // The second port is for SIP over TLS.
    const listen = yield* freePorts(3)
    const control = listen + 2
    const folder = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-baresip-"))),
      (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
    )
    const lines = [
      `sip_listen 127.0.0.1:${listen}`,
      "audio_player aubridge,loop",
      `audio_source ${source === "loop" ? "aubridge,loop" : `aufile,${join(folder, "tone.wav")}`}`,
      "audio_alert aubridge,none",
      "ausrc_srate 8000",
      "auplay_srate 8000",
      "jitter_buffer_delay 1-5",
      "module_path /usr/lib/baresip/modules",
      "module g711.so",
      "module aubridge.so",
      "module aufile.so",
      "module srtp.so",
      "module_tmp account.so",
      "module_app menu.so",
      "module_app ctrl_tcp.so",
      `ctrl_tcp_listen 127.0.0.1:${control}`,
      config,
      ""
    ]
    if (source === "tone") writeFileSync(join(folder, "tone.wav"), toneFile(40))
    writeFileSync(join(folder, "config"), lines.join("\n"))
    writeFileSync(
      join(folder, "accounts"),
      `<${address ?? `sip:phone@127.0.0.1:${listen}`}>${address === undefined ? ";regint=0" : ""}${account}\n`
    )
    writeFileSync(join(folder, "contacts"), "")
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => spawn("baresip", ["-f", folder], { stdio: "ignore" })),
      (child) =>
        Effect.async<void>((resume) => {
          if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
          child.once("exit", () => resume(Effect.void))
          child.kill("SIGKILL")
        })
    )
    const connect = Effect.async<net.Socket, Error>((resume) => {
      const socket = net.connect(control, "127.0.0.1", () => resume(Effect.succeed(socket)))
      socket.once("error", (error) => resume(Effect.fail(error)))
      return Effect.sync(() => socket.destroy())
    }).pipe(
      // It has not started yet.
      Effect.retry({ schedule: Schedule.spaced("50 millis"), while: () => child.exitCode === null }),
      Effect.timeoutFail({ duration: "10 seconds", onTimeout: () => new Error("baresip takes no commands") })
    )
    const connection = yield* Effect.acquireRelease(Effect.interruptible(connect), (socket) =>
      Effect.sync(() => socket.destroy())
    )
    let digits = ""
    const events: Array<string> = []
    connection.on("error", () => {})
    connection.on("data", (data) => {
      for (const [text] of data.toString().matchAll(/\{[^{}]*\}/g)) {
        const event = Schema.decodeUnknownOption(Event)(text)
        if (event._tag === "None" || event.value.type === undefined) continue
        events.push(event.value.type)
        if (event.value.type === "CALL_DTMF_START") digits += event.value.param ?? ""
      }
    })
    return {
      port: listen,
      events,
      digits: () => digits,
      command: (command, params = "") => {
        const text = JSON.stringify({ command, params })
        connection.write(`${text.length}:${text},`)
      }
    }
  })

/** Starts a softphone, which ends with the scope. */
export const start = (options: BaresipOptions = {}): Effect.Effect<Baresip, never, Scope.Scope> =>
  Effect.gen(function* () {
    const own = yield* Scope.fork(yield* Effect.scope, ExecutionStrategy.sequential)
    return yield* startOnce(options).pipe(
      Scope.extend(own),
      // It may still run.
      Effect.tapErrorCause(() => Scope.close(own, Exit.void))
    )
  }).pipe(Effect.retry({ times: 5 }), Effect.orDie)

/** The offer of an INVITE. */
export interface Offer {
  readonly address: string
  readonly port: number
  readonly lines: ReadonlyArray<string>
}

/** A softphone that has called us, and whose call waits for an answer. */
export interface BaresipCall extends Baresip {
  readonly offer: Offer
  /** Accepts with our description. */
  readonly accept: (sdp: ReadonlyArray<string>) => void
}

const headerOf = (message: string, name: string) => new RegExp(`^${name}: (.*)$`, "im").exec(message)?.[1]?.trim() ?? ""

/** Starts a softphone that calls us. The signaling is the least that it needs. */
export const call = (options: BaresipOptions = {}): Effect.Effect<BaresipCall, never, Scope.Scope> =>
  Effect.gen(function* () {
    const sip = yield* socketOnAnyPort
    let invite = ""
    let from: dgram.RemoteInfo | undefined
    let answer: string | undefined
    const reply = (request: string, status: string, body: string) => {
      const to = headerOf(request, "To")
      const lines = [
        `SIP/2.0 ${status}`,
        ...request.split("\r\n").filter((line) => /^(Via|From|Call-ID|CSeq):/i.test(line)),
        `To: ${to.includes(";tag=") ? to : `${to};tag=svc`}`,
        `Contact: <sip:svc@127.0.0.1:${sip.address().port}>`,
        ...(body === "" ? [] : ["Content-Type: application/sdp"]),
        `Content-Length: ${body.length}`,
        "",
        body
      ]
      if (from !== undefined) sip.send(lines.join("\r\n"), from.port, from.address)
    }
    sip.on("message", (bytes, remote) => {
      const message = bytes.toString()
      from = remote
      if (message.startsWith("INVITE ")) {
        invite = message
        if (answer !== undefined) reply(invite, "200 OK", answer)
      } else if (!message.startsWith("ACK ") && !message.startsWith("SIP/2.0")) reply(message, "200 OK", "")
    })

    const phone = yield* start(options)
    phone.command("dial", `sip:svc@127.0.0.1:${sip.address().port}`)
    yield* until("the softphone calls", () => invite !== "")
    const lines = (invite.split("\r\n\r\n")[1] ?? "").split("\r\n")
    return {
      ...phone,
      offer: {
        address: lines.find((line) => line.startsWith("c="))?.split(" ")[2] ?? "",
        port: Number(lines.find((line) => line.startsWith("m=audio"))?.split(" ")[1]),
        lines
      },
      accept: (sdp) => {
        answer = ["v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "c=IN IP4 127.0.0.1", "t=0 0", ...sdp, ""].join("\r\n")
        reply(invite, "200 OK", answer)
      }
    }
  })

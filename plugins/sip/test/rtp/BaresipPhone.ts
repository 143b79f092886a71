import { spawn, spawnSync } from "node:child_process"
import * as dgram from "node:dgram"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import * as net from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Schedule, Schema, type Scope } from "effect"

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

/** A TCP port that nothing listens on now. */
const freePort = Effect.async<number>((resume) => {
  const server = net.createServer()
  server.listen(0, "127.0.0.1", () => {
    const address = server.address()
    server.close(() => resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : 0)))
  })
})

const Event = Schema.parseJson(
  Schema.Struct({ type: Schema.optional(Schema.String), param: Schema.optional(Schema.String) })
)

/** The offer of an INVITE. */
export interface Offer {
  readonly address: string
  readonly port: number
  readonly lines: ReadonlyArray<string>
}

/** A softphone that has called us, and whose call waits for an answer. */
export interface BaresipCall {
  readonly offer: Offer
  /** Accepts with our description. */
  readonly accept: (sdp: ReadonlyArray<string>) => void
  /** Digits that it has received. */
  readonly digits: () => string
  readonly command: (command: string, params: string) => void
}

const headerOf = (message: string, name: string) => new RegExp(`^${name}: (.*)$`, "im").exec(message)?.[1]?.trim() ?? ""

/**
 * Starts a softphone that calls us and plays back what it hears. `account`: further parameters of its account, such as
 * `;mediaenc=srtp-mand`. The signaling is the least that it needs.
 */
export const call = (
  options: { readonly account?: string; readonly config?: string } = {}
): Effect.Effect<BaresipCall, never, Scope.Scope> =>
  Effect.gen(function* () {
    const sip = yield* socketOnAnyPort
    const [listen, control] = [yield* freePort, yield* freePort]
    const folder = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-baresip-"))),
      (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
    )
    const config = `
sip_listen 127.0.0.1:${listen}
audio_player aubridge,loop
audio_source aubridge,loop
audio_alert aubridge,none
ausrc_srate 8000
auplay_srate 8000
jitter_buffer_delay 1-5
module_path /usr/lib/baresip/modules
module g711.so
module aubridge.so
module srtp.so
module_tmp account.so
module_app menu.so
module_app ctrl_tcp.so
ctrl_tcp_listen 127.0.0.1:${control}
${options.config ?? ""}
`
    writeFileSync(join(folder, "config"), config)
    writeFileSync(join(folder, "accounts"), `<sip:phone@127.0.0.1:${listen}>;regint=0${options.account ?? ""}\n`)
    writeFileSync(join(folder, "contacts"), "")
    yield* Effect.acquireRelease(
      Effect.sync(() => spawn("baresip", ["-f", folder], { stdio: "ignore" })),
      (child) =>
        Effect.async<void>((resume) => {
          if (child.exitCode !== null) return resume(Effect.void)
          child.once("exit", () => resume(Effect.void))
          child.kill("SIGKILL")
        })
    )

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

    let digits = ""
    const connection = yield* Effect.acquireRelease(
      Effect.async<net.Socket, Error>((resume) => {
        const socket = net.connect(control, "127.0.0.1", () => resume(Effect.succeed(socket)))
        socket.once("error", (error) => resume(Effect.fail(error)))
      }).pipe(
        // It has not started yet.
        Effect.retry(Schedule.spaced("50 millis")),
        Effect.timeout("10 seconds"),
        Effect.orDie
      ),
      (socket) => Effect.sync(() => socket.destroy())
    )
    connection.on("error", () => {})
    connection.on("data", (data) => {
      for (const [text] of data.toString().matchAll(/\{[^{}]*\}/g)) {
        const event = Schema.decodeUnknownOption(Event)(text)
        if (event._tag === "Some" && event.value.type === "CALL_DTMF_START") digits += event.value.param ?? ""
      }
    })
    const command = (name: string, params: string) => {
      const text = JSON.stringify({ command: name, params })
      connection.write(`${text.length}:${text},`)
    }
    command("dial", `sip:svc@127.0.0.1:${sip.address().port}`)
    yield* until("the softphone calls", () => invite !== "")
    const lines = (invite.split("\r\n\r\n")[1] ?? "").split("\r\n")
    return {
      offer: {
        address: lines.find((line) => line.startsWith("c="))?.split(" ")[2] ?? "",
        port: Number(lines.find((line) => line.startsWith("m=audio"))?.split(" ")[1]),
        lines
      },
      accept: (sdp) => {
        answer = ["v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "c=IN IP4 127.0.0.1", "t=0 0", ...sdp, ""].join("\r\n")
        reply(invite, "200 OK", answer)
      },
      digits: () => digits,
      command
    }
  })

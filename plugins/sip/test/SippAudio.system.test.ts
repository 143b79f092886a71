import { spawn, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { legFormats } from "@svc/providers/Audio"
import { Effect, Stream } from "effect"
import { until } from "./BaresipPhone.ts"
import { PeerCall, telephonyOf, toneFrame } from "./PeerCall.ts"

const isInstalled = spawnSync("sipp", ["-v"]).error === undefined
const absent = "sipp is not installed: its tests were not run (on Debian: apt-get install sip-tester)"

const request = (method: string, headers: ReadonlyArray<string>, body: ReadonlyArray<string> = []) =>
  [
    `${method} SIP/2.0`,
    "Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]",
    "From: <sip:sipp@[local_ip]:[local_port]>;tag=[pid]-[call_number]",
    ...headers,
    "Call-ID: [call_id]",
    "Contact: <sip:sipp@[local_ip]:[local_port]>",
    "Max-Forwards: 70",
    "Content-Length: [len]",
    "",
    ...body
  ].join("\n")

const sdp = [
  "v=0",
  "o=- 1 1 IN IP[local_ip_type] [local_ip]",
  "s=-",
  "c=IN IP[media_ip_type] [media_ip]",
  "t=0 0",
  "m=audio [rtpstream_audio_port] RTP/AVP 0",
  "a=rtpmap:0 PCMU/8000"
]

const target = "sip:+12025550100@[remote_ip]:[remote_port]"

/** A call that plays a tone for 2 s, and hangs up. */
const scenario = (tone: string) => `<?xml version="1.0" encoding="ISO-8859-1" ?>
<!DOCTYPE scenario SYSTEM "sipp.dtd">
<scenario name="a call with audio">
  <send retrans="500"><![CDATA[
${request(`INVITE ${target}`, [`To: <${target}>`, "CSeq: 1 INVITE", "Content-Type: application/sdp"], sdp)}
  ]]></send>
  <recv response="100" optional="true"/>
  <recv response="180" optional="true"/>
  <recv response="200" rtd="true"/>
  <send><![CDATA[
${request(`ACK ${target}`, ["To: <" + target + ">[peer_tag_param]", "CSeq: 1 ACK"])}
  ]]></send>
  <nop><action><exec rtp_stream="${tone},-1,0"/></action></nop>
  <pause milliseconds="2000"/>
  <send retrans="500"><![CDATA[
${request(`BYE ${target}`, ["To: <" + target + ">[peer_tag_param]", "CSeq: 2 BYE"])}
  ]]></send>
  <recv response="200"/>
</scenario>
`

describe.skipIf(!isInstalled)(isInstalled ? "twenty calls of sipp at once" : absent, () => {
  it.scopedLive(
    "are answered, and the audio of each comes complete and in order",
    () =>
      Effect.gen(function* () {
        const { port, telephony } = yield* telephonyOf({ rtpPorts: "35100-35199" })
        const calls: Array<PeerCall> = []
        yield* telephony.incoming.pipe(
          Stream.runForEach((incoming) =>
            Effect.map(incoming.answer({ callId: incoming.id, formats: legFormats }), (leg) => {
              calls.push(new PeerCall(leg))
            })
          ),
          Effect.forkScoped
        )
        const folder = yield* Effect.acquireRelease(
          Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-sipp-"))),
          (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
        )
        const tone = join(folder, "tone.raw")
        writeFileSync(tone, Buffer.concat(Array.from({ length: 100 }, () => toneFrame)))
        writeFileSync(join(folder, "call.xml"), scenario(tone))
        const count = 20
        const sipp = spawn(
          "sipp",
          [
            `127.0.0.1:${port}`,
            ...["-sf", join(folder, "call.xml"), "-i", "127.0.0.1", "-mi", "127.0.0.1", "-p", "0"],
            ...["-m", String(count), "-r", "20", "-l", String(count), "-timeout", "30", "-nostdin", "-mp", "35200"]
          ],
          { cwd: folder, stdio: ["ignore", "ignore", "pipe"] }
        )
        let code: number | null | undefined
        let errors = ""
        sipp.stderr.on("data", (data) => {
          errors += data
        })
        sipp.once("exit", (status) => {
          code = status
        })
        yield* Effect.addFinalizer(() => Effect.sync(() => sipp.kill("SIGKILL")))
        yield* until("the end of all calls", () => code !== undefined)
        if (code !== 0) expect.fail(`sipp failed with ${code}: ${errors}`)
        yield* until("the hang-ups", () => calls.filter(({ ending }) => ending !== undefined).length === count)
        for (const call of calls) {
          expect(call.ending?.cause).toBe("hangup")
          expect(call.packets).toBeGreaterThan(80)
          expect(call.sounding).toBe(call.packets)
          expect(call.inOrder).toBe(call.packets - 1)
          expect(call.leg.quality?.()).toMatchObject({ packetsLost: 0, packetsLate: 0 })
        }
      }),
    60_000
  )
})

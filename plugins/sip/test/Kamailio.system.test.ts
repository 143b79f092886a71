import { spawn, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { type CallEvent, Telephony } from "@svc/providers/Telephony"
import { Effect, Schedule, Stream } from "effect"
import { phones, plugin } from "./SipPhones.ts"

const isInstalled = spawnSync("kamailio", ["-v"]).error === undefined

const absent = "kamailio is not installed: its tests were not run (on Debian: apt-get install kamailio)"

/** The proxy has an address of its own, so that what does not go through it can be distinguished. */
const proxy = "127.0.0.3"
const proxyPort = 27_580
const port = 27_560

const config = `#!KAMAILIO
debug=0
log_stderror=yes
children=1
auto_aliases=no
disable_tcp=yes
listen=udp:${proxy}:${proxyPort}
loadmodule "tm.so"
loadmodule "sl.so"
loadmodule "rr.so"
loadmodule "pv.so"
loadmodule "textops.so"
loadmodule "siputils.so"
request_route {
  if (has_totag()) {
    if (loose_route()) { t_relay(); exit; }
    if (is_method("ACK")) { if (t_check_trans()) { t_relay(); } exit; }
    sl_send_reply("404", "Not here");
    exit;
  }
  if (is_method("CANCEL")) { if (t_check_trans()) { t_relay(); } exit; }
  t_check_trans();
  record_route();
  $du = "sip:127.0.0.1:${port}";
  t_relay();
}
`

/** Waits until a condition holds, for 20 s at most. */
const until = (what: string, condition: () => boolean): Effect.Effect<void> =>
  Effect.sync(condition).pipe(
    Effect.repeat({ until: (holds) => holds, schedule: Schedule.spaced("20 millis") }),
    Effect.timeoutFail({ duration: "20 seconds", onTimeout: () => new Error(`this did not happen: ${what}`) }),
    Effect.orDie,
    Effect.asVoid
  )

const kamailio = Effect.gen(function* () {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-kamailio-"))),
    (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
  )
  const file = join(folder, "kamailio.cfg")
  writeFileSync(file, config)
  yield* Effect.acquireRelease(
    // It need not have started when the first INVITE is sent, which is repeated.
    Effect.sync(() =>
      spawn("kamailio", ["-f", file, "-m", "32", "-M", "8", "-DD", "-E", "-Y", folder], { stdio: "ignore" })
    ),
    (child) =>
      Effect.async<void>((resume) => {
        if (child.exitCode !== null) return resume(Effect.void)
        child.once("exit", () => resume(Effect.void))
        child.kill("SIGTERM")
      })
  )
})

describe.skipIf(!isInstalled)(isInstalled ? "calls through kamailio" : absent, () => {
  it.scopedLive(
    "keep to the recorded route, carry audio, and are ended by either side",
    () =>
      Effect.gen(function* () {
        yield* kamailio
        const telephony = yield* Telephony
        const legs: Array<{ readonly events: ReadonlyArray<CallEvent>; readonly hangup: () => void }> = []
        yield* Effect.forkScoped(
          Stream.runForEach(telephony.incoming, (call) =>
            Effect.gen(function* () {
              call.ringing("call")
              const leg = yield* call.answer({ callId: "call", formats: telephony.capabilities.formats })
              const events: Array<CallEvent> = []
              leg.listen((event) => events.push(event))
              leg.send(new Uint8Array(160).fill(9))
              legs.push({ events, hangup: () => leg.hangup("done") })
            }).pipe(Effect.ignore)
          )
        )
        const phone = yield* phones(27_570, proxyPort, proxy)
        const numbers = { from: "+12025550100", to: "+12025550199" }
        const first = yield* phone.dial(numbers)
        yield* until("the first answer", () => first.state() === "answered" && legs.length === 1)
        yield* first.send(new Uint8Array(160).fill(7))
        yield* until("its audio", () => legs[0]?.events.some(({ _tag }) => _tag === "Audio") === true)
        legs[0]?.hangup()
        yield* until("the end on the phone", () => first.state() === "ended")
        const second = yield* phone.dial(numbers)
        yield* until("the second answer", () => second.state() === "answered" && legs.length === 2)
        yield* second.hangup
        yield* until("its end", () => legs[1]?.events.some(({ _tag }) => _tag === "Ended") === true)
        expect(legs[1]?.events.at(-1)).toMatchObject({ _tag: "Ended", cause: "hangup" })
      }).pipe(Effect.provide(plugin(port, { rtpPorts: "27600-27649" }, { isAllowed: (address) => address === proxy }))),
    60_000
  )
})

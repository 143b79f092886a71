import { createServer } from "node:net"
import { objectStoreSuite } from "@svc/providers/testing/ObjectStoreSuite"
import { Effect } from "effect"
import { cut, emulatedS3, type Faults, hang, s3Error } from "./EmulatedS3.ts"
import { settingsAt, storeLayer } from "./Provided.ts"
import { realServer } from "./RealServer.ts"

const emulated = (faults: Faults = () => undefined) =>
  storeLayer(
    Effect.map(emulatedS3, (server) => {
      server.misbehave(faults)
      return settingsAt(server.url)
    })
  )

/** Answers every connection with bytes that are no HTTP. */
const garbage = Effect.map(
  Effect.acquireRelease(
    Effect.async<ReturnType<typeof createServer>>((resume) => {
      const server = createServer((socket) => {
        socket.on("error", () => {})
        socket.on("data", () => socket.end("\u0000\u0001 220 smtp.example.com\r\n"))
      })
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => void server.close())
  ),
  (server) => {
    const address = server.address()
    return settingsAt(`http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`)
  }
)

/** The bytes behind a link, as a player or browser gets them. */
const download = (url: string) =>
  Effect.promise(() =>
    fetch(url).then((answer) => (answer.ok ? answer.arrayBuffer().then((bytes) => new Uint8Array(bytes)) : undefined))
  )

objectStoreSuite({
  name: "recordings in s3rver",
  layer: storeLayer(realServer),
  sessions: 100
})

objectStoreSuite({
  name: "recordings in a store as Amazon documents it",
  layer: emulated(),
  fetch: download,
  sessions: 100,
  faults: {
    refuses: emulated(() => s3Error(500, "InternalError")),
    hangs: emulated(() => hang),
    closesEarly: emulated(() => cut),
    sendsGarbage: storeLayer(garbage)
  }
})

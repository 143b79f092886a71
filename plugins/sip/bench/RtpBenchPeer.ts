/** The other side of RtpBench: phones on plain sockets, which send a frame every 20 ms and time what they get. */
import * as dgram from "node:dgram"
import { pace } from "./FramePacer.ts"

/** Times are counted in steps of 0.1 ms up to 1 s. */
const steps = 10_000

const counts = new Uint32Array(steps + 1)
let received = 0
let isMeasuring = false

/** How late a packet is, against the one of its phone that came with the least delay. */
const lateness = () => {
  let origin = Number.NaN
  return (timestamp: number, now: number): void => {
    const transit = now - timestamp / 8
    if (Number.isNaN(origin) || transit < origin) origin = transit
    if (!isMeasuring) return
    received++
    const step = Math.min(steps, Math.round((transit - origin) * 10))
    counts[step] = (counts[step] ?? 0) + 1
  }
}

const quantile = (share: number): number => {
  let seen = 0
  for (let step = 0; step <= steps; step++) {
    seen += counts[step] ?? 0
    if (seen >= received * share) return step / 10
  }
  return 0
}

const phone = (index: number) => {
  const socket = dgram.createSocket("udp4")
  const onPacket = lateness()
  const packet = Buffer.alloc(172, 0x55)
  packet.writeUInt16BE(0x8000, 0)
  packet.writeUInt32BE(index + 1, 8)
  let sequence = 0
  let port = 0
  socket.on("error", () => {})
  socket.on("message", (bytes) => {
    // RTCP is not timed.
    if (bytes[1] !== 200 && bytes[1] !== 201) onPacket(bytes.readUInt32BE(4), performance.now())
  })
  socket.bind(0, "127.0.0.1")
  return {
    socket,
    connect: (to: number) => {
      port = to
      socket.connect(to, "127.0.0.1")
    },
    tick: () => {
      sequence++
      packet.writeUInt16BE(sequence & 0xffff, 2)
      packet.writeUInt32BE((sequence * 160) >>> 0, 4)
      if (port > 0) socket.send(packet, 0, 172)
    }
  }
}

process.once("message", ({ calls }: { readonly calls: number }) => {
  const phones = Array.from({ length: calls }, (_, index) => phone(index))
  process.on("message", (message: { readonly ports?: ReadonlyArray<number>; readonly measure?: boolean }) => {
    if (message.ports !== undefined) {
      for (const [index, port] of message.ports.entries()) phones[index]?.connect(port)
      setTimeout(() => pace(phones.map(({ tick }) => tick)), 100)
    } else if (message.measure === true) isMeasuring = true
    else process.send?.({ received, p50: quantile(0.5), p99: quantile(0.99) })
  })
  // All are bound with the next turn.
  setTimeout(() => process.send?.({ ports: phones.map(({ socket }) => socket.address().port) }), 500)
})

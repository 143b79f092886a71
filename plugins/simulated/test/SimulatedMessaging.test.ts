import { describe, expect, it } from "@effect/vitest"
import type { OutgoingSms } from "@svc/providers/Messaging"
import { Effect } from "effect"
import { dialling, makeTestNetwork } from "./TestNetwork.ts"

const sms = (id: string, to = dialling.from): OutgoingSms => ({
  id,
  to,
  from: dialling.to,
  sender_type: "number",
  message: `Message ${id}`
})

describe("a text message on the simulated network", () => {
  it.scoped("is kept and delivered to the phone of its number, also after its call has ended", () =>
    Effect.gen(function* () {
      const { connect, sentMessages, messaging, phone } = yield* makeTestNetwork
      const { phone: caller } = yield* connect()
      const other = phone()
      expect(yield* messaging.send(sms("one"))).toEqual({ provider_message_id: "sim-one" })
      caller.sends({ event: "hangup" })
      yield* messaging.send({ ...sms("two"), from: "Shop", sender_type: "alphanumeric" })
      yield* messaging.send(sms("three", "+31200000001"))
      expect(caller.take()).toEqual([
        { event: "sms", to: dialling.from, from: dialling.to, message: "Message one" },
        { event: "sms", to: dialling.from, from: "Shop", message: "Message two" }
      ])
      expect(other.take()).toEqual([])
      expect(yield* sentMessages).toEqual({
        messages: [
          { id: "sim-one", to: dialling.from, from: dialling.to, message: "Message one" },
          { id: "sim-two", to: dialling.from, from: "Shop", message: "Message two" },
          { id: "sim-three", to: "+31200000001", from: dialling.to, message: "Message three" }
        ]
      })
    })
  )

  it.scoped("to a number that ends in 0000 is refused and not kept", () =>
    Effect.gen(function* () {
      const { sentMessages, messaging } = yield* makeTestNetwork
      const error = yield* Effect.flip(messaging.send(sms("one", "+31612340000")))
      expect(error).toMatchObject({ _tag: "SmsFailed", reason: expect.stringContaining("+31612340000") })
      expect(yield* sentMessages).toEqual({ messages: [] })
    })
  )

  it.scoped("that is sent twice with the same id is delivered once", () =>
    Effect.gen(function* () {
      const { connect, messaging } = yield* makeTestNetwork
      const { phone } = yield* connect()
      expect(yield* messaging.send(sms("one"))).toEqual(yield* messaging.send(sms("one")))
      expect(phone.take()).toHaveLength(1)
    })
  )
})

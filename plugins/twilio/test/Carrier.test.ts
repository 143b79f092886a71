import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import type { IncomingSms } from "@svc/providers/Messaging"
import { Effect, Queue, Stream } from "effect"
import type { EmulatedTwilio } from "../src/testing/EmulatedTwilio.ts"
import { setUp, startAt } from "../src/testing/TwilioSetup.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "svc-twilio-"))),
  (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
)

const made = Effect.gen(function* () {
  const own = yield* folder
  const setup = yield* setUp({ folder: own })
  const { numbers, regulatory, sms } = setup.telephony
  if (numbers === undefined || regulatory === undefined || sms === undefined) throw new Error("not provided")
  return { ...setup, folder: own, numbers, regulatory, sms }
})

const number = "+12125550107"
const amsterdam = {
  customer_name: "Example B.V.",
  street: "Damrak 1",
  city: "Amsterdam",
  postcode: "1012 LG",
  region: null,
  country: "NL"
}
const formOf = (carrier: EmulatedTwilio, resource: string) =>
  carrier.requests
    .filter(({ method, path }) => method === "POST" && path.endsWith(resource))
    .map(({ body }) => Object.fromEntries(new URLSearchParams(body.toString())))

describe("Numbers of Twilio", () => {
  it.scopedLive("are searched by area code, by place and by digits, and none is a country without numbers", () =>
    Effect.gen(function* () {
      const { carrier, numbers } = yield* made
      const search = (area: string, country = "US") => numbers.search({ country, area, type: "local", limit: 3 })
      expect((yield* search("212")).every((one) => one.number.startsWith("+1212"))).toBe(true)
      expect((yield* search("San Francisco")).map(({ area }) => area)).toEqual(Array(3).fill("San Francisco"))
      expect(yield* search("0107")).toHaveLength(2)
      expect(yield* search("20", "NL")).toEqual([])
      yield* search("020", "GB")
      yield* search("06", "IT")
      const filters = carrier.requests.map(({ query }) => [
        query.get("AreaCode"),
        query.get("InLocality"),
        query.get("Contains")
      ])
      expect(filters.filter((one) => one.some((filter) => filter !== null))).toEqual([
        ["212", null, null],
        [null, "San Francisco", null],
        [null, null, "0107"],
        [null, null, "20"],
        [null, null, "20"],
        [null, null, "06"]
      ])
    })
  )

  it.scopedLive("are bought with the webhooks of this server, and our key as their name", () =>
    Effect.gen(function* () {
      const { carrier, numbers, server } = yield* made
      yield* numbers.purchase({ key: "key-1", number, address: null })
      const below = `${server.origin}/telephony/twilio`
      expect(formOf(carrier, "/IncomingPhoneNumbers.json")).toEqual([
        {
          PhoneNumber: number,
          FriendlyName: "svc key-1",
          VoiceUrl: `${below}/voice`,
          VoiceMethod: "POST",
          StatusCallback: `${below}/status`,
          StatusCallbackMethod: "POST",
          SmsUrl: `${below}/sms`,
          SmsMethod: "POST"
        }
      ])
    })
  )

  it.scopedLive("are bought once when the answer is lost", () =>
    Effect.gen(function* () {
      const { carrier, numbers } = yield* made
      carrier.faults.afterwards = ({ method }) => method === "POST"
      const bought = yield* numbers.purchase({ key: "key-1", number, address: null })
      expect(bought).toEqual({ number, carrier_id: carrier.inventory.rents.get(number)?.["sid"] })
      expect(formOf(carrier, "/IncomingPhoneNumbers.json")).toHaveLength(1)
    })
  )

  it.scopedLive("are not released by a repetition after a restart, when they were bought again", () =>
    Effect.gen(function* () {
      const { carrier, folder, numbers, server } = yield* made
      yield* numbers.purchase({ key: "key-1", number, address: null })
      yield* numbers.release({ key: "key-2", number })
      const restarted = yield* startAt(carrier, server, { folder })
      yield* restarted.telephony.numbers?.purchase({ key: "key-3", number, address: null }) ?? Effect.void
      yield* restarted.telephony.numbers?.release({ key: "key-2", number }) ?? Effect.void
      expect(carrier.inventory.rents.get(number)?.["friendly_name"]).toBe("svc key-3")
    })
  )

  it.scopedLive("get the address and the bundle of their submission", () =>
    Effect.gen(function* () {
      const { carrier, numbers, regulatory } = yield* made
      const address = amsterdam
      const { submission_id } = yield* regulatory.submit({ key: "key-1", address })
      expect(carrier.inventory.addresses).toHaveLength(1)
      expect(carrier.inventory.addresses[0]).toMatchObject({ CustomerName: "Example B.V.", Region: "Amsterdam" })
      expect(formOf(carrier, "/Bundles")).toMatchObject([{ RegulationSid: "RNlocal" }, { RegulationSid: "RNmobile" }])
      expect(
        carrier.requests.filter(({ body }) => body.toString() === "Status=pending-review").map(({ method }) => method)
      ).toEqual(["POST", "POST"])
      expect(carrier.inventory.regulatory.ItemAssignments).toHaveLength(4)
      yield* numbers.purchase({ key: "key-2", number, address: { ...address, submission_id } })
      const addressSid = carrier.inventory.addresses[0]?.["sid"]
      expect(formOf(carrier, "/IncomingPhoneNumbers.json")[0]).toMatchObject({ AddressSid: addressSid })

      carrier.inventory.verdict = "twilio-rejected"
      yield* regulatory.status(submission_id)
      yield* regulatory.status(submission_id)
      const verdicts = yield* regulatory.status(submission_id)
      expect(verdicts.map(({ status, type }) => [type, status])).toEqual([
        ["local", "rejected"],
        ["mobile", "rejected"]
      ])
      expect(verdicts[0]?.rejection_reason).toMatch(/bundle BU/)
      // A submission that is repeated makes nothing new.
      expect(yield* regulatory.submit({ key: "key-1", address })).toEqual({ submission_id })
      expect(carrier.inventory.addresses).toHaveLength(1)
    })
  )

  it.scopedLive("need no bundle in a country without regulations, whose addresses are verified", () =>
    Effect.gen(function* () {
      const { carrier, regulatory } = yield* made
      for (const country of ["US", "XK"]) {
        const address = { ...amsterdam, country }
        const { submission_id } = yield* regulatory.submit({ key: `key-${country}`, address })
        expect(yield* regulatory.status(submission_id)).toEqual(
          ["local", "mobile", "toll_free"].map((type) => ({ type, status: "verified", rejection_reason: null }))
        )
      }
      expect(carrier.inventory.regulatory.Bundles).toEqual([])
      expect((yield* Effect.flip(regulatory.status("ADunknown")))._tag).toBe("CarrierRefused")
    })
  )

  it.scopedLive("find the end user and the document of a submission on a later page, of this server only", () =>
    Effect.gen(function* () {
      const { carrier, regulatory } = yield* made
      const { EndUsers, SupportingDocuments } = carrier.inventory.regulatory
      const others = (prefix: string) =>
        Array.from({ length: 4 }, (_, n) => ({ sid: `${prefix}other${n}`, friendly_name: `other ${n}` }))
      EndUsers.push(...others("IT"), { sid: "ITmine", friendly_name: "svc key-1 local" })
      SupportingDocuments.push(...others("RD"), { sid: "RDmine", friendly_name: "svc key-1 local business_address" })
      yield* regulatory.submit({ key: "key-1", address: amsterdam })
      const assigned = carrier.inventory.regulatory.ItemAssignments.map(({ ObjectSid }) => ObjectSid)
      expect(assigned).toEqual(expect.arrayContaining(["ITmine", "RDmine"]))
      expect(formOf(carrier, "/EndUsers").map(({ FriendlyName }) => FriendlyName)).toEqual(["svc key-1 mobile"])
      const lists = carrier.requests.filter(({ method, path }) => method === "GET" && path.endsWith("/EndUsers"))
      expect(lists.map(({ query }) => query.get("FriendlyName"))).toEqual(lists.map(() => null))

      carrier.inventory.origin = "http://127.0.0.1:1"
      yield* regulatory.submit({ key: "key-2", address: amsterdam })
      expect(formOf(carrier, "/EndUsers")).toHaveLength(3)
    })
  )
})

describe("Text messages of Twilio", () => {
  const message = {
    id: "sms_1",
    to: "+12025550100",
    from: "+12025550199",
    sender_type: "number",
    message: "Hi"
  } as const

  it.scopedLive("may have been sent when the answer is lost, and were not when Twilio refuses them", () =>
    Effect.gen(function* () {
      const { carrier, sms } = yield* made
      expect((yield* sms.send(message)).provider_message_id).toMatch(/^SM/)
      carrier.faults.intercept = (_, response) => {
        response.writeHead(500).end()
        return true
      }
      expect(yield* Effect.flip(sms.send(message))).toMatchObject({ mayBeSent: true })
      carrier.faults.intercept = (_, response) => {
        response.writeHead(429, { "retry-after": "60" }).end()
        return true
      }
      expect((yield* Effect.flip(sms.send(message))).mayBeSent).toBeUndefined()
      carrier.faults.intercept = () => false
      const refused = yield* Effect.flip(sms.send({ ...message, to: "+12025550000" }))
      expect([refused.mayBeSent, refused.reason]).toEqual([undefined, expect.stringContaining("unsubscribed")])
      expect(carrier.messages).toHaveLength(1)
    })
  )

  it.scopedLive("come once, also when Twilio sends a webhook twice", () =>
    Effect.gen(function* () {
      const { carrier, sms } = yield* made
      const received = yield* Queue.unbounded<IncomingSms>()
      yield* Effect.forkScoped(Stream.runForEach(sms.incoming, (one) => Queue.offer(received, one)))
      carrier.faults.webhookTimes = 2
      for (const text of ["one", "two"]) yield* carrier.text({ ...message, message: text })
      const first = yield* Queue.take(received)
      const second = yield* Queue.take(received)
      expect([first.message, second.message, yield* Queue.size(received)]).toEqual(["one", "two", 0])
      expect(carrier.answers.at(-1)?.body).toContain("<Response/>")
    })
  )
})

describe("The health of Twilio", () => {
  it.scopedLive("names the setting when the token is refused", () =>
    Effect.gen(function* () {
      const { telephony } = yield* setUp({ authToken: "wrong" })
      const health = yield* telephony.health
      expect(health).toMatchObject({ healthy: false })
      expect(JSON.stringify(health)).toContain("SVC_TWILIO_AUTH_TOKEN was refused")
    })
  )
})

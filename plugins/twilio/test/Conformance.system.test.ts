import { carrierSuite } from "@svc/providers/testing/CarrierSuite"
import type { EmulatedCall } from "../src/testing/EmulatedCall.ts"
import type { EmulatedTwilio } from "../src/testing/EmulatedTwilio.ts"
import { setUp } from "../src/testing/TwilioSetup.ts"

carrierSuite<EmulatedCall, EmulatedTwilio>({
  name: "calls, numbers and messages of Twilio",
  setUp,
  phoneOf: (call) => call.phone,
  end: (call) => call.end("completed"),
  unauthorized: '{"code":20003,"message":"Authenticate"}',
  garbage: ({ req }) => (req.url?.includes("Calls") ? "<html>" : '{"sid":7}')
})

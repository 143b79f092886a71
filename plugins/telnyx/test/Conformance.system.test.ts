import { carrierSuite } from "@svc/providers/testing/CarrierSuite"
import type { EmulatedCall } from "../src/testing/EmulatedCall.ts"
import type { EmulatedTelnyx } from "../src/testing/EmulatedTelnyx.ts"
import { setUp } from "../src/testing/TelnyxSetup.ts"

carrierSuite<EmulatedCall, EmulatedTelnyx>({
  name: "calls, numbers and messages of Telnyx",
  setUp,
  phoneOf: (call, { hangUp }) => call.phone(hangUp),
  end: (call, { hangUp }) => hangUp(call),
  unauthorized: '{"errors":[{"code":"10009"}]}',
  garbage: () => '{"data":7}'
})

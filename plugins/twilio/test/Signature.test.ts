import { describe, expect, it } from "@effect/vitest"
import { formFields, isSigned, signatureOf } from "../src/Signature.ts"

const authToken = "12345"
const url = "https://mycompany.com/myapp.php?foo=1&bar=2"
const body = "CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&From=%2B14158675309&To=%2B18005551212"
const fields = formFields(body)

const check = (signature: string | undefined, requested = url, signed = fields) =>
  isSigned({ authToken, signature, url: requested, fields: signed })

/** The known answers of the vendor's own validator. */
describe("X-Twilio-Signature", () => {
  it("is right for the URL and the fields of a form", () => {
    expect(signatureOf(authToken, url, fields)).toBe("RSOYDt4T1cUTdK1PDd93/VVr8B8=")
    expect(check("RSOYDt4T1cUTdK1PDd93/VVr8B8=")).toBe(true)
  })

  it("is right with the port of the URL, without it, and with the usual one", () => {
    expect(check("RSOYDt4T1cUTdK1PDd93/VVr8B8=", url.replace(".com", ".com:1234"))).toBe(true)
    expect(check("Zmvh+3yNM1Phv2jhDCwEM3q5ebU=", url.replace(".com", ".com:1234").replace("https", "http"))).toBe(true)
    expect(check("kvajT1Ptam85bY51eRf/AJRuM3w=")).toBe(true)
    expect(check("0ZXoZLH/DfblKGATFgpif+LLRf4=", url.replace("https", "http"))).toBe(true)
  })

  it("is right for a URL with credentials and special characters", () => {
    expect(check("CukzLTc1tT5dXEDIHm/tKBanW10=", url.replace("://", "://user:pass@"))).toBe(true)
    expect(check("2YRLlVAflCqxaNicjMpJcSTgzSs=", url.replace("://", "://user@"))).toBe(true)
    expect(check("ZQFR1PTIZXF2MXB8ZnKCvnnA+rI=", url.replace("://", "://user:pass@"))).toBe(true)
    expect(check("dsq4Ehbj6cs+KdTkpF5sSSplOWw=", `${url}&Body=It's+amazing`)).toBe(true)
  })

  it("is right for a field with several values, in any order and with repetitions", () => {
    const signature = "83O6e2vORAoJHUNzJjDWN1jz+BA="
    const name = "MessagingBinding.Address"
    for (const values of [
      ["+1325xxxxxxx", "+1415xxxxxxx"],
      ["+1415xxxxxxx", "+1325xxxxxxx"]
    ]) {
      expect(check(signature, url, new Map([[name, values]]))).toBe(true)
    }
    const several = new Map([
      ["Sid", ["CA123"]],
      ["SidAccount", ["AC123"]],
      ["Digits", ["5678", "1234", "1234"]]
    ])
    expect(check("IK+Dwps556ElfBT0I3Rgjkr1wJU=", url, several)).toBe(true)
  })

  it("is wrong when it is missing, of another length, of another token, or when anything was changed", () => {
    expect(check(undefined)).toBe(false)
    expect(check("")).toBe(false)
    expect(check("WRONG_SIGNATURE")).toBe(false)
    expect(check(signatureOf("12346", url, fields))).toBe(false)
    expect(check("RSOYDt4T1cUTdK1PDd93/VVr8B8=", `${url}&more=1`)).toBe(false)
    expect(check("RSOYDt4T1cUTdK1PDd93/VVr8B8=", url, formFields(`${body}&CallStatus=completed`))).toBe(false)
    expect(check("RSOYDt4T1cUTdK1PDd93/VVr8B8=", url.replace("https", "http"))).toBe(false)
  })
})

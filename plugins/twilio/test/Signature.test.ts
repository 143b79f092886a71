import { describe, expect, it } from "@effect/vitest"
import { formFields, isSigned, isSignedWithBody, signatureOf } from "../src/Signature.ts"

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

  it("is right for the query as it was sent, and as two libraries write it again", () => {
    for (const [signedQuery, sent] of [
      ["Body=It's+amazing", "Body=It's+amazing"],
      ["Body=It's%20amazing", "Body=It's+amazing"],
      ["Body=It%27s+amazing", "Body=It's+amazing"],
      ["Body=It's+amazing", "Body=It%27s+amazing"],
      ["x", "x"],
      ["x=", "x"]
    ]) {
      for (const host of ["mycompany.com", "mycompany.com:443"]) {
        const signature = signatureOf(authToken, `https://${host}/myapp.php?${signedQuery}`, fields)
        expect([sent, check(signature, `https://mycompany.com/myapp.php?${sent}`)]).toEqual([sent, true])
        expect(check(signature, `https://mycompany.com/myapp.php?${sent}s`)).toBe(false)
      }
    }
  })

  it("is right for a body of JSON whose hash is bodySHA256 of the URL, and wrong without or with another hash", () => {
    const body = '{"property": "value", "boolean": true}'
    const hash = "0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620"
    const checkBody = (signature: string, requested: string, json = body) =>
      isSignedWithBody({ authToken, signature, url: requested, body: Buffer.from(json) })
    const hashed = `${url}&bodySHA256=${hash}`
    expect(checkBody("a9nBmqA0ju/hNViExpshrM61xv4=", hashed)).toBe(true)
    expect(checkBody("y77kIzt2vzLz71DgmJGsen2scGs=", `https://mycompany.com/myapp.php?bodySHA256=${hash}`)).toBe(true)
    const empty = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    expect(checkBody("Ldidvp12m26NI7eqEvxnEpkd9Hc=", `${url}&bodySHA256=${empty}`, "{}")).toBe(true)
    expect(checkBody("a9nBmqA0ju/hNViExpshrM61xv4=", hashed, "{}")).toBe(false)
    expect(checkBody("WRONG_SIGNATURE", hashed)).toBe(false)
    expect(checkBody(signatureOf(authToken, url, new Map()), url)).toBe(false)
    const wrong = `${url}&bodySHA256=WRONG_HASH`
    expect(checkBody(signatureOf(authToken, wrong, new Map()), wrong)).toBe(false)
  })
})

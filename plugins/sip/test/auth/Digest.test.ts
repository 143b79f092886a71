import { describe, expect, it } from "@effect/vitest"
import * as Digest from "../../src/auth/Digest.ts"
import * as Server from "../../src/auth/DigestServer.ts"

const challenge = (value: string): Digest.Challenge => {
  const parsed = Digest.parseChallenge(value)
  if (parsed === undefined) throw new Error(`not supported: ${value}`)
  return parsed
}

describe("Digest.response", () => {
  it("is that of RFC 7616, 3.9.1, with MD5 and SHA-256", () => {
    const credentials = {
      username: "Mufasa",
      password: "Circle of Life",
      method: "GET",
      uri: "/dir/index.html",
      count: 1,
      cnonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
    }
    const asked = (algorithm: string) =>
      challenge(
        `Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=${algorithm}, nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"`
      )
    expect(Digest.response(asked("MD5"), credentials)).toBe("8ca523f5e9506fed4657c9700eebdbec")
    expect(Digest.response(asked("SHA-256"), credentials)).toBe(
      "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"
    )
  })

  it("is that of RFC 2617, 3.5, and of RFC 2069 where no qop is offered", () => {
    const credentials = {
      username: "Mufasa",
      password: "Circle Of Life",
      method: "GET",
      uri: "/dir/index.html",
      count: 1,
      cnonce: "0a4f113b"
    }
    const text = 'Digest realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093"'
    expect(Digest.response(challenge(`${text}, qop="auth,auth-int"`), credentials)).toBe(
      "6629fae49393a05397450978507c4ef1"
    )
    expect(Digest.response(challenge(text), credentials)).toBe("670fd8c2df070c60b045671b8b24ff02")
  })
})

describe("Digest.chosen", () => {
  it("takes the first challenge that is supported, and none of other schemes, algorithms or qop", () => {
    const values = [
      "NoOneKnowsThisScheme opaque-data=here",
      'Digest realm="a", nonce="1", algorithm=SHA-3',
      'Digest realm="a", nonce="1", qop="auth-int"',
      'Digest realm="a, \\"b\\"", nonce="2", algorithm=sha-256, qop="auth", stale=TRUE',
      'Digest realm="a", nonce="3"'
    ]
    expect(Digest.chosen(values)).toEqual({
      realm: 'a, "b"',
      nonce: "2",
      opaque: undefined,
      algorithm: "SHA-256",
      session: false,
      qop: true,
      stale: true
    })
    expect(Digest.chosen(values.slice(0, 3))).toBeUndefined()
    expect(Digest.chosen([])).toBeUndefined()
  })
})

describe("DigestServer.verify", () => {
  const realm: Server.Realm = {
    realm: "svc",
    key: Buffer.from("a key of this process"),
    password: (username) => (username === "trunk" ? "secret" : undefined)
  }
  const now = 1_700_000_000_000
  const attempt = (given: Partial<Digest.Credentials> = {}, at = now, algorithm = 0): Server.Attempt => {
    const asked = challenge(Server.challenges(realm, at, "salt", false)[algorithm] ?? "")
    const credentials = {
      username: "trunk",
      password: "secret",
      method: "INVITE",
      uri: "sip:+4930@example.com",
      count: 1,
      cnonce: "c",
      ...given
    }
    const { method, uri } = { method: "INVITE", uri: "sip:+4930@example.com" }
    return { method, uri, authorization: Digest.authorization(asked, credentials) }
  }
  const verdict = (given: Server.Attempt, at = now, counts = Server.noCounts) =>
    Server.verify(realm, counts, given, at)[1]

  it("accepts right credentials with both algorithms", () => {
    expect([0, 1].map((algorithm) => verdict(attempt({}, now, algorithm)))).toEqual(["right", "right"])
  })

  it("accepts credentials for the host of the Request-URI alone, and not for another host", () => {
    expect(verdict(attempt({ uri: "sip:example.com" }))).toBe("right")
    expect(verdict(attempt({ uri: "sip:other.example" }))).toBe("wrong")
    expect(verdict(attempt({ uri: "sip:example.com:5070" }))).toBe("wrong")
  })

  it("refuses a wrong password, an unknown user, another method, URI, realm or nonce, and garbage", () => {
    expect(verdict(attempt({ password: "Secret" }))).toBe("wrong")
    expect(verdict(attempt({ username: "nobody", password: "" }))).toBe("wrong")
    expect(verdict(attempt({ method: "BYE" }))).toBe("wrong")
    expect(verdict(attempt({ uri: "sip:other@example.com" }))).toBe("wrong")
    const right = attempt()
    expect(verdict({ ...right, authorization: right.authorization.replace('realm="svc"', 'realm="x"') })).toBe("wrong")
    expect(verdict({ ...right, authorization: right.authorization.replace(/nonce="[^"]*"/, 'nonce="a.b.c"') })).toBe(
      "wrong"
    )
    for (const garbage of ["", "Digest", "Digest ,,,", "Basic dTpw", 'Digest username="', "Digest a=b, a=c"]) {
      expect(verdict({ ...right, authorization: garbage })).toBe("wrong")
    }
  })

  it("calls an expired nonce and a count that was used before stale, and only with the right password", () => {
    expect(verdict(attempt(), now + Server.nonceLifetimeMs + 1)).toBe("stale")
    expect(verdict(attempt({ password: "x" }), now + Server.nonceLifetimeMs + 1)).toBe("wrong")
    const [counts] = Server.verify(realm, Server.noCounts, attempt({ count: 2 }), now)
    expect(verdict(attempt({ count: 2 }), now, counts)).toBe("stale")
    expect(verdict(attempt({ count: 1 }), now, counts)).toBe("stale")
    expect(verdict(attempt({ count: 3 }), now, counts)).toBe("right")
  })

  it("keeps the counts of at most 1,000 nonces, and refuses those that it has dropped as stale", () => {
    let counts = Server.noCounts
    const given = (index: number): Server.Attempt => {
      const asked = challenge(Server.challenges(realm, now + index, "salt", false)[1] ?? "")
      const credentials = {
        username: "trunk",
        password: "secret",
        method: "INVITE",
        uri: "sip:a",
        count: 1,
        cnonce: "c"
      }
      return { method: "INVITE", uri: "sip:a", authorization: Digest.authorization(asked, credentials) }
    }
    for (let index = 0; index < 1010; index++) counts = Server.verify(realm, counts, given(index), now + 2000)[0]
    expect(counts.counts.size).toBe(1000)
    expect(verdict(given(3), now + 2000, counts)).toBe("stale")
    expect(verdict(given(2000), now + 2000, counts)).toBe("right")
  })
})

import { generateKeyPairSync, randomBytes, sign } from "node:crypto"

/** A self-signed certificate for this machine, as PEM. */
export interface Certificate {
  readonly certificate: string
  readonly privateKey: string
}

const SEQUENCE = 0x30
const SET = 0x31
const INTEGER = 0x02
const BIT_STRING = 0x03
const OCTET_STRING = 0x04
const OBJECT_ID = 0x06
const UTF8_STRING = 0x0c
const GENERALIZED_TIME = 0x18

/** Encodes a DER value: tag, length and content. */
function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  if (length < 0x80) return Buffer.concat([Buffer.of(tag, length), content])
  if (length < 0x100) return Buffer.concat([Buffer.of(tag, 0x81, length), content])
  return Buffer.concat([Buffer.of(tag, 0x82, length >> 8, length & 0xff), content])
}

const COMMON_NAME = der(OBJECT_ID, Buffer.from("550403", "hex"))
const SUBJECT_ALT_NAME = der(OBJECT_ID, Buffer.from("551d11", "hex"))
const BASIC_CONSTRAINTS = der(OBJECT_ID, Buffer.from("551d13", "hex"))
const ECDSA_WITH_SHA256 = der(SEQUENCE, der(OBJECT_ID, Buffer.from("2a8648ce3d040302", "hex")))

/** Makes a certificate for 127.0.0.1 and these names, by default `localhost`, with a new key. */
export function selfSignedCertificate(names: readonly string[] = ["localhost"]): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const name = der(
    SEQUENCE,
    der(SET, der(SEQUENCE, COMMON_NAME, der(UTF8_STRING, Buffer.from("localhost")))),
  )
  const time = (text: string): Buffer => der(GENERALIZED_TIME, Buffer.from(text))
  const alternatives = der(
    SEQUENCE,
    ...names.map((one) => der(0x82, Buffer.from(one))),
    der(0x87, Buffer.of(127, 0, 0, 1)),
  )
  const isAuthority = der(SEQUENCE, Buffer.of(0x01, 0x01, 0xff))
  const extensions = der(
    SEQUENCE,
    der(SEQUENCE, SUBJECT_ALT_NAME, der(OCTET_STRING, alternatives)),
    der(SEQUENCE, BASIC_CONSTRAINTS, der(OCTET_STRING, isAuthority)),
  )
  const body = der(
    SEQUENCE,
    der(0xa0, der(INTEGER, Buffer.of(2))),
    der(INTEGER, Buffer.concat([Buffer.of(0x01), randomBytes(8)])),
    ECDSA_WITH_SHA256,
    name,
    der(SEQUENCE, time("20200101000000Z"), time("21200101000000Z")),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, extensions),
  )
  const signature = sign("sha256", body, { key: privateKey, dsaEncoding: "der" })
  const certificate = der(
    SEQUENCE,
    body,
    ECDSA_WITH_SHA256,
    der(BIT_STRING, Buffer.of(0), signature),
  )
  return {
    certificate: pem(certificate),
    privateKey: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  }
}

function pem(bytes: Buffer): string {
  const lines = bytes.toString("base64").match(/.{1,64}/g) ?? []
  return ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n")
}

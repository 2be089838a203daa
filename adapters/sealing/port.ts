/**
 * Sealing of personal text and bytes, so that erasing a key erases the text everywhere: in the events, in
 * every copy and in every backup.
 *
 * A company has a key, wrapped by the installation's master key; each person and recipient has a key
 * of its own, wrapped by the company's. Sealed text is `s1.<subject>.<base64url of nonce, AES-256-GCM
 * ciphertext and tag>`; company and subject are authenticated with it. Sealed bytes are nonce,
 * ciphertext and tag; company, subject and the context they are for are authenticated with them.
 */
import type { CompanyId, KeyedHash, SealedText } from "../../domain/kernel/ids.ts"

/** The subject whose key seals what belongs to the company itself: its name, its numbers. */
export const COMPANY_SUBJECT = "company"

/** What bytes are sealed for, part by part: they open in the same context only. */
export type SealedContext = readonly (string | number)[]

/** Seals and opens personal text, and tells equal texts apart without reading them. */
export interface Sealing {
  /**
   * Seals a text under the subject's key, which is made if it does not exist yet.
   *
   * @throws CompanyErased
   */
  readonly seal: (companyId: CompanyId, subject: string, text: string) => Promise<SealedText>
  /** The text, or null when its key was erased. @throws SealFault when it was tampered with */
  readonly unseal: (companyId: CompanyId, sealed: SealedText) => Promise<string | null>
  /**
   * Seals bytes under the subject's key, which is made if it does not exist yet. They are longer by 28
   * bytes.
   *
   * @throws CompanyErased
   */
  readonly sealBytes: (
    companyId: CompanyId,
    subject: string,
    bytes: Uint8Array,
    context: SealedContext,
  ) => Promise<Buffer>
  /**
   * The bytes, or null when the subject has no key, or none any more.
   *
   * @throws SealFault when they were tampered with, or sealed in another context
   */
  readonly openBytes: (
    companyId: CompanyId,
    subject: string,
    sealed: Buffer,
    context: SealedContext,
  ) => Promise<Buffer | null>
  /**
   * A keyed hash (32 hexadecimal characters) that is equal for equal texts of one company.
   *
   * @throws CompanyErased
   */
  readonly tag: (companyId: CompanyId, text: string) => Promise<KeyedHash>
  /** A keyed hash that is equal for equal texts across the installation. */
  readonly installationTag: (text: string) => string
  /** The secret with which an app signs people in through its shared key; stored nowhere. */
  readonly appSecret: (keyId: string) => string
}

/** Signs what the installation vouches for. */
export interface Signing {
  /**
   * Signs a text with Ed25519 by the installation's key, which is made on its first use. Both are
   * base64: the public key of its 32 bytes, the signature of its 64.
   */
  readonly sign: (text: string) => Promise<{
    readonly publicKey: string
    readonly signature: string
  }>
}

/** What is sealed was changed, or belongs to another company, subject or context. */
export class SealFault extends Error {
  override readonly name = "SealFault"
}

/** The company's key was destroyed, or the subject's: nothing is sealed for it any more. */
export class CompanyErased extends Error {
  override readonly name = "CompanyErased"
}

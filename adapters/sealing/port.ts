/**
 * Sealing of personal text and bytes: erasing a key makes them unreadable in the events, in every
 * copy and in every backup.
 *
 * A company has a key, wrapped by the installation's master key; each person and recipient has a
 * key, wrapped by the company's. Sealed text is `s1.<subject>.<base64url of nonce, AES-256-GCM
 * ciphertext and tag>`; company and subject are authenticated with it. Sealed bytes are nonce,
 * ciphertext and tag; company, subject and their context are authenticated with them.
 */
import type { CompanyId, KeyedHash, SealedText } from "../../domain/kernel/ids.ts"

/** The subject whose key seals data of the company itself: its name, its numbers. */
export const COMPANY_SUBJECT = "company"

/** The purpose of sealed bytes, in parts: they can only be opened with the same context. */
export type SealedContext = readonly (string | number)[]

/** Seals and unseals personal text, and compares texts without reading them. */
export interface Sealing {
  /** Seals a text with the subject's key, which is created if needed. @throws CompanyErased */
  readonly seal: (companyId: CompanyId, subject: string, text: string) => Promise<SealedText>
  /** Unseals a text; null if its key was erased. @throws SealFault if it was tampered with */
  readonly unseal: (companyId: CompanyId, sealed: SealedText) => Promise<string | null>
  /** Seals bytes with the subject's key, which is created if needed. Adds 28 bytes. @throws CompanyErased */
  readonly sealBytes: (
    companyId: CompanyId,
    subject: string,
    bytes: Uint8Array,
    context: SealedContext,
  ) => Promise<Buffer>
  /**
   * Opens sealed bytes; null if the subject has no key or it was erased.
   *
   * @throws SealFault if they were tampered with or sealed in another context
   */
  readonly openBytes: (
    companyId: CompanyId,
    subject: string,
    sealed: Buffer,
    context: SealedContext,
  ) => Promise<Buffer | null>
  /**
   * Returns a keyed hash (32 hexadecimal characters) that is equal for equal texts of one company.
   *
   * @throws CompanyErased
   */
  readonly tag: (companyId: CompanyId, text: string) => Promise<KeyedHash>
  /** Returns a keyed hash that is equal for equal texts in the installation. */
  readonly installationTag: (text: string) => string
  /** Returns the secret with which an app signs people in through its app key; it is derived and never stored. */
  readonly appSecret: (keyId: string) => string
}

export interface Signing {
  /**
   * Signs a text with the installation's Ed25519 key, which is created on first use. Returns base64
   * of the 32-byte public key and the 64-byte signature.
   */
  readonly sign: (text: string) => Promise<{
    readonly publicKey: string
    readonly signature: string
  }>
}

/** Sealed data was changed, or belongs to another company, subject or context. */
export class SealFault extends Error {
  override readonly name = "SealFault"
}

/** The key of the company or subject was destroyed: nothing can be sealed for it. */
export class CompanyErased extends Error {
  override readonly name = "CompanyErased"
}

/** Returns the message for a write about an erased subject, such as `The company co_1a2b`. */
export function erasedMessage(subject: string): string {
  return `${subject} was erased: no data can be stored for it.`
}

/**
 * DKIM keys, with which sending domains sign their mails. They are RSA-2048, the only kind that our
 * signer supports. The private key is sealed with the company's key, included in backups and erased
 * with the company. No facts contain it: if it is lost, every domain must publish a new record.
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"

/** The DKIM selector of a sending domain's first key. */
export const FIRST_SELECTOR = "cp1"

/** The sending domain that a key belongs to. */
export interface DkimOwner {
  readonly companyId: CompanyId
  readonly sendingDomainId: string
}

export interface DkimPublicKey {
  /** The record is published at `<selector>._domainkey.<sending domain>`. */
  readonly selector: string
  /** Base64 of the key's SubjectPublicKeyInfo, the value of `p=` in `v=DKIM1; k=rsa; p=…`. */
  readonly publicKey: string
}

/** A key that signs mails. */
export interface DkimKey extends DkimPublicKey {
  /** PKCS #8, PEM. */
  readonly privateKey: string
}

export interface DkimKeys {
  /**
   * Returns the key of a sending domain and creates it if there is none; concurrent callers get the same key.
   *
   * @throws CompanyErased
   */
  readonly getOrCreate: (owner: DkimOwner) => Promise<DkimPublicKey>
  /** Returns the signing key of a sending domain; null if there is none or its company was erased. */
  readonly find: (owner: DkimOwner) => Promise<DkimKey | null>
  /** Deletes the key of a deleted sending domain, if any. */
  readonly remove: (owner: DkimOwner) => Promise<void>
}

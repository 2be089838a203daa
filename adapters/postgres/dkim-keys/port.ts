/**
 * The keys by which sending domains sign their mails (DKIM): RSA of 2,048 bits, for what signs ours takes
 * no other. The private half is sealed with the company's key, stands in backups, and goes with its
 * company: it is truth and no fold of facts, so whoever loses it has every domain's record published anew.
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"

/** The name below `_domainkey` under which the first key of a sending domain is published. */
export const FIRST_SELECTOR = "cp1"

/** A sending domain of a company, by its id. */
export interface DkimOwner {
  readonly companyId: CompanyId
  readonly sendingDomainId: string
}

/** What the world may know of a key. */
export interface DkimPublicKey {
  /** The record stands at `<selector>._domainkey.<sending domain>`. */
  readonly selector: string
  /** Base64 of the key's SubjectPublicKeyInfo: what stands behind `p=` in `v=DKIM1; k=rsa; p=…`. */
  readonly publicKey: string
}

/** A key by which mails are signed. */
export interface DkimKey extends DkimPublicKey {
  /** PKCS #8, PEM. */
  readonly privateKey: string
}

/** Keeps keys. */
export interface DkimKeys {
  /**
   * The key of a sending domain, which is made if there is none yet; of several who ask at once all
   * answer the same.
   *
   * @throws CompanyErased
   */
  readonly create: (owner: DkimOwner) => Promise<DkimPublicKey>
  /** The key of a sending domain, to sign with; null where there is none, or its company was erased. */
  readonly find: (owner: DkimOwner) => Promise<DkimKey | null>
  /** Deletes the key of a sending domain that is no more, if it has one. */
  readonly remove: (owner: DkimOwner) => Promise<void>
}

/**
 * The address of a company's preview: a host name that its name makes, or its tag where no host can be called
 * so. It is made when it is read and stands in no fact.
 */
import { accessStreamOf } from "../../domain/access/aggregates.ts"
import { companyProfileOf } from "../../domain/access/access.ts"
import { COMPANIES_STREAM } from "../../domain/company/aggregates.ts"
import { companyByNameTag, isCompanyRegistered } from "../../domain/company/companies.ts"
import type { Companies } from "../../domain/company/companies.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { companyIdFromTag, tagOfId } from "../../domain/kernel/ids.ts"
import type { SiteAddress } from "../frame/kernel/sites.ts"
import { BASE32_ALPHABET, siteAddressOf } from "../frame/kernel/sites.ts"
import { fromBase62, toBase62 } from "../frame/kernel/ids.ts"
import { companyNameTag } from "../frame/operator/inputs.ts"
import type { Ports } from "../frame/ports.ts"
import { publishingSettings } from "./settings.ts"

/** A name that is a host's as it stands. Of two dashes in the third place browsers make other letters. */
const PLAIN = /^(?!..--)[a-z\d](?:[a-z\d-]{0,38}[a-z\d])?$/
/** What a label ends in that leads to a company by its tag. */
const TAGGED = /-([a-z2-7]{8})$/
const MAX_SLUG = 40
const TAG_LETTERS = 8
const COMPANY_TAG = /^[\da-z]{6}$/i
const COMPANY_TAG_LETTERS = 6

/** The label of a company, by its name; null stands for one that cannot be read any more. */
export function hostLabelOf(name: string | null, companyId: CompanyId): string {
  const plain = (name ?? "").trim().toLowerCase()
  if (PLAIN.test(plain) && !TAGGED.test(plain)) return plain
  const slug = plain
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .replaceAll(/[^a-z\d]+/g, "-")
    .slice(0, MAX_SLUG)
    .replaceAll(/^-|-$/g, "")
  return `${slug === "" ? "company" : slug}-${base32(fromBase62(tagOfId(companyId)))}`
}

/** The company that a label ends in the tag of; null where it does not end in one. */
export function companyFromLabelTag(label: string): CompanyId | null {
  const letters = TAGGED.exec(label)?.[1]
  if (letters === undefined) return null
  const value = [...letters].reduce((sum, letter) => sum * 32 + BASE32_ALPHABET.indexOf(letter), 0)
  const tag = toBase62(value, COMPANY_TAG_LETTERS)
  return COMPANY_TAG.test(tag) ? companyIdFromTag(tag) : null
}

/** The company that a label is the name of, or the tag; null where there is none. */
export async function findCompanyByLabel(
  ports: Pick<Ports, "runner" | "sealing">,
  label: string,
): Promise<CompanyId | null> {
  const tagged = companyFromLabelTag(label)
  if (tagged === null && !PLAIN.test(label)) return null
  const find =
    tagged === null
      ? findByName(companyNameTag(ports, label))
      : (state: Companies) => (isCompanyRegistered(state, tagged) ? tagged : null)
  // One that was registered this second in another process is there a second later.
  return ports.runner.read(COMPANIES_STREAM, find)
}

const findByName = (nameTag: string) => (state: Companies) => companyByNameTag(state, nameTag)

/** Where the preview of a company is. */
export async function previewSiteOf(
  ports: Pick<Ports, "baseUrl" | "runner" | "sealing" | "settings">,
  companyId: CompanyId,
): Promise<SiteAddress> {
  const standing = await ports.runner.read(accessStreamOf(companyId), companyProfileOf)
  const name = standing === null ? null : await ports.sealing.unseal(companyId, standing.name)
  const domain = ports.settings(publishingSettings).PREVIEW_DOMAIN
  return siteAddressOf(ports.baseUrl(), `${hostLabelOf(name, companyId)}.${domain}`)
}

function base32(value: number): string {
  let rest = value
  let letters = ""
  while (letters.length < TAG_LETTERS) {
    letters = `${BASE32_ALPHABET[rest % 32]}${letters}`
    rest = Math.floor(rest / 32)
  }
  return letters
}

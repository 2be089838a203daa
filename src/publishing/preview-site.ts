/**
 * The address of a company's preview: a host name made from the company's name, or from its id tag if the name
 * is not a valid host name. It is calculated on each read and stored in no fact.
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

/** A name that is a valid host label. Browsers decode a label with two dashes at the third place. */
const PLAIN = /^(?!..--)[a-z\d](?:[a-z\d-]{0,38}[a-z\d])?$/
/** The suffix of a label with the tag of a company. */
const TAGGED = /-([a-z2-7]{8})$/
const MAX_SLUG = 40
const TAG_LETTERS = 8
const COMPANY_TAG = /^[\da-z]{6}$/i
const COMPANY_TAG_LETTERS = 6

/** The label of a company; a null name is one that was erased. */
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

/** The company whose tag a label ends in; null if it ends in none. */
export function companyFromLabelTag(label: string): CompanyId | null {
  const letters = TAGGED.exec(label)?.[1]
  if (letters === undefined) return null
  const value = [...letters].reduce((sum, letter) => sum * 32 + BASE32_ALPHABET.indexOf(letter), 0)
  const tag = toBase62(value, COMPANY_TAG_LETTERS)
  return COMPANY_TAG.test(tag) ? companyIdFromTag(tag) : null
}

/** The company of a label, by name or by tag; null if there is none. */
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
  // A company that another process registered may be missing here for a second.
  return ports.runner.read(COMPANIES_STREAM, find)
}

const findByName = (nameTag: string) => (state: Companies) => companyByNameTag(state, nameTag)

/** The address of a company's preview. */
export async function previewSiteOf(
  ports: Pick<Ports, "baseUrl" | "runner" | "sealing" | "settings">,
  companyId: CompanyId,
): Promise<SiteAddress> {
  const profile = await ports.runner.read(accessStreamOf(companyId), companyProfileOf)
  const name = profile === null ? null : await ports.sealing.unseal(companyId, profile.name)
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

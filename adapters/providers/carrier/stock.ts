/**
 * What the built-in carrier sells: in one area code of each state, and toll-free, the hundred numbers from
 * 555-0100 on, which are given to nobody and may stand in any example.
 */
import type { OfferedNumber, WantedNumber } from "./port.ts"

const LINES = 100
const TOLL_FREE = "800"

/** State, area code, and the city that it is named by. Never 201: numbers that came with companies are there. */
const AREAS = `
AL 205 Birmingham; AK 907 Anchorage; AZ 602 Phoenix; AR 501 Little Rock; CA 415 San Francisco; CO 303 Denver;
CT 203 Bridgeport; DE 302 Wilmington; DC 202 Washington; FL 305 Miami; GA 404 Atlanta; HI 808 Honolulu; ID 208 Boise;
IL 312 Chicago; IN 317 Indianapolis; IA 515 Des Moines; KS 316 Wichita; KY 502 Louisville; LA 504 New Orleans;
ME 207 Portland; MD 410 Baltimore; MA 617 Boston; MI 313 Detroit; MN 612 Minneapolis; MS 601 Jackson;
MO 314 St. Louis; MT 406 Billings; NE 402 Omaha; NV 702 Las Vegas; NH 603 Manchester; NJ 609 Trenton;
NM 505 Albuquerque; NY 212 New York; NC 704 Charlotte; ND 701 Fargo; OH 216 Cleveland; OK 405 Oklahoma City;
OR 503 Portland; PA 215 Philadelphia; RI 401 Providence; SC 803 Columbia; SD 605 Sioux Falls; TN 615 Nashville;
TX 512 Austin; UT 801 Salt Lake City; VT 802 Burlington; VA 804 Richmond; WA 206 Seattle; WV 304 Charleston;
WI 414 Milwaukee; WY 307 Cheyenne`

interface Area {
  readonly region: string | null
  readonly locality: string | null
}

const BY_AREA_CODE: ReadonlyMap<string, Area> = new Map(
  AREAS.split(";").map((entry) => {
    const [region = "", areaCode = "", ...city] = entry.trim().split(" ")
    return [areaCode, { region, locality: city.join(" ") }]
  }),
)

/** A number of the stock; null where it has none such. */
export function stocked(number: string): OfferedNumber | null {
  const areaCode = /^\+1(\d{3})55501\d{2}$/.exec(number)?.[1]
  if (areaCode === undefined) return null
  if (areaCode === TOLL_FREE) {
    return { number, kind: "toll_free", locality: null, region: null, ...ABLE }
  }
  const area = BY_AREA_CODE.get(areaCode)
  return area === undefined ? null : { number, kind: "local", ...area, ...ABLE }
}

const ABLE = { sms: true, mms: true, voice: true }

/** The numbers of the stock that are wanted, those of one line of every area before the next line. */
export function* wantedOfStock(wanted: WantedNumber): Generator<OfferedNumber> {
  const codes = wanted.kind === "toll_free" ? [TOLL_FREE] : [...BY_AREA_CODE.keys()]
  const form = formOf(wanted.contains)
  for (let line = 0; line < LINES; line += 1) {
    for (const code of codes) {
      if (wanted.kind === "local" && wanted.areaCode !== null && wanted.areaCode !== code) continue
      const number = `+1${code}5550${100 + line}`
      const offered = stocked(number)
      if (offered === null || !form.test(number.slice(2))) continue
      if (wanted.region === null || wanted.region === offered.region) yield offered
    }
  }
}

/** What the ten digits of a number must have in them: digits, and any one for each `*`. */
function formOf(contains: string | null): RegExp {
  return new RegExp((contains ?? "").replaceAll("*", "\\d"))
}

/** The states of the US by their two letters: where toll-free numbers are verified they are written out. */

const NAMES: ReadonlyMap<string, string> = new Map(
  `AL Alabama|AK Alaska|AZ Arizona|AR Arkansas|CA California|CO Colorado|CT Connecticut|DE Delaware
  |DC District of Columbia|FL Florida|GA Georgia|HI Hawaii|ID Idaho|IL Illinois|IN Indiana|IA Iowa
  |KS Kansas|KY Kentucky|LA Louisiana|ME Maine|MD Maryland|MA Massachusetts|MI Michigan|MN Minnesota
  |MS Mississippi|MO Missouri|MT Montana|NE Nebraska|NV Nevada|NH New Hampshire|NJ New Jersey
  |NM New Mexico|NY New York|NC North Carolina|ND North Dakota|OH Ohio|OK Oklahoma|OR Oregon
  |PA Pennsylvania|RI Rhode Island|SC South Carolina|SD South Dakota|TN Tennessee|TX Texas|UT Utah
  |VT Vermont|VA Virginia|WA Washington|WV West Virginia|WI Wisconsin|WY Wyoming|AS American Samoa
  |GU Guam|MP Northern Mariana Islands|PR Puerto Rico|VI Virgin Islands`
    .split("|")
    .map((one) => [one.trim().slice(0, 2), one.trim().slice(3)]),
)

/** The name of a state; what is none, as it is. */
export function stateName(letters: string): string {
  return NAMES.get(letters.toUpperCase()) ?? letters
}

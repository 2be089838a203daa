/** The message of each page problem, separate from the parser, which is expensive to load. */
export const PAGE_PROBLEMS = {
  unreachable: "The page cannot be read.",
  not_https: "The page is not served over HTTPS.",
  login_needed: "The page requires a sign-in.",
  wrong_brand: "The page does not name the brand as it is registered.",
  no_consent_text:
    "The page has no checkbox for consent to texts, or does not say that consent is not a condition of purchase.",
  box_ticked: "The consent checkbox is checked by default. Leave it unchecked.",
  box_required: "The consent checkbox is required to submit the form. Make it optional.",
  no_frequency: "The page does not say how often people are texted.",
  no_rates: 'The page does not say "Message and data rates may apply".',
  no_stop: "The page does not say that replying STOP opts out.",
  no_help: "The page does not say that replying HELP gets help.",
  no_terms_link: "The page has no link to the terms.",
  no_privacy_link: "The page has no link to the privacy policy.",
  no_sharing_sentence:
    "The page does not say that mobile numbers and consent are not sold or shared for marketing.",
  says_it_shares: "The page says that numbers are shared or sold.",
  no_contact: "The page does not say how to contact the company.",
  placeholder_text: "The page has placeholder text.",
  too_large: "The page is larger than 1 MB.",
  too_slow: "The page took too long to load.",
  blocked_address: "The page is not at a public address.",
} as const

export type PageProblem = keyof typeof PAGE_PROBLEMS

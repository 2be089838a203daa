/** What can be wrong with pages, in words: the reader of pages is large, and is loaded apart. */

/** What can be wrong with a page. */
export const PAGE_PROBLEMS = {
  unreachable: "The page cannot be read.",
  not_https: "The page is not served by https.",
  login_needed: "The page asks for a sign-in.",
  wrong_brand: "The page does not name the brand as it is registered.",
  no_consent_text:
    "No box says that people agree to texts, or none that consent is not a condition of purchase.",
  box_ticked: "The box is ticked before anybody agreed.",
  box_required: "The box must be ticked to send the form; it has to be optional.",
  no_frequency: "It does not say how often people are texted.",
  no_rates: 'It does not say "Message and data rates may apply".',
  no_stop: "It does not say that STOP opts out.",
  no_help: "It does not say that HELP helps.",
  no_terms_link: "It has no link to the terms.",
  no_privacy_link: "It has no link to the privacy policy.",
  no_sharing_sentence:
    "It does not say that mobile numbers and consent are not sold or shared for marketing.",
  says_it_shares: "It says that numbers are shared or sold.",
  no_contact: "It says no way to reach the company.",
  placeholder_text: "It has text that stands in for something else.",
  too_large: "The page has more than a megabyte.",
  too_slow: "The page took too long.",
  blocked_address: "The page is at an address that is not public.",
} as const

/** What is wrong with a page, in a word. */
export type PageProblem = keyof typeof PAGE_PROBLEMS
